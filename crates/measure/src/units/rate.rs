//! Rates of operations.

use super::{UnitError, parse_number, split_unit};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Rate in operations per second: finite and greater than zero.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Rate(f64);

/// Maximum rate. No client reaches a higher rate. Up to this rate, all arithmetic on schedules is exact.
const HIGHEST_PER_SECOND: f64 = 1e9;

impl Rate {
    /// Returns a rate in operations per second; `None` unless it is above 0 and at most 10⁹.
    #[must_use]
    pub fn per_second(value: f64) -> Option<Self> {
        (value > 0.0 && value <= HIGHEST_PER_SECOND).then_some(Self(value))
    }

    /// Returns the operations per second.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Rate {
    type Error = UnitError;

    fn try_from(value: f64) -> Result<Self, UnitError> {
        Self::per_second(value).ok_or_else(|| UnitError::new("a rate is above 0 and at most 1,000,000,000 per second"))
    }
}

impl From<Rate> for f64 {
    fn from(rate: Rate) -> f64 {
        rate.0
    }
}

impl FromStr for Rate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let wrong =
            || UnitError::new(format!("`{text}` is not a rate: write it like 1000, 2.5k, 1000/s or 90/min, above 0"));
        let (number, unit) = split_unit(text.trim());
        let number = parse_number(number).ok_or_else(wrong)?;
        let factor = match unit {
            "" | "/s" => 1.0,
            "k" | "k/s" => 1e3,
            "M" | "M/s" => 1e6,
            "/min" => 1.0 / 60.0,
            "/h" => 1.0 / 3600.0,
            _ => return Err(wrong()),
        };
        Self::per_second(number * factor).ok_or_else(wrong)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn display_parses_back(value in 1e-6_f64..1e9) {
            let rate = Rate::per_second(value).unwrap();
            prop_assert_eq!(rate.to_string().parse::<Rate>(), Ok(rate));
        }
    }

    #[test]
    fn users_forms_are_accepted() {
        for (text, value) in [("1000", 1000.0), ("2.5k", 2500.0), ("0.5/s", 0.5), ("90/min", 1.5), ("1k/s", 1000.0)] {
            assert_eq!(text.parse::<Rate>().unwrap().as_f64(), value, "{text}");
        }
        for text in ["0", "-3", "", "fast", "1e3", "inf", "NaN", "5/day"] {
            assert!(text.parse::<Rate>().unwrap_err().to_string().contains("write it like"), "{text}");
        }
    }
}
