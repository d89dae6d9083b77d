//! Content of objects, in memory or in files. Each piece counts toward the store's quota until its last reader has
//! finished.

pub(super) mod piece;
pub(super) mod quota;
pub(super) mod reader;
pub(super) mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use piece::{DataFile, Piece};
use quota::{Quota, WriteError};
use reader::ContentReader;

/// The bytes of an object or a part. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Content {
    pieces: Vec<Piece>,
    bytes: u64,
}

impl Content {
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    fn push(&mut self, piece: Piece) {
        self.bytes += piece.bytes();
        self.pieces.push(piece);
    }

    /// Appends the content of `other`.
    pub(super) fn append(&mut self, other: &Self) {
        let Self { pieces, bytes } = other;
        self.pieces.extend_from_slice(pieces);
        self.bytes += bytes;
    }

    /// Returns the paths of the files that contain this content.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        self.pieces.iter().filter_map(Piece::path)
    }

    /// Creates content from files that an earlier server wrote.
    ///
    /// # Errors
    /// Fails if a file cannot be read, or if the quota is exceeded.
    pub(super) fn of_files(paths: Vec<PathBuf>, quota: &Arc<Quota>) -> Result<Self, WriteError> {
        let mut content = Self::default();
        for path in paths {
            content.push(Piece::File(Arc::new(DataFile::existing(path, quota)?)));
        }
        Ok(content)
    }

    /// Sets whether the files of this content are removed after their last reader has finished. Pieces in memory are
    /// always freed after their last reader has finished.
    pub(super) fn set_removed_after_use(&self, removed: bool) {
        for piece in &self.pieces {
            if let Piece::File(file) = piece {
                file.set_removed_after_use(removed);
            }
        }
    }

    /// Returns a reader of `length` bytes, starting at offset `first`.
    pub(super) fn read(&self, first: u64, length: u64) -> ContentReader {
        ContentReader::new(&self.pieces, first, length)
    }
}

#[cfg(test)]
mod tests;
