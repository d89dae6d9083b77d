//! CSV tables to which the program appends rows.

/// Maximum number of characters of another header in an error message.
const HEADER_SHOWN_MAX: usize = 80;

/// Instructions for appending to a table that may already exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Append {
    /// Text to write before the first new row: the header, or the end of a row that was cut off.
    pub before: String,
    /// The line end of the table.
    pub line_end: LineEnd,
}

/// The error for a file with another header. Contains the beginning of that header, without control characters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the file begins with another header ({0:?}); name another file, or move this file away")]
pub struct OtherHeader(String);

/// The end of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LineEnd {
    /// A line feed.
    #[default]
    LineFeed,
    /// Carriage return and line feed. The study's collector used this line end on Windows.
    CarriageReturnLineFeed,
}

impl LineEnd {
    /// Returns the characters of the line end.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LineFeed => "\n",
            Self::CarriageReturnLineFeed => "\r\n",
        }
    }
}

/// The error of a row that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// A row has the wrong number of cells.
    #[error("expected {expected} cells, found {found}")]
    CellCount {
        /// The number of columns.
        expected: usize,
        /// The number of cells in the row.
        found: usize,
    },
    /// A cell is not valid for its column.
    #[error("column {column}: {problem}, got {text:?}")]
    Cell {
        /// The column's name.
        column: &'static str,
        /// Description of the problem.
        problem: String,
        /// The text of the cell.
        text: String,
    },
}

/// Returns the instructions for appending to a table with these columns. `first` is the beginning of the file. Unless
/// the file is shorter, `first` must have at least two bytes more than the header. `last` is the last byte of the file.
///
/// # Errors
/// Fails if the file is another table.
pub fn append(columns: &[&str], first: &[u8], last: Option<u8>) -> Result<Append, OtherHeader> {
    let header = columns.join(",");
    if first.is_empty() {
        return Ok(Append { before: format!("{header}\n"), line_end: LineEnd::LineFeed });
    }
    let (line, rest) = match first.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&first[..end], true),
        None => (first, false),
    };
    let (line, line_end) = match line.strip_suffix(b"\r") {
        Some(line) => (line, LineEnd::CarriageReturnLineFeed),
        None => (line, LineEnd::LineFeed),
    };
    if line != header.as_bytes() {
        let text = String::from_utf8_lossy(line);
        return Err(OtherHeader(text.chars().filter(|char| !char.is_control()).take(HEADER_SHOWN_MAX).collect()));
    }
    let torn = !rest || last != Some(b'\n');
    Ok(Append { before: if torn { line_end.as_str().to_owned() } else { String::new() }, line_end })
}

/// Splits a row into its cells.
pub(crate) fn cells<const N: usize>(row: &str) -> Result<[&str; N], TableError> {
    let cells: Vec<&str> = row.trim_end_matches(['\r', '\n']).split(',').take(N + 1).collect();
    let found = cells.len();
    cells.try_into().map_err(|_| TableError::CellCount { expected: N, found })
}

/// Parses a cell; `None` if it is blank.
pub(crate) fn cell<T: std::str::FromStr>(column: &'static str, text: &str) -> Result<Option<T>, TableError>
where
    T::Err: std::fmt::Display,
{
    if text.is_empty() {
        return Ok(None);
    }
    let wrong =
        |error: T::Err| TableError::Cell { column, problem: error.to_string(), text: crate::error::one_line(text) };
    text.parse().map(Some).map_err(wrong)
}

/// Returns the error for a number that is infinite or NaN.
pub(crate) fn not_finite(column: &'static str, text: &str) -> TableError {
    TableError::Cell { column, problem: "expected a finite number".to_owned(), text: crate::error::one_line(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [&str; 2] = ["timestamp", "count"];

    #[test]
    fn only_an_empty_file_gets_a_header() {
        let before = |first: &[u8], last| append(&COLUMNS, first, last).unwrap().before;
        assert_eq!(before(b"", None), "timestamp,count\n");
        assert_eq!(before(b"timestamp,count\n", Some(b'\n')), "");
        assert_eq!(before(b"timestamp,count\n1,2\n1", Some(b'\n')), "");
    }

    #[test]
    fn a_torn_line_is_ended_first() {
        let torn = append(&COLUMNS, b"timestamp,count\n1,2", Some(b'2')).unwrap();
        assert_eq!(torn, Append { before: "\n".to_owned(), line_end: LineEnd::LineFeed });
        assert_eq!(append(&COLUMNS, b"timestamp,count", Some(b't')).unwrap().before, "\n");
        let windows = append(&COLUMNS, b"timestamp,count\r\n1,2", Some(b'2')).unwrap();
        assert_eq!((windows.before.as_str(), windows.line_end), ("\r\n", LineEnd::CarriageReturnLineFeed));
    }

    #[test]
    fn another_header_is_an_error() {
        for first in [&b"time,count\n"[..], b"timestamp,count,more\n", b"\n", b"timestamp,coun", b"\xff\x1b[31m\n"] {
            let error = append(&COLUMNS, first, Some(b'\n')).unwrap_err().to_string();
            assert!(error.starts_with("the file begins with another header (") && !error.contains('\u{1b}'), "{error}");
        }
    }

    #[test]
    fn a_row_has_one_cell_per_column() {
        assert_eq!(cells::<2>("a,\r\n"), Ok(["a", ""]));
        assert_eq!(cells::<2>("a"), Err(TableError::CellCount { expected: 2, found: 1 }));
        assert_eq!(cells::<2>(&"a,".repeat(1000)), Err(TableError::CellCount { expected: 2, found: 3 }));
        assert_eq!(cell::<u64>("count", ""), Ok(None));
        let error = cell::<u64>("count", "x").unwrap_err().to_string();
        assert_eq!(error, "column count: invalid digit found in string, got \"x\"");
    }
}
