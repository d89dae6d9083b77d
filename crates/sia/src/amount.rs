//! Amounts of money in hastings, which Sia's software uses, and in siacoins, which people use.

use std::fmt;
use std::iter;
use std::str::FromStr;

use serde::de::{Deserializer, Error as _, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// Hastings per siacoin.
const PER_SIACOIN: u128 = 1_000_000_000_000_000_000_000_000;
/// Maximum number of decimals of an amount in siacoins. The last decimal counts single hastings.
const FRACTION_DIGITS: usize = 24;
/// The largest valid amount, which is 3,000 times all existing siacoins. With this limit, the difference of any two
/// amounts fits into an `i128`.
const MAX: u128 = i128::MAX as u128;

/// An amount in hastings, the smallest unit of Sia.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hastings(u128);

/// A difference between two amounts, in hastings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SignedHastings(i128);

/// An amount in siacoins, exact to one hasting. A siacoin is 10^24 hastings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Siacoins(Hastings);

/// An error from parsing an amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    /// The text is not a number in the expected form.
    #[error("expected decimal digits")]
    NotANumber,
    /// The amount is above the maximum of [`Hastings`].
    #[error("the amount is too large")]
    TooLarge,
    /// The amount is not a whole number of hastings.
    #[error("an amount has at most 24 digits after the decimal point")]
    TooPrecise,
}

impl Hastings {
    /// The amount 0.
    pub const ZERO: Self = Self(0);

    /// Creates an amount; `None` if it is above the maximum.
    #[must_use]
    pub fn new(hastings: u128) -> Option<Self> {
        (hastings <= MAX).then_some(Self(hastings))
    }

    /// Returns the number of hastings.
    #[must_use]
    pub fn get(self) -> u128 {
        self.0
    }

    /// Returns the sum; `None` if it is too large.
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).and_then(Self::new)
    }

    /// Returns the sum of `amounts`; `None` if it is too large.
    #[must_use]
    pub fn total(amounts: impl IntoIterator<Item = Self>) -> Option<Self> {
        amounts.into_iter().try_fold(Self::ZERO, Self::checked_add)
    }

    /// Returns this amount minus `other`.
    #[must_use]
    pub fn minus(self, other: Self) -> SignedHastings {
        SignedHastings(self.signed().0 - other.signed().0)
    }

    /// Converts this amount to a signed difference from 0.
    #[must_use]
    pub fn signed(self) -> SignedHastings {
        // An amount never exceeds `i128::MAX`.
        SignedHastings(i128::try_from(self.0).unwrap_or(i128::MAX))
    }

    /// Converts this amount to siacoins.
    #[must_use]
    pub fn in_siacoins(self) -> Siacoins {
        Siacoins(self)
    }
}

impl SignedHastings {
    /// Returns the difference in hastings.
    #[must_use]
    pub fn get(self) -> i128 {
        self.0
    }

    /// Returns the sum; `None` if it is too large.
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).filter(|sum| *sum != i128::MIN).map(Self)
    }

    /// Returns the difference; `None` if it is too large.
    #[must_use]
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.0.checked_sub(other.0).filter(|sum| *sum != i128::MIN).map(Self)
    }

    /// Returns whether the difference is 0.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Converts the difference to an amount; `None` if it is negative.
    #[must_use]
    pub fn amount(self) -> Option<Hastings> {
        u128::try_from(self.0).ok().and_then(Hastings::new)
    }

    /// Formats the difference in siacoins, with its sign and without trailing zeros.
    #[must_use]
    pub fn to_siacoins(self) -> String {
        let sign = if self.0 < 0 { "-" } else { "" };
        format!("{sign}{}", Siacoins(Hastings(self.0.unsigned_abs())))
    }
}

impl Siacoins {
    /// Converts this amount to hastings.
    #[must_use]
    pub fn in_hastings(self) -> Hastings {
        self.0
    }
}

impl fmt::Display for Hastings {
    /// Formats the number of hastings, without a unit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for SignedHastings {
    /// Formats the number of hastings, without a unit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Siacoins {
    /// Formats the number of siacoins without a unit. By default, the number is exact, without trailing zeros. If the
    /// format string has a precision, the number is rounded to that many decimals; ties round up.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hastings = self.0.0;
        let Some(decimals) = f.precision().filter(|decimals| *decimals < FRACTION_DIGITS) else {
            let (whole, rest) = (hastings / PER_SIACOIN, hastings % PER_SIACOIN);
            let digits = format!("{rest:024}");
            let digits = if f.precision().is_some() { &digits } else { digits.trim_end_matches('0') };
            let point = if digits.is_empty() { "" } else { "." };
            return write!(f, "{whole}{point}{digits}");
        };
        let unit = iter::repeat_n(10, FRACTION_DIGITS - decimals).product::<u128>();
        let rounded = hastings / unit + u128::from(hastings % unit >= unit / 2);
        let each = PER_SIACOIN / unit;
        match decimals {
            0 => write!(f, "{rounded}"),
            _ => write!(f, "{}.{:0decimals$}", rounded / each, rounded % each),
        }
    }
}

impl FromStr for Hastings {
    type Err = AmountError;

    /// Parses a number written in decimal digits. The APIs of siad and renterd write amounts in this form.
    fn from_str(text: &str) -> Result<Self, AmountError> {
        whole_number(text).and_then(|hastings| Self::new(hastings).ok_or(AmountError::TooLarge))
    }
}

impl FromStr for SignedHastings {
    type Err = AmountError;

    /// Parses a number written in decimal digits, with an optional minus sign.
    fn from_str(text: &str) -> Result<Self, AmountError> {
        let negative = text.strip_prefix('-');
        let amount: Hastings = negative.unwrap_or(text).parse()?;
        let SignedHastings(amount) = amount.signed();
        Ok(Self(if negative.is_some() { -amount } else { amount }))
    }
}

impl FromStr for Siacoins {
    type Err = AmountError;

    /// Parses an exact decimal number of siacoins, such as `4377.1`.
    fn from_str(text: &str) -> Result<Self, AmountError> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        if fraction.is_empty() {
            return Err(AmountError::NotANumber);
        }
        let fraction = fraction.trim_end_matches('0');
        if fraction.len() > FRACTION_DIGITS {
            return Err(AmountError::TooPrecise);
        }
        let hastings = whole_number(&format!("{fraction:0<24}"))?;
        let whole = whole_number(whole)?.checked_mul(PER_SIACOIN).ok_or(AmountError::TooLarge)?;
        let sum = whole.checked_add(hastings).ok_or(AmountError::TooLarge)?;
        Hastings::new(sum).map(Self).ok_or(AmountError::TooLarge)
    }
}

fn whole_number(text: &str) -> Result<u128, AmountError> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(AmountError::NotANumber);
    }
    text.parse().map_err(|_| AmountError::TooLarge)
}

impl<'de> Deserialize<'de> for Hastings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Amount;
        impl Visitor<'_> for Amount {
            type Value = Hastings;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an amount of hastings as a string of decimal digits")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Hastings, E> {
                text.parse().map_err(|error| E::custom(format_args!("{error}, got {:?}", clipped(text))))
            }
        }
        deserializer.deserialize_str(Amount)
    }
}

impl Serialize for Hastings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for SignedHastings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SignedHastings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|error| D::Error::custom(format_args!("{error}, got {:?}", clipped(&text))))
    }
}

/// Shortens a text of any length for an error message.
fn clipped(text: &str) -> &str {
    let end = (0..=text.len().min(40)).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests;
