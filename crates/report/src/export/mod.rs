//! Saved runs as other programs read them: tables as CSV or Parquet, HdrHistogram's own files, the files of ab and of a k6 kit,
//! and Markdown for an issue.
//!
//! Everything here goes from records to a writer and holds no file. Tables are told once, as columns ([`table::Column`]), and
//! written row by row in either form, so that a run of any length needs the memory of a few rows. The figures are those of the
//! reports; what reports leave out for lack of samples is left empty.

pub mod ab;
mod csv;
pub mod hdr;
pub mod intervals;
pub mod markdown;
pub mod operations;
#[cfg(feature = "parquet")]
mod parquet;
pub mod retrieval;
pub mod runs;
pub mod table;

use std::io;
use thiserror::Error;

/// Why an export could not be written.
#[derive(Debug, Error)]
pub enum ExportError {
    /// The writer refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The form can not hold it.
    #[error("{0}")]
    Form(String),
}

/// Milliseconds, as a number with all digits that nanoseconds have.
fn ms(nanos: Option<u64>) -> Option<f64> {
    nanos.map(|nanos| nanos as f64 / 1e6)
}
