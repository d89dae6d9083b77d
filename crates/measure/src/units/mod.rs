//! Values with units. Each kind of value has one parser, which the command line, scenarios and records share.

mod bytes;
mod data_rate;
mod rate;
mod share;
mod span;

pub use bytes::ByteSize;
pub use data_rate::DataRate;
pub use rate::Rate;
pub use share::parse_share;
pub use span::{format_span, parse_span};

/// Error in a value, with its fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError(String);

impl UnitError {
    fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl std::fmt::Display for UnitError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UnitError {}

/// Splits `1.5kB` into number and unit.
fn split_unit(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number, unit.trim())
}

/// Parses a decimal number without sign; `_` may group digits.
fn parse_number(text: &str) -> Option<f64> {
    let digits: String = text.chars().filter(|c| *c != '_').collect();
    digits.parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0)
}
