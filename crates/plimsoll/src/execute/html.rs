//! Writes HTML reports.

use crate::failure::Failure;
use crate::say;
use std::path::{Path, PathBuf};
use store::SavedRun;

/// Where it is written when no file is named.
pub fn default_file(directory: &Path) -> PathBuf {
    directory.join("report.html")
}

/// Writes the report of a run to a file, over an older one, and says so.
pub fn write(run: &SavedRun, file: &Path) -> Result<(), Failure> {
    save(&report::html(run), file)
}

/// Writes a report of what is saved in a directory: to the file that is named, else beside it.
pub fn write_beside(page: &str, directory: &Path, file: Option<&Path>) -> Result<(), Failure> {
    save(page, file.unwrap_or(&default_file(directory)))
}

fn save(page: &str, file: &Path) -> Result<(), Failure> {
    std::fs::write(file, page).map_err(|error| {
        let name = file.display();
        Failure::could_not_run(format!(
            "the HTML report can not be written to {name}: {error}; name another file with --html"
        ))
    })?;
    say::note(&format!("report written to {}", file.display()));
    Ok(())
}
