//! Repeated runs: runs of the same load, one after the other, in numbered subdirectories.

use super::{OutputFormat, conclude, html_file, print_json, print_run, print_text, text_style};
use crate::failure::{Exit, Failure};
use std::path::{Path, PathBuf};
use store::{SavedRun, StoreError};

/// Returns the directory of a run, counted from 1.
pub fn directory(base: &Path, number: u64) -> PathBuf {
    base.join(number.to_string())
}

/// Returns whether a directory contains repeated runs.
pub fn are_in(base: &Path) -> bool {
    directory(base, 1).is_dir()
}

/// Returns the directories of all repeated runs.
pub fn directories(base: &Path) -> Vec<PathBuf> {
    (1..).map(|number| directory(base, number)).take_while(|path| path.is_dir()).collect()
}

/// Reads all repeated runs.
pub fn read(base: &Path) -> Result<Vec<SavedRun>, StoreError> {
    directories(base).iter().map(|path| SavedRun::read(path)).collect()
}

/// Returns whether this format prints each of several runs. JSON output is one document with all runs, and the short
/// text shows only their comparison.
pub fn prints_each(format: OutputFormat) -> bool {
    !matches!(format, OutputFormat::Json | OutputFormat::Text)
}

/// Prints each run if the format shows single runs, and then the comparison of the runs.
pub fn print_all(runs: &[SavedRun], format: OutputFormat) -> Result<(), Failure> {
    for run in runs.iter().filter(|_| prints_each(format)) {
        print_run(run, format)?;
    }
    print_together(runs, format)
}

/// Writes the HTML report of each run into its directory.
pub fn write_html(runs: &[SavedRun], base: &Path, file: Option<&Path>) -> Result<(), Failure> {
    if file.is_some() {
        let first = directory(base, 1);
        return Err(Failure::usage(format!(
            "--html FILE writes the report of a single run: name a run, for example {}, or leave out the file",
            first.display()
        )));
    }
    (1..)
        .zip(runs)
        .try_for_each(|(number, run)| html_file::write_run(run, &html_file::default_path(&directory(base, number))))
}

/// Prints the comparison of runs. JSON output is one document with all runs. If there is only one run so far, the short
/// text is the report of this run.
pub fn print_together(runs: &[SavedRun], format: OutputFormat) -> Result<(), Failure> {
    match (format, runs) {
        (OutputFormat::Json, _) => print_json(serde_json::to_string_pretty(&report::json_repeats(runs))),
        (OutputFormat::Text, [only]) => print_run(only, format),
        (OutputFormat::Text | OutputFormat::Full, [_, _, ..]) => print_text(&report::repeats(runs, &text_style())),
        _ => Ok(()),
    }
}

/// Returns the exit code of the runs. If their exit codes differ, returns the one that takes precedence.
pub fn conclude_all(runs: &[SavedRun]) -> Exit {
    runs.iter().map(conclude).fold(Exit::Good, Exit::or_worse)
}
