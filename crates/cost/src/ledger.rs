//! Ledgers: reports of a system about its own spending, and three rules that these reports must satisfy.
//!
//! 1. The money put into contracts equals the money spent from contracts plus the money that remains in contracts.
//! 2. The money in the wallet plus the money put into contracts is constant. Forming a contract moves money from the
//!    wallet to the contract, and all spending happens within contracts.
//! 3. Money spent or put into contracts never decreases.
//!
//! The study's author found that siad broke all three rules. Reports show the gap in a rule with its sign, and never
//! correct it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::bill::{Bill, Component};
use crate::exact::Exact;
use crate::money::{Currency, Money, OtherCurrency};

/// The name under which a decrease of the money put into contracts is reported.
const CONTRACTS_NAME: &str = "total_contract_spending";

/// A system's report of its money at one moment. All amounts are in one currency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// The currency.
    pub currency: Currency,
    /// The balance of the wallet, including payments in transit.
    pub wallet: Exact,
    /// Money put into contracts; `None` if the system does not report it.
    pub contracts: Option<Exact>,
    /// Money that remains in contracts. Negative if they are overdrawn.
    pub remaining: Exact,
    /// Money spent so far. The keys are the system's own names.
    pub spent: BTreeMap<String, Spent>,
}

/// A sum that can only increase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// The component on which the money was spent.
    pub component: Component,
    /// The amount.
    pub amount: Exact,
}

/// A sum that decreased.
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
    /// Returns the gap of rule 1: the money put into contracts, minus the money spent from contracts, minus the money
    /// that remains in contracts. `None` if the system does not report the money put into contracts.
    #[must_use]
    pub fn contract_gap(&self) -> Option<Money> {
        let gap = self.contracts.as_ref()? - &self.explained();
        Some(Money::new(gap, self.currency))
    }

    /// Returns the money in the wallet plus the money put into contracts. If the system does not report the money put
    /// into contracts, adds up the money spent from contracts and the money that remains in contracts instead.
    #[must_use]
    pub fn wealth(&self) -> Money {
        let contracts = self.contracts.clone().unwrap_or_else(|| self.explained());
        Money::new(&self.wallet + &contracts, self.currency)
    }

    /// Returns the gap of rule 2 from `self` to a later ledger. The gap is negative if money disappeared.
    ///
    /// # Errors
    /// Returns an error if the currencies differ.
    pub fn wealth_gap(&self, later: &Self) -> Result<Money, OtherCurrency> {
        later.wealth().minus(&self.wealth())
    }

    /// Returns the violations of rule 3: the sums that decreased from `self` to a later ledger. Sums that the later
    /// ledger lacks are ignored.
    ///
    /// # Errors
    /// Returns an error if the currencies differ.
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

    /// Returns the spending from `self` to a later ledger, by component.
    ///
    /// # Errors
    /// Returns an error if the currencies differ.
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

/// Returns an entry of [`Ledger::spent`]. The name is also the name of the column in tables of samples.
fn spent(name: &str, component: Component, hastings: sia::Hastings) -> (String, Spent) {
    (name.to_owned(), Spent { component, amount: Money::from(hastings).amount })
}

impl Ledger {
    /// Returns the ledger of a sample of siad; `None` if the sample lacks contracts or wallet.
    #[must_use]
    pub fn of_siad(sample: &sia::siad::Sample) -> Option<Self> {
        let (wallet, contracts) = (sample.wallet?, sample.contracts?);
        let hastings = |amount| Money::from(amount).amount;
        // The confirmed balance ignores unconfirmed payments. `outgoing` is the money that these payments take from the
        // wallet, and `incoming` includes the change that they return.
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
    /// renterd does not report the money put into contracts, so rule 1 cannot be checked. The price of an upload
    /// includes its storage. Downloads and other calls are paid from prepaid accounts.
    #[must_use]
    pub fn of_renterd(sample: &sia::renterd::Sample) -> Option<Self> {
        let (wallet, contracts) = (sample.wallet?, sample.contracts?);
        let hastings = |amount| Money::from(amount).amount;
        // The spendable balance excludes all money that unconfirmed payments take from the wallet. `unconfirmed`
        // includes the change that these payments return.
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
