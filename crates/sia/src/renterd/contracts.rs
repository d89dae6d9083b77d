//! Contracts with hosts, and their totals.

use serde::Deserialize;

use crate::amount::{Hastings, SignedHastings};
use crate::error::ParseError;
use crate::json;

/// A contract with a host.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Contract {
    /// The contract's ID.
    pub id: String,
    /// Bytes that the host stores for the contract. Data of deleted objects is included until it is pruned.
    #[serde(rename = "size")]
    pub size_bytes: u64,
    /// The state on the chain: `pending`, `active`, `complete`, `failed` and others.
    pub state: String,
    /// The autopilot's rating of the contract.
    pub usability: Usability,
    /// The host's fee for forming the contract.
    pub contract_price: Hastings,
    /// Money put into the contract when it was formed or renewed, without the fee.
    pub initial_renter_funds: Hastings,
    /// Money spent from the contract.
    pub spending: Spending,
    /// The reason why the contract is archived: `renewed`, `removed` or `hostpruned`. Only archived contracts have a
    /// reason.
    pub archival_reason: Option<String>,
}

/// The autopilot's rating of a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Usability {
    /// The autopilot uses the contract.
    Good,
    /// The autopilot does not use the contract.
    Bad,
    /// A value from another version of renterd.
    #[serde(other)]
    Unknown,
}

impl Usability {
    /// Returns whether the autopilot uses the contract.
    #[must_use]
    pub fn is_good(self) -> bool {
        self == Self::Good
    }
}

/// Money spent from a contract. Spending on uploads includes the payment for storage. Downloads are paid from prepaid
/// accounts, which get their money from contracts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spending {
    /// Uploads, including their storage until the contract ends.
    pub uploads: Hastings,
    /// Moved to prepaid accounts, from which downloads are paid.
    pub fund_account: Hastings,
    /// Deletions of data.
    pub deletions: Hastings,
    /// Requests for lists of the sectors that a host stores.
    pub sector_roots: Hastings,
}

impl Spending {
    /// Returns the sum; `None` if it is too large.
    #[must_use]
    pub fn total(self) -> Option<Hastings> {
        Hastings::total([self.uploads, self.fund_account, self.deletions, self.sector_roots])
    }

    /// Returns the sum of each field of two values; `None` if a sum is too large.
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        Some(Self {
            uploads: self.uploads.checked_add(other.uploads)?,
            fund_account: self.fund_account.checked_add(other.fund_account)?,
            deletions: self.deletions.checked_add(other.deletions)?,
            sector_roots: self.sector_roots.checked_add(other.sector_roots)?,
        })
    }
}

impl Contract {
    /// Returns whether the contract is not archived.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.archival_reason.is_none()
    }

    /// Returns the funds that are left. The result is negative if more was spent than the contract had, and `None` if
    /// an amount is too large.
    #[must_use]
    pub fn remaining(&self) -> Option<SignedHastings> {
        Some(self.initial_renter_funds.minus(self.spending.total()?))
    }
}

/// Totals over contracts. Counts, sizes and funds include only active contracts. Spending and fees also include
/// archived contracts, because a renewal archives the old contract together with its spending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ContractTotals {
    /// The number of active contracts.
    pub count: u64,
    /// Bytes that hosts store for active contracts.
    pub size_bytes: u64,
    /// Hosts' fees for forming contracts. Network fees and the tax on contracts are missing, because renterd does not
    /// list them with contracts.
    pub fees: Hastings,
    /// Money spent from contracts.
    pub spending: Spending,
    /// The funds left in active contracts.
    pub remaining: SignedHastings,
}

const REQUEST: &str = "GET /api/bus/contracts of renterd";

/// Parses the body of `GET /api/bus/contracts`. The request needs the parameter `filtermode=all`. Without this
/// parameter, archived contracts are missing, and total spending decreases with each renewal.
///
/// # Errors
/// Returns an error if the body is not a valid list.
pub fn contracts(body: &[u8]) -> Result<Vec<Contract>, ParseError> {
    json::parse_list(REQUEST, body)
}

/// Returns the totals over contracts.
///
/// # Errors
/// Returns an error if a sum is larger than any amount can be.
pub fn contract_totals(contracts: &[Contract]) -> Result<ContractTotals, ParseError> {
    let added = contracts.iter().try_fold(ContractTotals::default(), |mut totals, contract| {
        totals.fees = totals.fees.checked_add(contract.contract_price)?;
        totals.spending = totals.spending.checked_add(contract.spending)?;
        if contract.is_active() {
            totals.count += 1;
            totals.size_bytes = totals.size_bytes.saturating_add(contract.size_bytes);
            totals.remaining = totals.remaining.checked_add(contract.remaining()?)?;
        }
        Some(totals)
    });
    added.ok_or_else(|| ParseError::new(REQUEST, "the sum of the amounts is too large"))
}
