//! The choice of how progress is shown on the terminal.

use clap::ValueEnum;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;

/// Minimum size of a terminal for the live view, in columns and lines.
pub const SIZE_MIN: (u16, u16) = (80, 20);

/// Form of the progress on the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum View {
    /// Charts, results so far, and what limits them, on the whole terminal.
    Full,
    /// One line, which is rewritten every second.
    Line,
    /// Nothing.
    None,
}

impl View {
    /// Returns the view that standard error can show: nothing if it is not a terminal, and a line if the terminal is too
    /// small for the full view.
    pub fn possible(self) -> Self {
        match self {
            Self::None => Self::None,
            _ if !io::stderr().is_terminal() => Self::None,
            Self::Full if is_suitable() => Self::Full,
            Self::Full | Self::Line => Self::Line,
        }
    }
}

/// Returns whether the terminal is large enough, can move its cursor, and belongs to this process.
fn is_suitable() -> bool {
    let is_large = terminal_size().is_some_and(|(width, height)| width >= SIZE_MIN.0 && height >= SIZE_MIN.1);
    let moves_cursor = std::env::var_os("TERM").is_some_and(|name| !name.is_empty() && name != "dumb");
    is_large && moves_cursor && sys::terminal::is_in_foreground(io::stderr().as_fd())
}

/// Returns the columns and lines of the terminal.
pub fn terminal_size() -> Option<(u16, u16)> {
    terminal_size::terminal_size_of(io::stderr()).map(|(width, height)| (width.0, height.0))
}
