//! Values in text that always contains the same count of numbers, such as nginx's `stub_status`.

use super::picked::{Parsed, Picked};
use measure::series::{FailureClass, Number, PollFailure};

/// Format of a text that begins with fixed words and always contains the same count of numbers, separated by
/// whitespace.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    /// The first words.
    pub begins: String,
    /// Number of values in the text.
    pub count: usize,
    /// The columns. Each column is one of these numbers, given by its position, counted from 0.
    pub picked: Vec<Picked<usize>>,
}

impl Numbers {
    /// Returns the values in a text.
    pub(super) fn values(&self, body: &[u8]) -> Parsed {
        let text = String::from_utf8_lossy(body);
        let text = text.trim_start();
        let numbers: Vec<Number> = text.split_whitespace().filter_map(Number::parse).collect();
        if !text.starts_with(&self.begins) || numbers.len() != self.count {
            let first = text.lines().next().unwrap_or_default();
            let detail = format!("expected a text that begins with {:?}, got {first:?}", self.begins);
            return Err(PollFailure::new(FailureClass::NotUnderstood, &detail));
        }
        Ok((self.picked.iter().map(|picked| numbers.get(picked.pick).cloned()).collect(), None))
    }
}
