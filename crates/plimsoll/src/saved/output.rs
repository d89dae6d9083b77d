//! Output of saved runs on standard output.

use crate::console;
use crate::failure::Failure;
use clap::ValueEnum;
use report::Style;
use std::io::{self, IsTerminal};
use store::SavedRun;

/// The output format of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Text for people.
    Text,
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

/// Prints the report of a saved run.
pub fn print_run(run: &SavedRun, format: OutputFormat) -> Result<(), Failure> {
    match format {
        OutputFormat::Text => print_text(&report::text(run, &text_style())),
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

/// Returns the text style for the current standard output.
pub fn text_style() -> Style {
    let color = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    Style { color, ..Style::default() }
}
