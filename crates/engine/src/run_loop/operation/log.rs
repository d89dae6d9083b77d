//! The log of operations, for plans that want each one.

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
    /// The slot of its thread.
    pub slot: u32,
    /// Kind of the operation.
    pub kind: OpKind,
    /// The object that it read or wrote.
    pub subject: Subject,
    /// The range that was requested.
    pub range: Option<ByteRange>,
    /// Time at which it should have started.
    pub intended: Instant,
    /// Time at which the client started it.
    pub started: Instant,
    /// Time at which its first byte was handed to the kernel.
    pub sent: Option<Instant>,
    /// Time at which the first byte of its final response was read.
    pub first_byte: Option<Instant>,
    /// Time at which it ended.
    pub end: Instant,
    /// Time for opening its connections, in nanoseconds.
    pub connect_nanos: Option<u64>,
    /// Time for the TLS handshakes of its connections, in nanoseconds.
    pub handshake_nanos: Option<u64>,
    /// Attempts made.
    pub attempts: u16,
    /// Redirects followed.
    pub hops: u16,
    /// Its requests in order, when it was redirected; empty otherwise.
    pub chain: Vec<HopEntry>,
    /// Outcome of its last attempt.
    pub outcome: AttemptOutcome,
    /// Status of its final response.
    pub status: Option<u16>,
    /// Target of its final response, when that is a redirect which was not followed.
    pub location: Location,
    /// Bytes of the object that it moved: the body of its final response, or of the request of an upload.
    pub body_bytes: u64,
    /// All bytes received for it, with heads and framing, of all its attempts.
    pub received_bytes: u64,
    /// Size of the whole object, according to the final response.
    pub object_bytes: Option<u64>,
    /// Offset in the object of the first byte that differs from its content.
    pub differs_at: Option<u64>,
    /// The body of the final response, where bodies are kept; of a refusal, its first 64 KiB.
    pub message: Option<Box<[u8]>>,
}

/// One request of a redirected operation.
#[derive(Clone, Debug)]
pub struct HopEntry {
    /// The host that it was sent to.
    pub host: Label,
    /// Time at which its first byte was handed to the kernel.
    pub sent: Option<Instant>,
    /// Time at which its response was complete.
    pub end: Instant,
    /// Status of its response.
    pub status: Option<u16>,
    /// All bytes received for it, with heads and framing.
    pub bytes: u64,
}

/// Entries that are handed over together.
pub(in crate::run_loop) const BATCH: usize = 512;
