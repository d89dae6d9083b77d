//! Replacement of whole files, and snapshots of the target's ledger.

use super::FillError;
use crate::error::{StoreError, StoreErrorKind};
use crate::files::{TemporaryFile, sync_name};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Maximum length of the name of a snapshot in bytes.
pub const NAME_BYTES_MAX: usize = 64;
/// Maximum size of a snapshot in bytes.
const SNAPSHOT_BYTES_MAX: u64 = 64 << 20;

/// A saved snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The name, for example `before-0001`.
    pub name: String,
    /// The file.
    pub path: PathBuf,
}

/// Replaces or creates a file. After a crash, a replaced file has either its complete old or its complete new content,
/// and a created file may be missing.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let replace = || -> io::Result<()> {
        let (temporary, mut file) = TemporaryFile::create(path)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        temporary.rename()?;
        sync_name(path)
    };
    replace().map_err(|error| StoreError::new(path, error))
}

/// Returns the path of a snapshot.
pub(super) fn path(directory: &Path, name: &str) -> Result<PathBuf, StoreError> {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if !is_plain || name.is_empty() || name.len() > NAME_BYTES_MAX {
        return Err(StoreError::new(directory, FillError::BadName { name: name.to_owned() }));
    }
    Ok(directory.join(format!("ledger-{name}.json")))
}

/// Returns the snapshots in a directory, sorted by name.
pub(super) fn list(directory: &Path) -> Result<Vec<Snapshot>, StoreError> {
    let entries = fs::read_dir(directory).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let entries = entries.map_err(|error| StoreError::new(directory, error))?;
    let snapshot = |entry: fs::DirEntry| {
        let name = entry.file_name().to_str()?.strip_prefix("ledger-")?.strip_suffix(".json")?.to_owned();
        Some(Snapshot { name, path: entry.path() })
    };
    let mut snapshots: Vec<Snapshot> = entries.into_iter().filter_map(snapshot).collect();
    snapshots.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(snapshots)
}

impl Snapshot {
    /// Reads the snapshot.
    ///
    /// # Errors
    /// Fails with [`StoreErrorKind::TooLarge`], or with an error of the system.
    pub fn read(&self) -> Result<Vec<u8>, StoreError> {
        let failed = |error: io::Error| StoreError::new(&self.path, error);
        let mut bytes = Vec::new();
        let file = File::open(&self.path).map_err(failed)?;
        file.take(SNAPSHOT_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > SNAPSHOT_BYTES_MAX {
            let (bytes, limit) = (bytes.len(), SNAPSHOT_BYTES_MAX as usize);
            return Err(StoreError::new(&self.path, StoreErrorKind::TooLarge { bytes, limit }));
        }
        Ok(bytes)
    }
}
