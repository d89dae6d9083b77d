//! The directory of a run.

use crate::failure::Failure;
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

/// Removes the directory of an earlier attempt.
pub fn remove_earlier(directory: &Path) -> Result<(), Failure> {
    if !directory.exists() {
        return Ok(());
    }
    std::fs::remove_dir_all(directory)
        .map_err(|error| Failure::could_not_run(format!("cannot remove {}: {error}", directory.display())))
}
