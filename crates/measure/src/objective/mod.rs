//! Objectives, which are bounds on a metric that a run must meet.
//!
//! Users write an objective as `response p99 <= 500ms`, and records contain the same text. Failed and dropped
//! operations count as +∞ in every quantile, so a target cannot meet a bound on its times by refusing requests.

mod judge;
mod text;

pub use crate::stats::quantile_range::Timed;
pub use judge::ObjectiveResult;

use crate::sample::OpKind;
use crate::stats::{KindStats, Stats};
use crate::summary::Summary;
use crate::values::Quantile;
use crate::values::sum;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

/// A bound on a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Objective {
    metric: Metric,
    /// Kind of operations to which the objective applies. `None` means all operations, including dropped operations,
    /// which have no kind.
    kind: Option<OpKind>,
    /// Bound, as a share in 0..=1, in nanoseconds, in operations per second, or in bytes per second.
    bound: f64,
}

/// Metric of an objective.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metric {
    /// Minimum share of operations that succeed ([`Summary::success`]).
    Success,
    /// Upper bound of a quantile of a time.
    Time(Timed, f64),
    /// Minimum number of operations that succeed per second.
    Rate,
    /// Minimum goodput in body bytes per second ([`Summary::goodput`]).
    Goodput,
    /// Lower bound of a quantile of the speeds of operations that succeed. The quantile is counted from the slowest
    /// operation.
    Speed(f64),
}

/// Outcome of an objective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObjectiveOutcome {
    /// The objective is met with and without the operations that the client disturbed.
    Met,
    /// The objective is missed with and without the operations that the client disturbed.
    Missed,
    /// Too few operations ended to decide whether the objective is met.
    NotEnoughData,
    /// The run cannot decide the objective, because the outcome depends on the delays that the client added.
    ClientLimited,
}

/// Message about a text that is not an objective, with examples of valid objectives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectiveError(String);

impl fmt::Display for ObjectiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ObjectiveError {}

impl Objective {
    /// Objective of every run for which the user sets no other objective.
    pub const DEFAULT: Self = Self { metric: Metric::Success, kind: None, bound: 0.99 };

    /// Returns an objective on the share of operations that succeed, in 0..=1.
    #[must_use]
    pub fn success_at_least(share: f64) -> Self {
        Self { metric: Metric::Success, kind: None, bound: share.clamp(0.0, 1.0) }
    }

    /// Returns whether the objective bounds the share of all operations that succeed.
    #[must_use]
    pub fn is_on_success(&self) -> bool {
        self.metric == Metric::Success && self.kind.is_none()
    }

    /// Returns the kind of operations to which the objective applies; `None` for all.
    #[must_use]
    pub fn kind(&self) -> Option<OpKind> {
        self.kind
    }

    /// Returns the operations of a run to which the objective applies, and the number of dropped operations.
    fn of<'s>(&self, summary: &'s Summary) -> (Cow<'s, KindStats>, u64) {
        match self.kind {
            None => (Cow::Borrowed(&summary.all), summary.stats.measured.dropped),
            Some(kind) => {
                let own = summary.stats.kinds.iter().find(|(known, _)| *known == kind);
                (own.map_or_else(Cow::default, |(_, stats)| Cow::Borrowed(stats)), 0)
            }
        }
    }

    /// Returns the metric that the objective bounds.
    #[must_use]
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Returns the bound, as a share in 0..=1, in nanoseconds, in operations per second, or in bytes per second.
    #[must_use]
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// Returns the measured value of a run, in the unit of the bound. `None` if no operation has a value of the metric,
    /// or if the quantile of a time falls among operations that failed or never ended.
    #[must_use]
    pub fn value(&self, summary: &Summary) -> Option<f64> {
        match self.metric {
            Metric::Success if self.kind.is_none() => summary.success(),
            Metric::Success => {
                let (own, _) = self.of(summary);
                let judged = sum([own.ok, own.failed, own.hanging()]);
                (judged > 0).then(|| own.ok as f64 / judged as f64)
            }
            Metric::Rate => summary.ok_rate(),
            Metric::Goodput => summary.goodput(),
            Metric::Speed(q) => self.of(summary).0.speed.quantile(q).map(|speed| speed as f64),
            Metric::Time(timed, q) => match self.quantile_of_all(summary, timed, q) {
                Quantile::Value(nanos) => Some(nanos as f64),
                Quantile::Empty | Quantile::Failed | Quantile::Unfinished => None,
            },
        }
    }

    /// Returns the maximum share of operations that may exceed the bound; `None` for rates, which do not bound single
    /// operations.
    #[must_use]
    pub fn tolerated(&self) -> Option<f64> {
        match self.metric {
            Metric::Success => Some(1.0 - self.bound),
            Metric::Time(_, q) => Some(1.0 - q),
            Metric::Speed(q) => Some(q),
            Metric::Rate | Metric::Goodput => None,
        }
    }

    /// Returns the number of operations beyond the bound in an interval, and the number of all operations to which the
    /// objective applies. For example, "p99 <= x" is met if at most 1 % of the operations exceed x. Both numbers are
    /// zero for rates.
    #[must_use]
    pub fn beyond(&self, stats: &Stats) -> (u64, u64) {
        let own =
            || stats.kinds.iter().filter(|(kind, _)| self.kind.is_none_or(|own| own == *kind)).map(|(_, own)| own);
        let sum = |of: &dyn Fn(&KindStats) -> u64| sum(own().map(of));
        let tally = &stats.measured;
        let (ok, failed) = match self.kind {
            None => (tally.ok, tally.failed.saturating_add(tally.dropped)),
            Some(_) => (sum(&|kind| kind.ok), sum(&|kind| kind.failed)),
        };
        match self.metric {
            Metric::Success => (failed, ok.saturating_add(failed)),
            Metric::Time(timed, _) => {
                let slow = sum(&|kind| kind.timed(timed).0.beyond(self.bound).0);
                (slow.saturating_add(failed), sum(&|kind| kind.timed(timed).0.count()).saturating_add(failed))
            }
            Metric::Speed(_) => (sum(&|kind| kind.speed.beyond(self.bound).1), sum(&|kind| kind.speed.count())),
            Metric::Rate | Metric::Goodput => (0, 0),
        }
    }

    /// Returns the time, since the intended start, after which an unfinished operation certainly exceeds the bound.
    /// `None` unless the objective bounds the response times of all operations.
    #[must_use]
    pub fn overdue_after(&self) -> Option<Duration> {
        match self.metric {
            Metric::Time(Timed::Response, _) if self.kind.is_none() => Some(Duration::from_nanos(self.bound as u64)),
            _ => None,
        }
    }

    /// Returns a quantile of a time over all operations. Failed and dropped operations count as +∞. For TTFB, a failed
    /// operation whose first byte arrived counts with its TTFB.
    fn quantile_of_all(&self, summary: &Summary, timed: Timed, q: f64) -> Quantile {
        let (own, dropped) = self.of(summary);
        let values = own.timed(timed).0;
        if timed != Timed::Ttfb {
            return values.quantile_of_all(q, own.unfinished, own.failed.saturating_add(dropped));
        }
        let mut began = values.clone();
        began.merge(&own.failed_ttfb);
        began.merge(&own.unfinished_ttfb);
        let unfinished = own.unfinished.saturating_sub(own.unfinished_ttfb.count());
        let failed = own.failed.saturating_sub(own.failed_ttfb.count());
        began.quantile_of_all(q, unfinished, failed.saturating_add(dropped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objectives_round_trip_through_text() {
        for text in [
            "success >= 99.9%",
            "response p99 <= 500ms",
            "service p99.9 <= 1s",
            "ttfb max <= 20ms",
            "rate >= 1000",
            "goodput >= 1GB/s",
            "speed p5 >= 10MB/s",
            "get-range ttfb p95 <= 20ms",
            "put success >= 99%",
        ] {
            let objective: Objective = text.parse().unwrap();
            assert_eq!(objective.to_string(), text);
            assert_eq!(
                serde_json::from_str::<Objective>(&serde_json::to_string(&objective).unwrap()).unwrap(),
                objective
            );
        }
        let short: Objective = "p99<500ms".parse().unwrap();
        assert_eq!(short.to_string(), "response p99 <= 500ms");
        for (text, expected) in [
            ("P99 ≤ 5ms", "response p99 <= 5ms"),
            ("p99 =< 20 ms", "response p99 <= 20ms"),
            ("goodput >= 1 GB/s", "goodput >= 1GB/s"),
            ("Success≥99%", "success >= 99%"),
        ] {
            assert_eq!(text.parse::<Objective>().unwrap().to_string(), expected);
        }
    }

    #[test]
    fn invalid_objectives_are_rejected_with_the_fix() {
        for (text, why) in [
            ("response p99 = 1s", "needs <= or >="),
            ("latency p99 <= 1s", "no metric `latency p99`"),
            ("response p101 <= 1s", "at most"),
            ("p0 <= 1ns", "above 0"),
            ("p99.9.9 <= 1s", "`p99.9.9` is not a percentile"),
            ("goodput >= 1Gb/s", "bits; write 1GB/s"),
            ("speed p5 >= 10mb/s", "bits"),
            ("response p99 >= 1s", "takes <="),
            ("goodput <= 1GB/s", "takes >="),
            ("goodput >= 1GB", "needs a speed"),
            ("success >= 101%", "not a share"),
            ("success >= 0.29", "no unit; write 29%"),
            ("success >= 99", "no unit; write 99%"),
            ("success >= inf", "not a share"),
            ("errors <= 1%", "bound the share of successes"),
            ("response p99 <= fast", "fast"),
            ("p99 < 500", "no unit; write 500ms or 500s"),
            ("ttfb max <= 1m30", "no unit"),
            ("goodput >= 1000/s", "no unit; write 1000MB/s or 1000B/s"),
            ("speed p5 >= 7 /s", "no unit"),
        ] {
            let error = text.parse::<Objective>().unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("for example"), "{text}: {error}");
        }
    }

    #[test]
    fn conditions_are_the_opposite_of_an_objective() {
        for (condition, objective) in [
            ("success < 50%", "success >= 50%"),
            ("response p99 > 5s", "response p99 <= 5s"),
            ("speed p5 < 1MB/s", "speed p5 >= 1MB/s"),
        ] {
            let missed = Objective::missed_when(condition).unwrap();
            assert_eq!((missed.to_string().as_str(), missed.condition().as_str()), (objective, condition));
        }
        for (condition, why) in [
            ("success > 50%", "met by a good run"),
            ("p99 <= 1s", "met by a good run"),
            ("goodput < 1GB/s", "only known at the end"),
            ("p99 > 5", "no unit"),
            ("success 50%", "needs < or >"),
        ] {
            let error = Objective::missed_when(condition).unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("for example 'success < 50%'"), "{error}");
        }
    }

    #[test]
    fn bounds_above_one_are_rejected_in_runs_of_earlier_versions() {
        let read = |text: &str| serde_json::from_str::<Objective>(text);
        assert_eq!(read(r#"{"success_at_least":0.99}"#).unwrap(), Objective::DEFAULT);
        for text in [r#"{"success_at_least":1.1}"#, r#"{"success_at_least":1e308}"#, r#"{"success_at_least":-1}"#] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
