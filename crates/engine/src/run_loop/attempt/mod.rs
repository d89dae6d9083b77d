//! Attempts. An attempt sends one request of an operation, over HTTP/1 or HTTP/2. This module begins and ends attempts.

pub(in crate::run_loop) mod abandon;
pub(in crate::run_loop) mod deadline;
pub(in crate::run_loop) mod end;
pub(in crate::run_loop) mod exchange;
pub(in crate::run_loop) mod failure_example;
pub(in crate::run_loop) mod failure_outcomes;
pub(in crate::run_loop) mod failures;
pub(in crate::run_loop) mod orphans;
pub(in crate::run_loop) mod pauses;
pub(in crate::run_loop) mod private_address;
pub(in crate::run_loop) mod redirect;
pub(in crate::run_loop) mod redirect_chain;
pub(in crate::run_loop) mod resend;
pub(in crate::run_loop) mod retry;
pub(in crate::run_loop) mod traffic;

use super::response::checks::AfterHead;
use super::response::refusal::Refusal;
use exchange::ExchangeId;
use measure::sample::{AttemptKind, BodyBytes};
use measure::{Flags, Instant, ReadSample};

/// One request of an operation.
#[derive(Debug)]
pub(in crate::run_loop) struct Attempt {
    pub kind: AttemptKind,
    /// Exchange of the attempt; `None` until the attempt has an exchange.
    pub exchange: Option<ExchangeId>,
    pub started: Instant,
    /// Time at which the first byte of the request was passed to the kernel.
    pub sent: Option<Instant>,
    /// Time since which the attempt waits for space in the queue of a listening Unix socket.
    pub backlog_since: Option<Instant>,
    /// `true` if a connection was opened for this attempt.
    pub opened: bool,
    pub flags: Flags,
    pub sent_bytes: u64,
    /// Number of body bytes in `sent_bytes`.
    pub sent_body: u64,
    /// All bytes received for the attempt.
    pub received_bytes: u64,
    /// Body bytes that were received and sent inside the measured window.
    pub window: BodyBytes,
    /// Number of addresses that were tried.
    pub addresses_tried: usize,
    /// Index of the first address that was tried, among the addresses of the host.
    pub first_address: usize,
    /// Next step of the attempt, chosen when the head of the response is complete.
    pub after_head: AfterHead,
    /// One bit for each required header field. The bit is set if the response contains the field.
    pub headers_matched: u128,
    /// The ETag of the response, kept only for parts of a multipart upload.
    pub etag: Option<Box<str>>,
    /// Sample of how long the end of the response waited before it was read; `None` if this read was not sampled.
    pub unread: Option<ReadSample>,
    /// `true` if the attempt has ended and is recorded.
    pub over: bool,
    /// Values from the head of the response, if the server refused the request.
    pub refusal: Refusal,
}

/// Decision whether the connection of an ended attempt is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::run_loop) enum Reuse {
    Keep,
    Close,
}

impl Attempt {
    /// Returns an attempt that starts now and has no connection yet.
    pub fn new(kind: AttemptKind, started: Instant) -> Self {
        Self {
            kind,
            exchange: None,
            started,
            sent: None,
            backlog_since: None,
            opened: false,
            flags: Flags::default(),
            sent_bytes: 0,
            sent_body: 0,
            received_bytes: 0,
            window: BodyBytes::default(),
            addresses_tried: 0,
            first_address: 0,
            after_head: AfterHead::Read,
            headers_matched: 0,
            etag: None,
            unread: None,
            over: false,
            refusal: Refusal::default(),
        }
    }
}
