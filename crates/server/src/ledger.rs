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

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use wire::{ByteRange, Method};

use crate::faults::FaultCounts;

/// The most bytes of a target that a record keeps.
const TARGET_BYTES_MAX: usize = 2048;
/// Statuses from 0 to 599 have a counter.
const STATUSES: usize = 600;

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
    /// Answers whose last byte was handed to the kernel.
    pub complete: Answers,
    /// Answers that did not get so far.
    pub aborted: Answers,
    /// Answers by status.
    pub statuses: BTreeMap<u16, StatusCount>,
    /// Where requests are calls of an interface (S3): answers by the name of the operation and their status.
    pub operations: BTreeMap<(Box<str>, u16), OperationCount>,
    /// Faults that took place.
    pub faults: FaultCounts,
    /// One record per answer, if they were asked for: in order within a thread, not among threads.
    pub log: Vec<RequestRecord>,
    /// Answers that the log had no room for.
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

/// Answers that ended alike.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Answers {
    /// How many.
    pub count: u64,
    /// Bytes handed to the kernel that are not content.
    pub head_bytes: u64,
    /// Bytes of content handed to the kernel.
    pub body_bytes: u64,
}

/// Answers with one status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StatusCount {
    /// Complete ones.
    pub complete: u64,
    /// Aborted ones.
    pub aborted: u64,
}

/// Answers of one operation with one status.
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

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Complete,
    Aborted,
}

/// Bytes handed to the kernel for one answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) head: u64,
    pub(crate) body: u64,
}

/// A counter that one thread writes and all may read.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    #[inline]
    pub(crate) fn add(&self, more: u64) {
        // One writer: no other store can come between.
        self.0.store(self.0.load(Ordering::Relaxed) + more, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Debug, Default)]
struct AnswerCounts {
    head_bytes: Count,
    body_bytes: Count,
    statuses: Statuses,
}

#[derive(Debug)]
struct Statuses(Box<[Count]>);

impl Default for Statuses {
    fn default() -> Self {
        Self((0..STATUSES).map(|_| Count::default()).collect())
    }
}

/// The counters of one thread.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) connections_accepted: Count,
    pub(crate) connections_refused: Count,
    pub(crate) connections_closed: Count,
    pub(crate) handshakes_failed: Count,
    pub(crate) requests_malformed: Count,
    pub(crate) requests_cut: Count,
    pub(crate) received_bytes: Count,
    pub(crate) request_body_bytes: Count,
    methods: [Count; METHODS],
    complete: AnswerCounts,
    aborted: AnswerCounts,
    operations: Mutex<BTreeMap<(Box<str>, u16), OperationCount>>,
    log: Mutex<Vec<RequestRecord>>,
    log_dropped: Count,
    rounds: AtomicU64,
}

impl Counters {
    /// Says that everything that this thread has done so far is counted.
    pub(crate) fn settle(&self) {
        self.rounds.fetch_add(1, Ordering::Release);
    }

    /// How often the thread has said so.
    pub(crate) fn rounds(&self) -> u64 {
        self.rounds.load(Ordering::Acquire)
    }

    #[inline]
    pub(crate) fn request(&self, method: &Method) {
        self.methods[method_index(method)].add(1);
    }

    /// Interim bytes of a request that was cut: sent, but no answer's.
    pub(crate) fn stray_head_bytes(&self, bytes: u64) {
        self.aborted.head_bytes.add(bytes);
    }

    #[inline]
    pub(crate) fn answer(&self, status: u16, ended: Ended, sent: Sent) {
        let counts = match ended {
            Ended::Complete => &self.complete,
            Ended::Aborted => &self.aborted,
        };
        counts.head_bytes.add(sent.head);
        counts.body_bytes.add(sent.body);
        if let Some(count) = counts.statuses.0.get(usize::from(status)) {
            count.add(1);
        }
    }

    /// Counts an answer under its operation. There are as many names as the interface has operations.
    pub(crate) fn operation(&self, name: Box<str>, status: u16, ended: Ended, received: u64, sent: u64) {
        let mut operations = self.operations.lock().unwrap_or_else(PoisonError::into_inner);
        let count = operations.entry((name, status)).or_default();
        match ended {
            Ended::Complete => count.complete += 1,
            Ended::Aborted => count.aborted += 1,
        }
        count.received_bytes += received;
        count.sent_bytes += sent;
    }

    /// Keeps a record as long as there is room in `left`, which all threads share.
    pub(crate) fn record(&self, left: &AtomicUsize, make: impl FnOnce() -> RequestRecord) {
        let taken = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        if taken.is_ok() {
            self.log.lock().unwrap_or_else(PoisonError::into_inner).push(make());
        } else {
            self.log_dropped.add(1);
        }
    }

    /// Adds this thread's counts to `ledger`.
    pub(crate) fn add_to(&self, ledger: &mut Ledger) {
        ledger.connections_accepted += self.connections_accepted.get();
        ledger.connections_refused += self.connections_refused.get();
        ledger.connections_closed += self.connections_closed.get();
        ledger.handshakes_failed += self.handshakes_failed.get();
        ledger.requests_malformed += self.requests_malformed.get();
        ledger.requests_cut += self.requests_cut.get();
        ledger.received_bytes += self.received_bytes.get();
        ledger.request_body_bytes += self.request_body_bytes.get();
        for (sum, count) in ledger.methods.0.iter_mut().zip(&self.methods) {
            *sum += count.get();
        }
        for (sum, counts) in [(&mut ledger.complete, &self.complete), (&mut ledger.aborted, &self.aborted)] {
            sum.head_bytes += counts.head_bytes.get();
            sum.body_bytes += counts.body_bytes.get();
            sum.count += counts.statuses.0.iter().map(Count::get).sum::<u64>();
        }
        for (status, (complete, aborted)) in (0..).zip(self.complete.statuses.0.iter().zip(&self.aborted.statuses.0)) {
            let (complete, aborted) = (complete.get(), aborted.get());
            if complete + aborted > 0 {
                let sum = ledger.statuses.entry(status).or_default();
                sum.complete += complete;
                sum.aborted += aborted;
            }
        }
        for (key, count) in &*self.operations.lock().unwrap_or_else(PoisonError::into_inner) {
            ledger.operations.entry(key.clone()).or_default().add(count);
        }
        ledger.log.extend_from_slice(&self.log.lock().unwrap_or_else(PoisonError::into_inner));
        ledger.log_dropped += self.log_dropped.get();
    }
}

/// As much of a target as a record keeps.
pub(crate) fn bounded_target(target: &str) -> Box<str> {
    target[..target.floor_char_boundary(TARGET_BYTES_MAX)].into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_add_up_and_nothing_is_lost_but_said() {
        let threads = [Counters::default(), Counters::default()];
        let left = AtomicUsize::new(1);
        for (thread, status) in threads.iter().zip([200, 206]) {
            thread.request(&Method::Get);
            thread.request(&Method::Other("BREW".into()));
            thread.answer(status, Ended::Complete, Sent { head: 10, body: 100 });
            thread.answer(200, Ended::Aborted, Sent { head: 1, body: 0 });
            thread.record(&left, || RequestRecord {
                method: Method::Get,
                target: bounded_target(&"\u{e9}".repeat(TARGET_BYTES_MAX)),
                status,
                body_bytes_sent: 100,
                range: None,
                complete: true,
            });
        }
        let mut ledger = Ledger::default();
        threads.iter().for_each(|thread| thread.add_to(&mut ledger));
        assert_eq!((ledger.requests(), ledger.in_service()), (4, 0));
        assert_eq!((ledger.methods.of(&Method::Get), ledger.methods.of(&Method::Other("X".into()))), (2, 2));
        assert_eq!(ledger.complete, Answers { count: 2, head_bytes: 20, body_bytes: 200 });
        assert_eq!(ledger.aborted, Answers { count: 2, head_bytes: 2, body_bytes: 0 });
        assert_eq!(ledger.statuses[&200], StatusCount { complete: 1, aborted: 2 });
        assert_eq!(ledger.statuses[&206], StatusCount { complete: 1, aborted: 0 });
        assert_eq!((ledger.log.len(), ledger.log_dropped), (1, 1));
        assert_eq!(ledger.log[0].target.len(), TARGET_BYTES_MAX);
        let apart = threads.each_ref().map(|thread| {
            let mut own = Ledger::default();
            thread.add_to(&mut own);
            own
        });
        assert_eq!(Ledger::joint(&apart), ledger);
    }
}
