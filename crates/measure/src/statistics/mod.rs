//! Confidence intervals, tests and comparisons.
//!
//! The samples of a run are not independent, because many operations are slow in a slow second. Methods that resample
//! or count therefore use whole intervals ([`bootstrap`], [`batch_means`]) or whole runs ([`ranks`]), but never single
//! operations. Each formula names its source. Tests compare the results with brute force, published tables, or
//! simulated runs whose true value is known.

pub mod batch_means;
pub mod bootstrap;
pub mod difference;
mod distributions;
pub mod drift;
pub mod ranks;
mod recorded;
mod sample_size;
pub mod sequential;
mod series;
pub mod shares;
pub mod steadiness;

pub use distributions::{binomial, normal};
pub use recorded::{BEYOND, Recorded};
pub use sample_size::{pairs_needed, runs_needed, samples_needed};
pub use series::median;

pub(crate) use distributions::student;

/// Probability with which a confidence interval contains the true value.
pub const CONFIDENCE: f64 = 0.95;

/// Maximum probability of a false positive, in which two metrics are reported as different although they are equal.
pub const ALPHA: f64 = 1.0 - CONFIDENCE;

/// Value of a metric, with an interval that contains the true value with probability [`CONFIDENCE`]. A time is infinite
/// if its percentile falls among operations that failed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Estimated value.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}
