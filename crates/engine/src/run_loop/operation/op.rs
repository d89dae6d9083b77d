//! Operations in flight, and the slots that they occupy.

use crate::network::Token;
use crate::plan::{BodyPlan, Follow, MESSAGE_BYTES_MAX, Multipart, Plan, Subject};
use crate::run_loop::http1::upload::Maker;
use crate::run_loop::operation::delete_batch::Message;
use crate::run_loop::operation::log::OpEntry;
use crate::run_loop::response::checks::{Asked, AtHead};
use crate::run_loop::response::header_values::{Digesting, Refusal, SAID_BYTES_MAX};
use content::{Mismatch, Verifier};
use measure::chains::HopSample;
use measure::sample::{AttemptKind, LabelId, Moved};
use measure::{AttemptOutcome, Flags, Instant, OpKind, OpOutcome, OpSample, ReadSample};
use wire::gateway;
use wire::range::ByteRange;
use wire::response::Location;
use wire::url::Url;

/// A place for one operation in flight.
#[derive(Debug)]
pub(in crate::run_loop) struct Slot<'p> {
    pub op: Option<Op<'p>>,
    /// When its last operation ended.
    pub freed: Instant,
    /// Measured operations that it has taken.
    pub taken: u64,
}

/// Where an operation was redirected to.
#[derive(Debug)]
pub(in crate::run_loop) struct Hop {
    pub url: Url,
    pub origin: usize,
    /// Whether it must not be followed to an address that is not public.
    pub only_public: bool,
    /// A hash of each URL that this operation has asked for before this one, to know a loop by.
    pub visited: Vec<u64>,
}

/// The requests of an operation that was redirected, in order.
#[derive(Debug, Default)]
pub(in crate::run_loop) struct Chain {
    pub hops: Vec<HopSample>,
    /// Attempts and bytes before the first redirect that are not in `hops`: a kept connection that was stale.
    attempts_before: u64,
    bytes_before: u64,
}

impl Chain {
    /// A chain whose first redirect is the operation's `attempts`-th attempt.
    pub fn begin(attempts: u16, bytes_before: u64) -> Self {
        Self { hops: Vec::new(), attempts_before: u64::from(attempts).saturating_sub(1), bytes_before }
    }

    /// Adds an attempt at a position; a resend stands at that of what it repeats.
    pub fn add(&mut self, position: u16, mut hop: HopSample) {
        match self.hops.get_mut(usize::from(position)) {
            Some(before) => {
                hop.sent = before.sent.or(hop.sent);
                hop.attempts += before.attempts;
                hop.opened += before.opened;
                hop.body_bytes += before.body_bytes;
                hop.overhead_bytes += before.overhead_bytes;
                *before = hop;
            }
            None => {
                hop.attempts += std::mem::take(&mut self.attempts_before);
                hop.overhead_bytes += std::mem::take(&mut self.bytes_before);
                self.hops.push(hop);
            }
        }
    }
}

/// One request of an operation.
#[derive(Debug)]
pub(in crate::run_loop) struct Attempt {
    pub kind: AttemptKind,
    pub connection: Option<Token>,
    pub started: Instant,
    /// When its first byte was handed to the kernel.
    pub sent: Option<Instant>,
    /// Since when it has waited for room in the queue of a listener.
    pub knocked: Option<Instant>,
    /// Whether a connection was opened for it.
    pub opened: bool,
    pub flags: Flags,
    pub sent_bytes: u64,
    /// Body bytes among them.
    pub sent_body: u64,
    /// All bytes received for it.
    pub received_bytes: u64,
    /// Body bytes that arrived and left inside the window.
    pub window: Moved,
    /// Addresses that were tried.
    pub addresses_tried: usize,
    /// Where in the rotation of the host's addresses it began.
    pub first_address: usize,
    /// Known once the head is.
    pub at_head: AtHead,
    /// One bit for each header field that had to be there and was.
    pub headers_matched: u128,
    /// The tag of the object that the answer names; kept for parts.
    pub etag: Option<Box<str>>,
    /// For how long the end of its response had waited unread, where that was looked at.
    pub unread: Option<ReadSample>,
    /// It has ended and was recorded.
    pub over: bool,
    /// What its refusal said in the head.
    pub refusal: Refusal,
}

impl Attempt {
    pub fn new(kind: AttemptKind, started: Instant) -> Self {
        Self {
            kind,
            connection: None,
            started,
            sent: None,
            knocked: None,
            opened: false,
            flags: Flags::default(),
            sent_bytes: 0,
            sent_body: 0,
            received_bytes: 0,
            window: Moved::default(),
            addresses_tried: 0,
            first_address: 0,
            at_head: AtHead::Read,
            headers_matched: 0,
            etag: None,
            unread: None,
            over: false,
            refusal: Refusal::default(),
        }
    }
}

/// What becomes of the body of an answer as it comes.
#[derive(Debug, Default)]
pub(in crate::run_loop) enum Body<'p> {
    #[default]
    Dropped,
    Compared(Verifier<'p>),
    Kept(Vec<u8>),
    /// The beginning of what a server says about a failure.
    Said(Vec<u8>),
    Digested(Box<Digesting>),
    /// A CAR or block of a gateway.
    Gateway(Box<gateway::Check>),
}

impl Body<'_> {
    /// Whether its bytes are looked at.
    #[inline]
    pub fn is_looked_at(&self) -> bool {
        !matches!(self, Self::Dropped)
    }

    /// Takes the next piece; an error when it is not what it should be, or too much.
    #[inline]
    pub fn take(&mut self, piece: &[u8]) -> Result<(), Unwanted> {
        match self {
            Self::Dropped => Ok(()),
            Self::Compared(verifier) => verifier.check(piece).map_err(Unwanted::Differs),
            Self::Said(said) => {
                // Blanks before it keep a connection alive.
                let piece = if said.is_empty() { piece.trim_ascii_start() } else { piece };
                let room = SAID_BYTES_MAX - said.len();
                said.extend_from_slice(&piece[..piece.len().min(room)]);
                Ok(())
            }
            Self::Digested(digesting) => {
                digesting.update(piece);
                Ok(())
            }
            Self::Gateway(check) => check.take(piece).map_err(Unwanted::Fault),
            Self::Kept(kept) if kept.len() + piece.len() > MESSAGE_BYTES_MAX => Err(Unwanted::TooLarge),
            Self::Kept(kept) => {
                kept.extend_from_slice(piece);
                Ok(())
            }
        }
    }
}

/// How far an operation of several pages has come.
#[derive(Debug, Default)]
pub(in crate::run_loop) struct Pages {
    pub read: u32,
    /// Where the next one begins, as it stands in a query.
    pub next: Option<Box<str>>,
    /// Body bytes of those that were read.
    pub body_bytes: u64,
}

/// Why a body is not read any further.
#[derive(Clone, Debug)]
pub(in crate::run_loop) enum Unwanted {
    Differs(Mismatch),
    /// It is not what was asked of a gateway.
    Fault(gateway::Fault),
    TooLarge,
}

/// An operation in flight.
#[derive(Debug)]
pub(in crate::run_loop) struct Op<'p> {
    pub number: u64,
    /// Which request of the mix it is.
    pub request: usize,
    /// The object that it is about.
    pub subject: Subject,
    pub kind: OpKind,
    pub range: Option<ByteRange>,
    /// Size of the object, where it is read and its size is known.
    pub size: Option<u64>,
    pub intended: Instant,
    pub started: Instant,
    pub sent: Option<Instant>,
    /// When the last byte of its request was handed to the kernel; for uploads.
    pub sent_all: Option<Instant>,
    /// For how long its bodies have waited for the server to agree to them, once it was asked.
    pub agreement_nanos: Option<u64>,
    pub first_byte: Option<Instant>,
    pub slot_wait_nanos: u64,
    /// What it took from its start until the kernel had its request, if the client waited for nothing in between.
    pub handing_nanos: u64,
    /// Length of all client stalls before it started, or before the slots ran out for which it waited, in nanoseconds.
    pub stalls_before: u64,
    pub connect_nanos: Option<u64>,
    pub handshake_nanos: Option<u64>,
    pub origin: usize,
    pub hop: Option<Box<Hop>>,
    pub hops: u16,
    /// Its requests so far, once it was redirected.
    pub chain: Option<Box<Chain>>,
    pub attempts: u16,
    /// Bytes received by the attempts before the running one.
    pub received_before: u64,
    pub label: LabelId,
    pub group: Option<LabelId>,
    /// The server did not want to be asked before a body is sent.
    pub unasked: bool,
    /// What becomes of the body that is being read.
    pub body: Body<'p>,
    /// The pages of a listing that were read.
    pub pages: Pages,
    /// The parts in which its object is written, once they can be.
    pub parts: Option<Box<Parts>>,
    /// The message that it sends, where it has one of its own.
    pub message: Option<Box<Message>>,
    /// The part that this stands for; its operation is in another slot.
    pub part: Option<Part>,
    pub attempt: Attempt,
}

/// A part of an object on its way.
#[derive(Clone, Copy, Debug)]
pub(in crate::run_loop) struct Part {
    /// The slot of the operation that it belongs to, and that operation's number.
    pub of: (u32, u64),
    /// From 0.
    pub index: u32,
    pub offset: u64,
    pub length: u64,
}

/// An object that is written in parts.
#[derive(Debug)]
pub(in crate::run_loop) struct Parts {
    pub plan: Multipart,
    pub upload: Box<str>,
    /// Size of the object, and of each part but the last.
    pub size: u64,
    pub part_bytes: u64,
    /// The tags of the parts that are there, by their index.
    pub etags: Vec<Option<Box<str>>>,
    /// The next one to be sent.
    pub next: u32,
    pub running: u32,
    pub failed: Option<AttemptOutcome>,
    /// The server has confirmed that it keeps none of the parts.
    pub aborted: bool,
    /// Body bytes of parts, and those of them that left inside the window.
    pub sent_body: u64,
    pub window: Moved,
    /// The message that completes the upload.
    pub completion: Vec<u8>,
}

impl<'p> Op<'p> {
    /// The first byte of the running attempt's request is handed to the kernel. The only place for that instant, whichever
    /// version of HTTP is spoken.
    #[inline]
    pub fn note_sent(&mut self, now: Instant) {
        self.attempt.sent = Some(now);
        self.sent.get_or_insert(now);
    }

    /// The wait for the server to agree to a body is over.
    pub fn note_agreement(&mut self, now: Instant) {
        let waited = self.attempt.sent.or(self.sent).map_or(0, |sent| now.nanos_since(sent));
        self.agreement_nanos = Some(self.agreement_nanos.unwrap_or(0) + waited);
    }

    /// The operation as which a part of it goes its way.
    pub fn of_part(&self, part: Part, request: usize, query: Box<str>, now: Instant) -> Op<'p> {
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
            handing_nanos: 0,
            stalls_before: 0,
            connect_nanos: None,
            handshake_nanos: None,
            origin: self.origin,
            hop: None,
            hops: 0,
            chain: None,
            attempts: 0,
            received_before: 0,
            label: self.label,
            group: None,
            unasked: false,
            agreement_nanos: None,
            body: Body::Dropped,
            pages: Pages { next: Some(query), ..Pages::default() },
            parts: None,
            message: None,
            part: Some(part),
            attempt: Attempt::new(AttemptKind::Step, now),
        }
    }

    /// What makes the body of its request.
    pub fn maker<'a>(&'a self, plan: &'a Plan, body: &'a BodyPlan, key: &'a mut String) -> Maker<'a> {
        Maker {
            body,
            targets: &plan.targets,
            subject: self.subject,
            key,
            own: match (&self.message, &self.parts) {
                (Some(message), _) => &message.bytes,
                (None, Some(parts)) => &parts.completion,
                (None, None) => &[],
            },
            slice: self.part.map(|part| (part.offset, part.length)),
        }
    }

    /// The origin that the running attempt goes to.
    pub fn attempt_origin(&self) -> usize {
        self.hop.as_ref().map_or(self.origin, |hop| hop.origin)
    }

    pub fn asked(&self, follow: Follow) -> Asked {
        Asked { range: self.range, follow, size: self.size, headers_matched: self.attempt.headers_matched }
    }

    /// What the recorder is told at the end.
    pub fn sample(&self, end: Instant, outcome: OpOutcome, body_bytes: u64) -> OpSample {
        OpSample {
            kind: self.kind,
            intended: self.intended,
            started: self.started,
            sent: self.sent,
            sent_all: self.sent_all,
            agreement_nanos: self.agreement_nanos,
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
            affected_by: None,
            handing_nanos: self.handing_nanos,
            unread: self.attempt.unread,
        }
    }

    /// What is reported of it when every operation is.
    pub fn entry(&self, slot: u32, sample: &OpSample, outcome: AttemptOutcome, answer: Answer) -> OpEntry {
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
            attempts: self.attempts,
            hops: self.hops,
            chain: Vec::new(),
            outcome,
            status: answer.status,
            location: answer.location,
            body_bytes: sample.body_bytes,
            received_bytes: self.received_before + self.attempt.received_bytes,
            object_bytes: answer.object_bytes,
            differs_at: None,
            message: None,
        }
    }
}

/// What the final answer said, as far as it is reported.
#[derive(Clone, Debug)]
pub(in crate::run_loop) struct Answer {
    pub status: Option<u16>,
    /// Where it leads, when it is a redirect; only when every operation is reported.
    pub location: Location,
    /// Size of the whole object, from `Content-Range` or `Content-Length`.
    pub object_bytes: Option<u64>,
}

impl Answer {
    /// None that came to a head.
    pub const NONE: Self = Self { status: None, location: Location::Absent, object_bytes: None };
}
