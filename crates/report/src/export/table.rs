//! A table as columns: name, type, and how its value follows from a row. Names end in their unit; those without one are counts
//! or texts. What is not there is an empty cell (CSV) or null (Parquet), never 0.

use super::ExportError;
use super::csv::CsvTable;
#[cfg(feature = "parquet")]
use super::parquet::ParquetTable;
use std::io::Write;

/// How a value follows from a row. Text is made safe where it is written.
#[derive(Clone, Copy)]
pub enum Get<R> {
    /// A whole number.
    Count(fn(&R) -> Option<u64>),
    /// A number. What is infinite or none is left out.
    Number(fn(&R) -> Option<f64>),
    /// A text.
    Text(fn(&R) -> Option<String>),
}

/// A column of rows `R`.
#[derive(Clone, Copy)]
pub struct Column<R> {
    /// Its name, with its unit last.
    pub name: &'static str,
    /// Its values.
    pub get: Get<R>,
}

/// A column of whole numbers.
pub(super) const fn count<R>(name: &'static str, of: fn(&R) -> Option<u64>) -> Column<R> {
    Column { name, get: Get::Count(of) }
}

/// A column of numbers.
pub(super) const fn number<R>(name: &'static str, of: fn(&R) -> Option<f64>) -> Column<R> {
    Column { name, get: Get::Number(of) }
}

/// A column of texts.
pub(super) const fn text<R>(name: &'static str, of: fn(&R) -> Option<String>) -> Column<R> {
    Column { name, get: Get::Text(of) }
}

/// In which form a table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableForm {
    /// Comma-separated values (RFC 4180, lines end with a line feed alone).
    Csv,
    /// Apache Parquet.
    #[cfg(feature = "parquet")]
    Parquet,
}

/// A table that is being written.
pub trait Table<R> {
    /// Adds a row.
    ///
    /// # Errors
    /// When the writer refuses.
    fn row(&mut self, row: &R) -> Result<(), ExportError>;

    /// Writes what is left. Nothing may be missing of a Parquet file's end.
    ///
    /// # Errors
    /// When the writer refuses.
    fn finish(self: Box<Self>) -> Result<(), ExportError>;
}

/// Begins a table.
///
/// # Errors
/// When the writer refuses.
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
