//! The directory of a run.

use super::run_sets::is_without_measurements;
use crate::failure::Failure;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the default run directory. The name contains the time and the target.
pub fn default_directory(target: &str) -> PathBuf {
    store::directory_name::default_directory(Path::new("runs"), unix_ms(), target)
}

/// Returns the current time in milliseconds since 1970.
pub fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// The directory for the results of a command that has not written anything yet.
pub struct NewDirectory<'p> {
    path: &'p Path,
    /// `true` if everything that the directory will contain is from this command.
    is_own: bool,
}

impl<'p> NewDirectory<'p> {
    /// Call this before the command writes to the directory.
    pub fn at(path: &'p Path) -> Self {
        let is_own = match std::fs::read_dir(path) {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        Self { path, is_own }
    }

    /// Removes everything that the command wrote if it measured nothing. Without this, the same command would be refused
    /// later. Files of others are kept.
    pub fn discard_without_measurements(self) {
        if self.is_own && is_without_measurements(self.path) {
            // If this fails, the directory contains a run without measurements, which does no harm.
            let _ = std::fs::remove_dir_all(self.path);
        }
    }
}

/// Removes the directory of an earlier attempt.
pub fn remove_earlier(directory: &Path) -> Result<(), Failure> {
    if !directory.exists() {
        return Ok(());
    }
    std::fs::remove_dir_all(directory)
        .map_err(|error| Failure::could_not_run(format!("cannot remove {}: {error}", directory.display())))
}
