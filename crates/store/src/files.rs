//! Creation, locking, replacement and syncing of files. The files survive a crash, and each has one writer.

use crate::error::{StoreError, StoreErrorKind};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// Creates a file for appending. Fails if it exists.
pub(crate) fn create_new(path: &Path) -> Result<File, StoreError> {
    OpenOptions::new().append(true).create_new(true).open(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => StoreError::new(path, StoreErrorKind::Exists),
        _ => StoreError::new(path, error),
    })
}

/// Creates a file that occupies space on the disk. The file stays empty if the file system cannot preallocate.
pub(crate) fn reserve(path: &Path, bytes: u64) -> io::Result<()> {
    match File::create(path).and_then(|file| sys::file::preallocate(&file, bytes)) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        reserved => reserved,
    }
}

/// Locks a file that only one program may write. The lock lasts until the file is closed.
pub(crate) fn lock(file: &File, path: &Path) -> Result<(), StoreError> {
    file.try_lock().map_err(|error| {
        let error = match error {
            TryLockError::WouldBlock => io::Error::other("another program is writing this file; wait until it exits"),
            TryLockError::Error(error) => error,
        };
        StoreError::new(path, error)
    })
}

/// A file that is written under a temporary name, and renamed when it is complete. The final path therefore always has
/// either its complete old or its complete new content, even after a crash. Dropping this value removes an incomplete
/// file.
#[derive(Debug)]
pub(crate) struct TemporaryFile {
    temporary: PathBuf,
    complete: PathBuf,
}

impl TemporaryFile {
    /// Creates the temporary file that will get the name `path`. Overwrites a temporary file that a crash left.
    pub(crate) fn create(path: &Path) -> io::Result<(Self, File)> {
        let temporary = temporary_path(path);
        let file = File::create(&temporary)?;
        Ok((Self { temporary, complete: path.to_owned() }, file))
    }

    /// Returns the temporary path.
    pub(crate) fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Gives the file its final name. The caller must have synced the content. [`sync_name`] makes the name durable.
    pub(crate) fn rename(self) -> io::Result<()> {
        fs::rename(&self.temporary, &self.complete)
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // After the rename, there is no temporary file to remove. If the removal fails, the next attempt overwrites the
        // file.
        let _ = fs::remove_file(&self.temporary);
    }
}

/// Returns the temporary name of an incomplete file.
pub(crate) fn temporary_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    PathBuf::from(name)
}

/// Waits until the names in a directory are on the disk.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    match File::open(path)?.sync_all() {
        // Some network file systems cannot sync a directory. On these file systems, names are durable immediately.
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        synced => synced,
    }
}

/// Waits until the name of a file or directory is on the disk.
pub(crate) fn sync_name(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    sync_directory(parent.unwrap_or(Path::new(".")))
}
