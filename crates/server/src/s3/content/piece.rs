//! Pieces of content, in memory or in files.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyper::body::Bytes;

use super::quota::{Quota, Reservation, WriteError};

/// A piece of content. Clones share its bytes.
#[derive(Debug, Clone)]
pub(super) enum Piece {
    Memory(Bytes, #[expect(dead_code, reason = "held until the last reader is gone")] Arc<Reservation>),
    File(Arc<DataFile>),
}

impl Piece {
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Memory(bytes, _) => bytes.len() as u64,
            Self::File(file) => file.reservation.bytes(),
        }
    }

    /// Returns the path of a piece in a file.
    pub(super) fn path(&self) -> Option<&Path> {
        match self {
            Self::Memory(..) => None,
            Self::File(file) => Some(&file.path),
        }
    }
}

/// A file of the store.
#[derive(Debug)]
pub(super) struct DataFile {
    path: PathBuf,
    reservation: Reservation,
    /// `true` if the file is removed after its last reader has finished.
    removed_after_use: AtomicBool,
}

impl Drop for DataFile {
    fn drop(&mut self) {
        if *self.removed_after_use.get_mut() {
            // The file may not exist any more.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl DataFile {
    /// Creates the piece for a file that was just written. The file is removed after its last reader has finished,
    /// unless the store decides to keep it.
    pub(super) fn written(path: PathBuf, reservation: Reservation) -> Self {
        Self { path, reservation, removed_after_use: AtomicBool::new(true) }
    }

    /// Creates the value for a file that an earlier server wrote.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or if the quota is exceeded.
    pub(super) fn existing(path: PathBuf, quota: &Arc<Quota>) -> Result<Self, WriteError> {
        let bytes = open_plain(&path)?.metadata()?.len();
        let mut reservation = Reservation::empty(quota);
        reservation.grow(bytes)?;
        Ok(Self { path, reservation, removed_after_use: AtomicBool::new(false) })
    }

    pub(super) fn set_removed_after_use(&self, removed: bool) {
        self.removed_after_use.store(removed, Ordering::Relaxed);
    }

    /// Opens the file; a symbolic link in its place is an error.
    pub(super) fn open(&self) -> io::Result<File> {
        open_plain(&self.path)
    }
}

/// Opens a regular file for reading; a symbolic link is an error.
pub(in crate::s3) fn open_plain(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}
