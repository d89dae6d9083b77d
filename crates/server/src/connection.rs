//! One connection: request, answer, request, answer. A state machine that its thread calls when the socket is ready or a
//! time has come, and that answers what to wait for next.

use std::io::{self, ErrorKind};
use std::mem;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use sys::{Interest, Socket};
use wire::message::Reading;
use wire::{BadRequest, Event, Framing, Method, RequestReader, Version};

use crate::answer::{self, Answer, Content, Decision, Facts};
use crate::cluster::{Fetch, Fetched, Fetches};
use crate::faults::InService;
use crate::head::{CONTINUE, HeadWriter};
use crate::ledger::{Counters, Ended, RequestRecord, Sent, bounded_target};
use crate::send::{Sending, Sends};
use crate::site::Site;
use crate::stand_in::Fields;

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

/// What a thread lends to the connection that it serves.
pub(crate) struct Desk {
    pub(crate) site: Arc<Site>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) heads: HeadWriter,
    /// The monotonic clock, as read for this event.
    pub(crate) now: Duration,
    pub(crate) buffer: Vec<u8>,
    /// Room for the next answer's head and small body.
    pub(crate) scratch: Vec<u8>,
    /// Connections to other servers of the cluster.
    pub(crate) fetches: Fetches,
}

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
enum State {
    Reading,
    /// The answer begins at an instant.
    Delayed(Held),
    /// The head of another server's answer is waited for.
    Fetching(Box<Fetch>),
    Sending(Sending),
    /// Our side is closed, the client's not yet.
    Lingering,
}

/// What begins after a delay.
#[derive(Debug)]
enum Held {
    Answer(Answer),
    Fetch(SocketAddr),
}

/// One connection of a client.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) socket: Socket,
    reader: RequestReader,
    state: State,
    /// Bytes of requests that come after the one in service.
    pending: Vec<u8>,
    /// The client will send nothing more.
    ended: bool,
    requests: u64,
    service: Option<InService>,
    fields: Fields,
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
            state: State::Reading,
            pending: Vec::new(),
            ended: false,
            requests: 0,
            service: None,
            fields: Fields::default(),
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
        matches!(self.state, State::Reading) && self.reader.head_bytes() == 0
    }

    /// Whether a limit on time is over.
    pub(crate) fn is_overdue(&self, site: &Site, now: Duration) -> bool {
        let head_late = self.head_began.is_some_and(|began| now.saturating_sub(began) > site.limits.head_timeout);
        let idle = now.saturating_sub(self.active) > site.limits.idle_timeout;
        match self.state {
            State::Reading => head_late || idle,
            State::Sending(_) | State::Fetching(_) => idle,
            State::Delayed(_) | State::Lingering => false,
        }
    }

    /// There is something to read.
    pub(crate) fn readable(&mut self, desk: &mut Desk) -> Next {
        match self.state {
            State::Reading => self.read(desk),
            State::Delayed(_) | State::Fetching(_) | State::Sending(_) => self.keep_for_later(desk),
            State::Lingering => self.drain(desk),
        }
    }

    /// There is room to write, or the instant has come.
    pub(crate) fn proceed(&mut self, desk: &mut Desk) -> Next {
        let next = match mem::replace(&mut self.state, State::Reading) {
            State::Delayed(Held::Answer(answer)) => self.start(answer, desk),
            State::Delayed(Held::Fetch(owner)) => self.fetch(owner, desk),
            State::Fetching(fetch) => self.fetch_on(fetch, desk),
            State::Sending(sending) => self.send(sending, desk),
            State::Lingering => return Next::Close,
            State::Reading => return Next::Read,
        };
        next.unwrap_or_else(|| self.read_pending(desk))
    }

    fn read(&mut self, desk: &mut Desk) -> Next {
        for _ in 0..READS_MAX {
            let opaque = self.reader.opaque_bytes();
            let discards = opaque > DISCARD_MIN && self.socket.is_tcp();
            let (wanted, got) = if discards {
                let wanted = opaque.min(DISCARD_MAX) as usize;
                (wanted, self.socket.discard(wanted))
            } else {
                (desk.buffer.len(), self.socket.recv(&mut desk.buffer))
            };
            let bytes = match got {
                Ok(0) => return Next::Close,
                Ok(bytes) => bytes,
                Err(error) => return if is_for_later(&error) { Next::Read } else { Next::Close },
            };
            desk.counters.received_bytes.add(bytes as u64);
            self.active = desk.now;
            let next = if discards {
                self.reader.skip(bytes as u64);
                self.feed(&[], desk)
            } else {
                let buffer = mem::take(&mut desk.buffer);
                let next = self.feed(&buffer[..bytes], desk);
                desk.buffer = buffer;
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

    fn keep_for_later(&mut self, desk: &mut Desk) -> Next {
        let room = (PENDING_MAX - self.pending.len()).min(desk.buffer.len());
        match self.socket.recv(&mut desk.buffer[..room]) {
            Ok(0) => self.ended = true,
            Ok(bytes) => {
                desk.counters.received_bytes.add(bytes as u64);
                self.pending.extend_from_slice(&desk.buffer[..bytes]);
            }
            Err(error) if is_for_later(&error) => {}
            Err(_) => return Next::Close,
        }
        Next::Same
    }

    fn drain(&mut self, desk: &mut Desk) -> Next {
        match self.socket.recv(&mut desk.buffer) {
            Ok(0) => Next::Close,
            Ok(bytes) => {
                desk.counters.received_bytes.add(bytes as u64);
                Next::Same
            }
            Err(error) if is_for_later(&error) => Next::Same,
            Err(_) => Next::Close,
        }
    }

    /// Goes on with what came while an answer was under way.
    fn read_pending(&mut self, desk: &mut Desk) -> Next {
        let pending = mem::take(&mut self.pending);
        let next = self.feed(&pending, desk);
        if next == Next::Read && self.ended { Next::Close } else { next }
    }

    /// Reads requests from `input` and answers them, until one answer has to wait.
    fn feed(&mut self, input: &[u8], desk: &mut Desk) -> Next {
        let mut at = 0;
        loop {
            let (fields, wanted) = (&mut self.fields, desk.site.stand_in.wanted_fields());
            let read = self.reader.read(&input[at..], &mut |name, value| fields.note(wanted, name, value));
            let answered = match read {
                Err(bad) => self.refuse(bad, desk),
                Ok(progress) => {
                    let from = at;
                    at += progress.consumed;
                    match progress.event {
                        Event::NeedMore => {
                            self.note_head_time(desk.now);
                            return Next::Read;
                        }
                        Event::Head => {
                            if self.head_read(desk).is_err() {
                                return Next::Close;
                            }
                            continue;
                        }
                        Event::Body(range) => {
                            self.fields.note_body(desk.site.stand_in.wanted_body(), &input[from..][range]);
                            continue;
                        }
                        Event::End => self.answer(desk),
                    }
                }
            };
            if let Some(next) = answered {
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

    fn head_read(&mut self, desk: &mut Desk) -> io::Result<()> {
        self.head_began = None;
        self.interim = 0;
        self.requests += 1;
        desk.site.planted.request_read(desk.now);
        let Some(head) = self.reader.head() else { return Ok(()) };
        desk.counters.request(&head.method);
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
    fn answer(&mut self, desk: &mut Desk) -> Option<Next> {
        let Some(head) = self.reader.head() else { return Some(Next::Close) };
        desk.counters.request_body_bytes.add(self.reader.body_bytes());
        let facts = Facts { received: self.reader.body_bytes(), fields: &self.fields };
        let mut decision = answer::decide(&desk.site, head, &facts);
        let met = desk.site.planted.meet(head.range.is_some());
        if met.error || met.refused {
            decision = decision.refused(&desk.site, head, met.refused);
        }
        self.service = Some(met.service);
        let (held, asked) = match decision {
            Decision::Answer(answer, asked) => (Held::Answer(answer), asked),
            Decision::Fetch(owner) => (Held::Fetch(owner), Duration::ZERO),
        };
        let delay = met.delay.saturating_add(asked);
        if !delay.is_zero() {
            self.state = State::Delayed(held);
            return Some(Next::Later(desk.now.saturating_add(delay)));
        }
        match held {
            Held::Answer(answer) => self.start(answer, desk),
            Held::Fetch(owner) => self.fetch(owner, desk),
        }
    }

    /// Asks another server of the cluster.
    fn fetch(&mut self, owner: SocketAddr, desk: &mut Desk) -> Option<Next> {
        let head = self.reader.head()?;
        match Fetch::begin(owner, head, self.fields.if_range.is_none(), &mut desk.fetches) {
            Ok(fetch) => self.fetch_on(Box::new(fetch), desk),
            Err(_) => self.fetched(answer::bad_gateway(), desk),
        }
    }

    fn fetch_on(&mut self, mut fetch: Box<Fetch>, desk: &mut Desk) -> Option<Next> {
        match fetch.drive() {
            Fetched::Waits(interest) => {
                self.state = State::Fetching(fetch);
                Some(Next::Upstream(interest))
            }
            Fetched::Answer(answer) => {
                self.fetched(Answer { content: Content::Source(fetch.into_body()), ..*answer }, desk)
            }
            Fetched::Failed => self.fetched(answer::bad_gateway(), desk),
        }
    }

    fn fetched(&mut self, answer: Answer, desk: &mut Desk) -> Option<Next> {
        let answer = match self.reader.head() {
            Some(head) => answer::finish(answer, head, false),
            None => answer,
        };
        self.start(answer, desk)
    }

    /// The connection to another server that [`Next::Upstream`] speaks of.
    pub(crate) fn upstream(&self) -> Option<&Socket> {
        match &self.state {
            State::Fetching(fetch) => Some(fetch.socket()),
            State::Sending(sending) => sending.upstream(),
            State::Reading | State::Delayed(_) | State::Lingering => None,
        }
    }

    /// Answers what could not be read.
    fn refuse(&mut self, bad: BadRequest, desk: &mut Desk) -> Option<Next> {
        if self.reader.head().is_some() {
            // Its head was counted: a body that breaks off in this way is answered under that request.
            desk.counters.request_body_bytes.add(self.reader.body_bytes());
        } else {
            desk.counters.requests_malformed.add(1);
        }
        self.head_began = None;
        self.start(Answer::to_malformed(bad), desk)
    }

    fn start(&mut self, mut answer: Answer, desk: &mut Desk) -> Option<Next> {
        let last = desk.site.limits.close_after.is_some_and(|most| self.requests >= most.get());
        if !answer.close && (last || desk.site.is_stopping()) {
            answer.close = true;
            answer.linger = true;
        }
        answer.plant(&desk.site.planted);
        let mut staged = mem::take(&mut desk.scratch);
        staged.clear();
        let version = self.reader.head().map_or(Version::Http11, |head| head.version);
        desk.heads.write(&answer, version, desk.now, &mut staged);
        let interim = mem::take(&mut self.interim);
        self.send(Sending::new(answer, staged, interim, desk.site.limits.rate, desk.now), desk)
    }

    fn send(&mut self, mut sending: Sending, desk: &mut Desk) -> Option<Next> {
        let before = sending.sent;
        let sends = sending.drive(&self.socket, &desk.site.pattern, desk.now);
        if sending.sent != before {
            self.active = desk.now;
        }
        let next = match sends {
            Sends::Done => return self.sent(sending, Ended::Complete, desk),
            Sends::More => Next::Write,
            Sends::Later(instant) => Next::Later(instant),
            Sends::Pending => Next::Upstream(Interest::Read),
            Sends::Cut => return self.sent(sending, Ended::Aborted, desk),
            Sends::Broken => Next::Close,
        };
        self.state = State::Sending(sending);
        Some(next)
    }

    /// The last byte has been handed to the kernel, or the last one of an answer that was to break off.
    fn sent(&mut self, sending: Sending, ended: Ended, desk: &mut Desk) -> Option<Next> {
        self.count(&sending.answer, sending.sent, ended, desk);
        self.service = None;
        let cut = ended == Ended::Aborted;
        let (close, linger) = (sending.answer.close || cut, sending.answer.linger || cut);
        let (buffer, content) = sending.into_parts();
        desk.scratch = buffer;
        if let Content::Source(source) = content
            && let Some((owner, socket)) = source.into_connection()
        {
            desk.fetches.keep(owner, socket);
        }
        if !close {
            self.reader.start();
            self.fields.clear();
            return None;
        }
        self.state = State::Lingering;
        if linger && !self.ended && self.socket.shutdown_write().is_ok() {
            self.pending.clear();
            return Some(Next::Later(desk.now.saturating_add(LINGER)));
        }
        Some(Next::Close)
    }

    /// Counts what is left unfinished when the connection is given up.
    pub(crate) fn abandon(&mut self, desk: &Desk) {
        match mem::replace(&mut self.state, State::Lingering) {
            State::Delayed(Held::Answer(answer)) => self.abandon_unsent(&answer, desk),
            State::Delayed(Held::Fetch(_)) | State::Fetching(_) => self.abandon_unsent(&answer::bad_gateway(), desk),
            State::Sending(sending) => self.count(&sending.answer, sending.sent, Ended::Aborted, desk),
            State::Reading if self.reader.head().is_some() && !self.reader.is_complete() => {
                desk.counters.requests_cut.add(1);
                desk.counters.stray_head_bytes(self.interim);
                desk.counters.request_body_bytes.add(self.reader.body_bytes());
            }
            State::Reading | State::Lingering => {}
        }
        self.service = None;
        desk.counters.connections_closed.add(1);
    }

    fn abandon_unsent(&self, answer: &Answer, desk: &Desk) {
        self.count(answer, Sent { head: self.interim, body: 0 }, Ended::Aborted, desk);
    }

    fn count(&self, answer: &Answer, sent: Sent, ended: Ended, desk: &Desk) {
        desk.counters.answer(answer.status, ended, sent);
        desk.site.planted.note_sent(answer.spoil, answer.body_bytes(), sent.body);
        let Some(left) = &desk.site.log_left else { return };
        let Some(head) = self.reader.head() else { return };
        desk.counters.record(left, || RequestRecord {
            method: match &head.method {
                Method::Other(token) => Method::Other(bounded_target(token)),
                known => known.clone(),
            },
            target: bounded_target(&head.target),
            status: answer.status,
            body_bytes_sent: sent.body,
            range: answer.range(),
            complete: ended == Ended::Complete,
        });
    }
}

fn is_for_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
