//! The layout of files in siad. A file consists of chunks. A chunk consists of pieces. Each piece fills one sector of a
//! different host.

use std::num::NonZeroU64;

/// Size of a sector, the unit in which hosts store data.
pub const SECTOR_BYTES: u64 = 1 << 22;
/// File bytes in one sector. Encryption uses the remaining bytes.
pub const PIECE_BYTES: u64 = SECTOR_BYTES - 28;
/// Default number of pieces that are enough to restore a chunk.
pub const DATA_PIECES: u64 = 10;
/// Default number of additional pieces of a chunk.
pub const PARITY_PIECES: u64 = 20;
/// File bytes in a chunk of [`DATA_PIECES`] pieces.
pub const CHUNK_BYTES: u64 = DATA_PIECES * PIECE_BYTES;

/// The number of pieces of each chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Redundancy {
    /// Number of pieces that are enough to restore the chunk.
    pub data: NonZeroU64,
    /// Number of additional pieces.
    pub parity: u64,
}

impl Default for Redundancy {
    /// Returns siad's default: 10 data pieces and 20 parity pieces.
    fn default() -> Self {
        Self { data: NonZeroU64::new(DATA_PIECES).unwrap_or(NonZeroU64::MIN), parity: PARITY_PIECES }
    }
}

impl Redundancy {
    /// Returns the number of chunks of a file. An empty file has one chunk.
    #[must_use]
    pub fn chunks(self, file_bytes: u64) -> u64 {
        file_bytes.div_ceil(self.data.get().saturating_mul(PIECE_BYTES)).max(1)
    }

    /// Returns the bytes that hosts store for a file, with padding and redundancy.
    #[must_use]
    pub fn absolute_bytes(self, file_bytes: u64) -> u64 {
        let pieces = self.data.get().saturating_add(self.parity);
        self.chunks(file_bytes).saturating_mul(pieces).saturating_mul(SECTOR_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_has_the_size_of_the_study() {
        assert_eq!(CHUNK_BYTES, 41_942_760);
    }

    #[test]
    fn every_file_fills_whole_chunks() {
        let usual = Redundancy::default();
        for (file_bytes, chunks) in [(0, 1), (1, 1), (CHUNK_BYTES, 1), (CHUNK_BYTES + 1, 2), (500_000_000, 12)] {
            assert_eq!(usual.chunks(file_bytes), chunks, "{file_bytes}");
            assert_eq!(usual.absolute_bytes(file_bytes), chunks * 30 * SECTOR_BYTES);
        }
        // The best case that the study's author proposed for later tests: files of 20 GiB, each with 512 chunks.
        assert_eq!(usual.chunks(21_474_693_120), 512);
        assert_eq!(usual.absolute_bytes(u64::MAX), u64::MAX);
        // The study's worst case: the size of a 1-byte file is 7.9e-7 % of the bytes that hosts store for it.
        assert_eq!(format!("{:.1e}", 100.0 / usual.absolute_bytes(1) as f64), "7.9e-7");
    }
}
