//! The log of operations, for plans that log every operation.

use crate::plan::Subject;
use measure::stats::label::Label;
use measure::{AttemptOutcome, Instant, OpKind};
use wire::range::ByteRange;
use wire::response::Location;

/// One ended operation.
#[derive(Clone, Debug)]
pub struct OpEntry {
    /// Number of the operation.
    pub number: u64,
    /// Slot of the operation, within its thread.
    pub slot: u32,
    /// Kind of the operation.
    pub kind: OpKind,
    /// Object that the operation read or wrote.
    pub subject: Subject,
    /// The range that was requested.
    pub range: Option<ByteRange>,
    /// Time at which the operation should have started.
    pub intended: Instant,
    /// Time at which the client started the operation.
    pub started: Instant,
    /// Time at which the first byte of the request was passed to the kernel.
    pub sent: Option<Instant>,
    /// Time at which the first byte of the final response was read.
    pub first_byte: Option<Instant>,
    /// Time at which the operation ended.
    pub end: Instant,
    /// Time for opening connections, in nanoseconds.
    pub connect_nanos: Option<u64>,
    /// Time for TLS handshakes, in nanoseconds.
    pub handshake_nanos: Option<u64>,
    /// Number of attempts made, up to 65,535.
    pub attempts: u16,
    /// Number of redirects followed.
    pub hops: u16,
    /// Requests of a redirected operation, in order. The list is empty for other operations.
    pub chain: Vec<HopEntry>,
    /// Outcome of the operation's last attempt.
    pub outcome: AttemptOutcome,
    /// Status of the operation's final response.
    pub status: Option<u16>,
    /// Target of the final response, if the response is a redirect that was not followed.
    pub location: Location,
    /// Number of bytes of the object that the operation transferred: the body size of the final response or, for an
    /// upload, of the request.
    pub body_bytes: u64,
    /// All bytes received in all attempts of the operation, including heads and framing.
    pub received_bytes: u64,
    /// Number of the object's bytes that were sent, by all attempts of the operation and of its parts.
    pub uploaded_bytes: u64,
    /// `true` if the operation completed a multipart upload, and an earlier request may have started to complete it. A
    /// server may report success while it still works on the earlier request, or after a crash ended this work. Only
    /// reading the object shows whether it is stored.
    pub completed_again: bool,
    /// Size of the whole object, according to the final response.
    pub object_bytes: Option<u64>,
    /// Offset in the object of the first wrong byte.
    pub differs_at: Option<u64>,
    /// Body of the final response, if bodies are kept. For a refusal, only the first 64 KiB of the body are kept.
    pub message: Option<Box<[u8]>>,
}

/// Attempts of operations, and the number of object bytes that these attempts sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Number of attempts.
    pub attempts: u64,
    /// Bytes of objects that these attempts sent.
    pub bytes: u64,
}

impl std::iter::Sum for Sent {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, Self { attempts, bytes }| Self {
            attempts: sum.attempts.saturating_add(attempts),
            bytes: sum.bytes.saturating_add(bytes),
        })
    }
}

/// One request of a redirected operation.
#[derive(Clone, Debug)]
pub struct HopEntry {
    /// Host to which the request was sent.
    pub host: Label,
    /// Time at which the first byte of the request was passed to the kernel.
    pub sent: Option<Instant>,
    /// Time at which the response was complete.
    pub end: Instant,
    /// Status of the response.
    pub status: Option<u16>,
    /// All bytes received for this request, including heads and framing.
    pub bytes: u64,
}

/// Number of entries that are passed on together.
pub(in crate::run_loop) const BATCH: usize = 512;
