//! Files of the records of a run, and the replacement of their content.
//!
//! The first file contains the begin record. A long run continues in further files, so that shorter files can replace
//! old files while the run is in progress.

use crate::error::{StoreError, StoreErrorKind};
use crate::files::{TemporaryFile, sync_name};
use crate::frames::{FRAME_BYTES_MAX, FrameWriter};
use crate::line_writer::LineWriter;
use serde::Serialize;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Name of the first file of records.
pub const RECORDS_FILE: &str = "records.jsonl.zst";
/// Size of the lines in a frame of a replacement. When this size is reached, the frame ends.
const FRAME_BYTES: usize = 256 << 10;
/// Compression level of replacements. The level may be slow, because nothing waits for replacements.
const LEVEL: i32 = 3;

/// Returns the path of a file of records. The first file has number 1.
pub(crate) fn path(dir: &Path, number: u32) -> PathBuf {
    dir.join(name(number))
}

/// Returns the name of a file of records. The first file has number 1.
#[must_use]
pub fn name(number: u32) -> String {
    if number <= 1 { RECORDS_FILE.to_owned() } else { format!("records-{number:06}.jsonl.zst") }
}

/// Opens a file of records. Returns `None` if the file does not exist.
pub(crate) fn open(path: &Path) -> Result<Option<File>, StoreError> {
    match path.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::new(path, error)),
        // Opening a pipe would wait for a writer, and a device may be endless.
        Ok(metadata) if !metadata.is_file() => Err(StoreError::new(path, StoreErrorKind::NotAFile)),
        Ok(_) => File::open(path).map(Some).map_err(|error| StoreError::new(path, error)),
    }
}

/// A file of records that replaces another file completely.
pub(crate) struct Replacement {
    path: PathBuf,
    file: TemporaryFile,
    lines: LineWriter,
}

impl Replacement {
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let (file, medium) = TemporaryFile::create(path)?;
        let frames = FrameWriter::with_level(Box::new(medium), LEVEL)?;
        Ok(Self { path: path.to_owned(), file, lines: LineWriter::new(frames) })
    }

    /// Adds a line. Several lines share a frame.
    pub(crate) fn line(&mut self, record: &impl Serialize) -> Result<(), StoreErrorKind> {
        self.lines.push_record(record, FRAME_BYTES_MAX - FRAME_BYTES)?;
        if self.lines.pending_bytes() >= FRAME_BYTES { self.end_frame() } else { Ok(()) }
    }

    /// Ends the frame. Readers can then read its lines without the lines that follow.
    pub(crate) fn end_frame(&mut self) -> Result<(), StoreErrorKind> {
        Ok(self.lines.flush()?)
    }

    /// Waits until the new content is on the disk, and replaces the old content.
    pub(crate) fn finish(mut self) -> Result<(), StoreErrorKind> {
        self.lines.end()?;
        self.file.rename()?;
        // If this sync fails, a crash may bring back the old content, which is valid too.
        let _ = sync_name(&self.path);
        Ok(())
    }
}
