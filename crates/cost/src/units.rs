//! Units of data and time in prices.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::exact::Exact;

/// Hours per month: a twelfth of 365 days.
const MONTH_HOURS: u64 = 730;

/// The unit of data in a price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum DataUnit {
    /// 10^9 bytes.
    #[serde(rename = "GB")]
    Gigabyte,
    /// 2^30 bytes.
    #[serde(rename = "GiB")]
    Gibibyte,
    /// 10^12 bytes.
    #[serde(rename = "TB")]
    Terabyte,
    /// 2^40 bytes.
    #[serde(rename = "TiB")]
    Tebibyte,
}

impl DataUnit {
    /// All units with their symbols.
    pub const ALL: [(&'static str, Self); 4] =
        [("GB", Self::Gigabyte), ("GiB", Self::Gibibyte), ("TB", Self::Terabyte), ("TiB", Self::Tebibyte)];

    /// Returns the bytes of one unit.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Self::Gigabyte => 1_000_000_000,
            Self::Gibibyte => 1 << 30,
            Self::Terabyte => 1_000_000_000_000,
            Self::Tebibyte => 1 << 40,
        }
    }

    /// Converts bytes to this unit.
    #[must_use]
    pub fn count(self, bytes: &Exact) -> Exact {
        // No unit has 0 bytes.
        bytes.checked_div(&Exact::from(self.bytes())).unwrap_or_else(Exact::zero)
    }
}

impl fmt::Display for DataUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = Self::ALL.iter().find(|(_, unit)| unit == self);
        f.write_str(named.map_or("", |(symbol, _)| *symbol))
    }
}

/// A time in hours.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Hours(pub Exact);

impl From<Duration> for Hours {
    fn from(time: Duration) -> Self {
        Self(Exact::from(time.as_nanos()).checked_div(&Exact::from(3_600_000_000_000_u64)).unwrap_or_else(Exact::zero))
    }
}

/// A time in months of 730 hours.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Months(pub Exact);

/// An error from parsing [`Months`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a time, such as 3 months, 12 weeks, 30 days or 36 hours")]
pub struct MonthsError;

impl From<&Hours> for Months {
    fn from(Hours(hours): &Hours) -> Self {
        Self(hours.checked_div(&Exact::from(MONTH_HOURS)).unwrap_or_else(Exact::zero))
    }
}

impl Months {
    /// Returns a time of 0.
    #[must_use]
    pub fn zero() -> Self {
        Self(Exact::zero())
    }

    /// Returns the time rounded up to whole terms, and the number of terms. There is at least one term. A term of
    /// length 0 leaves the time unchanged.
    #[must_use]
    pub fn in_terms(&self, term: &Self) -> (Self, Exact) {
        let one = Exact::from(1_u64);
        match self.0.checked_div(&term.0) {
            Some(terms) => {
                let terms = terms.ceil().max(one);
                (Self(&terms * &term.0), terms)
            }
            None => (self.clone(), one),
        }
    }
}

impl FromStr for Months {
    type Err = MonthsError;

    /// Parses a number with a unit, such as `2.77 months`.
    fn from_str(text: &str) -> Result<Self, MonthsError> {
        let text = text.trim();
        let end = text.find(|letter: char| !(letter.is_ascii_digit() || "._".contains(letter))).unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let number = Exact::parse_unsigned(number).map_err(|_| MonthsError)?;
        let hours: u64 = match unit.trim() {
            "months" | "month" => return Ok(Self(number)),
            "weeks" | "week" | "w" => 7 * 24,
            "days" | "day" | "d" => 24,
            "hours" | "hour" | "h" => 1,
            _ => return Err(MonthsError),
        };
        Ok(Self::from(&Hours(&number * &Exact::from(hours))))
    }
}

impl fmt::Display for Months {
    /// Formats the time in months with two decimals.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} months", self.0.to_decimal_or_digits(2, 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn months(text: &str) -> Months {
        text.parse().unwrap()
    }

    #[test]
    fn a_month_is_a_twelfth_of_365_days() {
        assert_eq!(months("365 days"), months("12 months"));
        assert_eq!(months("730h"), months("1 month"));
        // The study converted the 12 weeks of a contract to 2.77 months, but 12 weeks are 2.76 months of 730 hours.
        assert_eq!(months("12 weeks").to_string(), "2.76 months");
        for text in ["", "3", "months", "3 years", "3m", "-1 days", "1 month 2 days"] {
            assert_eq!(text.parse::<Months>(), Err(MonthsError), "{text}");
        }
    }

    #[test]
    fn terms_are_bought_whole() {
        let term = months("2.77 months");
        for (text, billed, terms) in [
            ("0 days", "2.77", "1"),
            ("2.77 months", "2.77", "1"),
            ("2.78 months", "5.54", "2"),
            ("1 week", "2.77", "1"),
        ] {
            let (time, count) = months(text).in_terms(&term);
            assert_eq!((time.0.to_string(), count.to_string()), (billed.to_owned(), terms.to_owned()), "{text}");
        }
        assert_eq!(months("5 days").in_terms(&Months::zero()).0, months("5 days"));
    }

    #[test]
    fn units_of_data_are_powers_of_1000_or_1024() {
        let bytes = Exact::from(1_u64 << 40);
        let counts = DataUnit::ALL.map(|(_, unit)| unit.count(&bytes).to_string());
        assert_eq!(counts, ["1099.511627776", "1024", "1.099511627776", "1"]);
        assert_eq!(Hours::from(Duration::from_millis(5_400_000)).0.to_string(), "1.5");
    }
}
