//! The output of a saved study.

use crate::execute::{self, Print, html};
use crate::failure::Failure;
use report::SavedStudy;
use std::path::Path;

/// Prints a saved study.
pub fn show(study: &SavedStudy, form: Print) -> Result<(), Failure> {
    let (trials, lines) = (&study.measured.trials, &study.measured.lines);
    match form {
        Print::Json => execute::print_json(serde_json::to_string_pretty(&study.measured)),
        Print::None => Ok(()),
        Print::Text | Print::Ab | Print::Httpbench => {
            let cells = if trials.is_empty() { String::new() } else { report::study::text(trials, &study.order()) };
            let both = if trials.is_empty() || lines.is_empty() { "" } else { "\n" };
            let differing = report::discrepancy::text(&study.measured.discrepancies);
            let lines = report::lines::text(lines, &study.order());
            let differences = report::subtraction::text(&study.measured.differences);
            execute::print(&(study.measured.headline() + &cells + both + &lines + &differences + &differing))
        }
    }
}

/// Writes the HTML report of a saved study to the file that the user named, or else into its directory.
pub fn write_html(study: &SavedStudy, base: &Path, file: Option<&Path>) -> Result<(), Failure> {
    html::write_beside(&report::html_study(study), base, file)
}
