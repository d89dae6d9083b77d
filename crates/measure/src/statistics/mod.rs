//! How sure a figure is, and whether two differ.
//!
//! The samples of a run hang together: a slow second has many slow operations. What is drawn again, or counted as one
//! observation, is therefore a whole interval ([`bootstrap`], [`batch_means`]) or a whole run ([`ranks`]), never an
//! operation. Each formula names its source, and is tested against brute force, tables, or simulated runs of which the
//! truth is known.

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

/// The share of repetitions in which an interval must hold the true value.
pub const CONFIDENCE: f64 = 0.95;

/// How often two figures that do not differ may be told apart.
pub const ALPHA: f64 = 1.0 - CONFIDENCE;

/// A metric, and the interval that holds its true value with [`CONFIDENCE`]. A time is infinite where it lies among operations that
/// failed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}
