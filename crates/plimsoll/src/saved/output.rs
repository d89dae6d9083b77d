//! Output of saved runs on standard output.

use crate::console;
use crate::failure::Failure;
use clap::ValueEnum;
use report::Style;
use std::io::{self, IsTerminal};
use std::path::Path;
use store::SavedRun;

/// The output format of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Short text for people.
    Text,
    /// Everything, as text for people.
    Full,
    /// JSON.
    #[value(skip)]
    Json,
    /// The format of ab.
    Ab,
    /// The format of httpbench.
    Httpbench,
    /// No output.
    None,
}

impl OutputFormat {
    /// Returns the format that the flags `--json` and `--full` select, or else this format.
    #[must_use]
    pub fn or(self, json: bool, full: bool) -> Self {
        match (json, full) {
            (true, _) => Self::Json,
            (false, true) => Self::Full,
            (false, false) => self,
        }
    }
}

/// Prints the report of a saved run.
pub fn print_run(run: &SavedRun, format: OutputFormat) -> Result<(), Failure> {
    match format {
        OutputFormat::Text => print_text(&report::short_text(run, &text_style())),
        OutputFormat::Full => print_text(&report::text(run, &text_style())),
        OutputFormat::Json => print_json(serde_json::to_string_pretty(&report::json(run))),
        OutputFormat::Ab => print_text(&report::other_tools::ab(run)),
        OutputFormat::Httpbench => print_text(&report::other_tools::httpbench(run)),
        OutputFormat::None => Ok(()),
    }
}

/// Prints a JSON document.
pub fn print_json(written: serde_json::Result<String>) -> Result<(), Failure> {
    let json = written.map_err(|error| Failure::could_not_run(format!("cannot write the report as JSON: {error}")))?;
    print_text(&(json + "\n"))
}

/// Prints a report.
pub fn print_text(text: &str) -> Result<(), Failure> {
    console::try_print(text).map_err(|error| {
        Failure::could_not_run(format!(
            "cannot write the report to standard output: {error}; `plimsoll report DIR` prints it again"
        ))
    })
}

/// Returns a message with the directory of a run, and a command for this directory.
pub fn saved_in(directory: &Path, format: OutputFormat) -> String {
    let directory = directory.display();
    match format {
        OutputFormat::Text => {
            format!("saved in {directory}; `plimsoll report {directory}` with --full or --html shows more")
        }
        _ => format!("saved in {directory}"),
    }
}

/// Returns the text style for the current standard output. On a terminal, lines are at most as wide as the terminal.
pub fn text_style() -> Style {
    let wide = Style::default();
    if !io::stdout().is_terminal() {
        return wide;
    }
    let width = terminal_size::terminal_size_of(io::stdout()).map_or(wide.width, |(width, _)| width.0.into());
    Style { color: std::env::var_os("NO_COLOR").is_none(), width: width.min(wide.width) }
}
