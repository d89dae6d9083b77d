//! One HTTP request made for an operation.

use super::outcome::{AttemptOutcome, Cause, Flags};
use crate::time::Instant;
use crate::values::bounded;
use serde::{Deserialize, Serialize};

/// Reason why an attempt was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptKind {
    /// First attempt of its operation.
    First,
    /// Request that follows a redirect.
    Hop,
    /// Next request of an operation that consists of several requests, such as the next page of a listing.
    Step,
    /// Repetition of a request after its kept-alive connection turned out to be closed. A request is repeated in this
    /// way at most once (docs/measurement.md).
    Resend,
    /// Repetition of a request that failed, after a pause. Only plans with a retry policy have such attempts.
    Retry,
}

/// One attempt that has ended.
#[derive(Clone, Copy, Debug)]
pub struct AttemptSample {
    /// Intended start of the operation that the attempt belongs to.
    pub op_intended: Instant,
    /// Reason why the attempt was made.
    pub kind: AttemptKind,
    /// Outcome of the attempt.
    pub outcome: AttemptOutcome,
    /// Peculiarities that do not change the outcome.
    pub flags: Flags,
    /// Status code of the response; `None` without a response.
    pub status: Option<u16>,
    /// Body bytes received.
    pub body_bytes: u64,
    /// Bytes received that are not part of a body. Such bytes are heads, framing, trailers, and bytes after the end of
    /// the response.
    pub overhead_bytes: u64,
    /// Bytes that the kernel accepted for sending.
    pub sent_bytes: u64,
    /// Number of request body bytes in [`Self::sent_bytes`].
    pub sent_body: u64,
}

/// Maximum length of a text in an example, in bytes. A URL from a redirect may be as long as a response head. Escaping
/// may triple the length.
const TEXT_BYTES: usize = 256 << 10;

/// Example of a failure, for reports that show each class of failures with an example.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// Outcome of the attempt.
    pub outcome: AttemptOutcome,
    /// Instant at which the attempt ended.
    pub at: Instant,
    /// Requested URL, without secrets.
    #[serde(deserialize_with = "bounded::text::<_, TEXT_BYTES>")]
    pub url: String,
    /// Address of the connection; `None` if no connection was opened.
    #[serde(deserialize_with = "bounded::optional_text::<_, TEXT_BYTES>")]
    pub address: Option<String>,
    /// Status code of the response; `None` without a response.
    pub status: Option<u16>,
    /// Description of the failure, escaped and limited in length.
    #[serde(deserialize_with = "bounded::text::<_, TEXT_BYTES>")]
    pub detail: String,
}

impl Example {
    /// Returns the cause of the failure.
    #[must_use]
    pub fn cause(&self) -> Cause {
        self.outcome.cause
    }
}
