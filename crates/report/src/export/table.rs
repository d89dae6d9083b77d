//! The file formats of a table.

use super::ExportError;
use super::column::{Column, Table};
use super::csv::CsvTable;
#[cfg(feature = "parquet")]
use super::parquet::ParquetTable;
use std::io::Write;

/// The file format of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableForm {
    /// Comma-separated values (RFC 4180, but lines end with LF).
    Csv,
    /// Apache Parquet.
    #[cfg(feature = "parquet")]
    Parquet,
}

/// Begins a table.
///
/// # Errors
/// If writing fails.
pub fn begin<'a, R>(
    form: TableForm,
    columns: &'static [Column<R>],
    out: &'a mut (dyn Write + Send),
) -> Result<Box<dyn Table<R> + 'a>, ExportError> {
    Ok(match form {
        TableForm::Csv => Box::new(CsvTable::new(columns, out)?),
        #[cfg(feature = "parquet")]
        TableForm::Parquet => Box::new(ParquetTable::new(columns, out)?),
    })
}
