//! Sizes in bytes. Units such as `kB` and `MB` are powers of 1000, and units such as `KiB` and `MiB` are powers of
//! 1024. A bare `K` or `M` is rejected, because tools disagree about its meaning.

use super::{UnitError, parse_number, split_unit};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ByteSize(pub u64);

const UNITS: [(&str, u64); 13] = [
    ("B", 1),
    ("kB", 1_000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
    ("TB", 1_000_000_000_000),
    ("TiB", 1 << 40),
    ("PB", 1_000_000_000_000_000),
    ("PiB", 1 << 50),
    ("EB", 1_000_000_000_000_000_000),
    ("EiB", 1 << 60),
];

impl FromStr for ByteSize {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let wrong =
            || UnitError::new(format!("`{text}` is not a size: write it like 4096, 100kB (×1000) or 1MiB (×1024)"));
        let (number, unit) = split_unit(text.trim());
        let unit = if unit.is_empty() { "B" } else { unit };
        let Some((_, factor)) = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)) else {
            let letter = unit.to_ascii_uppercase();
            return Err(match letter.as_str() {
                "K" | "M" | "G" | "T" | "P" | "E" => UnitError::new(format!(
                    "`{text}`: {letter} could mean 1000 or 1024: write {number}{letter}B or {number}{letter}iB"
                )),
                _ => wrong(),
            });
        };
        let bytes = match number.parse::<u64>() {
            Ok(whole) => whole.checked_mul(*factor),
            Err(_) => {
                let exact = parse_number(number).ok_or_else(wrong)? * *factor as f64;
                (exact.fract() == 0.0 && exact < 9.0e15).then_some(exact as u64)
            }
        };
        bytes.map(Self).ok_or_else(|| UnitError::new(format!("`{text}` is not a whole number of bytes below 16 EiB")))
    }
}

impl fmt::Display for ByteSize {
    /// Writes the shortest text that parses to the same value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, factor) = UNITS
            .iter()
            .rev()
            .filter(|(_, factor)| self.0 > 0 && self.0.is_multiple_of(*factor))
            .max_by_key(|(_, factor)| *factor)
            .unwrap_or(&UNITS[0]);
        write!(f, "{}{name}", self.0 / factor)
    }
}

impl ByteSize {
    /// Returns the size rounded for readers, in decimal units, such as `1.25 GB`.
    #[must_use]
    pub fn human(self) -> String {
        let (name, factor) = [
            ("B", 1_u64),
            ("kB", 1_000),
            ("MB", 1_000_000),
            ("GB", 1_000_000_000),
            ("TB", 1_000_000_000_000),
            ("PB", 1_000_000_000_000_000),
        ]
        .into_iter()
        .rev()
        .find(|(_, factor)| self.0 >= *factor)
        .unwrap_or(("B", 1));
        if factor == 1 { format!("{} B", self.0) } else { format!("{:.2} {name}", self.0 as f64 / factor as f64) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn display_parses_back(bytes in any::<u64>()) {
            prop_assert_eq!(ByteSize(bytes).to_string().parse::<ByteSize>(), Ok(ByteSize(bytes)));
        }

        #[test]
        fn never_panics(text in ".{0,20}") {
            let _ = text.parse::<ByteSize>();
        }
    }

    #[test]
    fn k_is_1000_and_ki_is_1024() {
        for (text, bytes) in [
            ("1kB", 1000),
            ("1KiB", 1024),
            ("1kib", 1024),
            ("10 MB", 10_000_000),
            ("1.5GiB", 3 << 29),
            ("0", 0),
            ("4_096", 4096),
            ("15EiB", 15 << 60),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(text.parse(), Ok(ByteSize(bytes)), "{text}");
        }
    }

    #[test]
    fn errors_contain_the_fix() {
        let message = |text: &str| text.parse::<ByteSize>().unwrap_err().to_string();
        assert!(message("5M").contains("5MB or 5MiB"), "{}", message("5M"));
        for text in ["", "-1", "MB", "1.0001kB1", "0.3B", "99999999999PB", "16EiB", "18446744073709551616"] {
            assert!(message(text).contains('`'), "{text}");
        }
    }

    #[test]
    fn golden_sizes_of_the_studies() {
        assert_eq!(ByteSize(262_144_000).to_string(), "250MiB");
        assert_eq!(ByteSize(390_860_000_000).human(), "390.86 GB");
    }
}
