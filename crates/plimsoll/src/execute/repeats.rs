//! Runs of the same load, one after the other: each has a directory of its own below that of them all, named by its number.

use super::{Print, html, print, print_json, style, worse};
use crate::failure::{Exit, Failure};
use std::path::{Path, PathBuf};
use store::{SavedRun, StoreError};

/// The directory of a run, counted from 1.
pub fn directory(base: &Path, number: u64) -> PathBuf {
    base.join(number.to_string())
}

/// Whether runs of the same load are saved there.
pub fn is_one(base: &Path) -> bool {
    directory(base, 1).is_dir()
}

/// The directories of all runs that are saved there.
pub fn directories(base: &Path) -> Vec<PathBuf> {
    (1..).map(|number| directory(base, number)).take_while(|path| path.is_dir()).collect()
}

/// All runs that are saved there.
pub fn read(base: &Path) -> Result<Vec<SavedRun>, StoreError> {
    directories(base).iter().map(|path| SavedRun::read(path)).collect()
}

/// Prints each run, and then what they differ by.
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
            "--html FILE holds one run: name one, like {}, or no file",
            first.display()
        )));
    }
    (1..).zip(runs).try_for_each(|(number, run)| html::write(run, &html::default_file(&directory(base, number))))
}

/// Prints what runs that were shown differ by; as JSON, the one document that holds them all.
pub fn show_together(runs: &[SavedRun], form: Print) -> Result<(), Failure> {
    match form {
        Print::Json => print_json(serde_json::to_string_pretty(&report::json_repeats(runs))),
        Print::Text if runs.len() > 1 => print(&report::repeats(runs, &style())),
        Print::Text | Print::Ab | Print::Httpbench | Print::None => Ok(()),
    }
}

/// The exit code that takes precedence among those of the runs.
pub fn judge(runs: &[SavedRun]) -> Exit {
    runs.iter().map(super::judge).fold(Exit::Good, worse)
}
