//! Exact numbers, which are rounded only for printing.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, Mul, Neg, Sub};
use std::str::FromStr;

use num_bigint::{BigInt, BigUint, Sign};
use num_rational::BigRational;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The maximum number of digits of a parsed number, before and after the decimal point together.
const DECIMAL_DIGITS_MAX: usize = 60;
/// The maximum number of digits in the numerator of a stored fraction, and also in its denominator. Formulas multiply
/// only a few numbers, so this limit is high enough.
const FRACTION_DIGITS_MAX: usize = 2_000;

/// A number stored as a fraction of two integers, so even quotients are exact.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Exact(BigRational);

/// An error from parsing an [`Exact`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    /// The text is not a decimal number.
    #[error("expected a decimal number, such as 0.023")]
    NotANumber,
    /// The number has more digits than any real price or amount.
    #[error("a number has at most {DECIMAL_DIGITS_MAX} digits")]
    TooLong,
}

impl Exact {
    /// Returns 0.
    #[must_use]
    pub fn zero() -> Self {
        Self::from(0_u64)
    }

    /// Returns whether the number is 0.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.0.numer().sign() == Sign::NoSign
    }

    /// Returns whether the number is below 0.
    #[must_use]
    pub fn is_negative(&self) -> bool {
        self.0.numer().sign() == Sign::Minus
    }

    /// Returns the number without its sign.
    #[must_use]
    pub fn abs(&self) -> Self {
        if self.is_negative() { -self } else { self.clone() }
    }

    /// Returns the quotient; `None` if `other` is 0.
    #[must_use]
    pub fn checked_div(&self, other: &Self) -> Option<Self> {
        (!other.is_zero()).then(|| Self(&self.0 / &other.0))
    }

    /// Returns the smallest integer that is not less than this number.
    #[must_use]
    pub fn ceil(&self) -> Self {
        Self(self.0.ceil())
    }

    /// Returns the number divided by 10^`exponent`.
    #[must_use]
    pub fn shifted_right(&self, exponent: u32) -> Self {
        Self(&self.0 / BigRational::from_integer(BigInt::from(10).pow(exponent)))
    }

    /// Formats the number with `decimals` decimals, rounded to the nearest; ties round away from zero.
    #[must_use]
    pub fn to_decimal(&self, decimals: u32) -> String {
        let denominator = self.0.denom().magnitude();
        let scaled = self.0.numer().magnitude() * BigUint::from(10_u32).pow(decimals);
        let (whole, rest) = (&scaled / denominator, &scaled % denominator);
        let rounded = if rest * 2_u32 >= *denominator { whole + 1_u32 } else { whole };
        let decimals = decimals as usize;
        let digits = format!("{:0>width$}", rounded.to_string(), width = decimals + 1);
        let (whole, fraction) = digits.split_at(digits.len() - decimals);
        // A number that rounds to 0 has no sign.
        let sign = if self.is_negative() && digits.bytes().any(|digit| digit != b'0') { "-" } else { "" };
        let point = if fraction.is_empty() { "" } else { "." };
        format!("{sign}{whole}{point}{fraction}")
    }

    /// Formats the number with `decimals` decimals. A small number gets as many decimals as it needs to show `digits`
    /// significant digits, so that 0.0042 does not become 0.00.
    #[must_use]
    pub fn to_decimal_or_digits(&self, decimals: u32, digits: u32) -> String {
        if self.is_zero() || self.abs() >= Self::from(1_u64).shifted_right(decimals) {
            return self.to_decimal(decimals);
        }
        let one = Self::from(1_u64);
        let mut zeros = 0;
        while self.abs() < one.shifted_right(zeros + 1) {
            zeros += 1;
        }
        self.to_decimal(zeros + digits)
    }

    /// Parses a decimal number without a sign; `_` may separate groups of digits.
    ///
    /// # Errors
    /// Returns an error if the text is not such a number or is too long.
    pub fn parse_unsigned(text: &str) -> Result<Self, NumberError> {
        Self::parse_digits(text, DECIMAL_DIGITS_MAX)
    }

    fn parse_digits(text: &str, digits_max: usize) -> Result<Self, NumberError> {
        let digits: String = text.chars().filter(|letter| *letter != '_').collect();
        if digits.len() > digits_max {
            return Err(NumberError::TooLong);
        }
        let (whole, fraction) = match digits.split_once('.') {
            Some((_, "")) => return Err(NumberError::NotANumber),
            Some(parts) => parts,
            None => (digits.as_str(), ""),
        };
        let parsed = unsigned(whole, &format!("{whole}{fraction}")).ok_or(NumberError::NotANumber)?;
        let places = u32::try_from(fraction.len()).map_err(|_| NumberError::TooLong)?;
        Ok(Self(BigRational::from_integer(parsed)).shifted_right(places))
    }
}

/// Parses the digits before and after the decimal point. At least one digit must precede the decimal point.
fn unsigned(whole: &str, digits: &str) -> Option<BigInt> {
    let good = !whole.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    good.then(|| digits.parse().ok()).flatten()
}

impl FromStr for Exact {
    type Err = NumberError;

    /// Parses a decimal number with an optional minus sign.
    fn from_str(text: &str) -> Result<Self, NumberError> {
        match text.strip_prefix('-') {
            Some(rest) => Self::parse_unsigned(rest).map(|number| -number),
            None => Self::parse_unsigned(text),
        }
    }
}

impl fmt::Display for Exact {
    /// Formats the exact value: as a decimal number if it has finitely many decimals, otherwise as a fraction such as
    /// `1/3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.decimal_places() {
            Some(places) => f.write_str(&self.to_decimal(places)),
            None => write!(f, "{}/{}", self.0.numer(), self.0.denom()),
        }
    }
}

impl Exact {
    /// Returns the number of decimals of the exact value; `None` if there are infinitely or very many.
    fn decimal_places(&self) -> Option<u32> {
        let mut power = BigInt::from(1);
        for places in 0..=DECIMAL_DIGITS_MAX as u32 {
            if (&power % self.0.denom()).sign() == Sign::NoSign {
                return Some(places);
            }
            power *= 10;
        }
        None
    }

    /// Parses the output of `Display`.
    fn parse_stored(text: &str) -> Option<Self> {
        let number = |text: &str| Self::parse_digits(text, FRACTION_DIGITS_MAX).ok();
        let magnitude = text.strip_prefix('-').unwrap_or(text);
        let number = match magnitude.split_once('/') {
            Some((numerator, denominator)) => number(numerator)?.checked_div(&number(denominator)?)?,
            None => number(magnitude)?,
        };
        Some(if magnitude.len() < text.len() { -number } else { number })
    }
}

impl Serialize for Exact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Exact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse_stored(&text).ok_or_else(|| D::Error::custom("expected an exact number as a string"))
    }
}

macro_rules! from_integer {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Exact {
            fn from(integer: $integer) -> Self {
                Self(BigRational::from_integer(BigInt::from(integer)))
            }
        }
    )*};
}
from_integer!(u64, u128, i128);

macro_rules! operator {
    ($($operator:ident $method:ident $sign:tt),*) => {$(
        impl $operator for &Exact {
            type Output = Exact;

            fn $method(self, other: Self) -> Exact {
                Exact(&self.0 $sign &other.0)
            }
        }

        impl $operator for Exact {
            type Output = Self;

            fn $method(self, other: Self) -> Self {
                Self(self.0 $sign other.0)
            }
        }
    )*};
}
operator!(Add add +, Sub sub -, Mul mul *);

impl Neg for &Exact {
    type Output = Exact;

    fn neg(self) -> Exact {
        Exact(-&self.0)
    }
}

impl Neg for Exact {
    type Output = Self;

    fn neg(self) -> Self {
        Self(-self.0)
    }
}

impl<'a> Sum<&'a Exact> for Exact {
    fn sum<I: Iterator<Item = &'a Self>>(numbers: I) -> Self {
        numbers.fold(Self::zero(), |sum, number| &sum + number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn exact(text: &str) -> Exact {
        text.parse().unwrap()
    }

    #[test]
    fn halves_round_away_from_zero() {
        for (text, decimals, printed) in [
            ("0.005", 2, "0.01"),
            ("0.0049999", 2, "0.00"),
            ("-0.005", 2, "-0.01"),
            ("-0.001", 2, "0.00"),
            ("2.5", 0, "3"),
            ("-2.5", 0, "-3"),
            ("9.99", 1, "10.0"),
            ("0", 3, "0.000"),
            ("1_234.5", 1, "1234.5"),
        ] {
            assert_eq!(exact(text).to_decimal(decimals), printed, "{text}");
        }
    }

    #[test]
    fn small_numbers_keep_significant_digits() {
        for (text, printed) in [
            ("0.0042", "0.0042"),
            ("0.00426", "0.0043"),
            ("0.01", "0.01"),
            ("1.239", "1.24"),
            ("-0.0000777", "-0.000078"),
        ] {
            assert_eq!(exact(text).to_decimal_or_digits(2, 2), printed, "{text}");
        }
        assert_eq!(Exact::zero().to_decimal_or_digits(2, 2), "0.00");
    }

    #[test]
    fn quotients_are_exact() {
        let third = exact("1").checked_div(&exact("3")).unwrap();
        assert_eq!(&(&third + &third) + &third, exact("1"));
        assert_eq!((third.to_string(), exact("0.1250").to_string()), ("1/3".to_owned(), "0.125".to_owned()));
        assert_eq!(exact("1").checked_div(&Exact::zero()), None);
        assert_eq!(exact("5").checked_div(&exact("2.77")).unwrap().ceil(), exact("2"));
    }

    #[test]
    fn only_plain_decimals_are_numbers() {
        for text in ["", ".", ".5", "1.", "1e3", "+1", "1,5", "--1", "1.2.3", "NaN", "١", "1/3", "_"] {
            assert_eq!(text.parse::<Exact>(), Err(NumberError::NotANumber), "{text}");
        }
        assert_eq!("1".repeat(61).parse::<Exact>(), Err(NumberError::TooLong));
        assert!(serde_json::from_str::<Exact>("\"1/0\"").is_err());
        assert!(serde_json::from_str::<Exact>("1.5").is_err());
    }

    proptest! {
        #[test]
        fn every_number_survives_being_stored(numerator: i128, denominator in 1_u64..) {
            let number = Exact::from(numerator).checked_div(&Exact::from(denominator)).unwrap();
            let json = serde_json::to_string(&number).unwrap();
            prop_assert_eq!(serde_json::from_str::<Exact>(&json).unwrap(), number);
        }

        #[test]
        fn printed_numbers_are_nearest(numerator: i64, denominator in 1_u32.., decimals in 0_u32..12) {
            let number = Exact::from(i128::from(numerator)).checked_div(&Exact::from(u64::from(denominator))).unwrap();
            let printed = exact(&number.to_decimal(decimals));
            let twice_off = &(&number - &printed).abs() * &exact("2");
            prop_assert!(twice_off <= exact("1").shifted_right(decimals));
        }

        #[test]
        fn arbitrary_text_never_panics(text in "[-0-9._/e]{0,70}") {
            let _ = text.parse::<Exact>();
            let _ = Exact::parse_stored(&text);
        }
    }
}
