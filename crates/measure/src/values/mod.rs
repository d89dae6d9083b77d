//! Types for values, such as histograms, closed sets of names, bounded lists and texts, and seeded random numbers.

pub mod bounded;
pub mod distribution;
pub mod enumerated;
pub mod random;

pub use distribution::{Distribution, Moments, Quantile};
pub use enumerated::{Counts, Enumerated};

/// Returns the sum of saved counts. The sum saturates instead of overflowing, because a damaged record may contain any
/// number.
#[must_use]
pub fn sum(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

/// Adds `more` to `total`. Saturates for the same reason as [`sum`].
pub(crate) fn add(total: &mut u64, more: u64) {
    *total = total.saturating_add(more);
}
