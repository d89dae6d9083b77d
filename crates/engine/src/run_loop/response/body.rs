//! Consumers of a response body. A consumer receives the body piece by piece as it arrives.

use super::digest::BodyDigest;
use super::file_verifier::FileVerifier;
use crate::plan::{LIST_BYTES_MAX, MESSAGE_BYTES_MAX};
use content::{Mismatch, Verifier};
use measure::AttemptOutcome;
use wire::gateway;

/// Maximum number of bytes of an error message that are kept.
const ERROR_BYTES_MAX: usize = 64 << 10;
/// Maximum number of bytes that are kept from the beginning of a refusal, for reports.
const EXCERPT_BYTES_MAX: usize = 2 << 10;

/// Consumer of a response's body.
#[derive(Debug, Default)]
pub(in crate::run_loop) enum BodySink<'p> {
    #[default]
    Discard,
    /// Compares the body with the content of its object.
    Compare(Verifier<'p>),
    /// Compares the body with a local file.
    CompareFile(Box<FileVerifier<'p>>),
    /// Keeps the body until it is complete.
    Keep(Vec<u8>),
    /// Keeps a list, which may be long, until it is complete.
    KeepList(Vec<u8>),
    /// Keeps the beginning of an error message.
    Error(Vec<u8>),
    /// Keeps the beginning of a refusal that is not in the format of S3. Reports show this text.
    Excerpt(Vec<u8>),
    /// Hashes the body.
    Digest(Box<BodyDigest>),
    /// Checks a CAR or a block from a gateway.
    Gateway(Box<gateway::Check>),
}

/// Reason why a body is not read any further.
#[derive(Clone, Debug)]
pub(in crate::run_loop) enum BodyFault {
    /// The body differs from the content of its object.
    Differs(Mismatch),
    /// The body from a gateway is not the requested content.
    Gateway(gateway::Fault),
    /// The body is too large to be kept.
    TooLarge,
    /// The body has more bytes than the local file with which it is compared.
    TooLong,
    /// The local file with which the body is compared has changed, or cannot be read.
    LocalFile(AttemptOutcome),
}

impl BodySink<'_> {
    /// Returns whether the consumer needs the bytes. Needed bytes cannot be discarded in the kernel.
    #[inline]
    pub fn reads(&self) -> bool {
        !matches!(self, Self::Discard)
    }

    /// Returns the body, if it is kept.
    pub fn kept(&self) -> &[u8] {
        match self {
            Self::Keep(bytes) | Self::KeepList(bytes) | Self::Error(bytes) => bytes,
            Self::Discard
            | Self::Compare(_)
            | Self::CompareFile(_)
            | Self::Excerpt(_)
            | Self::Digest(_)
            | Self::Gateway(_) => &[],
        }
    }

    /// Processes the next piece.
    ///
    /// # Errors
    /// Fails if the body is wrong or too large.
    #[inline]
    pub fn take(&mut self, piece: &[u8]) -> Result<(), BodyFault> {
        match self {
            Self::Discard => Ok(()),
            Self::Compare(verifier) => verifier.check(piece).map_err(BodyFault::Differs),
            Self::CompareFile(verifier) => verifier.check(piece),
            Self::Error(message) => {
                // Some servers send white space first, to keep the connection open.
                let piece = if message.is_empty() { piece.trim_ascii_start() } else { piece };
                let room = ERROR_BYTES_MAX - message.len();
                message.extend_from_slice(&piece[..piece.len().min(room)]);
                Ok(())
            }
            Self::Excerpt(text) => {
                let room = EXCERPT_BYTES_MAX - text.len();
                text.extend_from_slice(&piece[..piece.len().min(room)]);
                Ok(())
            }
            Self::Digest(digest) => {
                digest.update(piece);
                Ok(())
            }
            Self::Gateway(check) => check.take(piece).map_err(BodyFault::Gateway),
            Self::Keep(kept) if kept.len() + piece.len() > MESSAGE_BYTES_MAX => Err(BodyFault::TooLarge),
            Self::KeepList(kept) if kept.len() + piece.len() > LIST_BYTES_MAX => Err(BodyFault::TooLarge),
            Self::Keep(kept) | Self::KeepList(kept) => {
                kept.extend_from_slice(piece);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_messages_are_kept_in_part_and_others_whole() {
        let mut sink = BodySink::Error(Vec::new());
        for piece in [&b" \n"[..], b" <Error>", b" a", &[b'x'; 2 * ERROR_BYTES_MAX]] {
            sink.take(piece).unwrap();
        }
        let BodySink::Error(message) = &sink else { panic!("{sink:?}") };
        assert!(message.starts_with(b"<Error> axx") && message.len() == ERROR_BYTES_MAX);
        let mut sink = BodySink::Keep(vec![0; MESSAGE_BYTES_MAX - 1]);
        assert!(sink.take(b"a").is_ok() && matches!(sink.take(b"b"), Err(BodyFault::TooLarge)));
    }
}
