//! A saved fill: its report and its exit code.

use super::{OutputFormat, announce, print_json, print_text, text_style};
use crate::failure::{Exit, Failure};
use report::escape::escape;
use report::fill::Costs;
use std::path::Path;
use store::{SavedFill, StoreErrorKind};

/// Reads the fill in a directory.
pub fn read(directory: &Path) -> Result<SavedFill, Failure> {
    SavedFill::read(directory).map_err(|error| match error.kind {
        StoreErrorKind::Format { .. } => Failure::usage(format!("{error}; use that version to read it")),
        _ => Failure::usage(error),
    })
}

/// Prints the report of a fill.
pub fn print(fill: &SavedFill, costs: &Costs, format: OutputFormat) -> Result<(), Failure> {
    match format {
        OutputFormat::Json => print_json(serde_json::to_string_pretty(&report::json_fill(fill, costs))),
        OutputFormat::None => Ok(()),
        OutputFormat::Text | OutputFormat::Full => print_text(&report::fill_text(fill, costs, &text_style())),
        OutputFormat::Ab | OutputFormat::Httpbench => Err(Failure::usage(
            "--print ab and --print httpbench cannot show a fill; name one of its runs, for example DIR/sessions/0001/upload",
        )),
    }
}

/// Returns the exit code of a fill. If the fill failed, also prints the reason to standard error.
pub fn conclude(fill: &SavedFill) -> Exit {
    let (result, exit) = (report::fill::result(fill), exit_code(fill));
    if let Some(reason) = result.reasons.first().filter(|_| exit != Exit::Good) {
        announce(&format!("{}: {}", result.word.text(), escape(reason)), exit);
    }
    exit
}

/// Returns the exit code of a fill.
pub fn exit_code(fill: &SavedFill) -> Exit {
    report::fill::result(fill).exit.into()
}
