//! The content of blackhole objects: a pattern that repeats every 251 bytes. About 1 MiB of the pattern is kept in
//! memory.
//!
//! 251 is prime, and the usual sizes of buffers, pages and parts are not multiples of it. If an error shifts the
//! content by such a size, the bytes change, and a check detects the error.

use std::fs::File;
use std::io;

/// Length of the pattern.
const PERIOD: u64 = 251;
/// Number of bytes kept in memory: about 1 MiB, a multiple of both the period and the page size. With this size, a
/// large object needs only a few `sendfile` calls, and the bytes still fit into the cache of a core.
const KEPT: u64 = PERIOD * 4096;

/// Returns the byte at `offset` of every blackhole object: `offset mod 251`.
#[must_use]
pub fn pattern_byte(offset: u64) -> u8 {
    (offset % PERIOD) as u8
}

/// The pattern, kept twice: in memory for copies, and as a file for `sendfile`.
pub(crate) struct Pattern {
    bytes: Vec<u8>,
    pub(crate) file: File,
}

impl Pattern {
    pub(crate) fn new() -> io::Result<Self> {
        let bytes: Vec<u8> = (0..KEPT).map(pattern_byte).collect();
        let file = sys::file::memory_file("plimsoll-blackhole", &bytes)?;
        Ok(Self { bytes, file })
    }

    /// Returns a position in the file where the content from `offset` on begins, and the number of bytes from this
    /// position to the end of the file.
    pub(crate) fn locate(offset: u64) -> (u64, u64) {
        let at = offset % KEPT;
        (at, KEPT - at)
    }

    /// Appends `length` bytes of the content, starting at `offset`, to `out`.
    pub(crate) fn append(&self, mut offset: u64, mut length: usize, out: &mut Vec<u8>) {
        while length > 0 {
            let (at, available) = Self::locate(offset);
            let piece = length.min(available as usize);
            out.extend_from_slice(&self.bytes[at as usize..at as usize + piece]);
            offset += piece as u64;
            length -= piece;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn any_slice_follows_the_pattern(offset in any::<u64>(), length in 0_usize..3_000) {
            let pattern = Pattern::new().unwrap();
            let offset = offset.min(u64::MAX - length as u64);
            let mut out = Vec::new();
            pattern.append(offset, length, &mut out);
            let expected: Vec<u8> = (0..length as u64).map(|at| pattern_byte(offset + at)).collect();
            prop_assert_eq!(out, expected);
        }
    }

    #[test]
    fn slice_beyond_the_kept_bytes_continues_the_pattern() {
        let pattern = Pattern::new().unwrap();
        let mut out = Vec::new();
        pattern.append(KEPT * 3 - 5, 2 * KEPT as usize, &mut out);
        assert!(out.iter().enumerate().all(|(at, byte)| *byte == pattern_byte(KEPT * 3 - 5 + at as u64)));
        assert_eq!(out.len() as u64, 2 * KEPT);
    }
}
