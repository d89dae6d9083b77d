//! The style of a text report.

/// The style of a text report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Width of a line, in characters. URLs are never broken. Widths below 60 count as 60.
    pub width: usize,
    /// `true` if headings and the result are shown in color, for terminals.
    pub color: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self { width: 100, color: false }
    }
}
