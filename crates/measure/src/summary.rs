//! The whole run, folded from its intervals.
//!
//! Nothing here is remembered from the live run: [`Summary::of`] takes the intervals in the order in which they were
//! written, so that a report made from a directory that a crash left behind is the same as one made at the end.

use crate::affected::{QuantileRange, Timed};
use crate::clock::Instant;
use crate::distribution::Distribution;
use crate::evidence::{Evidence, Probes, order};
use crate::interval::Interval;
use crate::limits::{LimitTally, Model};
use crate::stats::{KindStats, Stats, Traffic};
use crate::timeline::Stage;

/// Time and traffic of one stage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StageTotals {
    /// Length in seconds.
    pub seconds: f64,
    /// Bytes by arrival.
    pub traffic: Traffic,
    /// CPU time of the client process, in nanoseconds.
    pub cpu_nanos: u64,
}

/// A run, complete or as far as it came.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// All counts and times.
    pub stats: Stats,
    /// All measured operations together, whatever their kind.
    pub all: KindStats,
    /// Begin and end of the measured window, when it was reached.
    pub window: Option<(Instant, Instant)>,
    /// The warm-up.
    pub warmup: StageTotals,
    /// The measured window.
    pub measured: StageTotals,
    /// The drain.
    pub drain: StageTotals,
    /// Operations that ended well inside the window, whenever they were asked for.
    pub window_ok: u64,
    /// Operations that failed inside the window, whenever they were asked for.
    pub window_failed: u64,
    /// Operations in flight when the last interval ended.
    pub in_flight_at_end: u64,
    /// Largest number of operations in flight in the window: [`Interval::in_flight_peak`].
    pub in_flight_peak: u64,
    /// Seconds in which the client was at one of its limits.
    pub limits: LimitTally,
    /// Evidence of queues.
    pub evidence: Evidence,
    /// Operations that marked ones would have overtaken had they been independent (`evidence/order.rs`).
    pub overtaking_expected: f64,
    /// Whether client and target ran on one host.
    pub shares_host: bool,
    /// What other numbers of slots reached after the run; `None` unless that was asked for.
    pub probes: Option<Probes>,
}

impl Summary {
    /// Folds the intervals of a run.
    #[must_use]
    pub fn of<'a>(model: &Model, intervals: impl IntoIterator<Item = &'a Interval>) -> Self {
        let mut summary = Self::default();
        for interval in intervals {
            summary.add(model, interval);
        }
        summary.all = summary.stats.all_kinds();
        summary
    }

    /// Adds the next interval. [`Summary::all`] is only brought up to date by [`Summary::of`].
    pub fn add(&mut self, model: &Model, interval: &Interval) {
        self.stats.merge(&interval.stats);
        let totals = match interval.stage {
            Stage::Warmup => &mut self.warmup,
            Stage::Measured => &mut self.measured,
            Stage::Drain => &mut self.drain,
        };
        totals.seconds += interval.seconds();
        totals.cpu_nanos = totals.cpu_nanos.saturating_add(interval.client.cpu_nanos);
        totals.traffic.merge(&interval.stats.traffic);
        self.in_flight_at_end = interval.in_flight;
        if interval.stage == Stage::Measured {
            let (start, end) = self.window.unwrap_or((interval.start, interval.end));
            self.window = Some((start.min(interval.start), end.max(interval.end)));
            for tally in [&interval.stats.measured, &interval.stats.outside] {
                self.window_ok = self.window_ok.saturating_add(tally.ok);
                self.window_failed = self.window_failed.saturating_add(tally.failed);
            }
            // Runs that were saved by earlier versions have only the number at the end.
            self.in_flight_peak = self.in_flight_peak.max(interval.in_flight_peak).max(interval.in_flight);
            self.limits.add(model, interval);
        }
        self.add_evidence(interval);
    }

    fn add_evidence(&mut self, interval: &Interval) {
        // What is expected of an order follows from service times that are only kept of measured operations.
        let order = interval.evidence.order;
        let times = || interval.stats.all_kinds().service.without(&interval.evidence.paused);
        let spread = if order.ahead > 0 { order::spread(&times()) } else { None };
        self.overtaking_expected += spread.map_or(0.0, |spread| spread * order.ahead as f64);
        let mut evidence = interval.evidence.clone();
        if spread.is_none() {
            evidence.order = order::Order::default();
        }
        self.evidence.merge(&evidence);
    }

    /// Seconds for which the schedule asked for operations: the window, without the tail of a run of N operations in which
    /// the last ones end.
    #[must_use]
    pub fn schedule_seconds(&self) -> f64 {
        match (self.evidence.schedule_end, self.window) {
            (Some(end), Some((start, _))) if end > start => {
                (end.nanos_since(start) as f64 / 1e9).min(self.measured.seconds)
            }
            _ => self.measured.seconds,
        }
    }

    /// Body bytes per second that arrived in the window; `None` without a window.
    #[must_use]
    pub fn throughput(&self) -> Option<f64> {
        self.per_second(self.measured.traffic.body)
    }

    /// Throughput without the bytes of attempts that failed or were redirects (docs/measurement.md).
    #[must_use]
    pub fn goodput(&self) -> Option<f64> {
        self.per_second(self.measured.traffic.body.saturating_sub(self.stats.traffic.wasted))
    }

    /// Body bytes of requests per second that were sent in the window; `None` without a window.
    #[must_use]
    pub fn sending(&self) -> Option<f64> {
        self.per_second(self.measured.traffic.sent_body)
    }

    /// As [`Self::sending`], without the bytes of attempts that failed or were redirects.
    #[must_use]
    pub fn good_sending(&self) -> Option<f64> {
        self.per_second(self.measured.traffic.sent_body.saturating_sub(self.stats.traffic.wasted_sent))
    }

    /// Operations that the schedule asked for, by second of its time.
    #[must_use]
    pub fn offered_rate(&self) -> Option<f64> {
        let seconds = self.schedule_seconds();
        (seconds > 0.0).then(|| self.stats.measured.scheduled as f64 / seconds)
    }

    /// Operations that were started, by second of the window.
    #[must_use]
    pub fn started_rate(&self) -> Option<f64> {
        self.per_second(self.stats.measured.started)
    }

    /// Operations that ended inside the window, well or not, by second of the window. What ends in the drain belongs to
    /// the counts of the window, not to its rates.
    #[must_use]
    pub fn completed_rate(&self) -> Option<f64> {
        self.per_second(self.window_ok.saturating_add(self.window_failed))
    }

    /// Operations that ended well inside the window, by second of the window.
    #[must_use]
    pub fn ok_rate(&self) -> Option<f64> {
        self.per_second(self.window_ok)
    }

    /// A count by second of the window.
    #[must_use]
    pub fn per_second(&self, count: u64) -> Option<f64> {
        (self.measured.seconds > 0.0).then(|| count as f64 / self.measured.seconds)
    }

    /// Share of operations that succeeded among those that ended, were dropped, or hung ([`KindStats::hanging`]), in 0..=1.
    /// Other unfinished operations are healthy and have no say. `None` when nothing is left to judge.
    #[must_use]
    pub fn success(&self) -> Option<f64> {
        let tally = &self.stats.measured;
        let judged = tally.completed().saturating_add(tally.dropped).saturating_add(self.all.hanging());
        (judged > 0).then(|| tally.ok as f64 / judged as f64)
    }

    /// Where quantile `q` of a time of the target lies, over all kinds: between that without what this client added,
    /// and that of all. `None` when no operation succeeded.
    #[must_use]
    pub fn quantile_range(&self, timed: Timed, q: f64) -> Option<QuantileRange> {
        self.all.quantile_range(timed, q)
    }

    /// Operations that were due and that this client did not start. Where the client was the limit of an open run, slots were
    /// taken by operations whose responses it had no time to read, so that all that never started is its doing.
    #[must_use]
    pub fn missed_by_client(&self, model: &Model) -> u64 {
        let tally = &self.stats.measured;
        if model.is_open() && self.limited_by(model).is_client() { tally.dropped } else { tally.missed_by_client }
    }

    /// Average number of operations in flight over the window.
    #[must_use]
    pub fn mean_in_flight(&self) -> Option<f64> {
        (self.measured.seconds > 0.0).then(|| self.stats.in_flight_nanos as f64 / 1e9 / self.measured.seconds)
    }

    /// Time for connections of every operation that ended well, with zero for those that used a kept one: what ab
    /// calls "Connect". It includes the TLS handshake; in a run with TLS, connections without it count zero.
    #[must_use]
    pub fn connect_of_all(&self) -> Distribution {
        let secured = self.all.secured.count() > 0;
        let mut connect = if secured { self.all.secured.clone() } else { self.all.connect.clone() };
        connect.record_zeros(self.all.ok.saturating_sub(connect.count()));
        connect
    }
}
