//! The style of a text report.

/// The layout of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of a line. URLs are never broken. Below 60, tables are wider.
    pub width: usize,
    /// `true` if headings and the result are colored, for terminals.
    pub color: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self { width: 100, color: false }
    }
}
