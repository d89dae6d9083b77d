//! The one run loop: a state machine that makes load.
//!
//! [`RunLoop::drive`] waits and steps by turns. A step is told the instant and which sockets are ready, does everything that
//! is due, and answers until when it can wait. It never blocks and never reads a clock but its network's. The parts of its
//! work stand in files of their own:
//!
//! - `pacer`: which slot may start an operation, and when;
//! - `start`: operations and attempts begin, connections are opened;
//! - `send`, `upload`, `request`: requests and their bodies go out;
//! - `receive`: answers are read, or dropped in the kernel;
//! - `secure`, `transport`: TLS between the socket and the rest;
//! - `carrier`, `frames`: streams of HTTP/2 on a connection that carries them;
//! - `judge`: heads are judged as they come, and what becomes of their bodies;
//! - `cut`: attempts end early, are sent again, or time out;
//! - `finish`: attempts and operations end and are recorded;
//! - `redirect`: where a redirect leads, and which ones are traps;
//! - `steps`: operations of several requests go on;
//! - `stall`: times in which this client stood in the way;
//! - `batch`: several objects are deleted with one request;
//! - `checks`, `words`: what an answer amounts to, by its form and by what it says.

mod attempt;
mod client_stalls;
mod connections;
mod http1;
mod http2;
mod operation;
mod pacing;
mod response;

pub(crate) use attempt::redirect::{beyond_tls, redirected_to};
pub use connections::connects_to;
pub use operation::leftovers::{Left, OpenUpload, OpenUploads};
pub use operation::log::{HopEntry, OpEntry};
pub use pacing::{Share, WARMUP_NUMBERS, budget};
pub(crate) use response::checks::EMFILE;

use crate::control::{Control, NOTICE, StopReason, TURN_MAX};
use crate::network::{Network, Ready, ThreadUse, Token, Waited};
use crate::plan::{Auth, Plan};
use crate::schedule::Budget;
use crate::tls::Negotiated;
use client_stalls::StallWatch;
use connections::path_samples::PathWatch;
use connections::{Connections, Openings, OriginState, State};
use content::Mismatch;
use measure::{Instant, Interval, Recorder};
use operation::op::Slot;
use pacing::Pacer;
use response::first_length::FirstLength;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use wire::message::Version;
use wire::sigv4::{Signer, Timestamp};

/// Room for what one `recv` brings, shared by all connections of a thread. Large bodies that are looked at come with half the
/// CPU time that 64 KiB take (fewer calls, fewer wake-ups of both sides), and still fit into the second cache of most cores;
/// what is never filled is never in memory.
const BUFFER_BYTES: usize = 1 << 20;
/// Arrivals that are started before sockets are looked at again.
const BURST: usize = 32;
/// A thread that takes so long from one step to the next was kept from running: waits and steps are far shorter.
const FROZEN_MIN: std::time::Duration = std::time::Duration::from_millis(150);
/// How soon names that are being looked up are asked for again.
const NAME_POLL: std::time::Duration = std::time::Duration::from_millis(1);

/// What the first good answer said about the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstAnswer {
    /// The `Server` header.
    pub software: Option<String>,
    /// Where the connection went.
    pub address: String,
    /// Status code.
    pub status: u16,
    /// Body bytes.
    pub body_bytes: u64,
    /// Version of the answer.
    pub version: Version,
    /// What TLS agreed on.
    pub tls: Option<Negotiated>,
}

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Nothing is to do before that instant, unless a socket becomes ready.
    WaitUntil(Instant),
    /// The run is over for this thread.
    Done,
}

/// One thread's run loop.
pub struct RunLoop<'p, N: Network> {
    plan: &'p Plan,
    control: &'p Control,
    recorder: Recorder,
    pacer: Pacer<'p>,
    slots: Vec<Slot<'p>>,
    in_flight: usize,
    connections: Connections<N::Socket>,
    origins: Vec<OriginState>,
    signer: Option<Signer>,
    /// Header lines of the sessions of this thread's slots.
    sessions: Box<[Box<[u8]>]>,
    /// Wall time at the start of the run: signatures are made for it.
    wall: Timestamp,
    /// Slots of parts that are free again.
    part_slots: Vec<u32>,
    /// Objects that this thread has made and that are still there, oldest first.
    made: VecDeque<u64>,
    /// This thread's TLS, once a connection has needed it.
    tls: Option<Arc<rustls::ClientConfig>>,
    /// Slots whose attempt waits for a name.
    resolving: Vec<u32>,
    /// Slots whose attempt waits for room in the queue of a listener.
    knocking: Vec<u32>,
    /// They are not tried again before this instant.
    next_knock: Instant,
    /// Attempts that wait for a connection, at all origins.
    waiting: usize,
    openings: Openings,
    /// Connections with more to read than their turn allowed.
    unfinished: Vec<Token>,
    /// Carriers of streams with something to send.
    to_send: Vec<Token>,
    /// What streams said, while it is told to them.
    frames: Vec<crate::http2::Event>,
    /// No connection times out before this instant.
    next_sweep: Instant,
    buffer: Box<[u8]>,
    /// The request being sent.
    scratch: Vec<u8>,
    /// The target of the request being sent, and room for a key.
    target: String,
    key: String,
    /// Where the body being read differs from what the object holds.
    mismatch: Option<Mismatch>,
    /// The value of the header that figures are broken down by, in the answer being read.
    group_value: Vec<u8>,
    /// What else the head of the answer being read says.
    heard: response::header_values::Heard,
    /// What an example of the failure that is about to be recorded shows.
    said: String,
    seen: response::header_values::Seen,
    software: Option<String>,
    first_answer: Option<FirstAnswer>,
    first_length: FirstLength<'p>,
    connect_failures_in_a_row: u32,
    log: Vec<OpEntry>,
    open_uploads: OpenUploads,
    /// Every object that this thread made beside those of the dataset has a number below this, or is of the warm-up.
    fresh_below: u64,
    /// Those of the warm-up have numbers below this, counted from [`WARMUP_NUMBERS`].
    fresh_of_warmup: u64,
    dropped_rest: bool,
    polls: u64,
    polls_at_once: u64,
    used: ThreadUse,
    /// When the last step began.
    stepped: Instant,
    /// Time for which finished work could not be handed over, since the interval began.
    held_up_nanos: u64,
    path_watch: PathWatch,
    stall_watch: StallWatch,
}

impl<'p, N: Network> RunLoop<'p, N> {
    /// A loop for one thread of a run that starts at `start` on its clock, and at `wall` on that of the world.
    pub fn new(
        plan: &'p Plan,
        control: &'p Control,
        share: Share,
        budget: Option<Arc<Budget>>,
        (start, wall): (Instant, Timestamp),
    ) -> Self {
        let (signer, sessions) = match &plan.auth {
            Auth::None | Auth::S3Anonymous => (None, Box::default()),
            Auth::S3 { signer, .. } => (Some(Signer::clone(signer)), Box::default()),
            Auth::Session(sessions) => (None, sessions.lines_of(share.thread, share.threads)),
        };
        let pacer = Pacer::new(plan, share, budget, start);
        let recorder = Recorder::new(plan.timeline(start), plan.load.pacing());
        let mut recorder = if matches!(pacer, Pacer::Closed(_)) { recorder.of_slots() } else { recorder };
        let origins = plan.targets.origins().iter().map(|origin| {
            let label = recorder.host_label(&origin.to_string());
            OriginState::new(plan, origin.clone(), true, label)
        });
        let origins = origins.collect();
        let stall_watch = StallWatch::new(plan, share, start);
        let slots = match &pacer {
            Pacer::Closed(closed) => closed.waiting.len(),
            Pacer::Open(_) => 0,
        };
        Self {
            plan,
            control,
            signer,
            sessions,
            wall,
            recorder,
            pacer,
            slots: (0..slots).map(|_| Slot { op: None, freed: start, taken: 0 }).collect(),
            in_flight: 0,
            connections: Connections::default(),
            origins,
            made: VecDeque::new(),
            part_slots: Vec::new(),
            tls: None,
            resolving: Vec::new(),
            knocking: Vec::new(),
            next_knock: start,
            waiting: 0,
            openings: Openings::new(start),
            unfinished: Vec::new(),
            to_send: Vec::new(),
            frames: Vec::new(),
            next_sweep: Instant::NEVER,
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
            scratch: Vec::with_capacity(1024),
            target: String::new(),
            key: String::new(),
            mismatch: None,
            group_value: Vec::new(),
            heard: response::header_values::Heard::new(plan),
            said: String::new(),
            seen: response::header_values::Seen::default(),
            software: None,
            first_answer: None,
            first_length: FirstLength::new(plan, control),
            connect_failures_in_a_row: 0,
            log: Vec::new(),
            open_uploads: OpenUploads::default(),
            fresh_below: 0,
            fresh_of_warmup: 0,
            dropped_rest: false,
            polls: 0,
            polls_at_once: 0,
            used: ThreadUse::default(),
            stepped: start,
            held_up_nanos: 0,
            path_watch: PathWatch::default(),
            stall_watch,
        }
    }

    /// Drives the loop over a network until the run is over. `hand_over` gets the intervals that are over and, when
    /// every operation is reported, the operations.
    ///
    /// # Errors
    /// When the poller itself fails.
    pub fn drive(&mut self, net: &mut N, mut hand_over: impl FnMut(Vec<Interval>, Vec<OpEntry>)) -> io::Result<()> {
        let mut ready = Vec::new();
        self.used = net.thread_use();
        let mut now = net.now();
        loop {
            let step = self.step(net, now, &ready);
            let finished: Vec<Interval> = self.recorder.take_finished().collect();
            if !finished.is_empty() || self.log.len() >= operation::log::BATCH || step == Step::Done {
                let before = net.now();
                self.settle_handed(before);
                hand_over(finished, std::mem::take(&mut self.log));
                self.stepped = net.now();
                self.held_up_nanos += self.stepped.nanos_since(before);
            }
            match step {
                Step::WaitUntil(until) => {
                    let waited = net.wait(until, &mut ready)?;
                    self.settle_handed(waited.began);
                    self.note_wait(waited);
                    if !ready.is_empty() {
                        self.note_stall(net, until, waited);
                    }
                    now = waited.now;
                }
                Step::Done => return Ok(()),
            }
        }
    }

    /// What the first good answer said, if there was one.
    #[must_use]
    pub fn first_answer(&self) -> Option<&FirstAnswer> {
        self.first_answer.as_ref()
    }

    fn note_wait(&mut self, waited: Waited) {
        self.polls += 1;
        self.polls_at_once += u64::from(waited.at_once);
    }

    /// Does everything that is due at `now`, when the wait for `ready` ended.
    fn step(&mut self, net: &mut N, mut now: Instant, ready: &[Ready]) -> Step {
        self.obey(now);
        self.note_gap(now);
        self.turn(net, now);
        now = self.read_on(net, now);
        for event in ready {
            now = self.on_ready(net, *event, now);
            now = self.start_due(net, now);
        }
        if let Pacer::Closed(closed) = &mut self.pacer {
            closed.wake(now);
        }
        self.retry_names(net, now);
        self.knock_again(net, now);
        now = self.start_due(net, now);
        if now >= self.next_sweep {
            self.sweep(net, now);
            now = self.start_due(net, now);
        }
        self.watch_stall(now);
        if self.is_over(net, now) { Step::Done } else { Step::WaitUntil(self.next_due(now)) }
    }

    /// Takes note of commands.
    fn obey(&mut self, now: Instant) {
        let stop_at = self.control.stop_at();
        if stop_at < self.recorder.timeline().window_end() {
            self.recorder.end_window(if self.ends_at_once() { stop_at } else { stop_at.max(now) });
        }
    }

    /// Whether as many bytes have come as an open run was asked for, which ends it at once: otherwise its arrivals and what is
    /// in flight would go on to move bytes. A closed run starts nothing more and lets what is in flight end.
    fn ends_at_once(&self) -> bool {
        matches!(self.pacer, Pacer::Open(_)) && self.control.reason() == Some(StopReason::BytesReached)
    }

    /// Counts body bytes of the window, for a run that ends with so many.
    #[inline]
    fn note_bytes(&self, bytes: u64, now: Instant) {
        if self.plan.stop.bytes.is_some() {
            let end = if matches!(self.pacer, Pacer::Open(_)) { now } else { now + NOTICE };
            self.control.note_bytes(end, bytes);
        }
    }

    /// Notes what the clock shows now, and closes the intervals that are over.
    #[inline]
    fn turn(&mut self, net: &mut N, now: Instant) {
        self.settle_handed(now);
        if now >= self.recorder.boundary() {
            self.close_interval(net, now);
        }
    }

    /// Notes that this thread was kept from running since its last step, if it was.
    #[inline]
    fn note_gap(&mut self, now: Instant) {
        if now.since(self.stepped) > FROZEN_MIN {
            self.recorder.frozen(self.stepped, now);
            self.stalled(self.stepped, now);
        }
        self.stepped = now;
    }

    #[cold]
    fn close_interval(&mut self, net: &mut N, now: Instant) {
        self.note_gap(now);
        self.offer(now);
        self.stamp_load(net, now);
        self.weigh_stalls();
        self.recorder.advance(now);
    }

    /// Notes how busy this thread was in the interval that is about to be closed.
    fn stamp_load(&mut self, net: &mut N, now: Instant) {
        let used = net.thread_use();
        let interval = self.recorder.current_mut();
        let length = now.nanos_since(interval.start).max(1) as f64;
        let cpu_nanos = used.cpu_nanos.saturating_sub(self.used.cpu_nanos);
        let delay_nanos = used.delay_nanos.saturating_sub(self.used.delay_nanos);
        // Readings that lie a little apart must not make a very short interval look overfull.
        interval.client.busy = (cpu_nanos.saturating_add(self.held_up_nanos) as f64 / length).min(1.0);
        interval.client.run_delay = (delay_nanos as f64 / length).min(1.0);
        interval.client.run_delay_sum = interval.client.run_delay;
        interval.client.cpu_nanos = cpu_nanos;
        interval.client.unread = self.polls_at_once as f64 / self.polls.max(1) as f64;
        (self.used, self.polls, self.polls_at_once, self.held_up_nanos) = (used, 0, 0, 0);
        self.look_at_paths(net);
    }

    /// When something will be to do, unless a socket becomes ready before.
    fn next_due(&self, now: Instant) -> Instant {
        if !self.unfinished.is_empty() || !self.to_send.is_empty() {
            return Instant::ZERO;
        }
        let own = match &self.pacer {
            Pacer::Closed(closed) => closed.next_wake(),
            Pacer::Open(open) if open.starved.is_some() && open.free_slots.is_empty() => Instant::NEVER,
            // Nothing starts any more, whatever is due.
            Pacer::Open(_) if self.control.is_spent() => Instant::NEVER,
            Pacer::Open(open) => {
                let timeline = self.recorder.timeline();
                let last = || open.exhausted_at(timeline).filter(|_| self.in_flight == 0);
                open.next_wake(timeline, now).or_else(last).unwrap_or(Instant::NEVER)
            }
        };
        let names = if self.resolving.is_empty() { Instant::NEVER } else { now + NAME_POLL };
        let openings = if self.waiting == 0 { Instant::NEVER } else { self.openings.next() };
        let knocks = if self.knocking.is_empty() { Instant::NEVER } else { self.next_knock };
        own.min(names).min(knocks).min(openings).min(self.next_sweep).min(self.recorder.boundary()).min(now + TURN_MAX)
    }

    fn on_ready(&mut self, net: &mut N, event: Ready, now: Instant) -> Instant {
        let Some(connection) = self.connections.get_mut(event.token) else { return now };
        connection.closing |= event.closing;
        let (mut now, mut read_on) = (now, event.readable);
        match connection.state {
            State::Opening if event.writable => now = self.opened(net, event.token),
            State::Active if event.writable => self.send_on(net, event.token, now),
            State::Handshaking if event.writable => self.push_handshake(net, event.token, now),
            State::Carrying if event.writable => read_on |= self.send_frames(net, event.token, now),
            State::Opening | State::Handshaking | State::Carrying | State::Active | State::Idle => {}
        }
        // What waits to be read on has its turn at the next step.
        let queued = self.connections.get(event.token).is_some_and(|connection| connection.queued);
        if read_on && !queued { self.readable(net, event.token, now) } else { now }
    }

    /// Reads on where a connection was left to give the others their turn.
    fn read_on(&mut self, net: &mut N, mut now: Instant) -> Instant {
        for token in std::mem::take(&mut self.unfinished) {
            if let Some(connection) = self.connections.get_mut(token) {
                connection.queued = false;
            }
            self.send_on(net, token, now);
            now = self.readable(net, token, now);
            now = self.start_due(net, now);
        }
        now
    }

    /// Ends the connections whose phase has taken too long.
    ///
    /// Deadlines are not kept in order: each connection holds its own, and since most move on long before they come,
    /// looking at all of them once in a while is cheaper than keeping a queue at every request.
    fn sweep(&mut self, net: &mut N, now: Instant) {
        let late: Vec<Token> =
            self.connections.iter().filter(|(_, c)| c.deadline <= now).map(|(token, _)| token).collect();
        for token in late {
            self.timed_out(net, token, now);
        }
        self.next_sweep = self.connections.iter().map(|(_, c)| c.deadline).min().unwrap_or(Instant::NEVER);
    }

    /// Sets when the running phase of a connection times out.
    #[inline]
    fn set_deadline(&mut self, token: Token, deadline: Instant) {
        let Some(connection) = self.connections.get_mut(token) else { return };
        let started = self.slots[connection.slot as usize].op.as_ref().map(|op| op.attempt.started);
        let total = match (self.plan.timeouts.total, started) {
            (Some(total), Some(started)) => started + total,
            _ => Instant::NEVER,
        };
        connection.deadline = deadline.min(total);
        self.next_sweep = self.next_sweep.min(connection.deadline);
    }

    /// Whether this thread is done; ends what is still in flight when the drain is over.
    fn is_over(&mut self, net: &mut N, now: Instant) -> bool {
        if self.control.is_abandoned() {
            self.recorder.end_window(now);
        }
        if self.plan.stop.bytes.is_some() {
            // They may have come in this step.
            self.obey(now);
        }
        let timeline = *self.recorder.timeline();
        let window_over = now >= timeline.window_end();
        if window_over && !self.dropped_rest {
            self.drop_rest(now);
            if self.ends_at_once() {
                self.cut_reads(net, now);
            }
        }
        let exhausted = match &self.pacer {
            Pacer::Closed(closed) => closed.exhausted,
            Pacer::Open(open) => open.exhausted_at(&timeline).is_some_and(|at| now >= at),
        };
        let done = self.in_flight == 0 && (window_over || exhausted);
        let cut = self.control.is_abandoned() || (window_over && now >= timeline.window_end() + self.plan.drain);
        if cut && !done {
            self.abandon_all(net, now);
        }
        if done || cut {
            self.count_kept(net);
            self.offer(now);
            self.note_schedule_end();
            self.stamp_load(net, now);
            self.recorder.finish(now);
        }
        done || cut
    }

    /// Records when a schedule of a fixed number of operations ended.
    fn note_schedule_end(&mut self) {
        let Pacer::Open(open) = &self.pacer else { return };
        let timeline = self.recorder.timeline();
        if let Some(at) = open.exhausted_at(timeline).filter(|at| *at > timeline.window_start()) {
            self.recorder.schedule_ended(at);
        }
    }

    /// Counts the arrivals that are due as offered.
    #[inline]
    fn offer(&mut self, now: Instant) {
        if let Pacer::Open(open) = &mut self.pacer {
            let timeline = *self.recorder.timeline();
            let recorder = &mut self.recorder;
            open.offer(now, &timeline, |at| recorder.scheduled(at, 1));
        }
    }

    /// The window is over: what was due and has not started is dropped.
    fn drop_rest(&mut self, now: Instant) {
        self.dropped_rest = true;
        self.offer(now);
        let timeline = *self.recorder.timeline();
        if let Pacer::Open(open) = &mut self.pacer {
            // What could have had a slot in the window, this client had not come to. The rest waited for the target.
            let end = timeline.window_end();
            let freed = open.free_slots.iter().filter(|slot| self.slots[**slot as usize].freed < end).count();
            let mut could_start = freed + open.slots_max.saturating_sub(open.slots_made);
            while let Some(at) = open.next(&timeline) {
                open.take(at, &timeline);
                self.recorder.dropped(at, could_start > 0);
                could_start = could_start.saturating_sub(1);
            }
        }
    }
}
