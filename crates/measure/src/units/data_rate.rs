//! Amounts of data per time, such as `50Mbit/s` or `6.25MB/s`.

use super::{ByteSize, UnitError, parse_number, split_unit};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Rate in bits per second. Records contain this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DataRate(u64);

const BIT_UNITS: [(&str, u64); 5] =
    [("Tbit/s", 1_000_000_000_000), ("Gbit/s", 1_000_000_000), ("Mbit/s", 1_000_000), ("kbit/s", 1000), ("bit/s", 1)];

impl DataRate {
    /// Returns a rate, given in bits per second.
    #[must_use]
    pub const fn bits_per_second(bits: u64) -> Self {
        Self(bits)
    }

    /// Returns the rate in bits per second.
    #[must_use]
    pub fn as_bits(self) -> u64 {
        self.0
    }

    /// Returns the average rate of `bytes` in `span`, rounded down; `None` for an empty span.
    #[must_use]
    pub fn of(bytes: u64, span: Duration) -> Option<Self> {
        let nanos = span.as_nanos();
        let bits = (u128::from(bytes) * 8).checked_mul(1_000_000_000)?.checked_div(nanos)?;
        Some(Self(u64::try_from(bits).unwrap_or(u64::MAX)))
    }
}

impl FromStr for DataRate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let wrong =
            || UnitError::new(format!("`{text}` is not a data rate: write it like 50Mbit/s, 1Gbit/s or 6.25MB/s"));
        let text = text.trim();
        let (number, unit) = split_unit(text);
        if let Some((_, factor)) = BIT_UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)) {
            let bits = parse_number(number).ok_or_else(wrong)? * *factor as f64;
            return (bits.fract() == 0.0 && bits < 9.0e15).then_some(Self(bits as u64)).ok_or_else(wrong);
        }
        let lower = unit.to_ascii_lowercase();
        if lower.ends_with("bps") || (unit.ends_with("b/s") && unit.len() > 3) {
            let prefix = unit.chars().next().unwrap_or('M').to_ascii_uppercase();
            return Err(UnitError::new(format!(
                "`{text}`: write {number}{prefix}bit/s for bits, or {number}{prefix}B/s for bytes (8 bits each)"
            )));
        }
        let size = text.strip_suffix("/s").map(str::trim).filter(|size| !size.ends_with(|c: char| c.is_ascii_digit()));
        let bytes = size.ok_or_else(wrong)?.parse::<ByteSize>()?;
        bytes.0.checked_mul(8).map(Self).ok_or_else(wrong)
    }
}

impl fmt::Display for DataRate {
    /// Writes the shortest form of the exact rate, which parses to the same value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = BIT_UNITS.iter().find(|(_, factor)| self.0 > 0 && self.0.is_multiple_of(*factor));
        let (name, factor) = exact.unwrap_or(&("bit/s", 1));
        write!(f, "{}{name}", self.0 / factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn display_parses_back(bits in 0_u64..1 << 52) {
            prop_assert_eq!(DataRate(bits).to_string().parse::<DataRate>(), Ok(DataRate(bits)));
        }

        #[test]
        fn never_panics(text in ".{0,20}") {
            let _ = text.parse::<DataRate>();
        }
    }

    #[test]
    fn bits_and_bytes_are_told_apart() {
        for (text, bits) in [
            ("50Mbit/s", 50_000_000),
            ("1 Gbit/s", 1_000_000_000),
            ("6.25MB/s", 50_000_000),
            ("1KiB/s", 8192),
            ("0bit/s", 0),
        ] {
            assert_eq!(text.parse(), Ok(DataRate(bits)), "{text}");
        }
    }

    #[test]
    fn errors_contain_the_fix() {
        let message = |text: &str| text.parse::<DataRate>().unwrap_err().to_string();
        assert!(message("50Mbps").contains("50Mbit/s for bits, or 50MB/s"), "{}", message("50Mbps"));
        assert!(message("50Mb/s").contains("50Mbit/s"), "{}", message("50Mb/s"));
        for text in ["", "50", "50/s", "MB/s", "-1MB/s", "50M/s", "9999999EB/s"] {
            assert!(message(text).contains('`'), "{text}");
        }
    }

    /// The minimum rate of the Sia study is 3 Mbit/s for an hour.
    #[test]
    fn averages_are_exact() {
        let hour = Duration::from_secs(3600);
        assert_eq!(DataRate::of(1_350_000_000, hour), Some(DataRate(3_000_000)));
        assert_eq!(DataRate::of(1_349_999_999, hour), Some(DataRate(2_999_999)));
        assert_eq!(DataRate::of(1, Duration::ZERO), None);
    }
}
