//! The results of a whole run, computed from its intervals.
//!
//! A summary can be computed from saved intervals ([`Summary::of`]), in the order in which they were written. A report
//! on a saved run is therefore the same as the report at the end of the run. Even a crashed run has a report.

pub mod client_limits;
pub mod common_time;
pub mod heat_map;
mod load_model;
pub mod single_seconds;
pub mod windows;

pub use client_limits::ClientLimits;
pub use load_model::Model;
pub use single_seconds::SingleSeconds;
pub use windows::{Window, Windows};

use crate::evidence::{Evidence, Probes};
use crate::interval::Interval;
use crate::interval::judgeable::judgeable;
use crate::path::PathLimits;
use crate::stats::quantile_range::{QuantileRange, Timed};
use crate::stats::unread_responses::ClientShare;
use crate::stats::{KindStats, Stats, Traffic};
use crate::time::{Instant, Stage};
use crate::values::{Distribution, add, sum};
use serde::{Deserialize, Serialize};

/// Maximum share of the time during which the client may be kept from running. Above this share, the client stood
/// still.
const STOOD_STILL_MIN: f64 = 0.5;

/// Time and traffic of one stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StageTotals {
    /// Length in seconds.
    pub seconds: f64,
    /// Bytes that arrived or were sent during the stage.
    pub traffic: Traffic,
    /// CPU time of the client process, in nanoseconds.
    pub cpu_nanos: u64,
}

/// Results of a run, complete or up to the last interval that was read.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Summary {
    /// All counts and times.
    pub stats: Stats,
    /// Measured operations of all kinds together. Computed from [`Self::stats`], and not saved.
    #[serde(skip)]
    pub all: KindStats,
    /// Start and end of the measured window; `None` if the run did not reach it.
    pub window: Option<(Instant, Instant)>,
    /// Totals of the warm-up.
    pub warmup: StageTotals,
    /// Totals of the measured window.
    pub measured: StageTotals,
    /// Totals of the drain.
    pub drain: StageTotals,
    /// Number of operations that ended successfully inside the measured window, even if they were due earlier.
    pub window_ok: u64,
    /// Number of operations that failed inside the measured window, even if they were due earlier.
    pub window_failed: u64,
    /// Number of operations in flight at the end of the last interval.
    pub in_flight_at_end: u64,
    /// Largest number of operations in flight during the measured window; see [`Interval::in_flight_peak`].
    pub in_flight_peak: u64,
    /// Sent bytes that the targets had not acknowledged at the start and at the end of the measured window.
    #[serde(default)]
    pub unacknowledged: (u64, u64),
    /// Time during which the client was at one of its limits.
    pub limits: ClientLimits,
    /// Facts about the single seconds.
    pub seconds: SingleSeconds,
    /// Measurements that show what limits the run.
    pub evidence: Evidence,
    /// Number of operations that the marked operations are expected to overtake if all operations are independent
    /// ([`crate::evidence::overtaking`]).
    pub overtaking_expected: f64,
    /// `true` if client and target ran on the same host.
    pub shares_host: bool,
    /// Limits of the emulated path between client and target.
    #[serde(default)]
    pub path: PathLimits,
    /// Rates that the probe reached with other numbers of slots after the run; `None` without `--probe`.
    pub probes: Option<Probes>,
}

impl Summary {
    /// Computes the summary from the intervals of a run.
    #[must_use]
    pub fn of<'a>(model: &Model, intervals: impl IntoIterator<Item = &'a Interval>) -> Self {
        let mut summary = Self::default();
        for interval in intervals {
            summary.add(model, interval);
        }
        summary.all = summary.stats.all_kinds();
        summary
    }

    /// Adds the next interval. Does not update [`Self::all`], which [`Self::of`] computes once at the end.
    pub fn add(&mut self, model: &Model, interval: &Interval) {
        self.stats.merge(&interval.stats);
        let totals = match interval.stage {
            Stage::Warmup => &mut self.warmup,
            Stage::Measured => &mut self.measured,
            Stage::Drain => &mut self.drain,
        };
        totals.seconds += interval.seconds();
        add(&mut totals.cpu_nanos, interval.client.cpu_nanos);
        totals.traffic.merge(&interval.stats.traffic);
        self.in_flight_at_end = interval.in_flight;
        match interval.stage {
            Stage::Warmup => self.unacknowledged = (interval.unacknowledged, interval.unacknowledged),
            Stage::Measured => self.unacknowledged.1 = interval.unacknowledged,
            Stage::Drain => {}
        }
        if interval.stage == Stage::Measured {
            let (start, end) = self.window.unwrap_or((interval.start, interval.end));
            self.window = Some((start.min(interval.start), end.max(interval.end)));
            for tally in [&interval.stats.measured, &interval.stats.outside] {
                add(&mut self.window_ok, tally.ok);
                add(&mut self.window_failed, tally.failed);
            }
            // Records of earlier versions contain only the number at the end of the interval.
            self.in_flight_peak = self.in_flight_peak.max(interval.in_flight_peak).max(interval.in_flight);
            match &interval.joined {
                Some(joined) => self.limits.merge(&joined.limits),
                None => self.limits.add(model, interval),
            }
        }
        self.seconds.append(&SingleSeconds::of(interval));
        self.add_evidence(interval);
    }

    fn add_evidence(&mut self, interval: &Interval) {
        if let Some(joined) = &interval.joined {
            self.overtaking_expected += joined.overtaking_expected;
            self.evidence.merge(&interval.evidence);
            return;
        }
        let (evidence, expected) = judgeable(interval);
        self.overtaking_expected += expected;
        self.evidence.merge(&evidence);
    }

    /// Returns the length of the schedule in seconds, which is the length of the measured window. If the number of
    /// operations is fixed, the schedule ends with the last start, so the time after the last start is not included.
    #[must_use]
    pub fn schedule_seconds(&self) -> f64 {
        match (self.evidence.schedule_end, self.window) {
            (Some(end), Some((start, _))) if end > start => {
                (end.nanos_since(start) as f64 / 1e9).min(self.measured.seconds)
            }
            _ => self.measured.seconds,
        }
    }

    /// Returns the throughput, which is the number of response body bytes that arrived per second of the measured
    /// window. `None` without a measured window.
    #[must_use]
    pub fn throughput(&self) -> Option<f64> {
        self.per_second(self.measured.traffic.body)
    }

    /// Returns the goodput, which is [`Self::throughput`] without the bytes of attempts that failed or were redirects
    /// (docs/measurement.md).
    #[must_use]
    pub fn goodput(&self) -> Option<f64> {
        self.per_second(self.measured.traffic.body.saturating_sub(self.stats.traffic.wasted))
    }

    /// Returns the request body bytes that left the client per second of the measured window. `None` without a measured
    /// window.
    #[must_use]
    pub fn sending(&self) -> Option<f64> {
        self.per_second(self.left_in_window(self.measured.traffic.sent_body))
    }

    /// Returns how many of `sent` bytes left the client in the measured window. A sent byte first waits in a send
    /// buffer of the kernel. These buffers often grow in the measured window, so that more is sent than the targets
    /// receive.
    #[must_use]
    pub fn left_in_window(&self, sent: u64) -> u64 {
        let (before, after) = self.unacknowledged;
        sent.saturating_add(before).saturating_sub(after)
    }

    /// Returns [`Self::sending`] without the bytes of attempts that failed or were redirects.
    #[must_use]
    pub fn good_sending(&self) -> Option<f64> {
        let good = self.measured.traffic.sent_body.saturating_sub(self.stats.traffic.wasted_sent);
        self.per_second(self.left_in_window(good))
    }

    /// Returns the offered rate, in scheduled operations per second of [`Self::schedule_seconds`].
    #[must_use]
    pub fn offered_rate(&self) -> Option<f64> {
        let seconds = self.schedule_seconds();
        (seconds > 0.0).then(|| self.stats.measured.scheduled as f64 / seconds)
    }

    /// Returns the operations that started per second of the measured window.
    #[must_use]
    pub fn started_rate(&self) -> Option<f64> {
        self.per_second(self.stats.measured.started)
    }

    /// Returns the operations that succeeded or failed per second of the measured window. Operations that end in the
    /// drain are part of the counts of the measured window, but not of its rates.
    #[must_use]
    pub fn completed_rate(&self) -> Option<f64> {
        self.per_second(self.window_ok.saturating_add(self.window_failed))
    }

    /// Returns the operations that succeeded per second of the measured window.
    #[must_use]
    pub fn ok_rate(&self) -> Option<f64> {
        self.per_second(self.window_ok)
    }

    /// Returns the size of one step of [`Self::ok_rate`], as a share of this rate. The rate counts an operation if it
    /// ended in the measured window. A closed run that is short compared with its operations therefore has a rate with
    /// large steps. With operations of 300 ms, for example, each slot completes three of them in any window between 0.9
    /// s and 1.2 s. The size of one step is the number of operations that were in flight at the end of the measured
    /// window. `None` without a success in the measured window.
    #[must_use]
    pub fn rate_step(&self) -> Option<f64> {
        let tally = &self.stats.measured;
        let ended = self.window_ok.saturating_add(self.window_failed);
        let after = tally.completed().saturating_add(tally.unfinished).saturating_sub(ended);
        (self.window_ok > 0).then(|| after as f64 / self.window_ok as f64)
    }

    /// Returns the number of operations of the measured window that were offered but have no end in the records. The
    /// number is 0 for a run that ended.
    #[must_use]
    pub fn open_operations(&self) -> u64 {
        let tally = &self.stats.measured;
        let known = sum([tally.ok, tally.failed, tally.unfinished, tally.dropped]);
        tally.scheduled.saturating_sub(known)
    }

    /// Divides a count by the length of the measured window in seconds. `None` without a measured window.
    #[must_use]
    pub fn per_second(&self, count: u64) -> Option<f64> {
        (self.measured.seconds > 0.0).then(|| count as f64 / self.measured.seconds)
    }

    /// Returns the share of operations that succeeded, in 0..=1. Operations count if they ended, were dropped, or hung
    /// until the end ([`KindStats::hanging`]). Other unfinished operations have not failed, and are left out. `None` if
    /// no operation counts.
    #[must_use]
    pub fn success(&self) -> Option<f64> {
        let tally = &self.stats.measured;
        let judged = tally.completed().saturating_add(tally.dropped).saturating_add(self.all.hanging());
        (judged > 0).then(|| tally.ok as f64 / judged as f64)
    }

    /// Returns the range that contains quantile `q` of a time of the target, over all kinds. Its lower end is the
    /// quantile without the time that this client added, and its upper end is the quantile of all operations. `None` if
    /// no operation succeeded.
    #[must_use]
    pub fn quantile_range(&self, timed: Timed, q: f64) -> Option<QuantileRange> {
        self.all.quantile_range(timed, q)
    }

    /// Returns the share of service time that the client added. The share is measured on a sample of the responses in
    /// the measured window and the drain. `None` without samples, for example on Unix sockets.
    #[must_use]
    pub fn client_share(&self) -> Option<ClientShare> {
        self.stats.unread_responses.share()
    }

    /// Returns whether this client was kept from running for most of the time, so that it could not observe the target.
    #[must_use]
    pub fn client_stood_still(&self) -> bool {
        self.stopped_share() > STOOD_STILL_MIN
    }

    /// Returns the number of operations that would have ended if this client had never been kept from running. `ended`
    /// is the number of operations that did end. If the client was kept from running for most of the time, nothing is
    /// known, and any number is possible.
    #[must_use]
    pub fn could_have_ended(&self, ended: u64) -> f64 {
        if self.client_stood_still() { f64::INFINITY } else { ended as f64 / (1.0 - self.stopped_share()) }
    }

    /// Returns the share of the measured window in which this client was kept from running, in 0..=1.
    fn stopped_share(&self) -> f64 {
        self.limits.share(self.limits.frozen.max(self.limits.throttled))
    }

    /// Returns the mean number of operations in flight during the measured window.
    #[must_use]
    pub fn mean_in_flight(&self) -> Option<f64> {
        (self.measured.seconds > 0.0).then(|| self.stats.in_flight_nanos as f64 / 1e9 / self.measured.seconds)
    }

    /// Returns the time that each successful operation spent on connections, which ab calls "Connect". This time
    /// includes the TLS handshake. Operations on a kept-alive connection count as zero. In a run with TLS, connections
    /// without a handshake also count as zero.
    #[must_use]
    pub fn connect_of_all(&self) -> Distribution {
        let with_tls = self.all.connect_and_handshake.count() > 0;
        let mut connect = if with_tls { self.all.connect_and_handshake.clone() } else { self.all.connect.clone() };
        connect.record_zeros(self.all.ok.saturating_sub(connect.count()));
        connect
    }
}
