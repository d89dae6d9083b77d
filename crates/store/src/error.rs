//! What can go wrong with a run directory, with the path it went wrong at.

use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// An operation on a run directory failed.
#[derive(Debug, Error)]
#[error("{}: {kind}", path.display())]
pub struct StoreError {
    /// The file or directory.
    pub path: PathBuf,
    /// What is wrong.
    pub kind: StoreErrorKind,
}

/// Why it failed.
#[derive(Debug, Error)]
pub enum StoreErrorKind {
    /// The directory already holds a run, which is never overwritten.
    #[error("already holds a run; choose another directory or remove it")]
    Exists,
    /// There is no such directory.
    #[error("there is no such directory")]
    Missing,
    /// There is no run there, or not even its first record was written.
    #[error("not a run: there is no begin record")]
    NotARun,
    /// The records are in no regular file, but a directory, a pipe or a device.
    #[error("not a file of records")]
    NotAFile,
    /// The run was written in a format that this program does not read.
    #[error("format {found} of saved runs is not read by this program, which reads {readable}")]
    Format {
        /// The run's format.
        found: u64,
        /// The format that is read.
        readable: u32,
    },
    /// A record is larger than the reader would accept.
    #[error("a record of {bytes} bytes is over the limit of {limit} bytes")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// A share in a record is infinite or not a number, which JSON can not hold.
    #[error("a share of the client's load is not a finite number")]
    NotFinite,
    /// A record could not be written as JSON.
    #[error("a record can not be written: {0}")]
    Encode(#[from] serde_json::Error),
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl StoreError {
    pub(crate) fn new(path: &Path, kind: impl Into<StoreErrorKind>) -> Self {
        Self { path: path.to_owned(), kind: kind.into() }
    }

    /// Whether the disk or the quota is full.
    #[must_use]
    pub fn is_full(&self) -> bool {
        match &self.kind {
            StoreErrorKind::Io(error) => {
                matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
            }
            _ => false,
        }
    }
}
