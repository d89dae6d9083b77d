//! Comma-separated values (RFC 4180) that both programs and spreadsheets can read.
//!
//! Text from servers is quoted, so that it cannot end its cell. Text that looks like a formula gets a leading
//! apostrophe, because a spreadsheet would otherwise run it. Control characters are escaped as in all reports.

use super::ExportError;
use super::column::{Column, Get, Table};
use crate::escape::escape;
use std::fmt::Write as _;
use std::io::Write;

/// A table as CSV.
pub struct CsvTable<'a, R: 'static> {
    columns: &'static [Column<R>],
    out: &'a mut (dyn Write + Send),
    line: String,
}

impl<'a, R> CsvTable<'a, R> {
    /// Writes the header line, and returns the table.
    pub fn new(columns: &'static [Column<R>], out: &'a mut (dyn Write + Send)) -> Result<Self, ExportError> {
        let names: Vec<String> = columns.iter().map(|column| quoted(column.name)).collect();
        writeln!(out, "{}", names.join(","))?;
        Ok(Self { columns, out, line: String::new() })
    }
}

impl<R> Table<R> for CsvTable<'_, R> {
    fn row(&mut self, row: &R) -> Result<(), ExportError> {
        self.line.clear();
        for (index, column) in self.columns.iter().enumerate() {
            if index > 0 {
                self.line.push(',');
            }
            match column.get {
                Get::Count(of) => of(row).map(|value| write!(self.line, "{value}")),
                Get::Number(of) => of(row).filter(|value| value.is_finite()).map(|value| write!(self.line, "{value}")),
                Get::Text(of) => of(row).map(|value| write!(self.line, "{}", cell(&value))),
            };
        }
        self.line.push('\n');
        Ok(self.out.write_all(self.line.as_bytes())?)
    }

    fn finish(self: Box<Self>) -> Result<(), ExportError> {
        Ok(self.out.flush()?)
    }
}

/// Returns text from a server as a cell.
fn cell(text: &str) -> String {
    let text = escape(text);
    let formula = text.trim_start().starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']);
    quoted(&if formula { format!("'{text}") } else { text })
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) || text.starts_with(' ') || text.ends_with(' ') {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_neither_ends_its_cell_nor_is_a_formula() {
        assert_eq!([cell("plain"), cell("a,b"), cell("a\"b")], ["plain", "\"a,b\"", "\"a\"\"b\""]);
        assert_eq!([cell("a\nb"), cell(" a")], ["a\\u{a}b", "\" a\""]);
        for formula in ["=1+1", "+1", "-1", "@SUM(A1)", "  =1", "＝1"] {
            assert!(cell(formula).trim_start_matches('"').starts_with('\''), "{formula}");
        }
        // After escaping, the text begins with a backslash instead of a tab, so it needs no apostrophe.
        assert_eq!(cell("\t=1"), "\\u{9}=1");
    }
}
