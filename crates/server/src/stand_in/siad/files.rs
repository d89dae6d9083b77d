//! Files of the daemon, and their pieces on hosts.

use std::path::PathBuf;

use super::contracts::SECTOR_BYTES;

/// File bytes in a piece, which is a sector without the overhead of encryption.
const PIECE_BYTES: u64 = SECTOR_BYTES - 28;
/// siad's default redundancy.
const USUAL: Redundancy = Redundancy { data: 10, parity: 20 };

/// The number of pieces of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Redundancy {
    /// Number of pieces that are enough to restore the chunk, at least 1.
    pub(super) data: u64,
    /// Number of additional pieces.
    pub(super) parity: u64,
}

impl Default for Redundancy {
    fn default() -> Self {
        USUAL
    }
}

/// A file that the daemon keeps on hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct File {
    pub(super) source: PathBuf,
    pub(super) bytes: u64,
    pub(super) redundancy: Redundancy,
    /// Number of pieces on hosts. The daemon uploads the first piece of every chunk, then the second piece of every
    /// chunk, and so on.
    pub(super) pieces: u64,
}

impl File {
    pub(super) fn new(source: PathBuf, bytes: u64, redundancy: Redundancy) -> Self {
        Self { source, bytes, redundancy, pieces: 0 }
    }

    /// Returns the number of chunks. An empty file has one chunk.
    fn chunks(&self) -> u64 {
        self.bytes.div_ceil(self.redundancy.data * PIECE_BYTES).max(1)
    }

    pub(super) fn pieces_needed(&self) -> u64 {
        self.chunks() * (self.redundancy.data + self.redundancy.parity)
    }

    pub(super) fn is_complete(&self) -> bool {
        self.pieces >= self.pieces_needed()
    }

    /// Returns the bytes on hosts, with padding and redundancy.
    pub(super) fn uploaded_bytes(&self) -> u64 {
        self.pieces * SECTOR_BYTES
    }

    /// Returns the share of the file's pieces that are on hosts, in percent.
    pub(super) fn progress_percent(&self) -> f64 {
        (100.0 * (self.uploaded_bytes() as f64 / (self.pieces_needed() * SECTOR_BYTES) as f64)).min(100.0)
    }

    /// Returns the minimum number of pieces of any chunk.
    fn pieces_of_least(&self) -> u64 {
        self.pieces / self.chunks()
    }

    /// Returns the redundancy of the least redundant chunk. Like siad, returns -1 for an empty file.
    pub(super) fn redundancy(&self) -> f64 {
        if self.bytes == 0 {
            return -1.0;
        }
        self.pieces_of_least() as f64 / self.redundancy.data as f64
    }

    /// Returns whether the file can be downloaded.
    pub(super) fn is_available(&self) -> bool {
        self.pieces_of_least() >= self.redundancy.data
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_available_long_before_it_is_complete() {
        let mut file = File::new(PathBuf::new(), 3 * 41_942_760, USUAL);
        assert_eq!((file.chunks(), file.pieces_needed()), (3, 90));
        file.pieces = 29;
        assert!(!file.is_available() && file.redundancy() < 1.0);
        file.pieces = 30;
        assert!(file.is_available() && !file.is_complete());
        assert!((file.redundancy() - 1.0).abs() < 1e-9 && (file.progress_percent() - 100.0 / 3.0).abs() < 1e-9);
        file.pieces = 90;
        assert!(file.is_complete() && (file.redundancy() - 3.0).abs() < 1e-9);
        assert_eq!(file.uploaded_bytes(), 90 << 22);
    }

    #[test]
    fn an_empty_file_has_a_chunk_and_no_redundancy() {
        let file = File::new(PathBuf::new(), 0, USUAL);
        assert_eq!((file.pieces_needed(), file.redundancy() < 0.0), (30, true));
    }
}
