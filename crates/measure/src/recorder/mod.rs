//! One thread's bookkeeper.
//!
//! The run loop tells it what happens, as it happens; it counts, times and files everything under the right interval,
//! and hands out the intervals that are over. There is one recorder for each thread and no lock. The gauge of
//! operations in flight is integrated here from starts and ends alone, independently of the samples, so that Little's
//! law can be checked at the end (docs/measurement.md).

mod label_table;
mod redirect_table;

use crate::enumerated;
use crate::evidence::Collector;
use crate::interval::Interval;
use crate::sample::outcome::{Cause, Flag, OpOutcome};
use crate::sample::{AttemptKind, AttemptSample, Example, HopSample, LabelId, Moved, OpSample, ReadSample};
use crate::stats::label::Label;
use crate::stats::size_class::{SIZE_CLASSES, size_class};
use crate::stats::{Dimension, Stats, Tally};
use crate::time::Instant;
use crate::time::{Stage, Timeline};
use label_table::LabelTable;
use redirect_table::RedirectTable;
use std::time::Duration;

enumerated! {
    /// Whether lateness means anything for this run.
    pub enum Pacing {
        Scheduled => "scheduled", "operations have a planned start: open model, or think time";
        Immediate => "immediate", "an operation starts when its slot is free";
    }
}

/// How a TLS session came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// Certificates were exchanged.
    Full,
    /// An earlier session was taken up.
    Resumed,
}

/// The bookkeeper of one thread.
#[derive(Debug)]
pub struct Recorder {
    timeline: Timeline,
    pacing: Pacing,
    current: Interval,
    /// End of the current interval.
    boundary: Instant,
    in_flight: u64,
    /// Until when the gauge is integrated.
    gauged: Instant,
    /// Just after the last intended start that was told.
    scheduled_until: Instant,
    hosts: LabelTable,
    sizes: LabelTable,
    headers: LabelTable,
    /// Connections opened in the running interval, by the label of their host.
    opened: Vec<u64>,
    /// Redirected operations of the running interval.
    chains: Option<Box<RedirectTable>>,
    seen_causes: Vec<Cause>,
    finished: Vec<Interval>,
    /// Begin and end of the last time for which the thread was kept from running.
    frozen: (Instant, Instant),
    evidence: Collector,
}

impl Recorder {
    /// A recorder for a run with that timeline.
    #[must_use]
    pub fn new(timeline: Timeline, pacing: Pacing) -> Self {
        let start = timeline.start();
        let boundary = timeline.interval_end(start);
        let mut sizes = LabelTable::default();
        for (_, label) in SIZE_CLASSES {
            sizes.value(label);
        }
        Self {
            current: Interval::new(timeline.stage(start), start, boundary),
            timeline,
            pacing,
            boundary,
            in_flight: 0,
            gauged: start,
            scheduled_until: start,
            hosts: LabelTable::default(),
            sizes,
            headers: LabelTable::default(),
            opened: Vec::new(),
            chains: None,
            seen_causes: Vec::new(),
            finished: Vec::new(),
            frozen: (start, start),
            evidence: Collector::new(pacing == Pacing::Scheduled),
        }
    }

    /// The operations are those of slots, not of a schedule.
    #[must_use]
    pub fn of_slots(mut self) -> Self {
        self.evidence.of_slots();
        self
    }

    /// The slots find no more to start: a budget is used up.
    pub fn exhausted(&mut self, now: Instant) {
        self.evidence.exhausted(now);
    }

    /// The schedule of a fixed number of operations has no more to ask for since `at`.
    pub fn schedule_ended(&mut self, at: Instant) {
        self.current.evidence.schedule_end = Some(at);
    }

    /// The run's timeline.
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Brings the end of the window forward to `at`, or to just after the last operation that was scheduled, so that none
    /// leaves the window that was counted in it.
    pub fn end_window(&mut self, at: Instant) {
        self.timeline.end_window(at.max(self.scheduled_until));
        self.boundary = self.timeline.interval_end(self.current.start).max(self.gauged);
    }

    /// When the current interval ends.
    #[must_use]
    pub fn boundary(&self) -> Instant {
        self.boundary
    }

    /// Closes the intervals that are over at `now`. To be called with each new instant before anything is told.
    /// True when an interval was closed.
    #[inline]
    pub fn advance(&mut self, now: Instant) -> bool {
        let closes = now >= self.boundary;
        while now >= self.boundary {
            self.close(self.boundary);
        }
        closes
    }

    /// Closes the current interval at `now`, when the thread is done.
    pub fn finish(&mut self, now: Instant) {
        self.advance(now);
        if now > self.current.start || !self.is_blank() {
            self.close(now);
        }
    }

    /// This thread was kept from running from `from` to `to`. Must be told before the intervals in between are closed.
    pub fn frozen(&mut self, from: Instant, to: Instant) {
        self.frozen = (from, to);
    }

    /// The current interval, for figures that the loop adds at its end.
    pub fn current_mut(&mut self) -> &mut Interval {
        &mut self.current
    }

    /// Takes the intervals that are over, oldest first.
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
        let frozen = at.min(self.frozen.1).nanos_since(interval.start.max(self.frozen.0));
        interval.client.frozen = frozen as f64 / interval.end.nanos_since(interval.start).max(1) as f64;
        interval.in_flight = self.in_flight;
        self.current.in_flight_peak = self.in_flight;
        interval.stats.groups.extend(self.hosts.take(Dimension::Host));
        interval.stats.groups.extend(self.sizes.take(Dimension::Size));
        interval.stats.groups.extend(self.headers.take(Dimension::Header));
        self.close_hosts(&mut interval.stats);
        self.finished.push(interval);
        self.boundary = self.timeline.interval_end(at);
        self.current.end = self.boundary;
    }

    /// Gives the figures by host that stand under labels their names.
    fn close_hosts(&mut self, stats: &mut Stats) {
        let counted = self.hosts.all().iter().zip(&mut self.opened).filter(|(_, opened)| **opened > 0);
        counted.for_each(|(host, opened)| stats.connections.add_host(host, std::mem::take(opened)));
        let name = |host: LabelId| self.hosts.get(host).clone();
        stats.redirect_chains = self.chains.take().map(|chains| Box::new(chains.finish(name)));
    }

    /// A slot of a closed run pauses from `now` to `until`, since the target could not be reached.
    #[cold]
    pub fn backed_off(&mut self, now: Instant, until: Instant) {
        if self.current.stage == Stage::Measured {
            self.current.stats.back_off_nanos += until.min(self.timeline.window_end()).nanos_since(now);
        }
    }

    #[inline]
    fn gauge(&mut self, now: Instant) {
        if self.current.stage == Stage::Measured {
            self.current.stats.in_flight_nanos += now.nanos_since(self.gauged) * self.in_flight;
        }
        self.gauged = self.gauged.max(now);
    }

    fn tally(&mut self, intended: Instant) -> &mut Tally {
        if self.timeline.measures(intended) {
            &mut self.current.stats.measured
        } else {
            &mut self.current.stats.outside
        }
    }

    /// The label of a host, for [`OpSample::host`].
    pub fn host_label(&mut self, host: &str) -> LabelId {
        self.hosts.value(host)
    }

    /// The host that a label stands for.
    #[must_use]
    pub fn host_name(&self, label: LabelId) -> &Label {
        self.hosts.get(label)
    }

    /// The label of a header's value, or of an answer without one, for [`OpSample::header`].
    pub fn header_label(&mut self, value: Option<&str>) -> LabelId {
        match value {
            Some(value) => self.headers.value(value),
            None => self.headers.absent(),
        }
    }

    /// `count` operations with that intended start were asked for.
    #[inline]
    pub fn scheduled(&mut self, intended: Instant, count: u64) {
        self.tally(intended).scheduled += count;
        self.scheduled_until = self.scheduled_until.max(intended + Duration::from_nanos(1));
        self.evidence.scheduled(&mut self.current.evidence, &self.timeline, intended, count);
    }

    /// An operation was taken at `now`.
    #[inline]
    pub fn started(&mut self, now: Instant, intended: Instant) {
        self.gauge(now);
        self.evidence.started(now, self.in_flight);
        self.in_flight += 1;
        self.current.in_flight_peak = self.current.in_flight_peak.max(self.in_flight);
        self.tally(intended).started += 1;
    }

    /// An operation that was asked for is given up without having been started.
    /// `by_client` says that it did not wait for a slot: this client had not come to it.
    pub fn dropped(&mut self, intended: Instant, by_client: bool) {
        let tally = self.tally(intended);
        tally.dropped += 1;
        tally.missed_by_client += u64::from(by_client);
    }

    /// A response ended with a read that was dated. It had that service time, and fitted one segment or not.
    pub fn unread(&mut self, sample: ReadSample, service_nanos: u64, exact: bool) {
        if self.current.stage != Stage::Warmup {
            self.current.stats.unread_responses.add(sample, service_nanos, exact);
        }
    }

    /// Bytes arrived.
    #[inline]
    pub fn received(&mut self, body: u64, overhead: u64) {
        self.current.stats.traffic.body += body;
        self.current.stats.traffic.overhead += overhead;
    }

    /// Body bytes that arrived inside the window turned out to serve nothing: those of a redirect, or of an attempt
    /// that was made again.
    pub fn wasted(&mut self, moved: Moved) {
        self.current.stats.traffic.wasted += moved.received;
        self.current.stats.traffic.wasted_sent += moved.sent;
    }

    /// Bytes were handed to the kernel.
    #[inline]
    pub fn sent(&mut self, bytes: u64) {
        self.current.stats.traffic.sent += bytes;
    }

    /// Body bytes of a request were handed over.
    #[inline]
    pub fn uploaded(&mut self, bytes: u64) {
        self.current.stats.traffic.sent_body += bytes;
    }

    /// A connection to that host was opened in that time.
    pub fn connected(&mut self, nanos: u64, host: LabelId) {
        let host = usize::from(host.0);
        if self.opened.len() <= host {
            self.opened.resize(host + 1, 0);
        }
        self.opened[host] += 1;
        self.current.stats.connections.opened += 1;
        self.current.stats.connections.connect.record(nanos);
    }

    /// The TLS handshake of a connection took that time.
    pub fn secured(&mut self, nanos: u64, handshake: Handshake) {
        let connections = &mut self.current.stats.connections;
        match handshake {
            Handshake::Full => connections.handshakes_full += 1,
            Handshake::Resumed => connections.handshakes_resumed += 1,
        }
        connections.handshake.record(nanos);
    }

    /// A connection could not be opened.
    pub fn connect_failed(&mut self) {
        self.current.stats.connections.failed += 1;
    }

    /// An attempt ended.
    #[inline]
    pub fn attempt(&mut self, sample: &AttemptSample) {
        let tally = self.tally(sample.op_intended);
        tally.attempts += 1;
        match sample.kind {
            AttemptKind::First => {}
            AttemptKind::Hop => tally.hops += 1,
            AttemptKind::Step => tally.steps += 1,
            AttemptKind::Resend => tally.resends += 1,
        }
        tally.classes.add(sample.outcome.class);
        if sample.outcome.cause != Cause::None {
            tally.causes.add(sample.outcome.cause);
        }
        if !sample.flags.is_empty() {
            for flag in sample.flags.iter() {
                tally.flags.add(flag);
            }
        }
        if let Some(status) = sample.status {
            tally.statuses.add(status, 1);
        }
        tally.body_bytes += sample.body_bytes;
        tally.overhead_bytes += sample.overhead_bytes;
        tally.sent_bytes += sample.sent_bytes;
        tally.sent_body += sample.sent_body;
    }

    /// The connection of an attempt that ended earlier has stayed open: it carried another response, or the run is over.
    /// `op_intended` is the intended start of that attempt's operation.
    #[inline]
    pub fn kept_alive(&mut self, op_intended: Instant) {
        self.tally(op_intended).flags.add(Flag::KeptAlive);
    }

    /// Whether an example of that cause is still wanted.
    #[must_use]
    pub fn wants_example(&self, cause: Cause) -> bool {
        !self.seen_causes.contains(&cause)
    }

    /// Keeps an example, one for each cause.
    pub fn example(&mut self, example: Example) {
        if self.wants_example(example.cause()) {
            self.seen_causes.push(example.cause());
            self.current.stats.examples.push(example);
        }
    }

    /// An operation ended, or was abandoned at the end of the drain.
    #[inline]
    pub fn ended(&mut self, sample: &OpSample) {
        self.gauge(sample.end.max(self.gauged));
        self.in_flight -= 1;
        self.current.stats.residence_nanos += self.timeline.overlap_nanos(sample.started, sample.end);
        match sample.outcome {
            OpOutcome::Ok => self.current.stats.last.ok = Some(sample.end),
            OpOutcome::Failed(_) => self.current.stats.last.failed = Some(sample.end),
            OpOutcome::Unfinished | OpOutcome::CutOff => {}
        }
        let tally = self.tally(sample.intended);
        match sample.outcome {
            OpOutcome::Ok => tally.ok += 1,
            OpOutcome::Failed(_) => tally.failed += 1,
            OpOutcome::Unfinished => {
                tally.unfinished += 1;
                tally.unanswered += u64::from(sample.first_byte.is_none());
            }
            OpOutcome::CutOff => tally.unfinished += 1,
        }
        if matches!(sample.outcome, OpOutcome::Failed(_)) {
            self.wasted(sample.window);
        }
        let size = size_class(sample.body_bytes);
        self.evidence.ended(&mut self.current.evidence, &self.timeline, sample, size);
        if self.timeline.measures(sample.intended) {
            self.time(sample, size);
        }
    }

    /// An operation that has just ended was redirected: its requests in order, and the attempts they took.
    #[cold]
    pub fn chain(&mut self, sample: &OpSample, attempts: u64, hops: &[HopSample]) {
        if self.timeline.measures(sample.intended) {
            self.chains.get_or_insert_default().count(sample, attempts, hops);
        }
    }

    fn time(&mut self, sample: &OpSample, size: u8) {
        let paced = self.pacing == Pacing::Scheduled;
        let kind = self.current.stats.kind_mut(sample.kind);
        if paced {
            kind.lateness.record(sample.lateness_nanos());
        }
        if sample.slot_wait_nanos > 0 {
            kind.slot_wait.record(sample.slot_wait_nanos);
        }
        if let Some(longest) = sample.affected_by {
            kind.affected.add(sample, longest);
        }
        match sample.outcome {
            OpOutcome::Ok => {
                kind.ok += 1;
                kind.ok_bytes += sample.body_bytes;
                kind.response.record(sample.response_nanos());
                kind.timestamped.add(sample);
                let timed = [
                    (&mut kind.service, sample.service_nanos()),
                    (&mut kind.ttfb, sample.ttfb_nanos()),
                    (&mut kind.transfer, sample.transfer_nanos()),
                    (&mut kind.sending, sample.sending_nanos()),
                    (&mut kind.agreement, sample.agreement_nanos),
                    (&mut kind.waiting, sample.waiting_nanos()),
                    (&mut kind.connect, sample.connect_nanos),
                    (&mut kind.handshake, sample.handshake_nanos),
                    (&mut kind.secured, sample.secured_nanos()),
                    (&mut kind.speed, sample.speed()),
                ];
                for (distribution, value) in timed {
                    if let Some(value) = value {
                        distribution.record(value);
                    }
                }
            }
            OpOutcome::Failed(_) => {
                kind.failed += 1;
                kind.failed_response.record(sample.response_nanos());
                sample.ttfb_nanos().into_iter().for_each(|nanos| kind.failed_ttfb.record(nanos));
            }
            OpOutcome::Unfinished | OpOutcome::CutOff => {
                kind.unfinished += 1;
                kind.unfinished_wait.record(sample.response_nanos());
                match sample.first_byte {
                    Some(_) => sample.ttfb_nanos().into_iter().for_each(|nanos| kind.unfinished_ttfb.record(nanos)),
                    // What this client cut off says nothing about the target.
                    None if sample.outcome == OpOutcome::CutOff => {}
                    None => kind.unanswered_wait.record(sample.response_nanos()),
                }
            }
        }
        self.hosts.count(sample.host, sample);
        self.sizes.count(LabelId(size.into()), sample);
        if let Some(header) = sample.header {
            self.headers.count(header, sample);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::OpKind;
    use crate::sample::outcome::{AttemptClass, AttemptOutcome, Phase};
    use proptest::prelude::*;

    fn ms(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn sample(recorder: &mut Recorder, started: u64, end: u64, outcome: OpOutcome) -> OpSample {
        OpSample {
            kind: OpKind::Get,
            intended: ms(started),
            started: ms(started),
            sent: Some(ms(started)),
            sent_all: None,
            agreement_nanos: None,
            first_byte: Some(ms(end)),
            end: ms(end),
            slot_wait_nanos: 0,
            connect_nanos: None,
            handshake_nanos: None,
            outcome,
            body_bytes: 1000,
            window: Moved { received: 1000, sent: 0 },
            host: recorder.host_label("a:80"),
            header: None,
            affected_by: None,
            handing_nanos: 0,
            unread: None,
        }
    }

    proptest! {
        /// The gauge and the samples are two ways to the same area, whatever the order of starts and ends.
        #[test]
        fn littles_law_holds_exactly(ops in prop::collection::vec((0_u64..4000, 0_u64..3000), 1..60)) {
            let timeline = Timeline::new(Instant::ZERO, Duration::from_millis(700), Some(Duration::from_millis(2500)));
            let mut recorder = Recorder::new(timeline, Pacing::Immediate);
            let mut events: Vec<(u64, bool, usize)> = Vec::new();
            for (index, (start, length)) in ops.iter().enumerate() {
                events.push((*start, false, index));
                events.push((start + length, true, index));
            }
            events.sort_unstable();
            for (at, is_end, index) in events {
                recorder.advance(ms(at));
                if is_end {
                    let sample = sample(&mut recorder, ops[index].0, at, OpOutcome::Ok);
                    recorder.ended(&sample);
                } else {
                    recorder.scheduled(ms(at), 1);
                    recorder.started(ms(at), ms(at));
                }
            }
            recorder.finish(ms(8000));
            let mut total = Stats::default();
            for interval in recorder.take_finished() {
                total.merge(&interval.stats);
            }
            prop_assert_eq!(total.in_flight_nanos, total.residence_nanos);
            let measured = ops.iter().filter(|(start, _)| (700..3200).contains(start)).count() as u64;
            prop_assert_eq!(total.measured.ok, measured);
            prop_assert_eq!(total.outside.ok, ops.len() as u64 - measured);
            prop_assert_eq!(total.all_kinds().response.count(), measured);
        }
    }

    #[test]
    fn failed_bytes_are_no_goodput() {
        let mut recorder = Recorder::new(Timeline::new(Instant::ZERO, Duration::ZERO, None), Pacing::Immediate);
        let failure = AttemptOutcome::failed(AttemptClass::Incomplete, Cause::BodyCutShort, Phase::Body);
        for outcome in [OpOutcome::Ok, OpOutcome::Failed(failure), OpOutcome::Unfinished] {
            recorder.started(ms(0), ms(0));
            recorder.received(1000, 200);
            let sample = sample(&mut recorder, 0, 10, outcome);
            recorder.ended(&sample);
        }
        recorder.finish(ms(10));
        let interval = recorder.take_finished().next().unwrap();
        assert_eq!((interval.stats.traffic.body, interval.stats.traffic.wasted), (3000, 1000));
        assert_eq!(interval.stats.all_kinds().response.count(), 1);
    }
}
