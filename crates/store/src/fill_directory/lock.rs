//! The lock of a fill.

use super::{FillError, LOCK_FILE};
use crate::error::StoreError;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::sync::Arc;

/// Maximum size of a process ID with a line feed.
const PID_BYTES_MAX: u64 = 32;

/// Locks a directory. The lock lasts as long as a copy of the returned value exists. Writes the process ID to the lock
/// file.
pub(super) fn take(directory: &Path) -> Result<Arc<File>, StoreError> {
    let path = directory.join(LOCK_FILE);
    let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
    let mut file = opened.map_err(|error| StoreError::new(&path, error))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(StoreError::new(directory, FillError::InUse { pid: pid(&file) })),
        Err(TryLockError::Error(error)) => return Err(StoreError::new(&path, error)),
    }
    // Ignore a full disk, because only an error message needs the content.
    let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| writeln!(file, "{}", std::process::id()));
    Ok(Arc::new(file))
}

/// Reads the ID of the process that has the lock.
fn pid(file: &File) -> Option<u32> {
    let mut text = String::new();
    file.take(PID_BYTES_MAX).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_names_the_process_that_has_it() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(LOCK_FILE), "999999999999 of an earlier session\n").unwrap();
        let first = take(dir.path()).unwrap();
        let copy = Arc::clone(&first);
        drop(first);
        let error = take(dir.path()).unwrap_err().to_string();
        let pid = std::process::id();
        let expected = format!("another process (pid {pid}) is using this fill; wait until it exits, or stop it");
        assert!(error.ends_with(&expected), "{error}");
        drop(copy);
        take(dir.path()).unwrap();
    }

    #[test]
    fn a_lock_without_a_process_id_is_reported_without_one() {
        let dir = tempfile::tempdir().unwrap();
        let file = File::create(dir.path().join(LOCK_FILE)).unwrap();
        file.lock().unwrap();
        let error = take(dir.path()).unwrap_err().to_string();
        assert!(error.contains(": another process is using this fill"), "{error}");
    }
}
