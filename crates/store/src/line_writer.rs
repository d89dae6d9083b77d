//! The writer of lines that share frames.

use crate::error::StoreErrorKind;
use crate::frames::FrameWriter;
use serde::Serialize;
use std::io;

/// The writer of lines that share frames. Lines stay in memory until [`LineWriter::flush`] writes them as one frame.
pub(crate) struct LineWriter {
    frames: FrameWriter,
    pending: Vec<u8>,
}

impl LineWriter {
    pub(crate) fn new(frames: FrameWriter) -> Self {
        Self { frames, pending: Vec::new() }
    }

    /// Returns the size of the lines in memory.
    pub(crate) fn pending_bytes(&self) -> usize {
        self.pending.len()
    }

    /// Adds a line, including its line ending.
    pub(crate) fn push(&mut self, line: &[u8]) {
        self.pending.extend_from_slice(line);
    }

    /// Adds a record as a line of JSON.
    ///
    /// # Errors
    /// Fails with [`StoreErrorKind::TooLarge`] for a line of more than `limit` bytes, or with [`StoreErrorKind::Json`].
    /// After either error, nothing is added.
    pub(crate) fn push_record(&mut self, record: &impl Serialize, limit: usize) -> Result<(), StoreErrorKind> {
        let before = self.pending.len();
        let written = serde_json::to_writer(&mut self.pending, record);
        self.pending.push(b'\n');
        let bytes = self.pending.len() - before;
        let checked = match written {
            Ok(()) if bytes > limit => Err(StoreErrorKind::TooLarge { bytes, limit }),
            written => written.map_err(StoreErrorKind::from),
        };
        if checked.is_err() {
            self.pending.truncate(before);
        }
        checked
    }

    /// Writes the lines in memory as one frame and passes the frame to the kernel. After that, a crash of this process
    /// cannot lose the lines. After an error, the lines are lost.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let written = self.frames.append(&self.pending);
        self.pending.clear();
        written
    }

    /// Writes the lines in memory and waits until all data is on the disk.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        self.flush()?;
        self.frames.sync()
    }
}
