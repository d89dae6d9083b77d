//! Exact moments of recorded values.

use serde::{Deserialize, Serialize};

/// Exact moments of the recorded values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moments {
    /// Number of values.
    pub count: u64,
    /// Sum of the values.
    #[serde(with = "decimal")]
    pub sum: u128,
    /// Sum of their squares.
    #[serde(with = "decimal")]
    pub sum_of_squares: u128,
    /// Smallest value; meaningless while `count` is 0.
    pub min: u64,
    /// Largest value; meaningless while `count` is 0.
    pub max: u64,
}

impl Moments {
    #[inline]
    pub(super) fn record(&mut self, value: u64) {
        self.min = if self.count == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.count = self.count.saturating_add(1);
        self.sum = self.sum.saturating_add(u128::from(value));
        self.sum_of_squares = self.sum_of_squares.saturating_add(u128::from(value) * u128::from(value));
    }

    /// Returns the moments of the values of both distributions together.
    #[must_use]
    pub fn merged(self, other: Self) -> Self {
        match (self.count, other.count) {
            (_, 0) => self,
            (0, _) => other,
            _ => Self {
                count: self.count.saturating_add(other.count),
                sum: self.sum.saturating_add(other.sum),
                sum_of_squares: self.sum_of_squares.saturating_add(other.sum_of_squares),
                min: self.min.min(other.min),
                max: self.max.max(other.max),
            },
        }
    }

    /// Returns the arithmetic mean; `None` without values.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Returns the sample standard deviation (divisor n − 1); `None` below two values.
    ///
    /// The deviation is computed from exact integer sums, n·Σx² − (Σx)², so that cancellation loses no digits.
    #[must_use]
    pub fn standard_deviation(&self) -> Option<f64> {
        if self.count < 2 {
            return None;
        }
        let n = u128::from(self.count);
        let spread = match (n.checked_mul(self.sum_of_squares), self.sum.checked_mul(self.sum)) {
            (Some(left), Some(right)) => left.saturating_sub(right) as f64,
            _ => (n as f64 * self.sum_of_squares as f64 - (self.sum as f64).powi(2)).max(0.0),
        };
        Some((spread / (n as f64 * (n - 1) as f64)).sqrt())
    }
}

/// Serializes sums as decimal strings, because they are too large for JSON numbers.
mod decimal {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(value: &u128, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
