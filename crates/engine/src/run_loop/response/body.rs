//! Consumers of the body of a response while it comes.

use super::digest::BodyDigest;
use crate::plan::MESSAGE_BYTES_MAX;
use content::{Mismatch, Verifier};
use wire::gateway;

/// Bytes that are kept of an error message.
const ERROR_BYTES_MAX: usize = 64 << 10;

/// The consumer of a response's body.
#[derive(Debug, Default)]
pub(in crate::run_loop) enum BodySink<'p> {
    #[default]
    Discard,
    /// Compares it with the content of its object.
    Compare(Verifier<'p>),
    /// Keeps it until it is complete.
    Keep(Vec<u8>),
    /// Keeps the beginning of an error message.
    Error(Vec<u8>),
    /// Hashes it.
    Digest(Box<BodyDigest>),
    /// Checks a CAR or a block of a gateway.
    Gateway(Box<gateway::Check>),
}

/// A reason for which a body is not read any further.
#[derive(Clone, Debug)]
pub(in crate::run_loop) enum BodyFault {
    /// It differs from the content of its object.
    Differs(Mismatch),
    /// It is not what was requested of a gateway.
    Gateway(gateway::Fault),
    /// It is too large to be kept.
    TooLarge,
}

impl BodySink<'_> {
    /// Returns whether the bytes are read, so that they cannot be discarded in the kernel.
    #[inline]
    pub fn reads(&self) -> bool {
        !matches!(self, Self::Discard)
    }

    /// Takes the next piece.
    ///
    /// # Errors
    /// When it is not what it should be, or too much.
    #[inline]
    pub fn take(&mut self, piece: &[u8]) -> Result<(), BodyFault> {
        match self {
            Self::Discard => Ok(()),
            Self::Compare(verifier) => verifier.check(piece).map_err(BodyFault::Differs),
            Self::Error(message) => {
                // Some servers send blanks first, to keep the connection alive.
                let piece = if message.is_empty() { piece.trim_ascii_start() } else { piece };
                let room = ERROR_BYTES_MAX - message.len();
                message.extend_from_slice(&piece[..piece.len().min(room)]);
                Ok(())
            }
            Self::Digest(digest) => {
                digest.update(piece);
                Ok(())
            }
            Self::Gateway(check) => check.take(piece).map_err(BodyFault::Gateway),
            Self::Keep(kept) if kept.len() + piece.len() > MESSAGE_BYTES_MAX => Err(BodyFault::TooLarge),
            Self::Keep(kept) => {
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
