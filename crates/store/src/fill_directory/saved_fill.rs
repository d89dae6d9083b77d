//! A saved fill, up to the last record of its journal. A saved fill can be read at any time, even while a session runs.

use super::{FillDirectory, Identity, JOURNAL_DIRECTORY, Snapshot, sessions, snapshots};
use crate::error::StoreError;
use crate::journal::{FillState, replay};
use std::path::{Path, PathBuf};

/// A saved fill.
#[derive(Clone, Debug)]
pub struct SavedFill {
    /// The target, the dataset and the way of uploading.
    pub identity: Identity,
    /// The progress so far.
    pub state: FillState,
    /// Number and directory of each session. A directory contains a run for each phase.
    pub sessions: Vec<(u32, PathBuf)>,
    /// Snapshots of the target's ledger, sorted by name.
    pub snapshots: Vec<Snapshot>,
}

impl SavedFill {
    /// Returns whether a directory contains a fill.
    #[must_use]
    pub fn is_in(directory: &Path) -> bool {
        directory.join(super::IDENTITY_FILE).is_file()
    }

    /// Reads the fill in a directory.
    ///
    /// # Errors
    /// Fails like [`FillDirectory::read_identity`] and [`replay`].
    pub fn read(directory: &Path) -> Result<Self, StoreError> {
        let (identity, hash) = FillDirectory::read_identity(directory)?;
        let journal = directory.join(JOURNAL_DIRECTORY);
        let state = if journal.exists() { replay(&[&journal], Some(&hash))?.state } else { FillState::default() };
        Ok(Self { identity, state, sessions: sessions(directory)?, snapshots: snapshots(directory)? })
    }
}
