//! Saved runs for other programs: tables as CSV or Parquet, HdrHistogram files, and Markdown for an issue.
//!
//! This module writes to a given writer and opens no file. A table is defined once, as columns ([`column::Column`]). It
//! is written row by row in either format, so that a long run needs memory for only a few rows. The numbers are the
//! same as in the reports. If reports omit a percentile for lack of samples, the exported value is empty.

pub mod column;
mod csv;
pub mod hdr;
pub mod intervals;
pub mod markdown;
pub mod operations;
#[cfg(feature = "parquet")]
mod parquet;
pub mod runs;
pub mod table;

use std::io;
use thiserror::Error;

/// Reason why an export could not be written.
#[derive(Debug, Error)]
pub enum ExportError {
    /// Writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The format cannot represent the data.
    #[error("{0}")]
    Form(String),
}

/// Converts nanoseconds to milliseconds, keeping all digits.
pub(crate) fn ms(nanos: Option<u64>) -> Option<f64> {
    nanos.map(|nanos| nanos as f64 / 1e6)
}
