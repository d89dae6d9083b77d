//! Numbers with the digits of their source.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;

/// Maximum length of the text of a number. An amount of hastings has at most 39 digits.
const TEXT_MAX: usize = 64;

/// A finite decimal number with the digits of its source. Amounts of money have more digits than a float can represent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number(Box<str>);

impl Number {
    /// Parses a decimal number, such as `17`, `-0.5` or `1.5e+09`. Returns `None` for any other text, including `NaN`
    /// and `Inf`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let allowed = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
        if text.len() > TEXT_MAX || !text.bytes().all(allowed) {
            return None;
        }
        text.parse::<f64>().ok().filter(|number| number.is_finite())?;
        Some(Self(text.into()))
    }

    /// Returns a number with the fewest digits that represent a float exactly. Returns `None` for infinity and NaN.
    #[must_use]
    pub fn of_f64(number: f64) -> Option<Self> {
        // Up to this limit, a float can represent every whole number.
        const WHOLE_MAX: f64 = 9e15;
        match number.fract() == 0.0 && number.abs() < WHOLE_MAX {
            true => Self::parse(&format!("{number:.0}")),
            false => Self::parse(&format!("{number:?}")),
        }
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the nearest float, which is finite.
    #[must_use]
    pub fn as_f64(&self) -> f64 {
        self.0.parse().unwrap_or(0.0)
    }
}

impl From<u64> for Number {
    fn from(number: u64) -> Self {
        Self(number.to_string().into())
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| de::Error::custom("expected a finite decimal number"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn digits_of_the_source_are_kept() {
        for text in ["0", "17", "-0.50", "1.5e+09", "340282366920938463463374607431768211455", "+3", "1E-7"] {
            assert_eq!(Number::parse(text).unwrap().as_str(), text);
        }
        assert_eq!(Number::parse("1.5e+09").unwrap().as_f64(), 1.5e9);
    }

    #[test]
    fn texts_that_are_no_finite_number_are_refused() {
        let long = "1".repeat(TEXT_MAX + 1);
        for text in ["", " 1", "NaN", "+Inf", "inf", "1e999", "0x10", "1,5", "1_000", "e", "-", ".", "--1", &long] {
            assert_eq!(Number::parse(text), None, "{text}");
        }
        assert_eq!([f64::NAN, f64::INFINITY].map(Number::of_f64), [None, None]);
    }

    #[test]
    fn floats_have_short_texts() {
        let texts = [5.0, 0.25, -3.0, 1e300, 1e-9].map(|number| Number::of_f64(number).unwrap().to_string());
        assert_eq!(texts, ["5", "0.25", "-3", "1e300", "1e-9"]);
    }

    proptest! {
        #[test]
        fn floats_survive_their_text(number in any::<f64>().prop_filter("finite", |number| number.is_finite())) {
            prop_assert_eq!(Number::of_f64(number).map(|number| number.as_f64()), Some(number));
        }
    }
}
