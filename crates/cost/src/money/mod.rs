//! Amounts of money, each with its currency. Amounts in different currencies are never combined without a stated rate.
//!
//! Sia's APIs report [`sia::Hastings`], which this module converts to siacoins. One siacoin is always 10^24 hastings,
//! so this needs no rate. The types prevent a number of hastings from being used as a number of siacoins.

mod currency;
mod rate;

use std::fmt;

use serde::{Deserialize, Serialize};
use sia::{Hastings, SignedHastings};

pub use currency::{Currency, CurrencyError};
pub use rate::{NoRate, Rate, RateError, Rates};

use crate::exact::{Exact, NumberError};

/// The power of ten between the units: a siacoin is 10^24 hastings.
const HASTINGS_EXPONENT: u32 = 24;
/// Decimals of a printed amount.
const PRINTED_DECIMALS: u32 = 2;
/// Significant digits of a printed amount that is too small for [`PRINTED_DECIMALS`].
const PRINTED_DIGITS: u32 = 2;

/// An exact amount in a currency. The amount can be negative.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Money {
    /// The number of units of the currency.
    pub amount: Exact,
    /// The currency.
    pub currency: Currency,
}

/// The error of a calculation with two currencies and no rate between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot combine amounts in {left} and in {right} without a rate between them")]
pub struct OtherCurrency {
    /// The currency of the first amount.
    pub left: Currency,
    /// The currency of the second amount.
    pub right: Currency,
}

/// An error from parsing [`Money`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MoneyError {
    /// The number is wrong.
    #[error("{0}, followed by a currency, such as 20USD or 5000SC")]
    Number(#[from] NumberError),
    /// The currency is missing or wrong.
    #[error("{0}, after the number, such as 20USD or 5000SC")]
    Currency(#[from] CurrencyError),
}

impl Money {
    /// Returns an amount.
    #[must_use]
    pub fn new(amount: Exact, currency: Currency) -> Self {
        Self { amount, currency }
    }

    /// Returns an amount of 0.
    #[must_use]
    pub fn zero(currency: Currency) -> Self {
        Self { amount: Exact::zero(), currency }
    }

    /// Returns the sum.
    ///
    /// # Errors
    /// Returns an error if the currencies differ.
    pub fn plus(&self, other: &Self) -> Result<Self, OtherCurrency> {
        self.same(other)?;
        Ok(Self { amount: &self.amount + &other.amount, currency: self.currency })
    }

    /// Returns the difference.
    ///
    /// # Errors
    /// Returns an error if the currencies differ.
    pub fn minus(&self, other: &Self) -> Result<Self, OtherCurrency> {
        self.same(other)?;
        Ok(Self { amount: &self.amount - &other.amount, currency: self.currency })
    }

    /// Returns this amount divided by `other`; `None` if `other` is 0.
    ///
    /// # Errors
    /// Returns an error if the currencies differ.
    pub fn ratio(&self, other: &Self) -> Result<Option<Exact>, OtherCurrency> {
        self.same(other)?;
        Ok(self.amount.checked_div(&other.amount))
    }

    /// Returns `number` times the amount.
    #[must_use]
    pub fn times(&self, number: &Exact) -> Self {
        Self { amount: &self.amount * number, currency: self.currency }
    }

    /// Returns the sum of `amounts`.
    ///
    /// # Errors
    /// Returns an error if an amount is in another currency.
    pub fn total<'a>(currency: Currency, amounts: impl IntoIterator<Item = &'a Self>) -> Result<Self, OtherCurrency> {
        amounts.into_iter().try_fold(Self::zero(currency), |sum, amount| sum.plus(amount))
    }

    /// Formats the amount with `decimals` decimals, rounded to the nearest; ties round away from zero.
    #[must_use]
    pub fn to_decimals(&self, decimals: u32) -> String {
        format!("{} {}", self.amount.to_decimal(decimals), self.currency)
    }

    fn same(&self, other: &Self) -> Result<(), OtherCurrency> {
        if self.currency == other.currency {
            Ok(())
        } else {
            Err(OtherCurrency { left: self.currency, right: other.currency })
        }
    }
}

impl From<SignedHastings> for Money {
    fn from(hastings: SignedHastings) -> Self {
        Self { amount: Exact::from(hastings.get()).shifted_right(HASTINGS_EXPONENT), currency: Currency::SIACOIN }
    }
}

impl From<Hastings> for Money {
    fn from(hastings: Hastings) -> Self {
        Self { amount: Exact::from(hastings.get()).shifted_right(HASTINGS_EXPONENT), currency: Currency::SIACOIN }
    }
}

impl fmt::Display for Money {
    /// Formats the amount with two decimals, rounded to the nearest; ties round away from zero. For an amount below
    /// 0.01, shows two significant digits instead, so that a small cost does not look like 0.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.amount.to_decimal_or_digits(PRINTED_DECIMALS, PRINTED_DIGITS), self.currency)
    }
}

impl std::str::FromStr for Money {
    type Err = MoneyError;

    /// Parses a non-negative amount such as `20USD`, `20 USD` or `5000SC`.
    fn from_str(text: &str) -> Result<Self, MoneyError> {
        let text = text.trim();
        let end = text.find(|letter: char| !(letter.is_ascii_digit() || "._".contains(letter))).unwrap_or(text.len());
        let (number, currency) = text.split_at(end);
        Ok(Self { amount: Exact::parse_unsigned(number)?, currency: currency.trim_start().parse()? })
    }
}

#[cfg(test)]
mod tests;
