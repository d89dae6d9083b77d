//! One request of a redirected operation.

use super::LabelId;
use crate::time::Instant;

/// One request of a redirected operation. If the request was resent after a stale connection, the resend is included.
#[derive(Clone, Copy, Debug)]
pub struct HopSample {
    /// Host to which the request was sent.
    pub host: LabelId,
    /// Instant at which the kernel accepted the first byte of the request; `None` if no byte was accepted.
    pub sent: Option<Instant>,
    /// Instant at which the response was complete, or the request failed.
    pub end: Instant,
    /// Number of attempts: 1, or 2 with a resend.
    pub attempts: u64,
    /// `true` if the response was a redirect that the client followed.
    pub redirected: bool,
    /// Connections opened for the request.
    pub opened: u64,
    /// Status code of the response; `None` without a response.
    pub status: Option<u16>,
    /// Body bytes received.
    pub body_bytes: u64,
    /// Bytes of response heads and framing received.
    pub overhead_bytes: u64,
}
