//! Exchange rates between currencies, each with its date.

use serde::{Deserialize, Serialize};

use super::{Currency, Money};
use crate::date::Date;
use crate::exact::Exact;

/// An exchange rate: the price of one unit of a currency, stated in another currency, on one day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked", into = "Unchecked")]
pub struct Rate {
    from: Currency,
    to: Currency,
    value: Exact,
    date: Date,
}

/// An error from creating an invalid [`Rate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RateError {
    /// The value is 0 or less.
    #[error("a rate must be above 0")]
    NotPositive,
    /// The two currencies are the same.
    #[error("a rate needs two different currencies")]
    OneCurrency,
}

/// An error from converting between currencies without a stated rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot convert {from} to {to} without a rate; add a rate with its date to `rates` in the price sheet")]
pub struct NoRate {
    /// The currency of the amount.
    pub from: Currency,
    /// The requested currency.
    pub to: Currency,
}

/// The stated rates, for example those of a price sheet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rates(pub Vec<Rate>);

impl Rate {
    /// Creates a rate: one unit of `from` costs `value` units of `to`.
    ///
    /// # Errors
    /// Returns an error if the value is not above 0, or if the currencies are the same.
    pub fn new(from: Currency, to: Currency, value: Exact, date: Date) -> Result<Self, RateError> {
        if value.is_zero() || value.is_negative() {
            return Err(RateError::NotPositive);
        }
        if from == to {
            return Err(RateError::OneCurrency);
        }
        Ok(Self { from, to, value, date })
    }

    /// Returns the currency whose unit is priced.
    #[must_use]
    pub fn from(&self) -> Currency {
        self.from
    }

    /// Returns the currency in which the price is stated.
    #[must_use]
    pub fn to(&self) -> Currency {
        self.to
    }

    /// Returns the price of one unit.
    #[must_use]
    pub fn value(&self) -> &Exact {
        &self.value
    }

    /// Returns the day of the price.
    #[must_use]
    pub fn date(&self) -> Date {
        self.date
    }

    /// Converts an amount from one of the two currencies of the rate to the other.
    ///
    /// # Errors
    /// Returns an error if the amount is in a third currency.
    pub fn convert(&self, money: &Money) -> Result<Money, NoRate> {
        if money.currency == self.from {
            return Ok(Money::new(&money.amount * &self.value, self.to));
        }
        let no_rate = NoRate { from: money.currency, to: self.to };
        if money.currency != self.to {
            return Err(no_rate);
        }
        // A rate is never 0.
        money.amount.checked_div(&self.value).map(|amount| Money::new(amount, self.from)).ok_or(no_rate)
    }
}

impl Rates {
    /// Converts an amount with the first stated rate between the two currencies, in either direction. Two rates are
    /// never combined to reach a third currency.
    ///
    /// # Errors
    /// Returns an error if there is no such rate.
    pub fn convert(&self, money: &Money, to: Currency) -> Result<Money, NoRate> {
        if money.currency == to {
            return Ok(money.clone());
        }
        match self.between(money.currency, to) {
            Some(rate) => rate.convert(money),
            None => Err(NoRate { from: money.currency, to }),
        }
    }

    /// Returns the first stated rate between two currencies.
    #[must_use]
    pub fn between(&self, one: Currency, other: Currency) -> Option<&Rate> {
        self.0.iter().find(|rate| [(one, other), (other, one)].contains(&(rate.from, rate.to)))
    }
}

/// The stored form of a rate, not validated yet.
#[derive(Serialize, Deserialize)]
struct Unchecked {
    from: Currency,
    to: Currency,
    value: Exact,
    date: Date,
}

impl TryFrom<Unchecked> for Rate {
    type Error = RateError;

    fn try_from(Unchecked { from, to, value, date }: Unchecked) -> Result<Self, RateError> {
        Self::new(from, to, value, date)
    }
}

impl From<Rate> for Unchecked {
    fn from(Rate { from, to, value, date }: Rate) -> Self {
        Self { from, to, value, date }
    }
}
