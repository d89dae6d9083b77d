//! Repeated runs: runs of the same load, one after the other, in numbered subdirectories.

use super::{Print, html, print, print_json, style, worse};
use crate::failure::{Exit, Failure};
use std::path::{Path, PathBuf};
use store::{SavedRun, StoreError};

/// Returns the directory of a run, counted from 1.
pub fn directory(base: &Path, number: u64) -> PathBuf {
    base.join(number.to_string())
}

/// Returns whether a directory contains repeated runs.
pub fn is_one(base: &Path) -> bool {
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

/// Prints each run, and then their comparison.
pub fn show(runs: &[SavedRun], form: Print) -> Result<(), Failure> {
    for run in runs.iter().filter(|_| form != Print::Json) {
        super::show(run, form)?;
    }
    show_together(runs, form)
}

/// Writes the HTML report of each run into its directory.
pub fn write_html(runs: &[SavedRun], base: &Path, file: Option<&Path>) -> Result<(), Failure> {
    if file.is_some() {
        let first = directory(base, 1);
        return Err(Failure::usage(format!(
            "--html FILE takes one run: name one, for example {}, or leave out the file",
            first.display()
        )));
    }
    (1..).zip(runs).try_for_each(|(number, run)| html::write(run, &html::default_file(&directory(base, number))))
}

/// Prints the comparison of runs that were printed one by one. For JSON, prints the one document that contains them all.
pub fn show_together(runs: &[SavedRun], form: Print) -> Result<(), Failure> {
    match form {
        Print::Json => print_json(serde_json::to_string_pretty(&report::json_repeats(runs))),
        Print::Text if runs.len() > 1 => print(&report::repeats(runs, &style())),
        Print::Text | Print::Ab | Print::Httpbench | Print::None => Ok(()),
    }
}

/// Returns the exit code that takes precedence among those of the runs.
pub fn judge(runs: &[SavedRun]) -> Exit {
    runs.iter().map(super::judge).fold(Exit::Good, worse)
}
