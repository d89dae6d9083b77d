//! Client stalls: times in which a thread of this client acted later than it should have.
//!
//! In the open model, and in the closed model with think time, a stall is detected by lateness. An operation starts
//! late, a wait ends late, or a step takes long while responses wait. Lateness below [`LATE_MIN`] is ignored, because
//! its effect on the results is negligible. If a target processes requests in order, and the client sends one of them
//! late by some time, no request is delayed by more than this time. No percentile therefore changes by more than
//! [`LATE_MIN`]. A closed loop without think time has no schedule. In such a loop, a stall means that the operating
//! system did not run the thread.

use crate::network::{Network, Waited};
use crate::plan::{LoadModel, Plan};
use crate::run_loop::RunLoop;
use crate::run_loop::attempt::exchange::ExchangeId;
use crate::run_loop::operation::slots::Slots;
use crate::run_loop::pacing::{Pacer, Share};
use crate::stalls::{LevelGauge, stretch};
use measure::recorder::Pacing;
use measure::{Instant, ReadSample};
use std::time::Duration;

/// Minimum lateness that counts as a stall.
const LATE_MIN: Duration = Duration::from_micros(100);
/// Minimum lateness that counts as a stall, as a share of the median response time. Lateness below this share changes
/// the median and higher percentiles by no more than this share.
const LATE_SHARE: f64 = 0.05;
/// Minimum length of a stall in a closed loop without think time. In such a loop, a stall is a period in which the
/// thread gets no CPU time. On a busy host, shorter delays are part of every operation. If these delays counted as
/// stalls, almost no operation would be unaffected by stalls, and there would be nothing to compare with.
const KEPT_MIN: Duration = Duration::from_millis(10);
/// Maximum length of a response that fits into one TCP segment on all common links.
const SEGMENT_BYTES: u64 = 1400;
/// Minimum number of operations that are needed to compute a median response time.
const MEDIAN_OF: u64 = 20;

/// The stalls of one thread.
#[derive(Debug)]
pub(in crate::run_loop) struct ClientStalls {
    share: Share,
    pacing: Pacing,
    /// Current minimum lateness that counts as a stall.
    late: Duration,
    level: LevelGauge,
    /// Number of this thread's operations in flight, as published to the other threads.
    published: u64,
    stretch: Duration,
    cpu_nanos: u64,
    /// Start and end of the last wait.
    waited: (Instant, Instant),
    /// Latest time at which the events of the last wait may have arrived.
    ready_since: Instant,
    /// Earliest time at which the events of the last wait may have arrived.
    not_before: Instant,
    /// Total time that this thread had waited for a core when this value was last read.
    delay_nanos: u64,
    /// Slots whose requests the kernel accepted since the clock was last read.
    taken: Vec<u32>,
}

impl ClientStalls {
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
            taken: Vec::new(),
        }
    }

    /// Records that the kernel has accepted the first bytes of the slot's request. The time of acceptance is known when
    /// the clock is read again, which happens soon.
    #[inline]
    pub fn request_taken(&mut self, slot: u32) {
        self.taken.push(slot);
    }

    #[inline]
    fn note_taken_requests(&mut self, slots: &mut Slots<'_>, step_began: Instant, now: Instant) {
        while let Some(slot) = self.taken.pop() {
            // The operation may have ended already.
            if let Some(op) = slots.find_op_mut(slot)
                && op.started >= step_began
                && op.client_send_nanos == 0
            {
                op.client_send_nanos = now.nanos_since(op.started);
            }
        }
    }

    /// Returns the start and the end of the period by which this client delayed a response. The response arrived at
    /// `came` and is read at `now`. In a closed loop, only the time to wake up counts, because the work of the thread
    /// between two waits is normal.
    fn unread(&self, came: Instant, now: Instant) -> (Instant, Instant) {
        let (began, woke) = self.waited;
        if self.pacing == Pacing::Scheduled { (came, now) } else { (came.max(began), woke) }
    }

    /// Returns the longest time, in nanoseconds, for which a response read at `now` may have waited unread. The kernel
    /// timestamps only the newest byte of a read. On a multiplexed connection, another response may have arrived before
    /// that byte. The difference is at most the time that this thread waited for a core.
    fn longest_unread<N: Network>(&mut self, net: &mut N, now: Instant) -> u64 {
        let delay_nanos = net.thread_use().delay_nanos;
        let kept = delay_nanos.saturating_sub(std::mem::replace(&mut self.delay_nanos, delay_nanos));
        // `kept` may include time from before this wait began, so `not_before` limits the result. The same limit
        // applies to the other responses in this step.
        self.ready_since = (self.ready_since - Duration::from_nanos(kept)).max(self.not_before);
        now.nanos_since(self.ready_since)
    }
}

/// Returns the arrivals per second of all threads; 0 in the closed model.
fn rate_at(plan: &Plan, seconds: f64) -> f64 {
    match &plan.load {
        LoadModel::Open { rate, .. } => rate.level(seconds),
        LoadModel::Closed { .. } => 0.0,
    }
}

impl<N: Network> RunLoop<'_, N> {
    /// Records that an operation starts at `now`, but could have started at `due`.
    #[inline]
    pub(in crate::run_loop) fn note_start(&mut self, due: Instant, now: Instant) {
        if now.since(due) > self.stalls.late && self.stalls.pacing == Pacing::Scheduled {
            self.stalled(due, now);
        }
    }

    /// Records that a wait has ended. Without events, the wait should have ended at `until`.
    #[inline]
    pub(in crate::run_loop) fn note_wait(&mut self, net: &mut N, until: Instant, waited: Waited) {
        let late = self.stalls.late;
        self.stalls.waited = (waited.began, waited.now);
        // If the wait ended immediately, the events had arrived during the last step.
        self.stalls.not_before = if waited.at_once { self.load.step_began } else { waited.began };
        self.stalls.ready_since = if waited.at_once { self.load.step_began } else { waited.now };
        let overslept = waited.now.since(until.max(waited.began));
        let kept = Duration::from_nanos(waited.kept_nanos);
        if overslept > late || kept > late {
            self.stalled(waited.now - overslept.max(kept), waited.now);
        }
        // If events arrived only while the thread waited, the last step did not delay them.
        if waited.began.since(self.load.step_began) > late && waited.now.since(waited.began) < late {
            self.note_long_step(net, waited);
        }
    }

    /// Records that the last step took long. With a schedule, responses waited during the step. In a closed loop, a
    /// long step is normal, unless the operating system did not run the thread.
    #[cold]
    fn note_long_step(&mut self, net: &mut N, waited: Waited) {
        let took = waited.began.since(self.load.step_began);
        let working = match self.stalls.pacing {
            Pacing::Scheduled => Duration::ZERO,
            Pacing::Immediate => {
                let used = net.thread_use().cpu_nanos;
                Duration::from_nanos(used.saturating_sub(std::mem::replace(&mut self.stalls.cpu_nanos, used)))
            }
        };
        if took > working * 2 {
            self.stalled(self.load.step_began, waited.now);
        }
    }

    /// For each operation that started in this step, records the time until the kernel had its request. All of this
    /// time was spent inside the client. Operations that started in an earlier step are left out, because their
    /// requests also waited for something else, such as a connection.
    #[inline]
    pub(in crate::run_loop) fn note_taken_requests(&mut self, now: Instant) {
        self.stalls.note_taken_requests(&mut self.slots, self.load.step_began, now);
    }

    /// Records how long the end of a response waited before it was read. This wait is known only if the read that ended
    /// the response was sampled.
    #[inline]
    pub(in crate::run_loop) fn sample_unread(&mut self, net: &mut N, id: ExchangeId, now: Instant) {
        if let Some(sample) = net.sample() {
            self.add_sample(net, id, sample, now);
        }
    }

    #[cold]
    fn add_sample(&mut self, net: &mut N, id: ExchangeId, sample: ReadSample, now: Instant) {
        let Some(slot) = self.pool.running(id).map(|exchange| exchange.slot) else { return };
        let has_streams = matches!(id, ExchangeId::Stream(_));
        let longest = if has_streams { self.stalls.longest_unread(net, now) } else { 0 };
        let Some(op) = self.slots.op_mut(slot) else { return };
        op.attempt.unread = Some(sample.at_least(longest));
        // The server may respond to an HTTP/2 request before the kernel has accepted all of the request. If the server
        // does so, there may be no send time yet.
        let Some(sent) = op.attempt.sent.or(op.sent) else { return };
        // On a multiplexed connection, the last bytes that were read may belong to another stream.
        let exact = !has_streams && op.attempt.received_bytes <= SEGMENT_BYTES;
        self.recorder.unread(sample, now.nanos_since(sent), exact);
        let ReadSample::Timestamped { nanos, .. } = sample else { return };
        let came = (now - Duration::from_nanos(nanos)).max(sent);
        let (from, until) = self.stalls.unread(came, now);
        if until.since(from) > self.stalls.late {
            self.stalled(from, until);
        }
    }

    /// Records that this client stalled from `from` to `now`.
    #[cold]
    pub(in crate::run_loop) fn stalled(&mut self, from: Instant, now: Instant) {
        // In a closed loop, all slots are always in flight, so no backlog builds up during a stall.
        let scheduled = self.stalls.pacing == Pacing::Scheduled;
        let level = self.stalls.level.level().filter(|_| scheduled);
        self.control.stalls().note(from, now, level);
    }

    /// During a stall, checks whether its effects have ended. At other times, measures how many operations are usually
    /// in flight.
    #[inline]
    pub(in crate::run_loop) fn watch_stall(&mut self, now: Instant) {
        let own = &mut self.stalls;
        let stalls = self.control.stalls();
        let in_flight = self.slots.in_flight as u64;
        if in_flight != own.published {
            stalls.publish(own.share.thread, own.published, in_flight);
            own.published = in_flight;
        }
        if own.level.is_due(now, own.stretch) || (in_flight == 0 && stalls.is_open()) {
            self.check_stall(now);
        }
    }

    fn check_stall(&mut self, now: Instant) {
        let own = &mut self.stalls;
        let stalls = self.control.stalls();
        let in_flight = stalls.in_flight(own.share.threads);
        let ended = own.level.see(now, in_flight, own.stretch);
        if stalls.is_open() {
            let late = matches!(&self.pacer, Pacer::Open(open) if open.starved.is_none()
                && open.next(self.recorder.timeline()).is_some_and(|at| at + own.late < now));
            if !late {
                let (from, mean) = ended.map_or((now, None), |(from, mean)| (from, Some(mean)));
                stalls.look(from, now, mean, in_flight == 0);
            }
        } else if let Some((from, mean)) = ended {
            own.level.learn(mean, now.since(from));
        }
        if ended.is_some() {
            own.stretch = stretch(rate_at(self.plan, now.as_secs_f64()));
        }
    }

    /// Adapts the minimum lateness of a stall to the median response time of the interval that ends.
    pub(in crate::run_loop) fn adapt_stall_threshold(&mut self) {
        let stats = &self.recorder.current_mut().stats;
        let median =
            |response: &measure::Distribution| response.quantile(0.5).filter(|_| response.count() >= MEDIAN_OF);
        let shortest = stats.kinds.iter().filter_map(|(_, kind)| median(&kind.response)).min();
        let least = if self.stalls.pacing == Pacing::Scheduled { LATE_MIN } else { KEPT_MIN };
        if let Some(shortest) = shortest {
            self.stalls.late = least.max(Duration::from_nanos((shortest as f64 * LATE_SHARE) as u64));
        }
    }
}
