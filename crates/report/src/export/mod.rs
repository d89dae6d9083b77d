//! Exports of saved runs as tables (CSV or Parquet), HdrHistogram files, and Markdown.
//!
//! This module writes to a given writer and opens no file. The columns of a table ([`column::Column`]) are the same in
//! all formats. Tables are written row by row, so that a long run needs memory for only a few rows. The numbers are the
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
