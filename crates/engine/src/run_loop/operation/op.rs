//! An operation in flight, and the samples that are recorded for it.

use super::delete_batch::DeleteBatch;
use super::log::{OpEntry, Sent};
use super::multipart::{MultipartUpload, UploadPart};
use super::poll::Polling;
use crate::plan::{BodyPlan, Follow, Plan, Subject};
use crate::run_loop::attempt::Attempt;
use crate::run_loop::attempt::failures::{Failures, Pause};
use crate::run_loop::attempt::redirect_chain::{RedirectChain, RedirectTarget};
use crate::run_loop::request::upload::BodySource;
use crate::run_loop::response::body::BodySink;
use crate::run_loop::response::checks::Expected;
use measure::sample::{Access, AttemptKind, LabelId};
use measure::{AttemptOutcome, Instant, OpKind, OpOutcome, OpSample};
use wire::range::ByteRange;
use wire::response::Location;
use wire::s3::{ErrorBody, ErrorCode};

/// Progress of a listing.
#[derive(Debug, Default)]
pub(in crate::run_loop) struct Pages {
    /// Number of pages of the listing that were read.
    pub read: u32,
    /// Start of the next page, as a part of the query.
    pub next: Option<Box<str>>,
    /// Body bytes of the pages that were read.
    pub body_bytes: u64,
}

/// An operation in flight.
#[derive(Debug)]
pub(in crate::run_loop) struct Op<'p> {
    pub number: u64,
    /// Index of the operation's request in the plan's mix of requests.
    pub request: usize,
    /// Object that the operation reads or writes.
    pub subject: Subject,
    pub kind: OpKind,
    pub range: Option<ByteRange>,
    /// Size of the object, if the operation reads it and the size is known.
    pub size: Option<u64>,
    pub intended: Instant,
    pub started: Instant,
    pub sent: Option<Instant>,
    /// For uploads, the time at which the last byte of the request was passed to the kernel.
    pub sent_all: Option<Instant>,
    /// Time that the bodies of the operation have waited for `100 Continue`.
    pub continue_nanos: Option<u64>,
    pub first_byte: Option<Instant>,
    pub slot_wait_nanos: u64,
    /// Time, in nanoseconds, from the start of the operation until the kernel had accepted its request. Set only if the
    /// request did not wait for anything else, such as a connection.
    pub client_send_nanos: u64,
    /// Total length, in nanoseconds, of the client stalls before the operation started. If the operation had to wait
    /// for a slot, only the stalls before all slots were in use count.
    pub stalls_before: u64,
    pub connect_nanos: Option<u64>,
    pub handshake_nanos: Option<u64>,
    pub origin: usize,
    /// Target of the redirect that is being followed.
    pub redirect: Option<Box<RedirectTarget>>,
    /// Number of redirects followed so far.
    pub redirects: u16,
    /// Requests so far, if the operation was redirected.
    pub chain: Option<Box<RedirectChain>>,
    pub attempts: u32,
    /// Number of bytes received by the attempts before the current one.
    pub received_before: u64,
    /// Number of bytes of the object that ended attempts have sent.
    pub uploaded_bytes: u64,
    pub label: LabelId,
    pub group: Option<LabelId>,
    /// First or repeated access to the object; `None` if the run does not distinguish them.
    pub access: Option<Access>,
    /// `true` if the server has refused `Expect: 100-continue` with a 417.
    pub expectation_failed: bool,
    /// Consumer of the body that is being read.
    pub body: BodySink<'p>,
    /// Progress of a listing.
    pub pages: Pages,
    /// State of a multipart upload; `None` before the upload is initiated.
    pub multipart: Option<Box<MultipartUpload>>,
    /// Message of a request that deletes several objects.
    pub batch: Option<Box<DeleteBatch>>,
    /// The part, if this value sends a part of a multipart upload; `None` for a whole operation. The operation to which
    /// the part belongs is in another slot.
    pub part: Option<UploadPart>,
    /// State of polling; `None` unless the server has accepted work to do later.
    pub polling: Option<Box<Polling>>,
    /// Failures of the current request that were retried.
    pub failures: Failures,
    /// Current pause between two requests, if there is one.
    pub pause: Option<Pause>,
    pub attempt: Attempt,
}

impl<'p> Op<'p> {
    /// Records that the first byte of the current request is passed to the kernel. For both versions of HTTP, this is
    /// the only place that sets this instant.
    #[inline]
    pub fn note_sent(&mut self, now: Instant) {
        self.attempt.sent = Some(now);
        self.sent.get_or_insert(now);
    }

    /// Records that the wait for `100 Continue` is over.
    pub fn note_continue(&mut self, now: Instant) {
        let waited = self.attempt.sent.or(self.sent).map_or(0, |sent| now.nanos_since(sent));
        self.continue_nanos = Some(self.continue_nanos.unwrap_or(0) + waited);
    }

    /// Returns an operation that sends a part of this operation's object.
    pub fn of_part(&self, part: UploadPart, request: usize, query: Box<str>, now: Instant) -> Op<'p> {
        Op {
            number: self.number,
            request,
            subject: self.subject,
            kind: self.kind,
            range: None,
            size: None,
            intended: self.intended,
            started: now,
            sent: None,
            sent_all: None,
            first_byte: None,
            slot_wait_nanos: 0,
            client_send_nanos: 0,
            stalls_before: 0,
            connect_nanos: None,
            handshake_nanos: None,
            origin: self.origin,
            redirect: None,
            redirects: 0,
            chain: None,
            attempts: 0,
            received_before: 0,
            uploaded_bytes: 0,
            label: self.label,
            group: None,
            access: None,
            expectation_failed: false,
            continue_nanos: None,
            body: BodySink::Discard,
            pages: Pages { next: Some(query), ..Pages::default() },
            multipart: None,
            batch: None,
            part: Some(part),
            polling: None,
            failures: Failures::default(),
            pause: None,
            attempt: Attempt::new(AttemptKind::Step, now),
        }
    }

    /// Returns the source of the request's body. `key` is a buffer for the key of the object.
    #[inline]
    pub fn body_source<'a>(&'a self, plan: &'a Plan, body: &'a BodyPlan, key: &'a mut String) -> BodySource<'a> {
        BodySource {
            body,
            targets: &plan.targets,
            subject: self.subject,
            key,
            own: match (&self.batch, &self.multipart) {
                (Some(batch), _) => &batch.bytes,
                (None, Some(multipart)) => &multipart.completion,
                (None, None) => &[],
            },
            slice: self.part.map(|part| (part.offset, part.length)),
        }
    }

    /// Begins the next attempt of the operation.
    pub fn begin_attempt(&mut self, kind: AttemptKind, now: Instant) {
        self.attempts = self.attempts.saturating_add(1);
        if kind == AttemptKind::Step {
            self.failures = Failures::default();
        }
        self.received_before += self.attempt.received_bytes;
        self.attempt = Attempt::new(kind, now);
    }

    /// Returns the attempts of the operation so far, and the bytes of its object that they have sent. `sends_object` is
    /// `true` if the current attempt sends bytes of the object.
    pub fn sent_so_far(&self, sends_object: bool) -> Sent {
        let current = if sends_object && !self.attempt.over { self.attempt.sent_body } else { 0 };
        Sent { attempts: self.attempts.into(), bytes: self.uploaded_bytes + current }
    }

    /// Returns the error code of S3 in the response to the operation's attempt, if there is one.
    pub fn error_code(&self) -> Option<ErrorCode> {
        match &self.body {
            BodySink::Error(text) | BodySink::Keep(text) => ErrorBody::parse(text).ok().map(|error| error.code),
            _ => None,
        }
    }

    /// Returns whether the operation's request completes an upload that an earlier request may already have completed.
    pub fn may_be_complete(&self) -> bool {
        let upload = self.multipart.as_ref().filter(|multipart| multipart.completion_is_unclear);
        upload.is_some_and(|multipart| self.request == multipart.plan.complete)
    }

    /// Returns whether the operation's request aborts an upload.
    pub fn is_aborting(&self) -> bool {
        self.multipart.as_ref().is_some_and(|multipart| self.request == multipart.plan.abort)
    }

    /// Returns the origin to which the current attempt goes.
    pub fn attempt_origin(&self) -> usize {
        self.redirect.as_ref().map_or(self.origin, |redirect| redirect.origin)
    }

    /// Returns the properties of the request that are needed to judge its response.
    #[inline]
    pub fn expected(&self, follow: Follow) -> Expected {
        Expected { range: self.range, follow, size: self.size, headers_matched: self.attempt.headers_matched }
    }

    /// Returns the sample that is recorded when the operation ends.
    pub fn sample(&self, end: Instant, outcome: OpOutcome, body_bytes: u64) -> OpSample {
        OpSample {
            kind: self.kind,
            intended: self.intended,
            started: self.started,
            sent: self.sent,
            sent_all: self.sent_all,
            expect_continue_nanos: self.continue_nanos,
            first_byte: self.first_byte,
            end,
            slot_wait_nanos: self.slot_wait_nanos,
            connect_nanos: self.connect_nanos,
            handshake_nanos: self.handshake_nanos,
            outcome,
            body_bytes,
            window: self.attempt.window,
            host: self.label,
            header: self.group,
            access: self.access,
            affected_by: None,
            client_send_nanos: self.client_send_nanos,
            unread: self.attempt.unread,
        }
    }

    /// Returns the entry for the log of operations.
    pub fn entry(&self, slot: u32, sample: &OpSample, outcome: AttemptOutcome, response: FinalResponse) -> OpEntry {
        OpEntry {
            number: self.number,
            slot,
            kind: self.kind,
            subject: self.subject,
            range: self.range,
            intended: self.intended,
            started: self.started,
            sent: self.sent,
            first_byte: self.first_byte,
            end: sample.end,
            connect_nanos: self.connect_nanos,
            handshake_nanos: self.handshake_nanos,
            attempts: u16::try_from(self.attempts).unwrap_or(u16::MAX),
            hops: self.redirects,
            chain: Vec::new(),
            outcome,
            status: response.status,
            location: response.location,
            body_bytes: sample.body_bytes,
            received_bytes: self.received_before + self.attempt.received_bytes,
            uploaded_bytes: self.uploaded_bytes,
            completed_again: self.multipart.as_ref().is_some_and(|multipart| multipart.completion_is_unclear),
            object_bytes: response.object_bytes,
            differs_at: None,
            message: None,
        }
    }
}

/// Properties of an operation's final response that are reported.
#[derive(Clone, Debug)]
pub(in crate::run_loop) struct FinalResponse {
    pub status: Option<u16>,
    /// Target, if the response is a redirect. The target is kept only if every operation is logged.
    pub location: Location,
    /// Size of the whole object, from `Content-Range` or `Content-Length`.
    pub object_bytes: Option<u64>,
}

impl FinalResponse {
    /// Value for a response without a complete head.
    pub const NONE: Self = Self { status: None, location: Location::Absent, object_bytes: None };
}
