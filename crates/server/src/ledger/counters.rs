//! The counters of one thread. The [`Ledger`] is the sum over all threads.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use wire::Method;

use super::{Ledger, METHODS, OperationCount, RequestRecord, StatusCount, method_index};

/// Maximum size of the target in a record, in bytes.
const TARGET_BYTES_MAX: usize = 2048;
/// The number of statuses with a counter: 0 to 599.
const STATUSES: usize = 600;

/// The way in which a response ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Completion {
    Complete,
    Aborted,
}

/// The number of bytes of one response that the kernel has accepted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SentBytes {
    pub(crate) head: u64,
    pub(crate) body: u64,
}

/// A counter that one thread writes and all threads may read.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    #[inline]
    pub(crate) fn add(&self, more: u64) {
        // Only one thread writes, so no other store can happen between this load and store.
        self.0.store(self.0.load(Ordering::Relaxed) + more, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Debug, Default)]
struct ResponseCounters {
    head_bytes: Counter,
    body_bytes: Counter,
    statuses: Statuses,
}

#[derive(Debug)]
struct Statuses(Box<[Counter]>);

impl Default for Statuses {
    fn default() -> Self {
        Self((0..STATUSES).map(|_| Counter::default()).collect())
    }
}

/// The counters of one thread.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) connections_accepted: Counter,
    pub(crate) connections_refused: Counter,
    pub(crate) connections_closed: Counter,
    pub(crate) handshakes_failed: Counter,
    pub(crate) requests_malformed: Counter,
    pub(crate) requests_cut: Counter,
    pub(crate) received_bytes: Counter,
    pub(crate) request_body_bytes: Counter,
    methods: [Counter; METHODS],
    complete: ResponseCounters,
    aborted: ResponseCounters,
    operations: Mutex<BTreeMap<(Box<str>, u16), OperationCount>>,
    log: Mutex<Vec<RequestRecord>>,
    log_dropped: Counter,
    rounds: AtomicU64,
}

impl Counters {
    /// Records that all actions of this thread so far are counted.
    pub(crate) fn settle(&self) {
        self.rounds.fetch_add(1, Ordering::Release);
    }

    /// Returns the number of calls of [`Self::settle`].
    pub(crate) fn rounds(&self) -> u64 {
        self.rounds.load(Ordering::Acquire)
    }

    /// Counts a request whose head was read.
    #[inline]
    pub(crate) fn count_request(&self, method: &Method) {
        self.methods[method_index(method)].add(1);
    }

    /// Counts the bytes of a `100 Continue` whose request then broke off. Such a request has no response to which these
    /// bytes could be added.
    pub(crate) fn stray_head_bytes(&self, bytes: u64) {
        self.aborted.head_bytes.add(bytes);
    }

    /// Counts a response that has ended.
    #[inline]
    pub(crate) fn count_response(&self, status: u16, ended: Completion, sent: SentBytes) {
        let counts = match ended {
            Completion::Complete => &self.complete,
            Completion::Aborted => &self.aborted,
        };
        counts.head_bytes.add(sent.head);
        counts.body_bytes.add(sent.body);
        if let Some(count) = counts.statuses.0.get(usize::from(status)) {
            count.add(1);
        }
    }

    /// Counts a response under the name of its operation. The number of names is limited by the operations of the API.
    pub(crate) fn count_operation(&self, name: Box<str>, status: u16, ended: Completion, received: u64, sent: u64) {
        let mut operations = self.operations.lock().unwrap_or_else(PoisonError::into_inner);
        let count = operations.entry((name, status)).or_default();
        match ended {
            Completion::Complete => count.complete += 1,
            Completion::Aborted => count.aborted += 1,
        }
        count.received_bytes += received;
        count.sent_bytes += sent;
    }

    /// Keeps the record that `make` returns, if the log has space. `left` is the number of free places in the log,
    /// which all threads share.
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
        let Self {
            connections_accepted,
            connections_refused,
            connections_closed,
            handshakes_failed,
            requests_malformed,
            requests_cut,
            received_bytes,
            request_body_bytes,
            methods,
            complete,
            aborted,
            operations,
            log,
            log_dropped,
            rounds: _,
        } = self;
        ledger.connections_accepted += connections_accepted.get();
        ledger.connections_refused += connections_refused.get();
        ledger.connections_closed += connections_closed.get();
        ledger.handshakes_failed += handshakes_failed.get();
        ledger.requests_malformed += requests_malformed.get();
        ledger.requests_cut += requests_cut.get();
        ledger.received_bytes += received_bytes.get();
        ledger.request_body_bytes += request_body_bytes.get();
        for (sum, count) in ledger.methods.0.iter_mut().zip(methods) {
            *sum += count.get();
        }
        for (sum, counters) in [(&mut ledger.complete, complete), (&mut ledger.aborted, aborted)] {
            sum.head_bytes += counters.head_bytes.get();
            sum.body_bytes += counters.body_bytes.get();
            sum.count += counters.statuses.0.iter().map(Counter::get).sum::<u64>();
        }
        for (status, (complete, aborted)) in (0..).zip(complete.statuses.0.iter().zip(&aborted.statuses.0)) {
            let (complete, aborted) = (complete.get(), aborted.get());
            if complete + aborted > 0 {
                ledger.statuses.entry(status).or_default().add(StatusCount { complete, aborted });
            }
        }
        for (key, count) in &*operations.lock().unwrap_or_else(PoisonError::into_inner) {
            ledger.operations.entry(key.clone()).or_default().add(count);
        }
        ledger.log.extend_from_slice(&log.lock().unwrap_or_else(PoisonError::into_inner));
        ledger.log_dropped += log_dropped.get();
    }
}

/// Returns a method, cut to the maximum length in a record.
pub(crate) fn bounded_method(method: &Method) -> Method {
    match method {
        Method::Other(token) => Method::Other(bounded_target(token)),
        known => known.clone(),
    }
}

/// Returns a target, cut to the maximum length in a record.
pub(crate) fn bounded_target(target: &str) -> Box<str> {
    target[..target.floor_char_boundary(TARGET_BYTES_MAX)].into()
}

#[cfg(test)]
mod tests {
    use super::super::ResponseCounts;
    use super::*;

    #[test]
    fn threads_add_up_and_dropped_records_are_counted() {
        let threads = [Counters::default(), Counters::default()];
        let left = AtomicUsize::new(1);
        for (thread, status) in threads.iter().zip([200, 206]) {
            thread.count_request(&Method::Get);
            thread.count_request(&Method::Other("BREW".into()));
            thread.count_response(status, Completion::Complete, SentBytes { head: 10, body: 100 });
            thread.count_response(200, Completion::Aborted, SentBytes { head: 1, body: 0 });
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
        assert_eq!(ledger.complete, ResponseCounts { count: 2, head_bytes: 20, body_bytes: 200 });
        assert_eq!(ledger.aborted, ResponseCounts { count: 2, head_bytes: 2, body_bytes: 0 });
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
