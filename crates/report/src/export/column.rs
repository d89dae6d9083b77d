//! The columns of a table. A column has a name, a type, and a function that gets the value from a row. The name ends in
//! the unit. A column without a unit contains counts or text. A missing value is an empty cell in CSV, and null in
//! Parquet, but never 0.

use super::ExportError;

/// A function that gets a column's value from a row. Text is not escaped yet.
#[derive(Clone, Copy)]
pub enum Get<R> {
    /// A whole number.
    Count(fn(&R) -> Option<u64>),
    /// A number. An infinite number counts as missing.
    Number(fn(&R) -> Option<f64>),
    /// A text.
    Text(fn(&R) -> Option<String>),
}

/// A column of rows `R`.
#[derive(Clone, Copy)]
pub struct Column<R> {
    /// Name, which ends in the unit.
    pub name: &'static str,
    /// Function that gets the values.
    pub get: Get<R>,
}

/// Returns a column of whole numbers.
pub(crate) const fn count<R>(name: &'static str, of: fn(&R) -> Option<u64>) -> Column<R> {
    Column { name, get: Get::Count(of) }
}

/// Returns a column of numbers.
pub(crate) const fn number<R>(name: &'static str, of: fn(&R) -> Option<f64>) -> Column<R> {
    Column { name, get: Get::Number(of) }
}

/// Returns a column of texts.
pub(crate) const fn text<R>(name: &'static str, of: fn(&R) -> Option<String>) -> Column<R> {
    Column { name, get: Get::Text(of) }
}

/// A table that is being written.
pub trait Table<R> {
    /// Adds a row.
    ///
    /// # Errors
    /// If writing fails.
    fn row(&mut self, row: &R) -> Result<(), ExportError>;

    /// Writes all buffered rows, and the footer of a Parquet file.
    ///
    /// # Errors
    /// If writing fails.
    fn finish(self: Box<Self>) -> Result<(), ExportError>;
}
