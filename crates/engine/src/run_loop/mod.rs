//! The run loop, which is the state machine of a thread that generates load.
//!
//! [`RunLoop::drive`] alternates between waiting and steps. A step gets the current instant and the ready sockets, does
//! everything that is due, and returns the instant until which the thread can wait. A step never blocks, and uses only
//! the clock of its network. The folders follow the life of an operation:
//!
//! - `pacing` decides which slot may start an operation, and when;
//! - `operation` chooses the request and the object of an operation, and the requests that follow;
//! - `attempt` begins and ends requests, including redirects, resends, retries and timeouts;
//! - `request` composes the fields and the body of a request;
//! - `connections` finds a free connection for an attempt, or opens a new one;
//! - `http1` and `http2` send requests and receive responses;
//! - `response` judges responses;
//! - `observation` observes the thread itself, for example for client stalls.

mod attempt;
mod buffers;
mod connections;
mod http1;
mod http2;
mod invariant;
mod observation;
mod operation;
mod pacing;
mod request;
mod response;

pub(crate) use attempt::failure_outcomes::EMFILE;
pub(crate) use attempt::redirect::{leaves_tls, redirected_to};
pub use connections::addresses::connects_to;
pub(crate) use invariant::Invariant;
pub use operation::log::{HopEntry, OpEntry, Sent};
pub use operation::resume::CreatedUpload;
pub use operation::written_objects::{Left, OpenUpload, OpenUploads};
pub use pacing::{Share, WARMUP_NUMBERS, budget};
pub use response::first_response::FirstResponse;

use crate::control::{Control, StopReason, TURN_MAX};
use crate::network::{Network, Ready};
use crate::plan::Plan;
use crate::schedule::Budget;
use attempt::exchange::State;
use attempt::pauses::Pauses;
use buffers::Buffers;
use connections::Pool;
use connections::origin::OriginPool;
use measure::sample::AttemptKind;
use measure::{Instant, Interval, Recorder};
use observation::client_stalls::ClientStalls;
use observation::path_samples::PathSamples;
use observation::thread_load::ThreadLoad;
use operation::log;
use operation::slots::Slots;
use operation::written_objects::WrittenObjects;
use pacing::Pacer;
use request::compose::RequestWriter;
use response::first_response::FirstResponseWatch;
use response::notes::ResponseNotes;
use response::object_states::ObjectStates;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use wire::sigv4::Timestamp;

/// Interval between checks of pending name lookups.
const NAME_POLL: Duration = Duration::from_millis(1);

/// Result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Nothing is due before this instant, unless a socket becomes ready.
    WaitUntil(Instant),
    /// The run has ended for this thread.
    Done,
}

/// Results that one thread passes to the gathering thread together.
#[derive(Debug, Default)]
pub struct Handover {
    /// Intervals that have ended.
    pub intervals: Vec<Interval>,
    /// Operations that have ended, if they are logged.
    pub ops: Vec<OpEntry>,
    /// Multipart uploads that the server has created, for plans with retries. If an operation in `ops` created an
    /// upload, this upload is included here or was passed on earlier.
    pub uploads: Vec<CreatedUpload>,
    /// Attempts of the operations that are in flight, for plans with retries. Zero for other plans.
    pub in_flight: Sent,
}

/// One thread's run loop.
pub struct RunLoop<'p, N: Network> {
    plan: &'p Plan,
    control: &'p Control,
    recorder: Recorder,
    pacer: Pacer<'p>,
    slots: Slots<'p>,
    pool: Pool<N::Socket>,
    requests: RequestWriter,
    buffers: Buffers,
    notes: ResponseNotes,
    object_states: ObjectStates,
    first_response: FirstResponseWatch<'p>,
    written: WrittenObjects,
    pauses: Pauses,
    log: Vec<OpEntry>,
    created: Vec<CreatedUpload>,
    load: ThreadLoad,
    stalls: ClientStalls,
    path_samples: PathSamples,
}

impl<'p, N: Network> RunLoop<'p, N> {
    /// Returns the loop of one thread. The run starts at `start` on the clock of the run, and at `wall` on the wall
    /// clock.
    pub fn new(
        plan: &'p Plan,
        control: &'p Control,
        share: Share,
        budget: Option<Arc<Budget>>,
        (start, wall): (Instant, Timestamp),
    ) -> Self {
        let pacer = Pacer::new(plan, share, budget, start);
        let recorder = Recorder::new(plan.timeline(start), plan.load.pacing());
        let mut recorder = if matches!(pacer, Pacer::Closed(_)) { recorder.of_slots() } else { recorder };
        let origins = plan.targets.origins().iter().map(|origin| {
            let label = recorder.host_label(&origin.to_string());
            OriginPool::new(plan, origin.clone(), true, label)
        });
        let pool = Pool::new(origins.collect(), start);
        Self {
            plan,
            control,
            recorder,
            slots: Slots::new(pacer.initial_slots(), start),
            pacer,
            pool,
            requests: RequestWriter::new(plan, share.thread, share.threads, wall),
            buffers: Buffers::new(),
            notes: ResponseNotes::new(plan),
            object_states: ObjectStates::default(),
            first_response: FirstResponseWatch::new(plan, control),
            written: WrittenObjects::default(),
            pauses: Pauses::default(),
            log: Vec::new(),
            created: Vec::new(),
            load: ThreadLoad::new(start),
            stalls: ClientStalls::new(plan, share, start),
            path_samples: PathSamples::default(),
        }
    }

    /// Drives the loop until the run has ended, and passes results to `hand_over`.
    ///
    /// # Errors
    /// Fails if the poller fails.
    pub fn drive(&mut self, net: &mut N, mut hand_over: impl FnMut(Handover)) -> io::Result<()> {
        let mut ready = Vec::new();
        self.load.start(net.thread_use());
        let mut now = net.now();
        loop {
            let step = self.step(net, now, &ready);
            let intervals: Vec<Interval> = self.recorder.take_finished().collect();
            let full = self.log.len() >= log::BATCH || !self.created.is_empty();
            if !intervals.is_empty() || full || step == Step::Done {
                let before = net.now();
                self.note_taken_requests(before);
                let (ops, uploads) = (std::mem::take(&mut self.log), std::mem::take(&mut self.created));
                hand_over(Handover { intervals, ops, uploads, in_flight: self.sent_in_flight() });
                self.load.add_handover(before, net.now());
            }
            match step {
                Step::WaitUntil(until) => {
                    let waited = net.wait(until, &mut ready)?;
                    self.note_taken_requests(waited.began);
                    self.load.add_wait(waited);
                    if !ready.is_empty() {
                        self.note_wait(net, until, waited);
                    }
                    now = waited.now;
                }
                Step::Done => return Ok(()),
            }
        }
    }

    /// Returns the attempts of the operations that are in flight, for plans with retries. Operations of measured load
    /// are short, so their attempts are counted at the end.
    fn sent_in_flight(&self) -> Sent {
        let slots = if self.plan.retry.is_some() { self.slots.len() } else { 0 };
        let ops = (0..slots).filter_map(|slot| self.slots.find_op(slot));
        ops.map(|op| op.sent_so_far(self.plan.mix.requests()[op.request].sends_object())).sum()
    }

    /// Returns the properties of the server from the first successful response, if there was one.
    #[must_use]
    pub fn first_response(&self) -> Option<&FirstResponse> {
        self.first_response.found.as_ref()
    }

    /// Returns the objects and uploads of this thread that remain at the server.
    #[must_use]
    pub fn left(&self) -> Left {
        self.written.left()
    }

    /// Does everything that is due at `now`, after a wait that ended with the events in `ready`.
    fn step(&mut self, net: &mut N, mut now: Instant, ready: &[Ready]) -> Step {
        self.apply_commands(now);
        self.note_gap(now);
        self.advance_to(net, now);
        now = self.read_unfinished(net, now);
        for event in ready {
            now = self.handle_ready(net, *event, now);
            now = self.start_due(net, now);
        }
        self.wake_slots(now);
        self.retry_names(net, now);
        self.retry_backlogged(net, now);
        if now >= self.pauses.next {
            self.end_pauses(net, now);
        }
        now = self.start_due(net, now);
        if now >= self.pool.next_deadline {
            self.expire_deadlines(net, now);
            now = self.start_due(net, now);
        }
        self.watch_stall(now);
        if now >= self.slots.next_check {
            self.end_orphans(net, now);
        }
        if self.end_if_over(net, now) { Step::Done } else { Step::WaitUntil(self.next_due(now)) }
    }

    /// Ends the measured window if a command requests the end.
    fn apply_commands(&mut self, now: Instant) {
        let stop_at = self.control.stop_at();
        if stop_at < self.recorder.timeline().window_end() {
            self.recorder.end_window(if self.ends_at_once() { stop_at } else { stop_at.max(now) });
        }
    }

    /// Returns whether this run uses the open model and has received the requested number of bytes. Such a run ends at
    /// once, because further arrivals and the operations in flight would only transfer more bytes. A closed run starts
    /// no more operations, but its operations in flight may continue.
    fn ends_at_once(&self) -> bool {
        matches!(self.pacer, Pacer::Open(_)) && self.control.reason() == Some(StopReason::BytesReached)
    }

    /// Advances the clock, and closes the intervals that have ended.
    #[inline]
    fn advance_to(&mut self, net: &mut N, now: Instant) {
        self.note_taken_requests(now);
        if now >= self.recorder.boundary() {
            self.close_interval(net, now);
        }
    }

    #[cold]
    fn close_interval(&mut self, net: &mut N, now: Instant) {
        if let Some(seconds) = net.unix_seconds() {
            self.requests.set_wall_clock(now, seconds);
        }
        self.note_gap(now);
        self.offer(now);
        self.record_load(net, now);
        self.adapt_stall_threshold();
        self.recorder.advance(now);
    }

    /// Returns the instant at which the next action is due. A socket may become ready earlier.
    fn next_due(&self, now: Instant) -> Instant {
        let pool = &self.pool;
        if !pool.unfinished.is_empty() || !pool.to_send.is_empty() {
            return Instant::ZERO;
        }
        let unless = |idle: bool, at: Instant| if idle { Instant::NEVER } else { at };
        let names = unless(pool.waits.for_name.is_empty(), now + NAME_POLL);
        let connections = unless(pool.waits.for_connection == 0, pool.budget.next_refill());
        let backlog = unless(pool.waits.for_backlog.is_empty(), pool.waits.next_backlog_retry);
        let waits = names.min(connections).min(backlog);
        self.next_start(now)
            .min(waits)
            .min(pool.next_deadline)
            .min(self.pauses.next)
            .min(self.recorder.boundary())
            .min(now + TURN_MAX)
    }

    /// Handles a ready socket. Returns the current instant.
    fn handle_ready(&mut self, net: &mut N, event: Ready, now: Instant) -> Instant {
        // The event may belong to a connection that has just been closed.
        let Some(connection) = self.pool.connections.get_mut(event.token) else { return now };
        connection.exchange.closing |= event.closing;
        let (mut now, mut readable) = (now, event.readable);
        match connection.exchange.state {
            State::Opening if event.writable => now = self.opened(net, event.token),
            State::Active if event.writable => self.send_on(net, event.token, now),
            State::Handshaking if event.writable => self.send_handshake(net, event.token, now),
            State::Multiplexed if event.writable => readable |= self.send_frames(net, event.token, now),
            State::Opening | State::Handshaking | State::Multiplexed | State::Active | State::Idle => {}
        }
        // A connection in `unfinished` is not read here, because the next step reads it.
        let queued = self.pool.connections.get(event.token).is_some_and(|connection| connection.queued);
        if readable && !queued { self.read_connection(net, event.token, now) } else { now }
    }

    /// Continues to read from connections that still had bytes at the end of their turn. Returns the current instant.
    fn read_unfinished(&mut self, net: &mut N, mut now: Instant) -> Instant {
        for token in std::mem::take(&mut self.pool.unfinished) {
            if let Some(connection) = self.pool.connections.get_mut(token) {
                connection.queued = false;
            }
            self.send_on(net, token, now);
            now = self.read_connection(net, token, now);
            now = self.start_due(net, now);
        }
        now
    }

    /// Returns whether the run was stopped, and all operations in flight only wait for a retry. There is then no
    /// response to wait for.
    fn only_waits_for_retries(&self) -> bool {
        self.control.reason().is_some()
            && self.plan.retry.is_some()
            && self.pauses.next != Instant::NEVER
            && self.pool.waits.for_connection == 0
            && self.pool.waits.for_name.is_empty()
            && self.pool.waits.for_backlog.is_empty()
            && (0..self.slots.len()).filter_map(|slot| self.slots.find_op(slot)).all(|op| {
                op.attempt.exchange.is_none() && op.pause.is_none_or(|pause| pause.kind == AttemptKind::Retry)
            })
    }

    /// Returns whether this thread is done. At the end of the drain, ends the operations in flight.
    fn end_if_over(&mut self, net: &mut N, now: Instant) -> bool {
        if self.control.is_abandoned() {
            self.recorder.end_window(now);
        }
        if self.plan.stop.bytes.is_some() {
            // The last of the requested bytes may have arrived in this step, which ends the measured window.
            self.apply_commands(now);
        }
        let window_end = self.recorder.timeline().window_end();
        let window_over = now >= window_end;
        if window_over {
            self.drop_rest(net, now);
        }
        let done = self.slots.in_flight == 0 && (window_over || self.is_exhausted(now));
        let drained = self.control.is_abandoned()
            || (window_over && (now >= window_end + self.plan.drain || self.only_waits_for_retries()));
        if drained && !done {
            self.abandon_all(net, now);
        }
        if done || drained {
            self.count_kept(net);
            self.offer(now);
            self.record_schedule_end();
            self.record_load(net, now);
            self.recorder.finish(now);
        }
        done || drained
    }
}
