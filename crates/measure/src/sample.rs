//! What the run loop tells the recorder about each operation and each attempt.

use crate::bounded;
use crate::clock::Instant;
use crate::enumerated;
use crate::outcome::{AttemptOutcome, Cause, Flags, OpOutcome};
use crate::unread::ReadSample;
use serde::{Deserialize, Serialize};

enumerated! {
    /// What was asked of the target.
    pub enum OpKind {
        Get => "get", "read a whole object";
        GetRange => "get-range", "read a range of an object";
        Head => "head", "ask for an object's head";
        List => "list", "list objects";
        Put => "put", "write an object";
        PutMultipart => "put-multipart", "write an object in parts";
        Delete => "delete", "delete an object";
        Request => "request", "any other request";
    }
}

/// A label of a group, as an index into the recorder's table for its dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabelId(pub(crate) u16);

/// One ended (or abandoned) operation.
#[derive(Clone, Copy, Debug)]
pub struct OpSample {
    /// What was asked.
    pub kind: OpKind,
    /// When it should have started: by the schedule (open model), or when its slot became free, plus think time.
    pub intended: Instant,
    /// When the client took it.
    pub started: Instant,
    /// When its first byte was handed to the kernel; `None` when it never was.
    pub sent: Option<Instant>,
    /// When the last byte of its request was handed to the kernel; known of uploads.
    pub sent_all: Option<Instant>,
    /// Nanoseconds for which its body waited for the server to agree to it; `None` when the server was not asked.
    pub agreement_nanos: Option<u64>,
    /// When the first byte of its final answer was read.
    pub first_byte: Option<Instant>,
    /// When it ended.
    pub end: Instant,
    /// Nanoseconds for which it waited for a free slot (open model at `in_flight_max`).
    pub slot_wait_nanos: u64,
    /// Nanoseconds that opening its connections took; `None` when it used kept ones only.
    pub connect_nanos: Option<u64>,
    /// Nanoseconds that the TLS handshakes of its connections took; `None` when there was none.
    pub handshake_nanos: Option<u64>,
    /// How it ended.
    pub outcome: OpOutcome,
    /// Bytes of the object that it moved: the body of its final answer, or of the request of an upload.
    pub body_bytes: u64,
    /// Body bytes of its last attempt that went over the wire inside the window.
    pub window: Moved,
    /// The host that it was addressed to.
    pub host: LabelId,
    /// The value of the response header that the figures are broken down by.
    pub header: Option<LabelId>,
    /// What client stalls can have added to its times after its start, in nanoseconds, if one affected it.
    pub affected_by: Option<u64>,
    /// Nanoseconds from its start until the kernel had its request, where the client waited for nothing in between; 0 where that
    /// is not known.
    pub handing_nanos: u64,
    /// For how long the end of its response had waited unread, where that was looked at.
    pub unread: Option<ReadSample>,
}

/// Body bytes that went over the wire, by direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Those of answers.
    pub received: u64,
    /// Those of requests.
    pub sent: u64,
}

impl OpSample {
    /// Response time: end − intended, in nanoseconds.
    #[must_use]
    pub fn response_nanos(&self) -> u64 {
        self.end.nanos_since(self.intended)
    }

    /// Service time: end − sent, in nanoseconds; `None` when nothing was sent.
    #[must_use]
    pub fn service_nanos(&self) -> Option<u64> {
        self.sent.map(|sent| self.end.nanos_since(sent))
    }

    /// TTFB: first byte − sent, in nanoseconds.
    #[must_use]
    pub fn ttfb_nanos(&self) -> Option<u64> {
        Some(self.first_byte?.nanos_since(self.sent?))
    }

    /// Sending: last byte of the request − first, without the wait for the server to agree, in nanoseconds; of uploads.
    #[must_use]
    pub fn sending_nanos(&self) -> Option<u64> {
        Some(self.sent_all?.nanos_since(self.sent?).saturating_sub(self.agreement_nanos.unwrap_or(0)))
    }

    /// Waiting: end − last byte of the request, in nanoseconds; of uploads.
    #[must_use]
    pub fn waiting_nanos(&self) -> Option<u64> {
        self.sent_all.map(|sent_all| self.end.nanos_since(sent_all))
    }

    /// Transfer time: end − first byte, in nanoseconds.
    #[must_use]
    pub fn transfer_nanos(&self) -> Option<u64> {
        self.first_byte.map(|first| self.end.nanos_since(first))
    }

    /// Lateness: started − intended without the wait for a slot, in nanoseconds.
    #[must_use]
    pub fn lateness_nanos(&self) -> u64 {
        self.started.nanos_since(self.intended).saturating_sub(self.slot_wait_nanos)
    }

    /// Opening its connections with their TLS handshakes, in nanoseconds; `None` when there was no handshake.
    #[must_use]
    pub fn secured_nanos(&self) -> Option<u64> {
        self.handshake_nanos.map(|handshake| handshake.saturating_add(self.connect_nanos.unwrap_or(0)))
    }

    /// Speed: body bytes / service time, in bytes per second; `None` for empty bodies.
    #[must_use]
    pub fn speed(&self) -> Option<u64> {
        let nanos = self.service_nanos().filter(|nanos| *nanos > 0 && self.body_bytes > 0)?;
        u64::try_from(u128::from(self.body_bytes) * 1_000_000_000 / u128::from(nanos)).ok()
    }
}

/// Why an attempt was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptKind {
    /// The first attempt of its operation.
    First,
    /// A redirect hop.
    Hop,
    /// The next request of an operation that has several, as the next page of a listing.
    Step,
    /// The one resend after a stale kept connection (docs/measurement.md).
    Resend,
}

/// One ended attempt.
#[derive(Clone, Copy, Debug)]
pub struct AttemptSample {
    /// Intended start of the operation that it belongs to.
    pub op_intended: Instant,
    /// Why it was made.
    pub kind: AttemptKind,
    /// How it ended.
    pub outcome: AttemptOutcome,
    /// Oddities.
    pub flags: Flags,
    /// Status code of its answer, when there was one.
    pub status: Option<u16>,
    /// Body bytes received.
    pub body_bytes: u64,
    /// Bytes of heads, framing and trailers received, and of anything after the answer's end.
    pub overhead_bytes: u64,
    /// Bytes handed to the kernel.
    pub sent_bytes: u64,
    /// Body bytes of the request among them.
    pub sent_body: u64,
}

/// Bytes of a text of an example in a record, at most: a URL that a redirect gave may be as long as a head of an answer,
/// and three times that when its bytes are escaped.
const TEXT_BYTES: usize = 256 << 10;

/// One example of a failure, kept so that a report can show what a class looked like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// How the attempt ended.
    pub outcome: AttemptOutcome,
    /// Nanoseconds from the start of the run.
    pub at: Instant,
    /// The URL asked for, without secrets.
    #[serde(deserialize_with = "bounded::text::<_, TEXT_BYTES>")]
    pub url: String,
    /// The address that was connected to, when one was.
    #[serde(deserialize_with = "bounded::optional_text::<_, TEXT_BYTES>")]
    pub address: Option<String>,
    /// Status code, when there was one.
    pub status: Option<u16>,
    /// What was seen, escaped and bounded.
    #[serde(deserialize_with = "bounded::text::<_, TEXT_BYTES>")]
    pub detail: String,
}

impl Example {
    /// The cause that it is an example of.
    #[must_use]
    pub fn cause(&self) -> Cause {
        self.outcome.cause
    }
}
