//! The sample of an operation, with its request, its instants, and the times computed from these instants.

use super::ReadSample;
use super::outcome::OpOutcome;
use crate::enumerated;
use crate::time::Instant;

enumerated! {
    /// Kind of operation, as requested by the user.
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

/// Label of a group, as an index into the recorder's table for the group's dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabelId(pub(crate) u16);

/// One operation that has ended or was abandoned.
#[derive(Clone, Copy, Debug)]
pub struct OpSample {
    /// Kind of operation.
    pub kind: OpKind,
    /// Intended start. In the open model, it is determined by the schedule. In the closed model, it is the end of the
    /// slot's previous operation plus the think time.
    pub intended: Instant,
    /// Instant at which the client started the operation.
    pub started: Instant,
    /// Instant at which the kernel accepted the first byte of the request; `None` if no byte was accepted.
    pub sent: Option<Instant>,
    /// Instant at which the kernel accepted the last byte of the request; `None` unless the operation is an upload.
    pub sent_all: Option<Instant>,
    /// Time during which the request body waited for `100 Continue`, in nanoseconds; `None` without `Expect:
    /// 100-continue`.
    pub expect_continue_nanos: Option<u64>,
    /// Instant at which the client read the first byte of the final response.
    pub first_byte: Option<Instant>,
    /// Instant at which the operation ended.
    pub end: Instant,
    /// Time during which the operation waited for a free slot, because `in_flight_max` was reached (open model), in
    /// nanoseconds.
    pub slot_wait_nanos: u64,
    /// Time spent on opening connections for the operation, in nanoseconds; `None` if the operation used only
    /// kept-alive connections.
    pub connect_nanos: Option<u64>,
    /// Time spent on TLS handshakes for the operation, in nanoseconds; `None` without handshakes.
    pub handshake_nanos: Option<u64>,
    /// Outcome of the operation.
    pub outcome: OpOutcome,
    /// Body bytes of the final response; for an upload, body bytes of the request.
    pub body_bytes: u64,
    /// Body bytes that the last attempt transferred inside the measured window.
    pub window: BodyBytes,
    /// Host to which the operation was addressed.
    pub host: LabelId,
    /// Value of the response header by which results are grouped.
    pub header: Option<LabelId>,
    /// `First` or `Repeated` access to the object; `None` if the run does not distinguish accesses.
    pub access: Option<Access>,
    /// Maximum time that client stalls may have added to the operation after its start, in nanoseconds; `None` if no
    /// stall affected it.
    pub affected_by: Option<u64>,
    /// Time from the start of the operation until the kernel accepted its request, in nanoseconds. This time is 0 if
    /// the client also waited for something else, such as a connection, before the request was accepted.
    pub client_send_nanos: u64,
    /// Time during which the end of the response waited in the socket until the client read it; `None` if this wait was
    /// not sampled.
    pub unread: Option<ReadSample>,
}

enumerated! {
    /// Access to an object: the first of the run, or a repeated one. Accesses of all threads and of the warm-up count.
    pub enum Access {
        First => "first", "The run had not accessed the object before.";
        Repeated => "repeated", "The run had accessed the object before, even if that access has not ended.";
    }
}

/// Body bytes that were transferred over the network, by direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BodyBytes {
    /// Response body bytes.
    pub received: u64,
    /// Request body bytes.
    pub sent: u64,
}

impl OpSample {
    /// Returns a sample for simulations and tests. The sample is a successful read of 1000 bytes inside the measured
    /// window, without optional times. The request is sent at the intended start, and the first byte arrives at the
    /// end.
    #[must_use]
    pub fn simulated(host: LabelId, started: Instant, end: Instant) -> Self {
        Self {
            kind: OpKind::Get,
            intended: started,
            started,
            sent: Some(started),
            sent_all: None,
            expect_continue_nanos: None,
            first_byte: Some(end),
            end,
            slot_wait_nanos: 0,
            connect_nanos: None,
            handshake_nanos: None,
            outcome: OpOutcome::Ok,
            body_bytes: 1000,
            window: BodyBytes { received: 1000, sent: 0 },
            host,
            header: None,
            access: None,
            affected_by: None,
            client_send_nanos: 0,
            unread: None,
        }
    }

    /// Returns the response time (end − intended start), in nanoseconds.
    #[must_use]
    pub fn response_nanos(&self) -> u64 {
        self.end.nanos_since(self.intended)
    }

    /// Returns the service time (end − sent), in nanoseconds; `None` if nothing was sent.
    #[must_use]
    pub fn service_nanos(&self) -> Option<u64> {
        self.sent.map(|sent| self.end.nanos_since(sent))
    }

    /// Returns the TTFB (first byte − sent), in nanoseconds; `None` if no first byte arrived.
    #[must_use]
    pub fn ttfb_nanos(&self) -> Option<u64> {
        Some(self.first_byte?.nanos_since(self.sent?))
    }

    /// Returns the time that sending the request took (last byte − first byte), in nanoseconds. This time does not
    /// include the wait for `100 Continue`. `None` unless the operation is an upload.
    #[must_use]
    pub fn sending_nanos(&self) -> Option<u64> {
        Some(self.sent_all?.nanos_since(self.sent?).saturating_sub(self.expect_continue_nanos.unwrap_or(0)))
    }

    /// Returns the wait for the response after sending (end − last byte of the request), in nanoseconds. `None` unless
    /// the operation is an upload.
    #[must_use]
    pub fn waiting_nanos(&self) -> Option<u64> {
        self.sent_all.map(|sent_all| self.end.nanos_since(sent_all))
    }

    /// Returns the transfer time (end − first byte), in nanoseconds; `None` if no first byte arrived.
    #[must_use]
    pub fn transfer_nanos(&self) -> Option<u64> {
        self.first_byte.map(|first| self.end.nanos_since(first))
    }

    /// Returns the lateness (start − intended start, without the wait for a slot), in nanoseconds.
    #[must_use]
    pub fn lateness_nanos(&self) -> u64 {
        self.started.nanos_since(self.intended).saturating_sub(self.slot_wait_nanos)
    }

    /// Returns the total time of opening connections and of TLS handshakes, in nanoseconds; `None` without handshakes.
    #[must_use]
    pub fn connect_and_handshake_nanos(&self) -> Option<u64> {
        self.handshake_nanos.map(|handshake| handshake.saturating_add(self.connect_nanos.unwrap_or(0)))
    }

    /// Returns the speed (body bytes / service time), in bytes per second; `None` for empty bodies.
    #[must_use]
    pub fn speed(&self) -> Option<u64> {
        let nanos = self.service_nanos().filter(|nanos| *nanos > 0 && self.body_bytes > 0)?;
        u64::try_from(u128::from(self.body_bytes) * 1_000_000_000 / u128::from(nanos)).ok()
    }
}
