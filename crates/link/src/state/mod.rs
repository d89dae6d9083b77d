//! The records of links on this host, which show their status and are needed to clean up after a crash.
//!
//! The kernel removes namespaces and devices when no process uses an end any more. If an owner is killed by `kill -9`,
//! two things can remain: its record, and processes that a command at an end has started. The guard of the link, a second
//! process, removes both immediately ([`clean_up_after`]). If the guard is killed, the owner starts another one. If both
//! are killed at the same time, [`Registry::clean`] removes the remains at the next start of a link.

mod guard;
mod processes;
mod record;

#[cfg(test)]
mod tests;

pub use guard::clean_up_after;
pub use record::{Ends, LinkState, Owner, Record, Side};

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Maximum size of a record. A larger file was not written by this program.
const RECORD_MAX_BYTES: u64 = 64 << 10;
/// Maximum number of records. A host has far fewer links.
const RECORDS_MAX: usize = 1000;

/// A link whose remains were removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cleaned {
    /// The record.
    pub record: Record,
    /// Processes at its ends that were killed.
    pub killed: Vec<u32>,
}

/// The directory with the records of the links that a user has created on this host.
#[derive(Clone, Debug)]
pub struct Registry {
    folder: PathBuf,
}

/// Record in the registry. Dropping this value removes the record.
#[derive(Debug)]
pub struct Registered {
    file: PathBuf,
}

impl Registry {
    /// Opens the registry of this user: in `$XDG_RUNTIME_DIR`, or in `/run` for root, or otherwise in the directory for
    /// temporary files.
    ///
    /// # Errors
    /// Fails if the folder cannot be created.
    pub fn of_this_user() -> io::Result<Self> {
        let user = processes::person();
        let folder = match std::env::var_os("XDG_RUNTIME_DIR") {
            Some(folder) => PathBuf::from(folder).join("plimsoll"),
            None if user == 0 => PathBuf::from("/run/plimsoll"),
            None => std::env::temp_dir().join(format!("plimsoll-{user}")),
        };
        Self::open(&folder.join("links"))
    }

    /// Opens a registry in a directory, which is created if necessary. Only its owner can read and change it.
    ///
    /// # Errors
    /// Fails if the directory cannot be created, or belongs to another user.
    pub fn open(folder: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let owner = std::os::unix::fs::MetadataExt::uid(&fs::metadata(folder)?);
        if owner != processes::user() {
            let text = format!("{} belongs to another user", folder.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        }
        Ok(Self { folder: folder.to_owned() })
    }

    /// Writes the record of a link of this process.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn register(&self, record: &Record) -> io::Result<Registered> {
        let file = self.folder.join(format!("{}.json", record.owner.process));
        let registered = Registered { file };
        registered.write(record)?;
        Ok(registered)
    }

    /// Returns the records of all links whose owners run.
    ///
    /// # Errors
    /// Fails if the folder cannot be read.
    pub fn running(&self) -> io::Result<Vec<Record>> {
        let links = self.links()?.into_iter();
        Ok(links.filter(|(_, state)| *state == LinkState::Running).map(|(record, _)| record).collect())
    }

    /// Returns all records with their states, in the order of their files. Other files are ignored.
    ///
    /// # Errors
    /// Fails if the folder cannot be read.
    pub fn links(&self) -> io::Result<Vec<(Record, LinkState)>> {
        let records = self.files()?.into_iter().filter_map(|file| read(&file));
        Ok(records.map(|record| (record.state(), record)).map(|(state, record)| (record, state)).collect())
    }

    /// Removes the remains of links whose owners have ended: kills the processes at their ends, and deletes their
    /// records.
    ///
    /// # Errors
    /// Fails if the folder cannot be read. If something cannot be removed, the next call tries again.
    pub fn clean(&self) -> io::Result<Vec<Cleaned>> {
        let mut cleaned = Vec::new();
        for file in self.files()? {
            let Some(record) = read(&file).filter(|record| record.state() == LinkState::Abandoned) else { continue };
            let killed = record.end_processes()?;
            match fs::remove_file(&file) {
                Ok(()) => {}
                // Another process has cleaned up after the same link.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            }
            cleaned.push(Cleaned { record, killed });
        }
        Ok(cleaned)
    }

    fn files(&self) -> io::Result<Vec<PathBuf>> {
        let entries = fs::read_dir(&self.folder)?.take(RECORDS_MAX);
        let mut files: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
        files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
        files.sort();
        Ok(files)
    }
}

impl Registered {
    /// Replaces the record. Readers see either the old record or the new one.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn write(&self, record: &Record) -> io::Result<()> {
        let draft = self.file.with_extension("draft");
        fs::write(&draft, serde_json::to_vec_pretty(record)?)?;
        fs::rename(draft, &self.file)
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
    }
}

fn read(file: &Path) -> Option<Record> {
    let mut text = String::new();
    File::open(file).ok()?.take(RECORD_MAX_BYTES).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}
