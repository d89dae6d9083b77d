//! Writing and checking one file of a dataset.
//!
//! A file has the name `.NAME.partial` until it is complete. A file with the right name and size is therefore complete,
//! even if an earlier run was interrupted or killed.

use content::{Mismatch, ObjectContent};
use measure::units::ByteSize;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Minimum size of files for which disk space is preallocated. Preallocation detects a full disk before the first byte
/// is written.
const PREALLOCATED_FROM: u64 = 1 << 20;

/// A problem with a file of the dataset.
#[derive(Debug)]
pub enum FileProblem {
    /// Another file or a directory has the name of the file.
    Occupied { path: PathBuf, by: Occupant, size: ByteSize },
    /// The file has the expected size but other content.
    Differs { path: PathBuf, mismatch: Mismatch },
    /// An I/O operation failed.
    Refused { doing: &'static str, path: PathBuf, error: io::Error },
}

/// A directory entry that has the name of an expected file, but is not this file.
#[derive(Debug)]
pub enum Occupant {
    /// A file of another size.
    File(ByteSize),
    /// Something other than a regular file.
    Other,
}

/// An observer of the work on a file, which can stop the work.
pub trait Watch {
    /// Reports that another `bytes` bytes were written or checked. Returns `false` if the work must stop.
    fn passed(&self, bytes: u64) -> bool;
}

/// Outcome of the work on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The file is complete.
    Whole,
    /// The work stopped, because [`Watch::passed`] returned `false`.
    Stopped,
}

/// Returns whether the file exists with the expected size.
pub fn is_done(path: &Path, size: ByteSize) -> Result<bool, FileProblem> {
    let occupied = |by| FileProblem::Occupied { path: path.to_owned(), by, size };
    match fs::symlink_metadata(path) {
        Ok(found) if !found.is_file() => Err(occupied(Occupant::Other)),
        Ok(found) if found.len() != size.0 => Err(occupied(Occupant::File(ByteSize(found.len())))),
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(FileProblem::Refused { doing: "check", path: path.to_owned(), error }),
    }
}

/// Reads the file and compares every byte.
pub fn check(path: &Path, object: ObjectContent, buffer: &mut [u8], watch: &impl Watch) -> Result<Ended, FileProblem> {
    let refused = |error| FileProblem::Refused { doing: "read", path: path.to_owned(), error };
    let mut file = File::open(path).map_err(refused)?;
    let mut verifier = object.verifier(0);
    loop {
        let count = match file.read(buffer) {
            Ok(0) => return Ok(Ended::Whole),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(refused(error)),
        };
        let read = buffer.get(..count).unwrap_or_default();
        verifier.check(read).map_err(|mismatch| FileProblem::Differs { path: path.to_owned(), mismatch })?;
        if !watch.passed(count as u64) {
            return Ok(Ended::Stopped);
        }
    }
}

/// Writes the file. The file has a temporary name until it is complete.
pub fn write(
    path: &Path,
    object: ObjectContent,
    size: ByteSize,
    buffer: &mut [u8],
    watch: &impl Watch,
) -> Result<Ended, FileProblem> {
    let refused = |error| FileProblem::Refused { doing: "write", path: path.to_owned(), error };
    let unfinished = Unfinished::of(path);
    let mut file = unfinished.create().map_err(refused)?;
    take_room(&file, size).map_err(refused)?;
    let mut offset = 0;
    while offset < size.0 {
        let piece = (size.0 - offset).min(buffer.len() as u64) as usize;
        let piece = buffer.get_mut(..piece).unwrap_or_default();
        object.fill(offset, piece);
        file.write_all(piece).map_err(refused)?;
        offset += piece.len() as u64;
        if !watch.passed(piece.len() as u64) {
            return Ok(Ended::Stopped);
        }
    }
    unfinished.finish(path).map_err(refused)?;
    Ok(Ended::Whole)
}

fn take_room(file: &File, size: ByteSize) -> io::Result<()> {
    if size.0 < PREALLOCATED_FROM {
        return Ok(());
    }
    match sys::file::preallocate(file, size.0) {
        Err(error) if is_full(&error) || error.kind() == io::ErrorKind::FileTooLarge => Err(error),
        // Some file systems cannot preallocate. A full disk is then detected while writing.
        _ => Ok(()),
    }
}

/// Returns whether an error means that the disk or a quota is full.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// A file that is being written. Dropping this value removes the file, unless it is complete.
struct Unfinished {
    path: PathBuf,
    finished: bool,
}

impl Unfinished {
    fn of(path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Self { path: path.with_file_name(format!(".{name}.partial")), finished: false }
    }

    /// Creates the file and its directory. Replaces a file that a killed run left.
    fn create(&self) -> io::Result<File> {
        let create = || OpenOptions::new().write(true).create_new(true).open(&self.path);
        match create() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.path.parent().map_or(Ok(()), fs::create_dir_all)?;
                create()
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                fs::remove_file(&self.path)?;
                create()
            }
            created => created,
        }
    }

    fn finish(mut self, path: &Path) -> io::Result<()> {
        fs::rename(&self.path, path)?;
        self.finished = true;
        Ok(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.finished {
            // Ignore a failure, because the next run replaces the file.
            let _ = fs::remove_file(&self.path);
        }
    }
}
