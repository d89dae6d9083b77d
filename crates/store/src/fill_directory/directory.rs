//! The directory of a fill.

use super::identity::{self, Identity, SavedIdentity};
use super::snapshot::{self, Snapshot};
use super::{FillError, IDENTITY_FILE, JOURNAL_DIRECTORY, LOCK_FILE, MANIFEST_FILE, SESSIONS_DIRECTORY, lock};
use crate::error::StoreError;
use crate::files::{sync_name, temporary_path};
use crate::journal::FillState;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The directory of a fill, locked by this process.
#[derive(Debug)]
pub struct FillDirectory {
    path: PathBuf,
    identity: Identity,
    hash: [u8; 32],
    lock: Arc<File>,
}

/// Creator of a fill: the current session or an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A fill that this session created.
    Created,
    /// A fill that an earlier session created with the same settings.
    Resumed,
}

/// A locked directory in which a fill exists or can be created.
#[derive(Debug)]
pub struct Reservation {
    path: PathBuf,
    is_new_directory: bool,
    saved: Option<SavedIdentity>,
    lock: Arc<File>,
}

impl Reservation {
    /// Locks a directory that contains a fill or is empty. Creates the directory if it does not exist.
    ///
    /// # Errors
    /// Fails with [`FillError::InUse`], with [`FillError::NotEmpty`], with
    /// [`StoreErrorKind::Format`](crate::StoreErrorKind::Format) for a fill of another version, or with an error of the
    /// system.
    pub fn take(path: &Path) -> Result<Self, StoreError> {
        let failed = |error: io::Error| StoreError::new(path, error);
        let is_new_directory = !path.exists();
        fs::create_dir_all(path).map_err(failed)?;
        let has_identity = || path.join(IDENTITY_FILE).exists();
        if !has_identity() && has_other_content(path).map_err(failed)? && !has_identity() {
            return Err(StoreError::new(path, FillError::NotEmpty));
        }
        let lock = lock::take(path)?;
        // Another process may have created the fill before this one got the lock.
        let saved = if has_identity() { Some(identity::read(path)?) } else { None };
        Ok(Self { path: path.to_owned(), is_new_directory, saved, lock })
    }

    /// Returns the identity of the fill in this directory. `None` if the directory has no fill yet.
    #[must_use]
    pub fn identity(&self) -> Option<&Identity> {
        self.saved.as_ref().map(|saved| &saved.identity)
    }

    /// Returns the path of the manifest of a tree. The manifest is written before the fill is created.
    #[must_use]
    pub fn manifest_path(&self) -> PathBuf {
        self.path.join(MANIFEST_FILE)
    }

    /// Opens the fill, or creates it with this identity.
    ///
    /// # Errors
    /// Fails with [`FillError::OtherSettings`] if the fill exists with other settings, or with an error of the system.
    pub fn start(self, identity: &Identity) -> Result<(FillDirectory, Origin), StoreError> {
        let Self { path, is_new_directory, saved, lock } = self;
        if let Some(SavedIdentity { identity: saved, hash }) = saved {
            return match saved.differences(identity) {
                Some(differences) => Err(StoreError::new(&path, FillError::OtherSettings { differences })),
                None => Ok((FillDirectory { path, identity: saved, hash, lock }, Origin::Resumed)),
            };
        }
        let file = path.join(IDENTITY_FILE);
        let bytes = identity.encode().map_err(|error| StoreError::new(&file, error))?;
        snapshot::replace(&file, &bytes)?;
        if is_new_directory {
            sync_name(&path).map_err(|error| StoreError::new(&path, error))?;
        }
        let SavedIdentity { identity, hash } = identity::read(&path)?;
        Ok((FillDirectory { path, identity, hash, lock }, Origin::Created))
    }
}

impl FillDirectory {
    /// Opens the fill in a directory. Creates a fill if the directory does not exist or is empty.
    ///
    /// # Errors
    /// Fails like [`Reservation::take`] and [`Reservation::start`].
    pub fn start(path: &Path, identity: &Identity) -> Result<(Self, Origin), StoreError> {
        Reservation::take(path)?.start(identity)
    }

    /// Opens an existing fill with the settings that it was created with.
    ///
    /// # Errors
    /// Fails with [`FillError::NotAFill`], with [`FillError::InUse`], with
    /// [`StoreErrorKind::Format`](crate::StoreErrorKind::Format) for a fill of another version, or with an error of the
    /// system.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        // Check this first, so that no lock file is left in a directory that is not a fill.
        identity::read(path)?;
        let lock = lock::take(path)?;
        let SavedIdentity { identity, hash } = identity::read(path)?;
        Ok(Self { path: path.to_owned(), identity, hash, lock })
    }

    /// Reads the identity of a fill without locking the fill, for example while a session runs. Also returns the hash
    /// of the identity, which is part of each segment.
    ///
    /// # Errors
    /// Fails like [`FillDirectory::open`], but not with [`FillError::InUse`].
    pub fn read_identity(path: &Path) -> Result<(Identity, [u8; 32]), StoreError> {
        identity::read(path).map(|SavedIdentity { identity, hash }| (identity, hash))
    }

    /// Returns the path of the directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the identity with which the fill was created.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Returns the SHA-256 digest of the file with the identity.
    #[must_use]
    pub fn identity_hash(&self) -> [u8; 32] {
        self.hash
    }

    /// Returns the directory of segments.
    #[must_use]
    pub fn journal_directory(&self) -> PathBuf {
        self.path.join(JOURNAL_DIRECTORY)
    }

    /// Returns the path of the manifest of a tree.
    #[must_use]
    pub fn manifest_path(&self) -> PathBuf {
        self.path.join(MANIFEST_FILE)
    }

    /// Returns the number and path of the next session. Neither the directory nor the journal contains this number.
    ///
    /// # Errors
    /// Fails with an error of the system.
    pub fn next_session(&self, state: &FillState) -> Result<(u32, PathBuf), StoreError> {
        let on_disk = sessions(&self.path)?.last().map_or(0, |(number, _)| *number);
        let in_journal = state.sessions.iter().map(|session| session.number).max().unwrap_or(0);
        let beyond = u32::try_from(state.more_sessions).unwrap_or(u32::MAX);
        let number = on_disk.max(in_journal.saturating_add(beyond)).saturating_add(1);
        Ok((number, self.path.join(SESSIONS_DIRECTORY).join(format!("{number:04}"))))
    }

    /// Writes a snapshot of the target's ledger to `ledger-NAME.json`, and waits until the file is on the disk.
    /// Replaces an earlier snapshot of the same name. The name consists of letters, digits and dashes.
    ///
    /// # Errors
    /// Fails with [`FillError::BadName`], or with an error of the system.
    pub fn write_snapshot(&self, name: &str, json: &[u8]) -> Result<PathBuf, StoreError> {
        let path = snapshot::path(&self.path, name)?;
        snapshot::replace(&path, json)?;
        Ok(path)
    }

    pub(crate) fn lock(&self) -> Arc<File> {
        Arc::clone(&self.lock)
    }
}

/// Returns the numbers of all sessions and the paths of their run directories, in ascending order.
///
/// # Errors
/// Fails with an error of the system.
pub fn sessions(fill: &Path) -> Result<Vec<(u32, PathBuf)>, StoreError> {
    let directory = fill.join(SESSIONS_DIRECTORY);
    let failed = |error: io::Error| StoreError::new(&directory, error);
    let entries = match fs::read_dir(&directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(failed)?,
    };
    let session = |entry: fs::DirEntry| {
        let name = entry.file_name();
        let number = name.to_str()?.parse::<u32>().ok()?;
        (name.to_str()? == format!("{number:04}")).then(|| (number, entry.path()))
    };
    let mut sessions: Vec<(u32, PathBuf)> = entries.into_iter().filter_map(session).collect();
    sessions.sort();
    Ok(sessions)
}

/// Returns the snapshots of a fill, sorted by name.
///
/// # Errors
/// Fails with an error of the system.
pub fn snapshots(fill: &Path) -> Result<Vec<Snapshot>, StoreError> {
    snapshot::list(fill)
}

/// Returns whether a directory without an identity contains foreign files. The files that an interrupted creation of a
/// fill leaves are not foreign.
fn has_other_content(path: &Path) -> io::Result<bool> {
    let incomplete = [IDENTITY_FILE, MANIFEST_FILE].map(|name| temporary_path(Path::new(name)));
    for entry in fs::read_dir(path)? {
        let name = entry?.file_name();
        let is_own = name == LOCK_FILE || name == MANIFEST_FILE || incomplete.iter().any(|own| *own == *name);
        if !is_own {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::super::error::tests::fill_error;
    use super::super::identity::tests::identity;
    use super::*;
    use crate::journal::Record;

    #[test]
    fn a_fill_is_created_once_and_resumed_with_the_same_settings() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("a/fill");
        let (fill, origin) = FillDirectory::start(&path, &identity()).unwrap();
        assert_eq!((origin, fill.identity()), (Origin::Created, &identity()));
        let hash = fill.identity_hash();
        assert!(matches!(fill_error(FillDirectory::open(&path).unwrap_err()), FillError::InUse { pid: Some(_) }));
        assert_eq!(FillDirectory::read_identity(&path).unwrap(), (identity(), hash));
        drop(fill);

        let later = Identity { version: "9".to_owned(), created_unix_ms: 1, ..identity() };
        let (fill, origin) = FillDirectory::start(&path, &later).unwrap();
        assert_eq!((origin, fill.identity(), fill.identity_hash()), (Origin::Resumed, &identity(), hash));
        drop(fill);

        let other = Identity { copies: 3, ..identity() };
        let error = FillDirectory::start(&path, &other).unwrap_err().to_string();
        let reason = "other settings (copies (1, now 3)); use another --out, or the same flags as before";
        assert!(error.ends_with(reason), "{error}");
        assert_eq!(FillDirectory::open(&path).unwrap().identity(), &identity());
        assert!(!path.join("fill.json.new").exists());
    }

    #[test]
    fn other_directories_are_left_alone() {
        let base = tempfile::tempdir().unwrap();
        fs::write(base.path().join("thesis.tex"), "").unwrap();
        let error = FillDirectory::start(base.path(), &identity()).unwrap_err();
        assert!(matches!(fill_error(error), FillError::NotEmpty));
        assert!(matches!(fill_error(FillDirectory::open(base.path()).unwrap_err()), FillError::NotAFill));
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_creation_that_was_cut_off_starts_again() {
        let base = tempfile::tempdir().unwrap();
        for (name, text) in [(LOCK_FILE, "1\n"), ("fill.json.new", "{\"for"), (MANIFEST_FILE, "x")] {
            fs::write(base.path().join(name), text).unwrap();
        }
        let (_, origin) = FillDirectory::start(base.path(), &identity()).unwrap();
        assert_eq!(origin, Origin::Created);
    }

    #[test]
    fn sessions_are_numbered_by_directory_and_journal() {
        let base = tempfile::tempdir().unwrap();
        let (fill, _) = FillDirectory::start(base.path(), &identity()).unwrap();
        let mut state = FillState::default();
        assert_eq!(fill.next_session(&state).unwrap(), (1, base.path().join("sessions/0001")));
        for name in ["0002", "0011", "x", "12", "00013"] {
            fs::create_dir_all(base.path().join("sessions").join(name)).unwrap();
        }
        assert_eq!(fill.next_session(&state).unwrap().0, 12);
        // This session was killed before it created its directory.
        state.apply(&Record::SessionStarted { session: 12, unix_ms: 0 }, 0);
        assert_eq!(fill.next_session(&state).unwrap().0, 13);
        let numbers: Vec<u32> = sessions(base.path()).unwrap().into_iter().map(|(number, _)| number).collect();
        assert_eq!(numbers, [2, 11]);
    }

    #[test]
    fn snapshots_are_replaced_as_a_whole() {
        let base = tempfile::tempdir().unwrap();
        let (fill, _) = FillDirectory::start(base.path(), &identity()).unwrap();
        fill.write_snapshot("before-0001", b"{}").unwrap();
        fill.write_snapshot("after-0001", b"{\"wallet\":1}").unwrap();
        fill.write_snapshot("after-0001", b"{\"wallet\":2}").unwrap();
        let found = snapshots(base.path()).unwrap();
        let found: Vec<_> = found.iter().map(|found| (found.name.as_str(), found.read().unwrap())).collect();
        assert_eq!(found, [("after-0001", b"{\"wallet\":2}".to_vec()), ("before-0001", b"{}".to_vec())]);
        let long = "a".repeat(65);
        for name in ["", "../x", "a.b", "a/b", "a\0", long.as_str()] {
            let error = fill.write_snapshot(name, b"").unwrap_err();
            assert!(matches!(fill_error(error), FillError::BadName { .. }), "{name}");
        }
    }
}
