//! HTML report files.

use crate::failure::Failure;
use crate::say;
use std::path::{Path, PathBuf};
use store::SavedRun;

/// Returns the path of the report when the user names none.
pub fn default_file(directory: &Path) -> PathBuf {
    directory.join("report.html")
}

/// Writes the report of a run to a file, replacing an older one.
pub fn write(run: &SavedRun, file: &Path) -> Result<(), Failure> {
    save(&report::html(run), file)
}

/// Writes a report to the file that the user named, or else into the directory of the run.
pub fn write_beside(page: &str, directory: &Path, file: Option<&Path>) -> Result<(), Failure> {
    save(page, file.unwrap_or(&default_file(directory)))
}

fn save(page: &str, file: &Path) -> Result<(), Failure> {
    std::fs::write(file, page).map_err(|error| {
        let name = file.display();
        Failure::could_not_run(format!(
            "cannot write the HTML report to {name}: {error}; name another file with --html"
        ))
    })?;
    say::note(&format!("report written to {}", file.display()));
    Ok(())
}
