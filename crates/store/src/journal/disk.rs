//! The file operations of the writer. A trait lets tests make these operations fail.

use crate::files;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// The file system of a journal.
pub(crate) trait Disk: Send {
    /// Creates an empty file. Fails if it exists.
    fn create(&mut self, path: &Path) -> io::Result<Box<dyn SegmentFile>>;
    /// Waits until the names of new files are on the disk.
    fn sync_directory(&mut self, path: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&mut self, path: &Path) -> io::Result<()>;
    /// Creates a file that occupies space.
    fn reserve(&mut self, path: &Path, bytes: u64) -> io::Result<()>;
}

/// A segment that is being written.
pub(crate) trait SegmentFile: Write + Send {
    /// Waits until the content is on the disk.
    fn sync(&mut self) -> io::Result<()>;
}

/// The file system of this host.
pub(crate) struct HostDisk;

impl Disk for HostDisk {
    fn create(&mut self, path: &Path) -> io::Result<Box<dyn SegmentFile>> {
        Ok(Box::new(OpenOptions::new().append(true).create_new(true).open(path)?))
    }

    fn sync_directory(&mut self, path: &Path) -> io::Result<()> {
        files::sync_directory(path)
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn reserve(&mut self, path: &Path, bytes: u64) -> io::Result<()> {
        files::reserve(path, bytes)
    }
}

impl SegmentFile for File {
    fn sync(&mut self) -> io::Result<()> {
        // The call also syncs the size of the file, but not its times.
        self.sync_data()
    }
}
