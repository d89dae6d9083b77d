//! The ledger of a server: exact counts of the bytes that the server received and of the bytes that it passed to the
//! kernel.
//!
//! Each thread has its own [`counters`], without locks. [`Ledger`] is the sum over all threads. Counts change at these
//! points:
//!
//! * a *connection* when it is accepted, refused or closed;
//! * a *request* when its complete and valid head was read. Requests are counted by method. A request whose head cannot
//!   be parsed is *malformed* and gets a response. A request whose body breaks off is *cut* and gets no response;
//! * a *response* when it ends. The response is *complete* if its last byte was passed to the kernel. The response is
//!   *aborted* if its connection broke or was abandoned earlier, possibly before the first byte of the response;
//! * *bytes sent* when the kernel accepts them. Body bytes are content. All other bytes count as head bytes, including
//!   `100 Continue`, chunk sizes and line ends, as in the client's counts. Some bytes of an aborted response may never
//!   reach the client;
//! * a *fault* when the server decides to inject an error or to lose an object. A fault of a body counts at the end of
//!   the response, if the body broke off or the wrong byte was passed on.
//!
//! The hyper front (TLS, HTTP/2, S3) leaves framing, heads and encryption to its libraries. This front therefore does
//! not count head bytes. Content bytes count as sent when hyper accepts them. A request that breaks off before it has a
//! response counts as cut. Received bytes are counted at the socket, where they may be encrypted.
//!
//! At any time, `requests + malformed = complete + aborted + cut + in service`.

pub(crate) mod counters;

use std::collections::BTreeMap;

use wire::{ByteRange, Method};

use crate::faults::counts::FaultCounts;

/// The counts of a server, summed over all threads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Accepted connections, not including refused ones.
    pub connections_accepted: u64,
    /// Connections that were closed immediately because too many were open.
    pub connections_refused: u64,
    /// Accepted connections that have closed.
    pub connections_closed: u64,
    /// Accepted connections whose TLS handshake failed.
    pub handshakes_failed: u64,
    /// Requests by method.
    pub methods: MethodCounts,
    /// Requests whose head could not be parsed. These requests got 400, 414, 431, 501 or 505.
    pub requests_malformed: u64,
    /// Requests whose body broke off.
    pub requests_cut: u64,
    /// All bytes received.
    pub received_bytes: u64,
    /// Body bytes of complete and of cut requests, without chunk sizes and line ends.
    pub request_body_bytes: u64,
    /// Responses whose last byte was passed to the kernel.
    pub complete: ResponseCounts,
    /// Responses that ended before their last byte was passed to the kernel.
    pub aborted: ResponseCounts,
    /// Responses by status.
    pub statuses: BTreeMap<u16, StatusCount>,
    /// Responses by operation and status, if requests are API calls (S3).
    pub operations: BTreeMap<(Box<str>, u16), OperationCount>,
    /// Faults that occurred.
    pub faults: FaultCounts,
    /// One record per response, if the log is enabled. Only records of the same thread are in order.
    pub log: Vec<RequestRecord>,
    /// Number of responses without a record, because the log was full.
    pub log_dropped: u64,
}

impl Ledger {
    /// Returns the sum of several ledgers.
    #[must_use]
    pub fn joint<'a>(ledgers: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut joint = Self::default();
        for ledger in ledgers {
            joint.add(ledger);
        }
        joint
    }

    fn add(&mut self, other: &Self) {
        let Self {
            connections_accepted,
            connections_refused,
            connections_closed,
            handshakes_failed,
            methods,
            requests_malformed,
            requests_cut,
            received_bytes,
            request_body_bytes,
            complete,
            aborted,
            statuses,
            operations,
            faults,
            log,
            log_dropped,
        } = other;
        self.connections_accepted += connections_accepted;
        self.connections_refused += connections_refused;
        self.connections_closed += connections_closed;
        self.handshakes_failed += handshakes_failed;
        for (sum, count) in self.methods.0.iter_mut().zip(methods.0) {
            *sum += count;
        }
        self.requests_malformed += requests_malformed;
        self.requests_cut += requests_cut;
        self.received_bytes += received_bytes;
        self.request_body_bytes += request_body_bytes;
        self.complete.add(*complete);
        self.aborted.add(*aborted);
        for (status, count) in statuses {
            self.statuses.entry(*status).or_default().add(*count);
        }
        for (key, count) in operations {
            self.operations.entry(key.clone()).or_default().add(count);
        }
        self.faults.add(faults);
        self.log.extend_from_slice(log);
        self.log_dropped += log_dropped;
    }

    /// Returns the number of requests whose head was read completely.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.methods.total()
    }

    /// Returns the number of requests whose response has not ended yet.
    #[must_use]
    pub fn in_service(&self) -> u64 {
        let ended = self.complete.count + self.aborted.count + self.requests_cut;
        (self.requests() + self.requests_malformed).saturating_sub(ended)
    }
}

/// Counts of responses that ended in the same way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ResponseCounts {
    /// The number of responses.
    pub count: u64,
    /// Bytes passed to the kernel, without content.
    pub head_bytes: u64,
    /// Content bytes passed to the kernel.
    pub body_bytes: u64,
}

impl ResponseCounts {
    fn add(&mut self, other: Self) {
        let Self { count, head_bytes, body_bytes } = other;
        self.count += count;
        self.head_bytes += head_bytes;
        self.body_bytes += body_bytes;
    }
}

/// Responses with one status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StatusCount {
    /// Complete responses.
    pub complete: u64,
    /// Aborted responses.
    pub aborted: u64,
}

impl StatusCount {
    fn add(&mut self, other: Self) {
        let Self { complete, aborted } = other;
        self.complete += complete;
        self.aborted += aborted;
    }
}

/// Responses of one operation with one status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OperationCount {
    /// Complete responses.
    pub complete: u64,
    /// Aborted responses.
    pub aborted: u64,
    /// Body bytes of the requests.
    pub received_bytes: u64,
    /// Body bytes of the responses.
    pub sent_bytes: u64,
}

impl OperationCount {
    fn add(&mut self, other: &Self) {
        let Self { complete, aborted, received_bytes, sent_bytes } = other;
        self.complete += complete;
        self.aborted += aborted;
        self.received_bytes += received_bytes;
        self.sent_bytes += sent_bytes;
    }
}

/// Requests by method.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MethodCounts([u64; METHODS]);

const METHODS: usize = 8;

impl MethodCounts {
    /// Returns the number of requests with this method. All methods without their own [`Method`] variant are counted
    /// together.
    #[must_use]
    pub fn of(&self, method: &Method) -> u64 {
        self.0[method_index(method)]
    }

    /// Returns the number of all requests.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

fn method_index(method: &Method) -> usize {
    match method {
        Method::Get => 0,
        Method::Head => 1,
        Method::Put => 2,
        Method::Post => 3,
        Method::Delete => 4,
        Method::Options => 5,
        Method::Patch => 6,
        Method::Other(_) => 7,
    }
}

/// The record of one request and its response. Malformed and cut requests have no record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestRecord {
    /// The request's method.
    pub method: Method,
    /// The target as sent, cut to 2048 bytes.
    pub target: Box<str>,
    /// The response's status.
    pub status: u16,
    /// Content bytes passed to the kernel.
    pub body_bytes_sent: u64,
    /// The range in the body of a 206.
    pub range: Option<ByteRange>,
    /// `true` if the last byte was passed to the kernel.
    pub complete: bool,
}
