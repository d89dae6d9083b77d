//! Events that the run loop reports to the recorder.

use super::{Handshake, Pacing, Recorder};
use crate::sample::outcome::{Cause, Flag, OpOutcome};
use crate::sample::{AttemptKind, AttemptSample, BodyBytes, Example, HopSample, LabelId, OpSample, ReadSample};
use crate::stats::Tally;
use crate::stats::label::Label;
use crate::stats::size_class::size_class;
use crate::time::{Instant, Stage};
use crate::values::Enumerated;
use std::time::Duration;

impl Recorder {
    /// Counts a pause of a slot of a closed run, from `now` to `until`. The slot pauses because the target could not be
    /// reached.
    #[cold]
    pub fn backed_off(&mut self, now: Instant, until: Instant) {
        if self.current.stage == Stage::Measured {
            self.current.stats.back_off_nanos += until.min(self.timeline.window_end()).nanos_since(now);
        }
    }

    fn tally(&mut self, intended: Instant) -> &mut Tally {
        if self.timeline.measures(intended) {
            &mut self.current.stats.measured
        } else {
            &mut self.current.stats.outside
        }
    }

    /// Returns the label of a host, for [`OpSample::host`].
    pub fn host_label(&mut self, host: &str) -> LabelId {
        self.hosts.value(host)
    }

    /// Returns the name of the host that has a label.
    #[must_use]
    pub fn host_name(&self, label: LabelId) -> &Label {
        self.hosts.get(label)
    }

    /// Returns the label of a header value for [`OpSample::header`]. `None` stands for responses without this header.
    pub fn header_label(&mut self, value: Option<&str>) -> LabelId {
        match value {
            Some(value) => self.headers.value(value),
            None => self.headers.absent(),
        }
    }

    /// Counts `count` scheduled operations with this intended start.
    #[inline]
    pub fn scheduled(&mut self, intended: Instant, count: u64) {
        self.tally(intended).scheduled += count;
        self.scheduled_until = self.scheduled_until.max(intended + Duration::from_nanos(1));
        self.evidence.scheduled(&mut self.current.evidence, &self.timeline, intended, count);
    }

    /// Records the start of an operation at `now`.
    #[inline]
    pub fn started(&mut self, now: Instant, intended: Instant) {
        self.gauge(now);
        self.evidence.started(now, self.in_flight);
        self.in_flight += 1;
        self.current.in_flight_peak = self.current.in_flight_peak.max(self.in_flight);
        self.tally(intended).started += 1;
    }

    /// Counts an operation that was scheduled but will never start. `by_client` means that the client itself failed to
    /// start the operation in time, although a slot was free.
    pub fn dropped(&mut self, intended: Instant, by_client: bool) {
        let tally = self.tally(intended);
        tally.dropped += 1;
        tally.missed_by_client += u64::from(by_client);
    }

    /// Adds a sample of the time during which a response waited unread, with the service time of its operation. `exact`
    /// means that the response fitted into one segment.
    pub fn unread(&mut self, sample: ReadSample, service_nanos: u64, exact: bool) {
        if self.current.stage != Stage::Warmup {
            self.current.stats.unread_responses.add(sample, service_nanos, exact);
        }
    }

    /// Counts received bytes.
    #[inline]
    pub fn received(&mut self, body: u64, overhead: u64) {
        self.current.stats.traffic.body += body;
        self.current.stats.traffic.overhead += overhead;
    }

    /// Counts body bytes that redirects and repeated attempts transferred inside the measured window.
    pub fn wasted(&mut self, moved: BodyBytes) {
        self.current.stats.traffic.wasted += moved.received;
        self.current.stats.traffic.wasted_sent += moved.sent;
    }

    /// Counts bytes that the kernel accepted for sending.
    #[inline]
    pub fn sent(&mut self, bytes: u64) {
        self.current.stats.traffic.sent += bytes;
    }

    /// Counts request body bytes that the kernel accepted for sending.
    #[inline]
    pub fn uploaded(&mut self, bytes: u64) {
        self.current.stats.traffic.sent_body += bytes;
    }

    /// Counts a connection to `host` that took `nanos` to open.
    pub fn connected(&mut self, nanos: u64, host: LabelId) {
        let host = usize::from(host.0);
        if self.opened.len() <= host {
            self.opened.resize(host + 1, 0);
        }
        self.opened[host] += 1;
        self.current.stats.connections.opened += 1;
        self.current.stats.connections.connect.record(nanos);
    }

    /// Counts a TLS handshake that took `nanos`.
    pub fn tls_handshake(&mut self, nanos: u64, handshake: Handshake) {
        let connections = &mut self.current.stats.connections;
        match handshake {
            Handshake::Full => connections.handshakes_full += 1,
            Handshake::Resumed => connections.handshakes_resumed += 1,
        }
        connections.handshake.record(nanos);
    }

    /// Counts a connection that could not be opened.
    pub fn connect_failed(&mut self) {
        self.current.stats.connections.failed += 1;
    }

    /// Counts an attempt that ended.
    #[inline]
    pub fn attempt(&mut self, sample: &AttemptSample) {
        let tally = self.tally(sample.op_intended);
        tally.attempts += 1;
        match sample.kind {
            AttemptKind::First => {}
            AttemptKind::Hop => tally.hops += 1,
            AttemptKind::Step => tally.steps += 1,
            AttemptKind::Resend => tally.resends += 1,
            AttemptKind::Retry => tally.retries += 1,
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

    /// Counts an attempt whose connection stayed open until another attempt used it, or until the run ended.
    /// `op_intended` is the intended start of the attempt's operation.
    #[inline]
    pub fn kept_alive(&mut self, op_intended: Instant) {
        self.tally(op_intended).flags.add(Flag::KeptAlive);
    }

    /// Returns whether there is no example of a failure with this cause yet.
    #[must_use]
    pub fn wants_example(&self, cause: Cause) -> bool {
        !self.seen_causes.contains(&cause)
    }

    /// Keeps an example of a failure, unless there is already one with the same cause.
    pub fn example(&mut self, example: Example) {
        if self.wants_example(example.cause()) {
            self.seen_causes.push(example.cause());
            self.current.stats.examples.push(example);
        }
    }

    /// Counts an operation that ended, or was abandoned at the end of the drain.
    #[inline]
    pub fn ended(&mut self, sample: &OpSample) {
        self.gauge(sample.end.max(self.gauged));
        self.in_flight -= 1;
        self.current.stats.residence_nanos += self.timeline.overlap_nanos(sample.started, sample.end);
        let stats = &mut self.current.stats;
        match sample.outcome {
            OpOutcome::Ok => {
                stats.last.ok = Some(sample.end);
                stats.edges.succeeded(sample.end);
            }
            OpOutcome::Failed(_) => {
                stats.last.failed = Some(sample.end);
                stats.edges.failed();
            }
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
            self.record_times(sample, size);
        }
    }

    /// Counts a redirected operation that has just ended. `hops` contains its requests in order. `attempts` is the
    /// number of attempts made for these requests.
    #[cold]
    pub fn chain(&mut self, sample: &OpSample, attempts: u64, hops: &[HopSample]) {
        if self.timeline.measures(sample.intended) {
            self.chains.get_or_insert_default().count(sample, attempts, hops);
        }
    }

    /// Records the times of a measured operation.
    fn record_times(&mut self, sample: &OpSample, size: u8) {
        let paced = self.pacing == Pacing::Scheduled;
        self.current.stats.kind_mut(sample.kind).record(sample, paced);
        self.hosts.count(sample.host, sample);
        self.sizes.count(LabelId(size.into()), sample);
        if let Some(header) = sample.header {
            self.headers.count(header, sample);
        }
        if let Some(access) = sample.access {
            self.accesses.count(LabelId(access.index() as u16), sample);
        }
    }
}
