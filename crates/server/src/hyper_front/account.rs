//! The accounting of one request.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::http::request::Parts;
use wire::{ByteRange, Method};

use crate::faults::InService;
use crate::faults::body::BodyFaults;
use crate::ledger::RequestRecord;
use crate::ledger::counters::{Completion, Counters, SentBytes, bounded_method, bounded_target};
use crate::shared::Shared;

/// The accounting of one request. It is complete when the last byte of the response is passed to hyper. If this value
/// is dropped before that, the response counts as aborted. If there was no response yet, the request counts as cut.
pub(super) struct Account {
    shared: Arc<Shared>,
    counters: Arc<Counters>,
    /// Method and target for the log; `None` if there is no log.
    logged: Option<(Method, Box<str>)>,
    received: Arc<AtomicU64>,
    sent: u64,
    replied: Option<Replied>,
    closed: bool,
    /// A guard that counts the request as in service until the response has ended.
    in_service: Option<InService>,
}

/// The properties of a response that are counted or logged.
pub(super) struct Replied {
    pub(super) status: u16,
    pub(super) range: Option<ByteRange>,
    pub(super) operation: Option<Box<str>>,
    pub(super) body_faults: BodyFaults,
    /// Length of the whole body; `None` if it is unknown.
    pub(super) length: Option<u64>,
}

impl Account {
    /// Opens the account of a request and counts the request.
    pub(super) fn open(shared: &Arc<Shared>, counters: &Arc<Counters>, head: &Parts) -> Self {
        let method = Method::from_token(head.method.as_str());
        counters.count_request(&method);
        let log = shared.log_left.as_ref();
        let logged = log.map(|_| (bounded_method(&method), bounded_target(&head.uri.to_string())));
        Self {
            shared: Arc::clone(shared),
            counters: Arc::clone(counters),
            logged,
            received: Arc::default(),
            sent: 0,
            replied: None,
            closed: false,
            in_service: None,
        }
    }

    /// Keeps the guard that counts the request as in service, until the response has ended.
    pub(super) fn hold(&mut self, in_service: InService) {
        self.in_service = Some(in_service);
    }

    /// Returns the counter of received body bytes.
    pub(super) fn received(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.received)
    }

    /// Records the response that is about to be sent.
    pub(super) fn replied(&mut self, replied: Replied) {
        self.replied = Some(replied);
    }

    /// Returns the number of bytes of the response body that were passed on so far.
    pub(super) fn sent(&self) -> u64 {
        self.sent
    }

    /// Counts response body bytes that are passed on.
    pub(super) fn hand_over(&mut self, bytes: u64) {
        self.sent += bytes;
    }

    /// Closes the account after the last byte was passed on.
    pub(super) fn complete(&mut self) {
        self.close(Completion::Complete);
    }

    fn close(&mut self, completion: Completion) {
        if mem::replace(&mut self.closed, true) {
            return;
        }
        self.in_service = None;
        let Some(Replied { status, range, operation, body_faults, length }) = self.replied.take() else {
            self.counters.requests_cut.add(1);
            return;
        };
        self.counters.count_response(status, completion, SentBytes { head: 0, body: self.sent });
        self.shared.faults.note_sent(body_faults, length, self.sent);
        if let Some(operation) = operation {
            let received = self.received.load(Ordering::Relaxed);
            self.counters.count_operation(operation, status, completion, received, self.sent);
        }
        if let (Some(left), Some((method, target))) = (&self.shared.log_left, self.logged.take()) {
            self.counters.record(left, || RequestRecord {
                method,
                target,
                status,
                body_bytes_sent: self.sent,
                range,
                complete: completion == Completion::Complete,
            });
        }
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.close(Completion::Aborted);
    }
}
