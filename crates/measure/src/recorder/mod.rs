//! Recorder of one thread.
//!
//! The run loop passes each event to the recorder. The recorder counts the event in the current interval, and returns
//! complete intervals. Each thread has its own recorder, so no lock is needed.
//!
//! The recorder also computes the integral of the number of operations in flight over time. The integral is computed
//! only from the instants at which operations start and end. By Little's law, the integral must equal the sum of the
//! times in the samples of operations. The two values are compared at the end of the run (docs/measurement.md).

mod events;
mod label_table;
mod redirect_table;

use crate::enumerated;
use crate::evidence::Collector;
use crate::interval::Interval;
use crate::sample::outcome::Cause;
use crate::sample::{Access, LabelId};
use crate::stats::size_class::SIZE_CLASSES;
use crate::stats::{Dimension, Stats, Tally};
use crate::time::{Instant, Stage, Timeline};
use crate::values::Enumerated;
use label_table::LabelTable;
use redirect_table::RedirectTable;

enumerated! {
    /// Timing of operation starts. The timing determines whether lateness is meaningful.
    pub enum Pacing {
        Scheduled => "scheduled", "operations have a planned start: open model, or think time";
        Immediate => "immediate", "an operation starts when its slot is free";
    }
}

/// Kind of a TLS handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// Certificates were exchanged.
    Full,
    /// An earlier session was resumed.
    Resumed,
}

/// Recorder of one thread.
#[derive(Debug)]
pub struct Recorder {
    timeline: Timeline,
    pacing: Pacing,
    current: Interval,
    /// End of the current interval.
    boundary: Instant,
    in_flight: u64,
    /// Sent bytes that were not acknowledged at the last check of the run loop.
    unacknowledged: u64,
    /// Instant up to which the number of operations in flight has been integrated.
    gauged: Instant,
    /// The instant directly after the last intended start that was reported to the recorder.
    scheduled_until: Instant,
    hosts: LabelTable,
    sizes: LabelTable,
    accesses: LabelTable,
    headers: LabelTable,
    /// Connections opened in the current interval, indexed by host label.
    opened: Vec<u64>,
    /// Redirected operations of the current interval.
    chains: Option<Box<RedirectTable>>,
    seen_causes: Vec<Cause>,
    finished: Vec<Interval>,
    /// Start and end of the last period in which the thread was kept from running.
    frozen: (Instant, Instant),
    /// Total length of the earlier periods of this kind in the current interval, in nanoseconds.
    frozen_before: u64,
    evidence: Collector,
}

impl Recorder {
    /// Creates a recorder for a run with this timeline.
    #[must_use]
    pub fn new(timeline: Timeline, pacing: Pacing) -> Self {
        let start = timeline.start();
        let boundary = timeline.interval_end(start);
        let mut sizes = LabelTable::default();
        for (_, label) in SIZE_CLASSES {
            sizes.value(label);
        }
        let mut accesses = LabelTable::default();
        for access in Access::ALL {
            accesses.value(access.name());
        }
        Self {
            current: Interval::new(timeline.stage(start), start, boundary),
            timeline,
            pacing,
            boundary,
            in_flight: 0,
            unacknowledged: 0,
            gauged: start,
            scheduled_until: start,
            hosts: LabelTable::default(),
            sizes,
            accesses,
            headers: LabelTable::default(),
            opened: Vec::new(),
            chains: None,
            seen_causes: Vec::new(),
            finished: Vec::new(),
            frozen: (start, start),
            frozen_before: 0,
            evidence: Collector::new(pacing == Pacing::Scheduled),
        }
    }

    /// Declares that slots, and not a schedule, start the operations.
    #[must_use]
    pub fn of_slots(mut self) -> Self {
        self.evidence.of_slots();
        self
    }

    /// Records that the slots have no more operations to start, because a budget (of operations or bytes) is used up.
    pub fn exhausted(&mut self, now: Instant) {
        self.evidence.exhausted(now);
    }

    /// Records that the schedule of a fixed number of operations ended at `at`.
    pub fn schedule_ended(&mut self, at: Instant) {
        self.current.evidence.schedule_end = Some(at);
    }

    /// Returns the timeline of the run.
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Ends the measured window early, at `at`. If an operation is scheduled after `at`, the measured window ends
    /// directly after the last scheduled operation. Operations that are already counted in the measured window
    /// therefore stay in it.
    pub fn end_window(&mut self, at: Instant) {
        self.timeline.end_window(at.max(self.scheduled_until));
        self.boundary = self.timeline.interval_end(self.current.start).max(self.gauged);
    }

    /// Returns the end of the current interval.
    #[must_use]
    pub fn boundary(&self) -> Instant {
        self.boundary
    }

    /// Closes the intervals that have ended by `now`, and returns whether there were any. Call this method with each
    /// new instant, before events are reported.
    #[inline]
    pub fn advance(&mut self, now: Instant) -> bool {
        let closes = now >= self.boundary;
        while now >= self.boundary {
            self.close(self.boundary);
        }
        closes
    }

    /// Closes the current interval at `now`, when the thread ends.
    pub fn finish(&mut self, now: Instant) {
        self.advance(now);
        if now > self.current.start || !self.is_blank() {
            self.close(now);
        }
    }

    /// Records that this thread was kept from running between `from` and `to`. Call this method before the intervals
    /// between these instants are closed.
    pub fn frozen(&mut self, from: Instant, to: Instant) {
        self.frozen_before += self.last_frozen(self.current.start, from);
        self.frozen = (from, to);
    }

    /// Returns how many nanoseconds of the thread's last stop lie between two instants. A stop is a period in which the
    /// thread was kept from running.
    fn last_frozen(&self, from: Instant, to: Instant) -> u64 {
        to.min(self.frozen.1).nanos_since(from.max(self.frozen.0))
    }

    /// Returns the sent bytes that were not acknowledged at the end of the last interval.
    #[must_use]
    pub fn unacknowledged(&self) -> u64 {
        self.unacknowledged
    }

    /// Records how many sent bytes are not acknowledged. Call this method at the end of an interval.
    pub fn set_unacknowledged(&mut self, bytes: u64) {
        self.unacknowledged = bytes;
    }

    /// Returns the current interval. At the end of the interval, the run loop adds values through this reference.
    pub fn current_mut(&mut self) -> &mut Interval {
        &mut self.current
    }

    /// Takes the complete intervals, oldest first.
    pub fn take_finished(&mut self) -> std::vec::Drain<'_, Interval> {
        self.finished.drain(..)
    }

    fn is_blank(&self) -> bool {
        let stats = &self.current.stats;
        stats.measured == Tally::default() && stats.outside == Tally::default() && stats.traffic.body == 0
    }

    fn close(&mut self, at: Instant) {
        self.gauge(at);
        let mut interval = std::mem::replace(&mut self.current, Interval::new(self.timeline.stage(at), at, at));
        interval.end = at;
        let frozen = std::mem::take(&mut self.frozen_before) + self.last_frozen(interval.start, at);
        interval.client.frozen = frozen as f64 / interval.end.nanos_since(interval.start).max(1) as f64;
        interval.in_flight = self.in_flight;
        interval.unacknowledged = self.unacknowledged;
        self.current.in_flight_peak = self.in_flight;
        interval.stats.groups.extend(self.hosts.take(Dimension::Host));
        interval.stats.groups.extend(self.sizes.take(Dimension::Size));
        interval.stats.groups.extend(self.headers.take(Dimension::Header));
        interval.stats.groups.extend(self.accesses.take(Dimension::Access));
        self.close_hosts(&mut interval.stats);
        self.finished.push(interval);
        self.boundary = self.timeline.interval_end(at);
        self.current.end = self.boundary;
    }

    /// Copies the results by host, with the names of the hosts, into `stats`.
    fn close_hosts(&mut self, stats: &mut Stats) {
        let counted = self.hosts.all().iter().zip(&mut self.opened).filter(|(_, opened)| **opened > 0);
        counted.for_each(|(host, opened)| stats.connections.add_host(host, std::mem::take(opened)));
        let name = |host: LabelId| self.hosts.get(host).clone();
        stats.redirect_chains = self.chains.take().map(|chains| Box::new(chains.finish(name)));
    }

    /// Returns the instant of the latest start or end of an operation.
    #[must_use]
    #[inline]
    pub fn latest(&self) -> Instant {
        self.gauged
    }

    #[inline]
    fn gauge(&mut self, now: Instant) {
        if self.current.stage == Stage::Measured {
            self.current.stats.in_flight_nanos += now.nanos_since(self.gauged) * self.in_flight;
        }
        self.gauged = self.gauged.max(now);
    }
}

#[cfg(test)]
mod tests;
