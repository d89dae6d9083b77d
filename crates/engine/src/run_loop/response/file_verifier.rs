//! Comparison of received bytes with a local file.

use super::body::BodyFault;
use crate::plan::LocalFile;
use crate::run_loop::attempt::failure_outcomes::of_local_file;
use content::Mismatch;
use measure::{AttemptOutcome, Phase};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Number of bytes that are read and compared at a time.
const BATCH: usize = 64 << 10;

/// A comparison of a stream with a local file.
#[derive(Debug)]
pub(in crate::run_loop) struct FileVerifier<'p> {
    local: &'p LocalFile,
    file: File,
    offset: u64,
    expected: Vec<u8>,
}

impl<'p> FileVerifier<'p> {
    /// Returns a comparison with the bytes of the file from `offset` on.
    ///
    /// # Errors
    /// Fails if the file has changed or cannot be read.
    pub fn open(local: &'p LocalFile, offset: u64) -> Result<Self, AttemptOutcome> {
        let file = local.open().map_err(|error| of_local_file(&error, Phase::Head))?;
        Ok(Self { local, file, offset, expected: Vec::new() })
    }

    /// Compares the next received bytes with the file. A chunked response may have more bytes than the file, because
    /// the size of such a response is not known before its end.
    ///
    /// # Errors
    /// Fails if the bytes differ, if there are too many bytes, or if the file has changed or cannot be read.
    pub fn check(&mut self, received: &[u8]) -> Result<(), BodyFault> {
        let failed = |error: io::Error| BodyFault::LocalFile(of_local_file(&error, Phase::Body));
        let left = self.local.size.saturating_sub(self.offset);
        let is_too_long = received.len() as u64 > left;
        let received = if is_too_long { &received[..left as usize] } else { received };
        for piece in received.chunks(BATCH) {
            self.expected.resize(piece.len(), 0);
            let read = self.file.read_exact_at(&mut self.expected, self.offset);
            if read.is_err() || self.expected != piece {
                self.local.check(&self.file).map_err(failed)?;
            }
            read.map_err(failed)?;
            if let Some(mismatch) = Mismatch::find(self.offset, &self.expected, piece) {
                return Err(BodyFault::Differs(mismatch));
            }
            self.offset += piece.len() as u64;
        }
        if is_too_long { Err(BodyFault::TooLong) } else { Ok(()) }
    }
}
