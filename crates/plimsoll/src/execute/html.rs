//! Writes the HTML report of a saved run.

use crate::failure::Failure;
use crate::say;
use std::path::{Path, PathBuf};
use store::SavedRun;

/// Where it is written when no file is named.
pub fn default_file(directory: &Path) -> PathBuf {
    directory.join("report.html")
}

/// Writes the report to a file, over an older one, and says so.
pub fn write(run: &SavedRun, file: &Path) -> Result<(), Failure> {
    std::fs::write(file, report::html(run)).map_err(|error| {
        let name = file.display();
        Failure::could_not_run(format!(
            "the HTML report can not be written to {name}: {error}; name another file with --html"
        ))
    })?;
    say::note(&format!("report written to {}", file.display()));
    Ok(())
}
