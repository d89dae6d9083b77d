//! Confidence intervals, tests and comparisons.
//!
//! The samples of a run are not independent: a slow second has many slow operations. Resampling and counting therefore
//! treat a whole interval ([`bootstrap`], [`batch_means`]) or a whole run ([`ranks`]) as one observation, never an
//! operation. Each formula names its source. Tests compare it with brute force, published tables, or simulated runs
//! whose true value is known.

pub mod batch_means;
pub mod binomial;
pub mod bootstrap;
pub mod difference;
pub mod drift;
pub mod normal;
pub mod ranks;
mod recorded;
mod sample_size;
pub mod sequential;
mod series;
pub mod shares;
pub mod steadiness;
mod student;

pub use recorded::{BEYOND, Recorded};
pub use sample_size::{pairs_needed, runs_needed, samples_needed};
pub use series::median;

/// Probability with which a confidence interval contains the true value.
pub const CONFIDENCE: f64 = 0.95;

/// Largest probability of a false positive: two metrics reported as different although they do not differ.
pub const ALPHA: f64 = 1.0 - CONFIDENCE;

/// Value of a metric, with the interval that contains the true value with [`CONFIDENCE`]. A time is infinite if it
/// falls among operations that failed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Estimated value.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}
