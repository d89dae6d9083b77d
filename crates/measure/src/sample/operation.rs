//! One operation: what it asked for, its instants, and the times that follow from them.

use super::ReadSample;
use super::outcome::OpOutcome;
use crate::enumerated;
use crate::time::Instant;

enumerated! {
    /// Kind of operation, as the user asks for it.
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

/// Label of a group, as an index into the recorder's table for its dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabelId(pub(crate) u16);

/// One operation that has ended or was abandoned.
#[derive(Clone, Copy, Debug)]
pub struct OpSample {
    /// Kind of operation.
    pub kind: OpKind,
    /// Intended start: given by the schedule (open model), or the end of the slot's previous operation plus think time.
    pub intended: Instant,
    /// Instant at which the client started it.
    pub started: Instant,
    /// Instant at which the kernel accepted the first byte of its request; `None` if it never did.
    pub sent: Option<Instant>,
    /// Instant at which the kernel accepted the last byte of its request; `None` unless it is an upload.
    pub sent_all: Option<Instant>,
    /// Time for which its body waited for `100 Continue`, in nanoseconds; `None` without `Expect: 100-continue`.
    pub expect_continue_nanos: Option<u64>,
    /// Instant at which the first byte of its final response was read.
    pub first_byte: Option<Instant>,
    /// Instant at which it ended.
    pub end: Instant,
    /// Time for which it waited for a free slot (open model at `in_flight_max`), in nanoseconds.
    pub slot_wait_nanos: u64,
    /// Time that opening its connections took, in nanoseconds; `None` if it used kept-alive ones only.
    pub connect_nanos: Option<u64>,
    /// Time that the TLS handshakes of its connections took, in nanoseconds; `None` without handshakes.
    pub handshake_nanos: Option<u64>,
    /// Outcome of the operation.
    pub outcome: OpOutcome,
    /// Bytes of the object that it moved: the body of its final response, or of an upload's request.
    pub body_bytes: u64,
    /// Body bytes that its last attempt moved inside the window.
    pub window: BodyBytes,
    /// Host that it was addressed to.
    pub host: LabelId,
    /// Value of the response header by which results are grouped.
    pub header: Option<LabelId>,
    /// Most that client stalls can have added to its times after its start, in nanoseconds; `None` if no stall affected it.
    pub affected_by: Option<u64>,
    /// Time from its start until the kernel accepted its request, in nanoseconds, if the client waited for nothing else in
    /// between; 0 where that is not known.
    pub client_send_nanos: u64,
    /// Wait of the end of its response in the socket; `None` if it was not sampled.
    pub unread: Option<ReadSample>,
}

/// Body bytes that were moved over the network, by direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BodyBytes {
    /// Response body bytes.
    pub received: u64,
    /// Request body bytes.
    pub sent: u64,
}

impl OpSample {
    /// Returns the response time, end − intended, in nanoseconds.
    #[must_use]
    pub fn response_nanos(&self) -> u64 {
        self.end.nanos_since(self.intended)
    }

    /// Returns the service time, end − sent, in nanoseconds; `None` if nothing was sent.
    #[must_use]
    pub fn service_nanos(&self) -> Option<u64> {
        self.sent.map(|sent| self.end.nanos_since(sent))
    }

    /// Returns the TTFB, first byte − sent, in nanoseconds.
    #[must_use]
    pub fn ttfb_nanos(&self) -> Option<u64> {
        Some(self.first_byte?.nanos_since(self.sent?))
    }

    /// Returns the time that sending took, last byte of the request − first, without the wait for `100 Continue`, in
    /// nanoseconds; `None` unless it is an upload.
    #[must_use]
    pub fn sending_nanos(&self) -> Option<u64> {
        Some(self.sent_all?.nanos_since(self.sent?).saturating_sub(self.expect_continue_nanos.unwrap_or(0)))
    }

    /// Returns the wait for the response, end − last byte of the request, in nanoseconds; `None` unless it is an upload.
    #[must_use]
    pub fn waiting_nanos(&self) -> Option<u64> {
        self.sent_all.map(|sent_all| self.end.nanos_since(sent_all))
    }

    /// Returns the transfer time, end − first byte, in nanoseconds.
    #[must_use]
    pub fn transfer_nanos(&self) -> Option<u64> {
        self.first_byte.map(|first| self.end.nanos_since(first))
    }

    /// Returns the lateness, started − intended without the wait for a slot, in nanoseconds.
    #[must_use]
    pub fn lateness_nanos(&self) -> u64 {
        self.started.nanos_since(self.intended).saturating_sub(self.slot_wait_nanos)
    }

    /// Returns the time that opening connections and TLS handshakes took together, in nanoseconds; `None` without handshakes.
    #[must_use]
    pub fn connect_and_handshake_nanos(&self) -> Option<u64> {
        self.handshake_nanos.map(|handshake| handshake.saturating_add(self.connect_nanos.unwrap_or(0)))
    }

    /// Returns the speed, body bytes / service time, in bytes per second; `None` for empty bodies.
    #[must_use]
    pub fn speed(&self) -> Option<u64> {
        let nanos = self.service_nanos().filter(|nanos| *nanos > 0 && self.body_bytes > 0)?;
        u64::try_from(u128::from(self.body_bytes) * 1_000_000_000 / u128::from(nanos)).ok()
    }
}
