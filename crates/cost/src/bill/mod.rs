//! Bills: costs by component.

mod comparison;
mod pricing;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use comparison::{Deviation, Offer, deviation_percent, deviations, offers};

use crate::exact::Exact;
use crate::money::{Currency, Money, NoRate, OtherCurrency, Rates};
use crate::units::{DataUnit, Months};

/// A component of a bill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Component {
    /// Storage of data.
    Storage,
    /// Transfer of data into the system.
    Upload,
    /// Transfer of data out of the system.
    Download,
    /// Requests.
    Requests,
    /// Fees of contracts.
    Fees,
    /// Spending that no other component covers, such as payments into renterd's prepaid accounts.
    Other,
}

impl Component {
    /// All components, in the order in which reports list them.
    pub const ALL: [Self; 6] = [Self::Storage, Self::Upload, Self::Download, Self::Requests, Self::Fees, Self::Other];

    /// Returns the name of the component in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Storage => "storage",
            Self::Upload => "upload",
            Self::Download => "download",
            Self::Requests => "requests",
            Self::Fees => "fees",
            Self::Other => "other",
        }
    }
}

/// The cost of one component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Charge {
    /// An amount in the bill's currency.
    Amount(Exact),
    /// The component was used, but its price is unknown.
    NoPrice,
}

/// Costs by component. A component that is missing from `charges` was not used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bill {
    /// The name of the provider or system in reports.
    pub name: String,
    /// The currency of all charges.
    pub currency: Currency,
    /// The charges.
    pub charges: BTreeMap<Component, Charge>,
}

/// The sum of a bill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Total {
    /// The sum of all components with a price.
    pub money: Money,
    /// The components that are not in the sum, because their price is unknown.
    pub without: Vec<Component>,
}

impl Bill {
    /// Returns an empty bill.
    #[must_use]
    pub fn new(name: impl Into<String>, currency: Currency) -> Self {
        Self { name: name.into(), currency, charges: BTreeMap::new() }
    }

    /// Sets the charge of a component.
    ///
    /// # Errors
    /// Returns an error if the amount is not in the bill's currency.
    pub fn set(&mut self, component: Component, money: &Money) -> Result<(), OtherCurrency> {
        // Subtracting 0 fails if the currencies differ.
        let amount = money.minus(&Money::zero(self.currency))?.amount;
        self.charges.insert(component, Charge::Amount(amount));
        Ok(())
    }

    /// Returns the charge of a component: 0 if it was not used, `None` if its price is unknown.
    #[must_use]
    pub fn amount(&self, component: Component) -> Option<Money> {
        match self.charges.get(&component) {
            Some(Charge::Amount(amount)) => Some(Money::new(amount.clone(), self.currency)),
            Some(Charge::NoPrice) => None,
            None => Some(Money::zero(self.currency)),
        }
    }

    /// Returns the sum of all known charges, and the components whose price is unknown.
    #[must_use]
    pub fn total(&self) -> Total {
        let mut total = Total { money: Money::zero(self.currency), without: Vec::new() };
        for (component, charge) in &self.charges {
            match charge {
                Charge::Amount(amount) => total.money.amount = &total.money.amount + amount,
                Charge::NoPrice => total.without.push(*component),
            }
        }
        total
    }

    /// Returns the share of fees in the total; `None` if the total is 0 or a price is unknown.
    #[must_use]
    pub fn fee_share(&self) -> Option<Exact> {
        let total = self.total();
        let fees = self.amount(Component::Fees)?;
        if total.without.is_empty() { fees.amount.checked_div(&total.money.amount) } else { None }
    }

    /// Returns the total cost per month and TB (10^12 bytes) of files. `None` if there are no files, the storage time
    /// is 0, or a price is unknown.
    #[must_use]
    pub fn per_tb_month(&self, file_bytes: u64, stored: &Months) -> Option<Money> {
        let total = self.total();
        let terabyte_months = &DataUnit::Terabyte.count(&Exact::from(file_bytes)) * &stored.0;
        let amount = total.money.amount.checked_div(&terabyte_months).filter(|_| total.without.is_empty())?;
        Some(Money::new(amount, self.currency))
    }

    /// Returns the bill with all charges multiplied by `factor`.
    ///
    /// In the study, more money had left the wallet than siad reported as spent. The author multiplied the reported
    /// amounts by the ratio of the two sums.
    #[must_use]
    pub fn scaled(&self, factor: &Exact) -> Self {
        self.map(self.currency, |amount| &amount * factor)
    }

    /// Returns the bill in another currency.
    ///
    /// # Errors
    /// Returns an error if there is no rate between the currencies.
    pub fn converted(&self, rates: &Rates, to: Currency) -> Result<Self, NoRate> {
        let factor = rates.convert(&Money::new(Exact::from(1_u64), self.currency), to)?;
        Ok(self.map(to, |amount| &amount * &factor.amount))
    }

    fn map(&self, currency: Currency, change: impl Fn(Exact) -> Exact) -> Self {
        let charges = self.charges.iter().map(|(component, charge)| {
            let changed = match charge {
                Charge::Amount(amount) => Charge::Amount(change(amount.clone())),
                Charge::NoPrice => Charge::NoPrice,
            };
            (*component, changed)
        });
        Self { name: self.name.clone(), currency, charges: charges.collect() }
    }
}
