//! One line for each operation, on request.

use crate::plan::Subject;
use measure::labels::Label;
use measure::{AttemptOutcome, Instant, OpKind};
use wire::range::ByteRange;
use wire::response::Location;

/// Everything that is known of one ended operation.
#[derive(Clone, Debug)]
pub struct OpEntry {
    /// Its number.
    pub number: u64,
    /// The slot of its thread that it was in.
    pub slot: u32,
    /// What was asked.
    pub kind: OpKind,
    /// The object that it was about.
    pub subject: Subject,
    /// The slice asked for.
    pub range: Option<ByteRange>,
    /// When it should have started.
    pub intended: Instant,
    /// When the client took it.
    pub started: Instant,
    /// When its first byte was handed to the kernel.
    pub sent: Option<Instant>,
    /// When the first byte of its final answer was read.
    pub first_byte: Option<Instant>,
    /// When it ended.
    pub end: Instant,
    /// Time that opening its connections took.
    pub connect_nanos: Option<u64>,
    /// Time that the TLS handshakes of its connections took.
    pub handshake_nanos: Option<u64>,
    /// Attempts made.
    pub attempts: u16,
    /// Redirects followed.
    pub hops: u16,
    /// Its requests in order, when it was redirected; empty otherwise.
    pub chain: Vec<HopEntry>,
    /// How its last attempt ended.
    pub outcome: AttemptOutcome,
    /// Status of its final answer.
    pub status: Option<u16>,
    /// Where its final answer leads, when that is a redirect which was not followed.
    pub location: Location,
    /// Bytes of the object that it moved: the body of its final answer, or of the request of an upload.
    pub body_bytes: u64,
    /// All bytes received for it, with heads and framing, of all its attempts.
    pub received_bytes: u64,
    /// Size of the whole object, as the final answer tells it.
    pub object_bytes: Option<u64>,
    /// Offset in the object of the first byte that differs from its content.
    pub differs_at: Option<u64>,
    /// The body of the final answer, where bodies are kept; of a refusal, its first 64 KiB.
    pub message: Option<Box<[u8]>>,
}

/// One request of a redirected operation.
#[derive(Clone, Debug)]
pub struct HopEntry {
    /// The host that it went to.
    pub host: Label,
    /// When its first byte was handed to the kernel.
    pub sent: Option<Instant>,
    /// When its answer was complete.
    pub end: Instant,
    /// Status of its answer.
    pub status: Option<u16>,
    /// All bytes received for it, with heads and framing.
    pub bytes: u64,
}

/// Entries that are handed over at once.
pub(in crate::run_loop) const BATCH: usize = 512;
