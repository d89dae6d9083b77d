//! One file of a dataset on disk: is it there, is it whole, and how it comes to be.
//!
//! A file gets its name when it is complete; until then it is called `.NAME.partial` in the same directory. Thus a file
//! with its name and its size is done, whatever ended the run before.

use content::{Mismatch, ObjectContent};
use measure::units::ByteSize;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// From this size on a file's room is taken before it is written, so that a full disk shows at once.
const PREALLOCATED_FROM: u64 = 1 << 20;

/// Why a file is not as it should be.
#[derive(Debug)]
pub enum Trouble {
    /// Something else has its name.
    Occupied { path: PathBuf, by: Occupant, size: ByteSize },
    /// It has its size, and another content.
    Differs { path: PathBuf, mismatch: Mismatch },
    /// The system refused.
    Refused { doing: &'static str, path: PathBuf, error: io::Error },
}

/// What stands where a file should be.
#[derive(Debug)]
pub enum Occupant {
    /// A file of another size.
    File(ByteSize),
    /// No regular file.
    Other,
}

/// Whether work goes on; told about bytes as they are done.
pub trait Watch {
    /// Takes note of so many more bytes. False asks for the end.
    fn passed(&self, bytes: u64) -> bool;
}

/// How writing or reading a file ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It is complete.
    Whole,
    /// The end was asked for before.
    Stopped,
}

/// Whether the file is there with its size.
pub fn is_done(path: &Path, size: ByteSize) -> Result<bool, Trouble> {
    let occupied = |by| Trouble::Occupied { path: path.to_owned(), by, size };
    match fs::symlink_metadata(path) {
        Ok(found) if !found.is_file() => Err(occupied(Occupant::Other)),
        Ok(found) if found.len() != size.0 => Err(occupied(Occupant::File(ByteSize(found.len())))),
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Trouble::Refused { doing: "look at", path: path.to_owned(), error }),
    }
}

/// Reads the file, and compares every byte.
pub fn check(path: &Path, object: ObjectContent, buffer: &mut [u8], watch: &impl Watch) -> Result<Ended, Trouble> {
    let refused = |error| Trouble::Refused { doing: "read", path: path.to_owned(), error };
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
        verifier.check(read).map_err(|mismatch| Trouble::Differs { path: path.to_owned(), mismatch })?;
        if !watch.passed(count as u64) {
            return Ok(Ended::Stopped);
        }
    }
}

/// Writes the file, under another name until it is complete.
pub fn write(
    path: &Path,
    object: ObjectContent,
    size: ByteSize,
    buffer: &mut [u8],
    watch: &impl Watch,
) -> Result<Ended, Trouble> {
    let refused = |error| Trouble::Refused { doing: "write", path: path.to_owned(), error };
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
        // Not every file system can do it: then writing tells.
        _ => Ok(()),
    }
}

/// Whether there is no more room.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// A file that is being written; it is removed unless it was finished.
struct Unfinished {
    path: PathBuf,
    finished: bool,
}

impl Unfinished {
    fn of(path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Self { path: path.with_file_name(format!(".{name}.partial")), finished: false }
    }

    /// Makes it, with its directory. What a killed run has left is replaced, never written through.
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
            // Where it can not be removed, the next run replaces it.
            let _ = fs::remove_file(&self.path);
        }
    }
}
