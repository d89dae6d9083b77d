//! Shows a saved study.

use super::saved;
use crate::execute::{self, Print, html};
use crate::failure::{Exit, Failure};
use std::path::Path;
use store::StudyRecord;

/// Prints a saved study. The exit code that its trials deserve.
pub fn show(base: &Path, records: &[StudyRecord], form: Print) -> Result<Exit, Failure> {
    let (saved, exit) = saved::read(base, records)?;
    let (trials, lines) = (&saved.measured.trials, &saved.measured.lines);
    match form {
        Print::Json => execute::print_json(serde_json::to_string_pretty(&saved.measured))?,
        Print::None => {}
        Print::Text | Print::Ab | Print::Httpbench => {
            let cells = if trials.is_empty() { String::new() } else { report::study::text(trials, &saved.order()) };
            let both = if trials.is_empty() || lines.is_empty() { "" } else { "\n" };
            let differing = report::discrepancy::text(&saved.measured.discrepancies);
            execute::print(
                &(saved.measured.headline() + &cells + both + &report::lines::text(lines, &saved.order()) + &differing),
            )?;
        }
    }
    Ok(exit)
}

/// Writes the HTML report of a saved study to the file that is named, else beside it. The exit code is what it deserves.
pub fn write_html(base: &Path, records: &[StudyRecord], file: Option<&Path>) -> Result<Exit, Failure> {
    let (study, exit) = saved::read(base, records)?;
    html::write_beside(&report::html_study(&study), base, file)?;
    Ok(exit)
}
