//! HTML report files.

use crate::console;
use crate::failure::Failure;
use std::path::{Path, PathBuf};
use store::SavedRun;

/// Returns the path of the HTML report if the user named none.
pub fn default_path(directory: &Path) -> PathBuf {
    directory.join("report.html")
}

/// Writes the report of a run to a file. Replaces an existing file.
pub fn write_run(run: &SavedRun, file: &Path) -> Result<(), Failure> {
    save(&report::html(run), file)
}

/// Writes a report to the file that the user named, or else into the directory of the run.
pub fn write_page(page: &str, directory: &Path, file: Option<&Path>) -> Result<(), Failure> {
    save(page, file.unwrap_or(&default_path(directory)))
}

fn save(page: &str, file: &Path) -> Result<(), Failure> {
    std::fs::write(file, page).map_err(|error| {
        let name = file.display();
        Failure::could_not_run(format!(
            "cannot write the HTML report to {name}: {error}; name another file with --html"
        ))
    })?;
    console::eprintln(&format!("report written to {}", file.display()));
    Ok(())
}
