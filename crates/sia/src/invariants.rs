//! Accounting rules, checked on samples.
//!
//! The study's author found that siad violated every rule. For example, reported spending decreased (Sia issue 2768),
//! and thousands of siacoins were missing from both the wallet and the contracts (issue 2772). Violations are reported,
//! never corrected.

use crate::amount::{Hastings, SignedHastings};
use crate::{renterd, siad};

/// Returns the cost of contracts minus their fees, spending and remaining funds. The result should be 0. `None` if a
/// sum is too large.
#[must_use]
pub fn contract_gap(contracts: &siad::ContractTotals) -> Option<SignedHastings> {
    let siad::ContractTotals { total_cost, fees, storage, upload, download, remaining, .. } = *contracts;
    let explained = Hastings::total([fees, storage, upload, download, remaining])?;
    Some(total_cost.minus(explained))
}

/// Returns the money in the wallet plus the cost of contracts. Unconfirmed payments and receipts are included, so that
/// money on its way from the wallet to a contract is counted exactly once. `None` if the sample lacks the wallet or the
/// contracts.
#[must_use]
pub fn wealth(sample: &siad::Sample) -> Option<SignedHastings> {
    let (wallet, contracts) = (sample.wallet?, sample.contracts?);
    let settled = wallet.confirmed.signed().checked_add(wallet.incoming.minus(wallet.outgoing))?;
    settled.checked_add(contracts.total_cost.signed())
}

/// Returns the change of [`wealth`] between two samples. The change should be 0, because forming a contract only moves
/// money from the wallet to the contract, and all spending happens within contracts. `None` if a sample lacks the
/// wallet or the contracts.
#[must_use]
pub fn wealth_gap(first: &siad::Sample, later: &siad::Sample) -> Option<SignedHastings> {
    wealth(later)?.checked_sub(wealth(first)?)
}

/// A counter of money, which should never decrease. Each variant names the daemons that report it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counter {
    /// siad: cost of all contracts.
    TotalCost,
    /// siad and renterd: fees of all contracts.
    Fees,
    /// siad: spent on storage.
    Storage,
    /// siad and renterd: spent on uploads.
    Upload,
    /// siad: spent on downloads.
    Download,
    /// renterd: moved to prepaid accounts.
    FundAccount,
    /// renterd: spent on deletions.
    Deletions,
    /// renterd: spent on lists of the sectors that hosts store.
    SectorRoots,
}

impl Counter {
    /// Returns the name of the column in a table of samples.
    #[must_use]
    pub fn column(self) -> &'static str {
        match self {
            Self::TotalCost => "total_contract_spending",
            Self::Fees => "contract_fee_spending",
            Self::Storage => "storage_spending",
            Self::Upload => "upload_spending",
            Self::Download => "download_spending",
            Self::FundAccount => "fund_account_spending",
            Self::Deletions => "deletion_spending",
            Self::SectorRoots => "sector_roots_spending",
        }
    }
}

/// A counter that decreased from one sample to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decrease {
    /// The counter.
    pub counter: Counter,
    /// The value in the earlier sample.
    pub from: Hastings,
    /// The value in the later sample.
    pub to: Hastings,
}

impl Decrease {
    /// Returns the size of the decrease.
    #[must_use]
    pub fn by(&self) -> SignedHastings {
        self.from.minus(self.to)
    }
}

/// Detects counters that decrease. Each value is compared with the last known value, because samples without contracts
/// are skipped.
#[derive(Debug, Clone, Default)]
pub struct CounterWatch {
    last: Option<Vec<(Counter, Hastings)>>,
}

impl CounterWatch {
    /// Processes the next sample of siad and returns the counters that decreased.
    pub fn siad(&mut self, sample: &siad::Sample) -> Vec<Decrease> {
        let counters = sample.contracts.map(|contracts| {
            vec![
                (Counter::TotalCost, contracts.total_cost),
                (Counter::Fees, contracts.fees),
                (Counter::Storage, contracts.storage),
                (Counter::Upload, contracts.upload),
                (Counter::Download, contracts.download),
            ]
        });
        self.next(counters)
    }

    /// Processes the next sample of renterd and returns the counters that decreased.
    pub fn renterd(&mut self, sample: &renterd::Sample) -> Vec<Decrease> {
        let counters = sample.contracts.map(|contracts| {
            vec![
                (Counter::Fees, contracts.fees),
                (Counter::Upload, contracts.spending.uploads),
                (Counter::FundAccount, contracts.spending.fund_account),
                (Counter::Deletions, contracts.spending.deletions),
                (Counter::SectorRoots, contracts.spending.sector_roots),
            ]
        });
        self.next(counters)
    }

    fn next(&mut self, counters: Option<Vec<(Counter, Hastings)>>) -> Vec<Decrease> {
        let Some(counters) = counters else { return Vec::new() };
        let last = self.last.replace(counters);
        let pairs = last.iter().flatten().zip(self.last.iter().flatten());
        let fell = pairs.filter(|((before, from), (after, to))| before == after && to < from);
        fell.map(|((counter, from), (_, to))| Decrease { counter: *counter, from: *from, to: *to }).collect()
    }
}

#[cfg(test)]
mod tests;
