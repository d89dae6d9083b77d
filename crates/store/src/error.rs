//! Errors of run directories.

use crate::fill_directory::FillError;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A failed operation on a run directory.
#[derive(Debug, Error)]
#[error("{}: {kind}", path.display())]
pub struct StoreError {
    /// The file or directory.
    pub path: PathBuf,
    /// The reason.
    pub kind: StoreErrorKind,
}

/// The reason why an operation on a run directory failed.
#[derive(Debug, Error)]
pub enum StoreErrorKind {
    /// The directory already contains a run, which is never overwritten.
    #[error("already contains a run; choose another directory or remove it")]
    Exists,
    /// The directory does not exist.
    #[error("no such directory")]
    Missing,
    /// The directory contains no run, or a run without a begin record.
    #[error("not a run, because it has no begin record")]
    NotARun,
    /// The records file is not a regular file but a directory, a pipe or a device.
    #[error("not a regular file")]
    NotAFile,
    /// The run or study has a format that this program does not support.
    #[error("made by another version of plimsoll, in format {found}; this version reads only format {readable}")]
    Format {
        /// The format of the run.
        found: u64,
        /// The supported format.
        readable: u32,
    },
    /// A collector cannot append to this file, because the file has other columns.
    #[error("has other columns; collect the same columns, or choose another directory")]
    OtherColumns,
    /// The file is damaged, so nothing is appended to it.
    #[error("is damaged ({about}); choose another directory")]
    Damaged {
        /// The damage, as a noun phrase.
        about: &'static str,
    },
    /// A record is larger than readers accept.
    #[error("a record of {bytes} bytes is above the limit of {limit} bytes")]
    TooLarge {
        /// The size of the record.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// A share in a record is infinite or not a number, which JSON cannot express.
    #[error("a share of the client's load is not a finite number")]
    NotFinite,
    /// A record cannot be converted to or from JSON.
    #[error("a record is not valid JSON ({0})")]
    Json(#[from] serde_json::Error),
    /// An error of the files of a fill.
    #[error(transparent)]
    Fill(#[from] FillError),
    /// An error of the system.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl StoreErrorKind {
    /// Checks that this program supports a format.
    ///
    /// # Errors
    /// Fails with [`StoreErrorKind::Format`] if it does not.
    pub(crate) fn check_format(found: impl Into<u64>, readable: u32) -> Result<(), Self> {
        let found = found.into();
        if found == u64::from(readable) { Ok(()) } else { Err(Self::Format { found, readable }) }
    }
}

impl StoreError {
    pub(crate) fn new(path: &Path, kind: impl Into<StoreErrorKind>) -> Self {
        Self { path: path.to_owned(), kind: kind.into() }
    }

    pub(crate) fn is_missing(&self) -> bool {
        matches!(&self.kind, StoreErrorKind::Io(error) if error.kind() == io::ErrorKind::NotFound)
    }

    /// Returns whether the disk or the quota is full.
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
