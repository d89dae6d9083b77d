//! Saved searches for the load line.

use super::{OutputFormat, announce, cannot_read_back, html_file, print_json, print_text, text_style};
use crate::failure::{Exit, Failure};
use measure::result::load_line::LoadUnit;
use report::load_line::{Level, LoadLine};
use std::path::Path;
use store::{SavedRun, StoreError, StudyRecord};

/// Reads the search that is saved in a directory.
pub fn read(base: &Path) -> Result<LoadLine, Failure> {
    read_with_last_run(base).map(|(line, _)| line)
}

/// Like [`read`], but also returns the last run of the search.
pub fn read_with_last_run(base: &Path) -> Result<(LoadLine, Option<SavedRun>), Failure> {
    let found = store::read_study(base).and_then(|records| from_records(base, &records));
    found.map_err(|error| cannot_read_back(&error))
}

/// Reads a saved search and its last run. The search may still be in progress, or may have been interrupted.
fn from_records(base: &Path, records: &[StudyRecord]) -> Result<(LoadLine, Option<SavedRun>), StoreError> {
    let (mut unit, mut found, mut levels, mut last) = ((LoadUnit::Concurrency, 1), None, Vec::new(), None);
    for record in records {
        match record {
            StudyRecord::Line { unit: of, steps, .. } => unit = (*of, steps.get()),
            StudyRecord::Found(what) => found = Some(*what),
            StudyRecord::Level { level, directory, outcome, certain } => {
                let run = SavedRun::read(&base.join(directory))?;
                let load = report::load_line::load(*level, unit.1);
                levels.push(Level::of(load, directory, &run, outcome.clone(), *certain));
                last = Some(run);
            }
            StudyRecord::Scenario { .. } | StudyRecord::Trial { .. } => {}
        }
    }
    Ok((LoadLine::of(unit, last.as_ref().map(|run| &run.begin), found, levels), last))
}

/// Prints a saved search.
pub fn print(line: &LoadLine, format: OutputFormat) -> Result<(), Failure> {
    match format {
        OutputFormat::Json => print_json(serde_json::to_string_pretty(line)),
        OutputFormat::None => Ok(()),
        OutputFormat::Full => print_text(&report::load_line::text(line, &text_style())),
        OutputFormat::Text | OutputFormat::Ab | OutputFormat::Httpbench => {
            print_text(&report::load_line::short_text(line, &text_style()))
        }
    }
}

/// Writes the HTML report of a saved search to the file that the user named, or else into the directory of the search.
/// The report takes its settings from the run `last`.
pub fn write_html(line: &LoadLine, last: Option<&SavedRun>, base: &Path, file: Option<&Path>) -> Result<(), Failure> {
    html_file::write_page(&report::html_line(line, last), base, file)
}

/// Returns the exit code of a search. If the result is not PASS, also prints the reason to standard error. After an
/// interrupt, the user knows the reason.
pub fn conclude(line: &LoadLine) -> Exit {
    let exit = exit_code(line);
    if !matches!(exit, Exit::Good | Exit::Interrupted(_)) {
        announce(&format!("{}: {}", line.result.word.text(), line.sentence()), exit);
    }
    exit
}

/// Returns the exit code of a search.
pub fn exit_code(line: &LoadLine) -> Exit {
    line.exit.into()
}
