//! One connection: request, answer, request, answer. A state machine that its thread calls when the socket is ready or a
//! time has come, and that answers what to wait for next.

use std::io::{self, ErrorKind};
use std::mem;
use std::net::SocketAddr;
use std::time::Duration;

use sys::{Interest, Socket};
use wire::message::Reading;
use wire::{BadRequest, Event, Framing, Method, RequestReader, Version};

use super::context::ThreadContext;
use super::head::CONTINUE;
use super::owner_fetch::{FetchProgress, OwnerFetch};
use super::sender::{ResponseSender, SendProgress};
use crate::content::Content;
use crate::decision::{Decision, decide};
use crate::faults::InService;
use crate::ledger::RequestRecord;
use crate::ledger::counters::{Completion, SentBytes, bounded_target};
use crate::request::RequestFacts;
use crate::request::fields::RequestFields;
use crate::response::{Response, bad_gateway, set_framing};
use crate::shared::Shared;

/// Bytes of further requests that are kept while an answer is under way; beyond that they are left to the kernel.
const PENDING_MAX: usize = 64 * 1024;
/// A rest of a request's body above this is dropped in the kernel.
const DISCARD_MIN: u64 = 8 * 1024;
/// The most that is dropped by one call.
const DISCARD_MAX: u64 = 1 << 30;
/// Reads of one connection before others have their turn.
const READS_MAX: usize = 16;
/// How long a connection that we close first is read on, so that the answer is not lost to a reset.
const LINGER: Duration = Duration::from_secs(1);

/// What a connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Bytes from the client.
    Read,
    /// Room in the socket.
    Write,
    /// An instant; meanwhile bytes of the client are read, unless there is no room for them or no more come.
    Later(Duration),
    /// [`Connection::upstream`] to be ready; meanwhile bytes of the client are read as with `Later`.
    Upstream(Interest),
    /// What it waited for before.
    Same,
    /// Nothing: it is over.
    Close,
}

#[derive(Debug)]
enum ConnectionState {
    Reading,
    /// The answer begins at an instant.
    Delayed(AfterDelay),
    /// The head of another server's answer is waited for.
    Fetching(Box<OwnerFetch>),
    Sending(ResponseSender),
    /// Our side is closed, the client's not yet.
    Lingering,
}

/// What begins after a delay.
#[derive(Debug)]
enum AfterDelay {
    Respond(Response),
    Fetch(SocketAddr),
}

/// One connection of a client.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) socket: Socket,
    reader: RequestReader,
    state: ConnectionState,
    /// Bytes of requests that come after the one in service.
    pending: Vec<u8>,
    /// The client will send nothing more.
    ended: bool,
    requests: u64,
    service: Option<InService>,
    fields: RequestFields,
    /// Bytes of `100 Continue` for the present request.
    interim: u64,
    /// When the present head began to come.
    head_began: Option<Duration>,
    /// When a byte moved last.
    active: Duration,
}

impl Connection {
    pub(crate) fn new(socket: Socket, now: Duration) -> Self {
        Self {
            socket,
            reader: RequestReader::new(),
            state: ConnectionState::Reading,
            pending: Vec::new(),
            ended: false,
            requests: 0,
            service: None,
            fields: RequestFields::default(),
            interim: 0,
            head_began: None,
            active: now,
        }
    }

    /// Whether bytes of the client are wanted while something else is waited for.
    pub(crate) fn has_room(&self) -> bool {
        !self.ended && self.pending.len() < PENDING_MAX
    }

    /// Whether there is no request, not even a part of one.
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self.state, ConnectionState::Reading) && self.reader.head_bytes() == 0
    }

    /// Whether a limit on time is over.
    pub(crate) fn is_overdue(&self, shared: &Shared, now: Duration) -> bool {
        let head_late = self.head_began.is_some_and(|began| now.saturating_sub(began) > shared.limits.head_timeout);
        let idle = now.saturating_sub(self.active) > shared.limits.idle_timeout;
        match self.state {
            ConnectionState::Reading => head_late || idle,
            ConnectionState::Sending(_) | ConnectionState::Fetching(_) => idle,
            ConnectionState::Delayed(_) | ConnectionState::Lingering => false,
        }
    }

    /// There is something to read.
    pub(crate) fn readable(&mut self, context: &mut ThreadContext) -> Next {
        match self.state {
            ConnectionState::Reading => self.read(context),
            ConnectionState::Delayed(_) | ConnectionState::Fetching(_) | ConnectionState::Sending(_) => {
                self.keep_for_later(context)
            }
            ConnectionState::Lingering => self.drain(context),
        }
    }

    /// There is room to write, or the instant has come.
    pub(crate) fn proceed(&mut self, context: &mut ThreadContext) -> Next {
        let next = match mem::replace(&mut self.state, ConnectionState::Reading) {
            ConnectionState::Delayed(AfterDelay::Respond(response)) => self.start(response, context),
            ConnectionState::Delayed(AfterDelay::Fetch(owner)) => self.fetch(owner, context),
            ConnectionState::Fetching(fetch) => self.fetch_on(fetch, context),
            ConnectionState::Sending(sending) => self.send(sending, context),
            ConnectionState::Lingering => return Next::Close,
            ConnectionState::Reading => return Next::Read,
        };
        next.unwrap_or_else(|| self.read_pending(context))
    }

    fn read(&mut self, context: &mut ThreadContext) -> Next {
        for _ in 0..READS_MAX {
            let opaque = self.reader.opaque_bytes();
            let discards = opaque > DISCARD_MIN && self.socket.is_tcp();
            let (wanted, got) = if discards {
                let wanted = opaque.min(DISCARD_MAX) as usize;
                (wanted, self.socket.discard(wanted))
            } else {
                (context.buffer.len(), self.socket.recv(&mut context.buffer))
            };
            let bytes = match got {
                Ok(0) => return Next::Close,
                Ok(bytes) => bytes,
                Err(error) => return if is_for_later(&error) { Next::Read } else { Next::Close },
            };
            context.counters.received_bytes.add(bytes as u64);
            self.active = context.now;
            let next = if discards {
                self.reader.skip(bytes as u64);
                self.feed(&[], context)
            } else {
                let buffer = mem::take(&mut context.buffer);
                let next = self.feed(&buffer[..bytes], context);
                context.buffer = buffer;
                next
            };
            // What was not filled has emptied the socket.
            if bytes < wanted {
                return next;
            }
            if next != Next::Read {
                return next;
            }
        }
        Next::Read
    }

    fn keep_for_later(&mut self, context: &mut ThreadContext) -> Next {
        let room = (PENDING_MAX - self.pending.len()).min(context.buffer.len());
        match self.socket.recv(&mut context.buffer[..room]) {
            Ok(0) => self.ended = true,
            Ok(bytes) => {
                context.counters.received_bytes.add(bytes as u64);
                self.pending.extend_from_slice(&context.buffer[..bytes]);
            }
            Err(error) if is_for_later(&error) => {}
            Err(_) => return Next::Close,
        }
        Next::Same
    }

    fn drain(&mut self, context: &mut ThreadContext) -> Next {
        match self.socket.recv(&mut context.buffer) {
            Ok(0) => Next::Close,
            Ok(bytes) => {
                context.counters.received_bytes.add(bytes as u64);
                Next::Same
            }
            Err(error) if is_for_later(&error) => Next::Same,
            Err(_) => Next::Close,
        }
    }

    /// Goes on with what came while an answer was under way.
    fn read_pending(&mut self, context: &mut ThreadContext) -> Next {
        let pending = mem::take(&mut self.pending);
        let next = self.feed(&pending, context);
        if next == Next::Read && self.ended { Next::Close } else { next }
    }

    /// Reads requests from `input` and answers them, until one answer has to wait.
    fn feed(&mut self, input: &[u8], context: &mut ThreadContext) -> Next {
        let mut at = 0;
        loop {
            let (fields, wanted) = (&mut self.fields, context.shared.stand_in.needs_all_fields());
            let read = self.reader.read(&input[at..], &mut |name, value| fields.note(wanted, name, value));
            let responded = match read {
                Err(bad) => self.refuse(bad, context),
                Ok(progress) => {
                    let from = at;
                    at += progress.consumed;
                    match progress.event {
                        Event::NeedMore => {
                            self.note_head_time(context.now);
                            return Next::Read;
                        }
                        Event::Head => {
                            if self.head_read(context).is_err() {
                                return Next::Close;
                            }
                            continue;
                        }
                        Event::Body(range) => {
                            self.fields.note_body(context.shared.stand_in.request_body_max(), &input[from..][range]);
                            continue;
                        }
                        Event::End => self.respond(context),
                    }
                }
            };
            if let Some(next) = responded {
                if next != Next::Close {
                    self.pending.extend_from_slice(&input[at..]);
                }
                return next;
            }
            if at == input.len() {
                return Next::Read;
            }
        }
    }

    /// A head that does not come whole at once has a limited time.
    fn note_head_time(&mut self, now: Duration) {
        let in_head = self.reader.phase() == Reading::Head && self.reader.head_bytes() > 0;
        self.head_began = if in_head { Some(self.head_began.unwrap_or(now)) } else { None };
    }

    fn head_read(&mut self, context: &mut ThreadContext) -> io::Result<()> {
        self.head_began = None;
        self.interim = 0;
        self.requests += 1;
        context.shared.faults.note_request_read(context.now);
        let Some(head) = self.reader.head() else { return Ok(()) };
        context.counters.count_request(&head.method);
        if head.expect_continue && !matches!(head.framing, Framing::None | Framing::Length(0)) {
            let taken = self.socket.send(CONTINUE)?;
            self.interim = taken as u64;
            if taken < CONTINUE.len() {
                // So little room is left only to a client that does not read.
                return Err(ErrorKind::WouldBlock.into());
            }
        }
        Ok(())
    }

    /// The request is complete. `None` when its answer has been sent and the next request may come.
    fn respond(&mut self, context: &mut ThreadContext) -> Option<Next> {
        let Some(head) = self.reader.head() else { return Some(Next::Close) };
        context.counters.request_body_bytes.add(self.reader.body_bytes());
        let facts = RequestFacts { received: self.reader.body_bytes(), fields: &self.fields };
        let mut decision = decide(&context.shared, head, &facts);
        let met = context.shared.faults.next_request(head.range.is_some());
        if met.error || met.refused {
            decision = decision.refuse(&context.shared, head, met.refused);
        }
        self.service = Some(met.in_service);
        let (then, asked) = match decision {
            Decision::Respond(response, asked) => (AfterDelay::Respond(response), asked),
            Decision::Fetch(owner) => (AfterDelay::Fetch(owner), Duration::ZERO),
        };
        let delay = met.delay.saturating_add(asked);
        if !delay.is_zero() {
            self.state = ConnectionState::Delayed(then);
            return Some(Next::Later(context.now.saturating_add(delay)));
        }
        match then {
            AfterDelay::Respond(response) => self.start(response, context),
            AfterDelay::Fetch(owner) => self.fetch(owner, context),
        }
    }

    /// Asks another server of the cluster.
    fn fetch(&mut self, owner: SocketAddr, context: &mut ThreadContext) -> Option<Next> {
        let head = self.reader.head()?;
        match OwnerFetch::begin(owner, head, self.fields.if_range.is_none(), &mut context.owner_connections) {
            Ok(fetch) => self.fetch_on(Box::new(fetch), context),
            Err(_) => self.fetched(bad_gateway(), context),
        }
    }

    fn fetch_on(&mut self, mut fetch: Box<OwnerFetch>, context: &mut ThreadContext) -> Option<Next> {
        match fetch.drive() {
            FetchProgress::Waits(interest) => {
                self.state = ConnectionState::Fetching(fetch);
                Some(Next::Upstream(interest))
            }
            FetchProgress::Response(response) => {
                self.fetched(Response { content: Content::Source(fetch.into_body()), ..*response }, context)
            }
            FetchProgress::Failed => self.fetched(bad_gateway(), context),
        }
    }

    fn fetched(&mut self, response: Response, context: &mut ThreadContext) -> Option<Next> {
        let response = match self.reader.head() {
            Some(head) => set_framing(response, head, false),
            None => response,
        };
        self.start(response, context)
    }

    /// The connection to another server that [`Next::Upstream`] speaks of.
    pub(crate) fn upstream(&self) -> Option<&Socket> {
        match &self.state {
            ConnectionState::Fetching(fetch) => Some(fetch.socket()),
            ConnectionState::Sending(sending) => sending.upstream(),
            ConnectionState::Reading | ConnectionState::Delayed(_) | ConnectionState::Lingering => None,
        }
    }

    /// ResponseCounts what could not be read.
    fn refuse(&mut self, bad: BadRequest, context: &mut ThreadContext) -> Option<Next> {
        if self.reader.head().is_some() {
            // Its head was counted: a body that breaks off in this way is answered under that request.
            context.counters.request_body_bytes.add(self.reader.body_bytes());
        } else {
            context.counters.requests_malformed.add(1);
        }
        self.head_began = None;
        self.start(Response::to_malformed(bad), context)
    }

    fn start(&mut self, mut response: Response, context: &mut ThreadContext) -> Option<Next> {
        let last = context.shared.limits.close_after.is_some_and(|most| self.requests >= most.get());
        if !response.close && (last || context.shared.is_stopping()) {
            response.close = true;
            response.linger = true;
        }
        response.inject_body_faults(&context.shared.faults);
        let mut staged = mem::take(&mut context.scratch);
        staged.clear();
        let version = self.reader.head().map_or(Version::Http11, |head| head.version);
        context.heads.write(&response, version, context.now, &mut staged);
        let interim = mem::take(&mut self.interim);
        self.send(ResponseSender::new(response, staged, interim, context.shared.limits.rate, context.now), context)
    }

    fn send(&mut self, mut sending: ResponseSender, context: &mut ThreadContext) -> Option<Next> {
        let before = sending.sent;
        let sends = sending.drive(&self.socket, &context.shared.pattern, context.now);
        if sending.sent != before {
            self.active = context.now;
        }
        let next = match sends {
            SendProgress::Done => return self.sent(sending, Completion::Complete, context),
            SendProgress::More => Next::Write,
            SendProgress::Later(instant) => Next::Later(instant),
            SendProgress::Pending => Next::Upstream(Interest::Read),
            SendProgress::Cut => return self.sent(sending, Completion::Aborted, context),
            SendProgress::Broken => Next::Close,
        };
        self.state = ConnectionState::Sending(sending);
        Some(next)
    }

    /// The last byte has been handed to the kernel, or the last one of an answer that was to break off.
    fn sent(&mut self, sending: ResponseSender, ended: Completion, context: &mut ThreadContext) -> Option<Next> {
        self.count(&sending.response, sending.sent, ended, context);
        self.service = None;
        let cut = ended == Completion::Aborted;
        let (close, linger) = (sending.response.close || cut, sending.response.linger || cut);
        let (buffer, content) = sending.into_parts();
        context.scratch = buffer;
        if let Content::Source(source) = content
            && let Some((owner, socket)) = source.into_connection()
        {
            context.owner_connections.keep(owner, socket);
        }
        if !close {
            self.reader.start();
            self.fields.clear();
            return None;
        }
        self.state = ConnectionState::Lingering;
        if linger && !self.ended && self.socket.shutdown_write().is_ok() {
            self.pending.clear();
            return Some(Next::Later(context.now.saturating_add(LINGER)));
        }
        Some(Next::Close)
    }

    /// Counts what is left unfinished when the connection is given up.
    pub(crate) fn abandon(&mut self, context: &ThreadContext) {
        match mem::replace(&mut self.state, ConnectionState::Lingering) {
            ConnectionState::Delayed(AfterDelay::Respond(response)) => self.abandon_unsent(&response, context),
            ConnectionState::Delayed(AfterDelay::Fetch(_)) | ConnectionState::Fetching(_) => {
                self.abandon_unsent(&bad_gateway(), context)
            }
            ConnectionState::Sending(sending) => {
                self.count(&sending.response, sending.sent, Completion::Aborted, context)
            }
            ConnectionState::Reading if self.reader.head().is_some() && !self.reader.is_complete() => {
                context.counters.requests_cut.add(1);
                context.counters.stray_head_bytes(self.interim);
                context.counters.request_body_bytes.add(self.reader.body_bytes());
            }
            ConnectionState::Reading | ConnectionState::Lingering => {}
        }
        self.service = None;
        context.counters.connections_closed.add(1);
    }

    fn abandon_unsent(&self, response: &Response, context: &ThreadContext) {
        self.count(response, SentBytes { head: self.interim, body: 0 }, Completion::Aborted, context);
    }

    fn count(&self, response: &Response, sent: SentBytes, ended: Completion, context: &ThreadContext) {
        context.counters.count_response(response.status, ended, sent);
        context.shared.faults.note_sent(response.body_faults, response.body_length(), sent.body);
        let Some(left) = &context.shared.log_left else { return };
        let Some(head) = self.reader.head() else { return };
        context.counters.record(left, || RequestRecord {
            method: match &head.method {
                Method::Other(token) => Method::Other(bounded_target(token)),
                known => known.clone(),
            },
            target: bounded_target(&head.target),
            status: response.status,
            body_bytes_sent: sent.body,
            range: response.range(),
            complete: ended == Completion::Complete,
        });
    }
}

fn is_for_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
