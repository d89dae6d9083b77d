//! The server's books: what it saw and what it handed to the kernel, exactly.
//!
//! Each thread counts for itself, without locks; [`Ledger`] is the sum. When each count is made:
//!
//! * a *connection* when it is accepted, and again when it is closed or refused;
//! * a *request* when its head has been read whole and is valid, under its method; one whose head cannot be read is
//!   *malformed* (and answered); one whose body broke off is *cut* (and has no answer);
//! * an *answer* when it ends: *complete* when its last byte was handed to the kernel, *aborted* when its connection
//!   broke or was given up before that, possibly before its first byte;
//! * *bytes sent* as the kernel takes them. Body bytes are those of the content; everything else, also `100 Continue`,
//!   chunk sizes and line ends, are head bytes, as a client counts them. What the kernel took of an aborted answer may
//!   never have reached the client, so that these are at least as many as it received;
//! * a *fault* when an error is decided on or an object is not stored, and when the answer ends whose body was broken off or
//!   whose wrong byte was handed over.
//!
//! The second front (TLS, HTTP/2, S3) leaves framing, heads and encryption to its libraries. There, head bytes are not
//! counted, bytes of content are counted as the protocol takes them, and what broke off before there was an answer is
//! cut. Bytes received are those of the socket, encrypted as they are.
//!
//! Hence always `requests + malformed = complete + aborted + cut + in service`.

pub(crate) mod counters;

use std::collections::BTreeMap;

use wire::{ByteRange, Method};

use crate::faults::counts::FaultCounts;

/// What the server has counted, over all threads; see the module's text for when each count is made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Connections accepted, without those refused.
    pub connections_accepted: u64,
    /// Connections closed at once, because there were too many.
    pub connections_refused: u64,
    /// Accepted connections that are closed again.
    pub connections_closed: u64,
    /// Accepted connections whose TLS handshake failed.
    pub handshakes_failed: u64,
    /// Requests by method.
    pub methods: MethodCounts,
    /// Requests whose head could not be read, and that were answered with 400, 414, 431, 501 or 505.
    pub requests_malformed: u64,
    /// Requests whose body broke off.
    pub requests_cut: u64,
    /// All bytes received, whatever they were.
    pub received_bytes: u64,
    /// Body bytes of requests (without their framing) that came in whole or were cut.
    pub request_body_bytes: u64,
    /// ResponseCounts whose last byte was handed to the kernel.
    pub complete: ResponseCounts,
    /// ResponseCounts that did not get so far.
    pub aborted: ResponseCounts,
    /// ResponseCounts by status.
    pub statuses: BTreeMap<u16, StatusCount>,
    /// Where requests are calls of an interface (S3): answers by the name of the operation and their status.
    pub operations: BTreeMap<(Box<str>, u16), OperationCount>,
    /// Faults that took place.
    pub faults: FaultCounts,
    /// One record per answer, if they were asked for: in order within a thread, not among threads.
    pub log: Vec<RequestRecord>,
    /// ResponseCounts that the log had no room for.
    pub log_dropped: u64,
}

impl Ledger {
    /// The books of several servers as one.
    #[must_use]
    pub fn joint<'a>(ledgers: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut joint = Self::default();
        for ledger in ledgers {
            joint.add(ledger);
        }
        joint
    }

    fn add(&mut self, other: &Self) {
        self.connections_accepted += other.connections_accepted;
        self.connections_refused += other.connections_refused;
        self.connections_closed += other.connections_closed;
        self.requests_malformed += other.requests_malformed;
        self.requests_cut += other.requests_cut;
        self.handshakes_failed += other.handshakes_failed;
        self.received_bytes += other.received_bytes;
        self.request_body_bytes += other.request_body_bytes;
        for (sum, count) in self.methods.0.iter_mut().zip(other.methods.0) {
            *sum += count;
        }
        for (sum, answers) in [(&mut self.complete, other.complete), (&mut self.aborted, other.aborted)] {
            sum.count += answers.count;
            sum.head_bytes += answers.head_bytes;
            sum.body_bytes += answers.body_bytes;
        }
        for (status, count) in &other.statuses {
            let sum = self.statuses.entry(*status).or_default();
            sum.complete += count.complete;
            sum.aborted += count.aborted;
        }
        for (key, count) in &other.operations {
            self.operations.entry(key.clone()).or_default().add(count);
        }
        self.faults.add(&other.faults);
        self.log.extend_from_slice(&other.log);
        self.log_dropped += other.log_dropped;
    }

    /// Requests whose head was read whole.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.methods.total()
    }

    /// Requests that have no answer yet, or whose answer is under way.
    #[must_use]
    pub fn in_service(&self) -> u64 {
        let ended = self.complete.count + self.aborted.count + self.requests_cut;
        (self.requests() + self.requests_malformed).saturating_sub(ended)
    }
}

/// ResponseCounts that ended alike.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ResponseCounts {
    /// How many.
    pub count: u64,
    /// Bytes handed to the kernel that are not content.
    pub head_bytes: u64,
    /// Bytes of content handed to the kernel.
    pub body_bytes: u64,
}

/// ResponseCounts with one status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StatusCount {
    /// Complete ones.
    pub complete: u64,
    /// Aborted ones.
    pub aborted: u64,
}

/// ResponseCounts of one operation with one status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OperationCount {
    /// Complete ones.
    pub complete: u64,
    /// Aborted ones.
    pub aborted: u64,
    /// Body bytes of their requests.
    pub received_bytes: u64,
    /// Body bytes of the answers.
    pub sent_bytes: u64,
}

impl OperationCount {
    fn add(&mut self, other: &Self) {
        self.complete += other.complete;
        self.aborted += other.aborted;
        self.received_bytes += other.received_bytes;
        self.sent_bytes += other.sent_bytes;
    }
}

/// Requests by method.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MethodCounts([u64; METHODS]);

const METHODS: usize = 8;

impl MethodCounts {
    /// Requests with this method; all methods without a name of their own in [`Method`] are counted together.
    #[must_use]
    pub fn of(&self, method: &Method) -> u64 {
        self.0[method_index(method)]
    }

    /// All requests.
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

/// One request and its answer. Malformed and cut requests have none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestRecord {
    /// The method.
    pub method: Method,
    /// The target as sent, at most 2048 bytes of it.
    pub target: Box<str>,
    /// The answer's status.
    pub status: u16,
    /// Bytes of content handed to the kernel.
    pub body_bytes_sent: u64,
    /// The range that a 206 holds.
    pub range: Option<ByteRange>,
    /// Whether the last byte was handed to the kernel.
    pub complete: bool,
}
