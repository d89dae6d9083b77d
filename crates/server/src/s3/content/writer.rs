//! A writer of content.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::mem;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use super::Content;
use super::piece::{DataFile, Piece};
use super::quota::{Quota, Reservation, WriteError};

/// Maximum number of bytes in one piece in memory.
const MEMORY_PIECE_MAX: usize = 1 << 20;

/// Content that is being written. If the writer is dropped before [`Self::finish`] is called, nothing remains.
#[derive(Debug)]
pub(in crate::s3) struct ContentWriter {
    reservation: Reservation,
    done: Content,
    into: Sink,
}

#[derive(Debug)]
enum Sink {
    Memory(Vec<u8>),
    File(File, PathBuf),
}

impl ContentWriter {
    /// Writes into memory.
    pub(in crate::s3) fn memory(quota: &Arc<Quota>) -> Self {
        Self { reservation: Reservation::empty(quota), done: Content::default(), into: Sink::Memory(Vec::new()) }
    }

    /// Writes into a new file.
    ///
    /// # Errors
    /// Fails if the file exists or cannot be created.
    pub(in crate::s3) fn file(path: PathBuf, quota: &Arc<Quota>) -> Result<Self, WriteError> {
        let file = OpenOptions::new().write(true).create_new(true).custom_flags(libc::O_NOFOLLOW).open(&path)?;
        Ok(Self { reservation: Reservation::empty(quota), done: Content::default(), into: Sink::File(file, path) })
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// Fails if the quota is exceeded, or if the file cannot be written.
    pub(in crate::s3) fn write(&mut self, mut bytes: &[u8]) -> Result<(), WriteError> {
        self.reservation.grow(bytes.len() as u64)?;
        match &mut self.into {
            Sink::File(file, _) => file.write_all(bytes)?,
            Sink::Memory(buffer) => {
                while buffer.len() + bytes.len() >= MEMORY_PIECE_MAX {
                    let (now, later) = bytes.split_at(MEMORY_PIECE_MAX - buffer.len());
                    buffer.extend_from_slice(now);
                    bytes = later;
                    self.done.push(memory_piece(&mut self.reservation, mem::take(buffer)));
                }
                buffer.extend_from_slice(bytes);
            }
        }
        Ok(())
    }

    /// Appends a copy of `content`.
    ///
    /// # Errors
    /// Fails in the same cases as [`Self::write`], or if the content cannot be read.
    pub(in crate::s3) fn copy(&mut self, content: &Content) -> Result<(), WriteError> {
        let mut reader = content.read(0, content.bytes());
        while let Some(bytes) = reader.next_piece()? {
            self.write(&bytes)?;
        }
        Ok(())
    }

    /// Returns the content. Call this after all bytes were written.
    pub(in crate::s3) fn finish(mut self) -> Content {
        let mut content = mem::take(&mut self.done);
        match mem::replace(&mut self.into, Sink::Memory(Vec::new())) {
            Sink::Memory(buffer) => {
                if !buffer.is_empty() {
                    content.push(memory_piece(&mut self.reservation, buffer));
                }
            }
            Sink::File(_, path) => {
                let reservation = self.reservation.split(self.reservation.bytes());
                content.push(Piece::File(Arc::new(DataFile::written(path, reservation))));
            }
        }
        content
    }
}

impl Drop for ContentWriter {
    fn drop(&mut self) {
        if let Sink::File(_, path) = &self.into {
            // The file may not exist any more.
            let _ = fs::remove_file(path);
        }
    }
}

/// Creates a piece in memory, and moves the reservation of its bytes to it.
fn memory_piece(reservation: &mut Reservation, mut bytes: Vec<u8>) -> Piece {
    bytes.shrink_to_fit();
    let own = reservation.split(bytes.len() as u64);
    Piece::Memory(bytes.into(), Arc::new(own))
}
