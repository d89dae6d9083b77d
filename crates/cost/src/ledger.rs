//! Ledgers: what a system reports of its own spending, and three rules that such reports must satisfy.
//!
//! 1. What was put into contracts is what was spent from them, plus what remains in them.
//! 2. Wallet and contracts together hold the same before and after: forming a contract moves money, and spending happens
//!    within contracts.
//! 3. What was spent or put into contracts never becomes less.
//!
//! The study's author saw each of them broken. A gap is shown with its sign, never corrected.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::bill::{Bill, Component};
use crate::exact::Exact;
use crate::money::{Currency, Money, OtherCurrency};

/// The name of what was put into contracts, in reports of sums that became less.
const CONTRACTS_NAME: &str = "total_contract_spending";

/// What a system reports at one time. All amounts are in one currency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// The currency.
    pub currency: Currency,
    /// What the wallet holds, payments on their way included.
    pub wallet: Exact,
    /// What was put into contracts; `None` if the system does not report it.
    pub contracts: Option<Exact>,
    /// What remains in contracts. Negative if they are overdrawn.
    pub remaining: Exact,
    /// What was spent so far, by the system's own names.
    pub spent: BTreeMap<String, Spent>,
}

/// A sum that can only grow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// What it was spent on.
    pub component: Component,
    /// The amount.
    pub amount: Exact,
}

/// A sum that became less.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Decrease {
    /// The system's own name of the sum.
    pub name: String,
    /// The amount before.
    pub before: Money,
    /// The amount after.
    pub after: Money,
}

impl Ledger {
    /// Returns rule 1's gap: what was put into contracts beyond what was spent from them and what remains. `None` if the
    /// system does not report what was put into contracts.
    #[must_use]
    pub fn contract_gap(&self) -> Option<Money> {
        let gap = self.contracts.as_ref()? - &self.explained();
        Some(Money::new(gap, self.currency))
    }

    /// Returns what wallet and contracts hold together.
    #[must_use]
    pub fn wealth(&self) -> Money {
        let contracts = self.contracts.clone().unwrap_or_else(|| self.explained());
        Money::new(&self.wallet + &contracts, self.currency)
    }

    /// Returns rule 2's gap from `self` to a later ledger: negative for money that disappeared.
    ///
    /// # Errors
    /// The currencies differ.
    pub fn wealth_gap(&self, later: &Self) -> Result<Money, OtherCurrency> {
        later.wealth().minus(&self.wealth())
    }

    /// Returns what breaks rule 3: the sums that became less until a later ledger. A sum that is missing there does not count.
    ///
    /// # Errors
    /// The currencies differ.
    pub fn decreases(&self, later: &Self) -> Result<Vec<Decrease>, OtherCurrency> {
        self.same_currency(later)?;
        let contracts = self.contracts.as_ref().zip(later.contracts.as_ref());
        let contracts = contracts.map(|(before, after)| (CONTRACTS_NAME, before, after));
        let pairs = self.spent.iter().filter_map(|(name, before)| {
            later.spent.get(name).map(|after| (name.as_str(), &before.amount, &after.amount))
        });
        let money = |amount: &Exact| Money::new(amount.clone(), self.currency);
        let fell = contracts.into_iter().chain(pairs).filter(|(_, before, after)| after < before);
        Ok(fell
            .map(|(name, before, after)| Decrease { name: name.to_owned(), before: money(before), after: money(after) })
            .collect())
    }

    /// Returns what was spent from `self` to a later ledger, by component.
    ///
    /// # Errors
    /// The currencies differ.
    pub fn spent_until(&self, later: &Self, name: &str) -> Result<Bill, OtherCurrency> {
        self.same_currency(later)?;
        let mut sums: BTreeMap<Component, Exact> = BTreeMap::new();
        for (name, after) in &later.spent {
            let before = self.spent.get(name).map_or_else(Exact::zero, |before| before.amount.clone());
            let sum = sums.entry(after.component).or_insert_with(Exact::zero);
            *sum = &*sum + &(&after.amount - &before);
        }
        let mut bill = Bill::new(name, self.currency);
        for (component, amount) in sums {
            bill.set(component, &Money::new(amount, self.currency))?;
        }
        Ok(bill)
    }

    fn explained(&self) -> Exact {
        let spent: Exact = self.spent.values().map(|spent| &spent.amount).sum();
        &spent + &self.remaining
    }

    fn same_currency(&self, other: &Self) -> Result<(), OtherCurrency> {
        Money::zero(self.currency).plus(&Money::zero(other.currency)).map(|_| ())
    }
}

/// A sum of a report of Sia, with the name of its column in tables of samples.
fn spent(name: &str, component: Component, hastings: sia::Hastings) -> (String, Spent) {
    (name.to_owned(), Spent { component, amount: Money::from(hastings).amount })
}

impl Ledger {
    /// Returns the ledger of a sample of siad; `None` if the sample lacks contracts or wallet.
    #[must_use]
    pub fn of_siad(sample: &sia::siad::Sample) -> Option<Self> {
        let (wallet, contracts) = (sample.wallet?, sample.contracts?);
        let hastings = |amount| Money::from(amount).amount;
        // The wallet's balance still has what unconfirmed payments take, change included.
        let wallet = &(&hastings(wallet.confirmed) + &hastings(wallet.incoming)) - &hastings(wallet.outgoing);
        let spent = [
            spent("contract_fee_spending", Component::Fees, contracts.fees),
            spent("storage_spending", Component::Storage, contracts.storage),
            spent("upload_spending", Component::Upload, contracts.upload),
            spent("download_spending", Component::Download, contracts.download),
        ];
        Some(Self {
            currency: Currency::SIACOIN,
            wallet,
            contracts: Some(hastings(contracts.total_cost)),
            remaining: hastings(contracts.remaining),
            spent: spent.into(),
        })
    }

    /// Returns the ledger of a sample of renterd; `None` if the sample lacks contracts or wallet.
    ///
    /// renterd does not report what was put into contracts, so rule 1 cannot be checked. It pays for storage with uploads,
    /// and for downloads from accounts, which also pay for other calls.
    #[must_use]
    pub fn of_renterd(sample: &sia::renterd::Sample) -> Option<Self> {
        let (wallet, contracts) = (sample.wallet?, sample.contracts?);
        let hastings = |amount| Money::from(amount).amount;
        // Spendable excludes what unconfirmed payments take, and unconfirmed is their change.
        let wallet = &(&hastings(wallet.spendable) + &hastings(wallet.unconfirmed)) + &hastings(wallet.immature);
        let spending = contracts.spending;
        let spent = [
            spent("contract_fee_spending", Component::Fees, contracts.fees),
            spent("upload_spending", Component::Upload, spending.uploads),
            spent("fund_account_spending", Component::Other, spending.fund_account),
            spent("deletion_spending", Component::Other, spending.deletions),
            spent("sector_roots_spending", Component::Other, spending.sector_roots),
        ];
        let remaining = Money::from(contracts.remaining).amount;
        Some(Self { currency: Currency::SIACOIN, wallet, contracts: None, remaining, spent: spent.into() })
    }
}

#[cfg(test)]
mod tests;
