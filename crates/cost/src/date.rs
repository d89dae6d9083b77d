//! Calendar days, used as the dates of prices.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A day of the Gregorian calendar, such as 2018-03-14.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    year: u16,
    month: u8,
    day: u8,
}

/// An error from parsing a [`Date`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a date, such as 2018-03-14")]
pub struct DateError;

impl FromStr for Date {
    type Err = DateError;

    /// Parses an ISO 8601 date with a four-digit year and a two-digit month and day.
    fn from_str(text: &str) -> Result<Self, DateError> {
        let mut parts = text.splitn(3, '-');
        let mut part = |width: usize| {
            let digits =
                parts.next().filter(|part| part.len() == width && part.bytes().all(|byte| byte.is_ascii_digit()));
            digits.and_then(|digits| digits.parse::<u16>().ok()).ok_or(DateError)
        };
        let (year, month, day) = (part(4)?, part(2)?, part(2)?);
        let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let days = match month {
            2 => 28 + u16::from(leap),
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => return Err(DateError),
        };
        if !(1..=days).contains(&day) {
            return Err(DateError);
        }
        let narrow = |number: u16| u8::try_from(number).map_err(|_| DateError);
        Ok(Self { year, month: narrow(month)?, day: narrow(day)? })
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl Serialize for Date {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Date {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_days_that_exist_are_dates() {
        for text in ["2018-03-14", "2024-02-29", "2000-02-29", "0001-12-31"] {
            assert_eq!(text.parse::<Date>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "2018-3-14",
            "2018-13-01",
            "2018-00-01",
            "2018-04-31",
            "2023-02-29",
            "1900-02-29",
            "2018-03-14T",
            "14.3.2018",
        ] {
            assert_eq!(text.parse::<Date>(), Err(DateError), "{text}");
        }
        assert!("2018-02-10".parse::<Date>().unwrap() < "2018-03-01".parse().unwrap());
    }
}
