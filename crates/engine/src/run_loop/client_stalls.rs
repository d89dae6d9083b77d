//! Times in which this client stood in the way: a thread acted later than it meant to.
//!
//! In the open model, and with think time, lateness shows a stall: of an operation that starts, of a wait that ends, of a
//! step that takes long while answers wait. What is late by less than [`LATE_MIN`] changes no percentile by more than
//! that, since a target that takes requests in order delays none by more than the client did. A closed loop starts nothing
//! by a schedule: there a thread must have been kept from running.

use crate::network::{Network, Token, Waited};
use crate::plan::{LoadModel, Plan};
use crate::run_loop::RunLoop;
use crate::run_loop::pacing::{Pacer, Share};
use crate::stalls::{LevelGauge, stretch};
use measure::recorder::Pacing;
use measure::{Instant, ReadSample};
use std::time::Duration;

/// Lateness below this is no stall.
const LATE_MIN: Duration = Duration::from_micros(100);
/// Nor is that below this share of the median response time: percentiles from the median up change by no more.
const LATE_SHARE: f64 = 0.05;
/// In the closed model, for how long a thread must have been kept from running: on a busy host, shorter times are part of every
/// operation, and leave none to compare with.
const KEPT_MIN: Duration = Duration::from_millis(10);
/// A response up to this length fits one segment, on any common link.
const SEGMENT_BYTES: u64 = 1400;
/// So many operations of a kind make a median.
const MEDIAN_OF: u64 = 20;

/// One thread's view of stalls.
#[derive(Debug)]
pub(in crate::run_loop) struct StallWatch {
    share: Share,
    pacing: Pacing,
    /// Lateness from which on there is a stall.
    late: Duration,
    level: LevelGauge,
    /// What the other threads know to be in flight on this one.
    published: u64,
    stretch: Duration,
    cpu_nanos: u64,
    /// Begin and end of the last wait.
    waited: (Instant, Instant),
    /// Since when what the last wait told of may have been there, and before when it was not.
    ready_since: Instant,
    not_before: Instant,
    /// Time for which this thread had no core, up to the last look.
    delay_nanos: u64,
    /// Slots whose requests the kernel got since the last look at the clock.
    handed: Vec<u32>,
}

impl StallWatch {
    pub fn new(plan: &Plan, share: Share, start: Instant) -> Self {
        let pacing = plan.load.pacing();
        let late = if pacing == Pacing::Scheduled { LATE_MIN } else { KEPT_MIN };
        let (level, stretch) = (LevelGauge::new(start), stretch(rate_at(plan, 0.0)));
        Self {
            share,
            pacing,
            late,
            level,
            published: 0,
            stretch,
            cpu_nanos: 0,
            waited: (start, start),
            ready_since: start,
            not_before: start,
            delay_nanos: 0,
            handed: Vec::new(),
        }
    }
}

impl StallWatch {
    /// The time for which a client stood in the way of a response that came at `came` and is read at `now`. In a closed loop that
    /// is its time to wake up: what a thread does between two waits is its work.
    fn unread(&self, came: Instant, now: Instant) -> (Instant, Instant) {
        let (began, woke) = self.waited;
        if self.pacing == Pacing::Scheduled { (came, now) } else { (came.max(began), woke) }
    }
}

impl StallWatch {
    /// The longest time for which something that is read at `now` can have waited, in nanoseconds: the newest byte of a read is
    /// dated, and on a connection with streams another response may have come before it. When this thread was to be woken for
    /// the first of them, it had no core for so long.
    fn longest_unread<N: Network>(&mut self, net: &mut N, now: Instant) -> u64 {
        let delay_nanos = net.thread_use().delay_nanos;
        let kept = delay_nanos.saturating_sub(std::mem::replace(&mut self.delay_nanos, delay_nanos));
        // Some of it was before this wait. Other responses of this step have it too.
        self.ready_since = (self.ready_since - Duration::from_nanos(kept)).max(self.not_before);
        now.nanos_since(self.ready_since)
    }
}

/// Arrivals a second of all threads; 0 where nothing says so.
fn rate_at(plan: &Plan, seconds: f64) -> f64 {
    match &plan.load {
        LoadModel::Open { rate, .. } => rate.level(seconds),
        LoadModel::Closed { .. } => 0.0,
    }
}

impl<N: Network> RunLoop<'_, N> {
    /// An operation starts at `now` that could have started at `due`.
    #[inline]
    pub(in crate::run_loop) fn note_start(&mut self, due: Instant, now: Instant) {
        if now.since(due) > self.stall_watch.late && self.stall_watch.pacing == Pacing::Scheduled {
            self.stalled(due, now);
        }
    }

    /// A wait has ended with something to read, which was to last until `until` at most.
    #[inline]
    pub(in crate::run_loop) fn note_stall(&mut self, net: &mut N, until: Instant, waited: Waited) {
        let late = self.stall_watch.late;
        self.stall_watch.waited = (waited.began, waited.now);
        // What is there at once came during the last step.
        self.stall_watch.not_before = if waited.at_once { self.stepped } else { waited.began };
        self.stall_watch.ready_since = if waited.at_once { self.stepped } else { waited.now };
        let overslept = waited.now.since(until.max(waited.began));
        let kept = Duration::from_nanos(waited.kept_nanos);
        if overslept > late || kept > late {
            self.stalled(waited.now - overslept.max(kept), waited.now);
        }
        // What comes while the thread waits has not waited for the last step.
        if waited.began.since(self.stepped) > late && waited.now.since(waited.began) < late {
            self.note_long_step(net, waited);
        }
    }

    /// The last step took long. With a schedule, answers have waited meanwhile; in a closed loop that is its work, unless
    /// the thread was kept from doing it.
    #[cold]
    fn note_long_step(&mut self, net: &mut N, waited: Waited) {
        let took = waited.began.since(self.stepped);
        let working = match self.stall_watch.pacing {
            Pacing::Scheduled => Duration::ZERO,
            Pacing::Immediate => {
                let used = net.thread_use().cpu_nanos;
                Duration::from_nanos(used.saturating_sub(std::mem::replace(&mut self.stall_watch.cpu_nanos, used)))
            }
        };
        if took > working * 2 {
            self.stalled(self.stepped, waited.now);
        }
    }

    /// The kernel has the first bytes of the slot's request. The next look at the clock, which is not far, tells how long that took.
    #[inline]
    pub(in crate::run_loop) fn note_handed(&mut self, slot: u32) {
        self.stall_watch.handed.push(slot);
    }

    /// Notes for how long the operations that started in this step were on their way to the kernel: all of it is time inside the
    /// client. Others have waited for something, such as a connection.
    #[inline]
    pub(in crate::run_loop) fn settle_handed(&mut self, now: Instant) {
        while let Some(slot) = self.stall_watch.handed.pop() {
            if let Some(op) = &mut self.slots[slot as usize].op
                && op.started >= self.stepped
                && op.handing_nanos == 0
            {
                op.handing_nanos = now.nanos_since(op.started);
            }
        }
    }

    /// A response has ended with what was read last. Notes for how long its end had waited, if that is known.
    #[inline]
    pub(in crate::run_loop) fn note_unread(&mut self, net: &mut N, token: Token, now: Instant) {
        if let Some(sample) = net.sample() {
            self.add_sample(net, token, sample, now);
        }
    }

    #[cold]
    fn add_sample(&mut self, net: &mut N, token: Token, sample: ReadSample, now: Instant) {
        let Some(connection) = self.connections.get(token) else { return };
        let Some(op) = &mut self.slots[connection.slot as usize].op else { return };
        let has_streams = connection.transport.carrier().is_some();
        let longest = if has_streams { self.stall_watch.longest_unread(net, now) } else { 0 };
        op.attempt.unread = Some(sample.at_least(longest));
        let Some(sent) = op.attempt.sent.or(op.sent) else { return };
        // On a connection with streams, what was read last may be another one's.
        let exact = !has_streams && op.attempt.received_bytes <= SEGMENT_BYTES;
        self.recorder.unread(sample, now.nanos_since(sent), exact);
        let ReadSample::Dated { nanos, .. } = sample else { return };
        let came = (now - Duration::from_nanos(nanos)).max(sent);
        let (from, until) = self.stall_watch.unread(came, now);
        if until.since(from) > self.stall_watch.late {
            self.stalled(from, until);
        }
    }

    /// This client stood in the way from `from` to `now`.
    #[cold]
    pub(in crate::run_loop) fn stalled(&mut self, from: Instant, now: Instant) {
        // The slots of a closed loop are always in flight: once its thread runs again, nothing has piled up.
        let scheduled = self.stall_watch.pacing == Pacing::Scheduled;
        let level = self.stall_watch.level.level().filter(|_| scheduled);
        self.control.stalls().note(from, now, level);
    }

    /// Looks whether what a stall has done is over; learns what is in flight when there is none.
    #[inline]
    pub(in crate::run_loop) fn watch_stall(&mut self, now: Instant) {
        let watch = &mut self.stall_watch;
        let stalls = self.control.stalls();
        let in_flight = self.in_flight as u64;
        if in_flight != watch.published {
            stalls.publish(watch.share.thread, watch.published, in_flight);
            watch.published = in_flight;
        }
        if watch.level.is_due(now, watch.stretch) || (in_flight == 0 && stalls.is_open()) {
            self.look_at_stall(now);
        }
    }

    fn look_at_stall(&mut self, now: Instant) {
        let watch = &mut self.stall_watch;
        let stalls = self.control.stalls();
        let in_flight = stalls.in_flight(watch.share.threads);
        let ended = watch.level.see(now, in_flight, watch.stretch);
        if stalls.is_open() {
            let late = matches!(&self.pacer, Pacer::Open(open) if open.starved.is_none()
                && open.next(self.recorder.timeline()).is_some_and(|at| at + watch.late < now));
            if !late {
                let (from, mean) = ended.map_or((now, None), |(from, mean)| (from, Some(mean)));
                stalls.look(from, now, mean, in_flight == 0);
            }
        } else if let Some((from, mean)) = ended {
            watch.level.learn(mean, now.since(from));
        }
        if ended.is_some() {
            watch.stretch = stretch(rate_at(self.plan, now.as_secs_f64()));
        }
    }

    /// What counts as late follows from how long operations take: the median of those of the interval that ends.
    pub(in crate::run_loop) fn weigh_stalls(&mut self) {
        let stats = &self.recorder.current_mut().stats;
        let median =
            |response: &measure::Distribution| response.quantile(0.5).filter(|_| response.count() >= MEDIAN_OF);
        let shortest = stats.kinds.iter().filter_map(|(_, kind)| median(&kind.response)).min();
        let least = if self.stall_watch.pacing == Pacing::Scheduled { LATE_MIN } else { KEPT_MIN };
        if let Some(shortest) = shortest {
            self.stall_watch.late = least.max(Duration::from_nanos((shortest as f64 * LATE_SHARE) as u64));
        }
    }
}
