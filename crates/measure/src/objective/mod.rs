//! Objectives: bounds on a metric that a run must meet.
//!
//! An objective is written as people say it, `response p99 <= 500ms`, and saved as that text. Failed and dropped operations
//! are +∞ in every quantile, so a target can not meet a bound on its times by refusing.

mod form;

use crate::distribution::{Distribution, Quantile};
use crate::sample::OpKind;
use crate::stats::{KindStats, Stats};
use crate::summary::Summary;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

/// A bound on a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Objective {
    metric: Metric,
    /// Of which operations; `None` for all, dropped ones included, which are of no kind.
    kind: Option<OpKind>,
    /// A share of 1, nanoseconds, operations per second or bytes per second.
    bound: f64,
}

/// What is bounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metric {
    /// Share of operations that end well ([`Summary::success`]); at least.
    Success,
    /// The quantile of a time; at most.
    Time(Timed, f64),
    /// Operations per second that end well; at least.
    Rate,
    /// Body bytes per second that arrive, without those that serve nothing; at least.
    Goodput,
    /// The quantile of the speed of operations that end well, counted from the slowest; at least.
    Speed(f64),
}

/// A time of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timed {
    /// From the intended start to the end.
    Response,
    /// From when the request was sent to the end.
    Service,
    /// From when the request was sent to the first byte of the answer.
    Ttfb,
}

/// Whether an objective was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Judgement {
    /// It was met.
    Met,
    /// It was not.
    Broken,
    /// Nothing ended that could decide it.
    NotJudged,
}

/// Why a text is no objective, and how one is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectiveError(String);

impl fmt::Display for ObjectiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ObjectiveError {}

impl Objective {
    /// What every run is held to unless told otherwise.
    pub const DEFAULT: Self = Self { metric: Metric::Success, kind: None, bound: 0.99 };

    /// A share of operations, in 0..=1, that have to end well.
    #[must_use]
    pub fn success_at_least(share: f64) -> Self {
        Self { metric: Metric::Success, kind: None, bound: share.clamp(0.0, 1.0) }
    }

    /// Whether it bounds the share of all operations that end well.
    #[must_use]
    pub fn is_on_success(&self) -> bool {
        self.metric == Metric::Success && self.kind.is_none()
    }

    /// Of which operations it speaks; `None` for all.
    #[must_use]
    pub fn kind(&self) -> Option<OpKind> {
        self.kind
    }

    /// The operations of a run that it speaks of, and how many more of them were dropped.
    fn of<'s>(&self, summary: &'s Summary) -> (Cow<'s, KindStats>, u64) {
        match self.kind {
            None => (Cow::Borrowed(&summary.all), summary.stats.measured.dropped),
            Some(kind) => {
                let own = summary.stats.kinds.iter().find(|(known, _)| *known == kind);
                (own.map_or_else(Cow::default, |(_, stats)| Cow::Borrowed(stats)), 0)
            }
        }
    }

    /// What it bounds.
    #[must_use]
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// The bound: a share of 1, nanoseconds, operations per second or bytes per second.
    #[must_use]
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// What a run came to, in the unit of the bound; `None` where nothing ended that has the figure, and where the quantile
    /// of a time is among operations that failed or never ended.
    #[must_use]
    pub fn value(&self, summary: &Summary) -> Option<f64> {
        match self.metric {
            Metric::Success if self.kind.is_none() => summary.success(),
            Metric::Success => {
                let (own, _) = self.of(summary);
                let ended = own.ok.saturating_add(own.failed);
                (ended > 0).then(|| own.ok as f64 / ended as f64)
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

    /// The share of operations that may lie beyond the bound; `None` for rates, which bound no operation.
    #[must_use]
    pub fn tolerated(&self) -> Option<f64> {
        match self.metric {
            Metric::Success => Some(1.0 - self.bound),
            Metric::Time(_, q) => Some(1.0 - q),
            Metric::Speed(q) => Some(q),
            Metric::Rate | Metric::Goodput => None,
        }
    }

    /// Operations of an interval that lie beyond the bound, and all that have a say: "p99 <= x" is met when no more than 1 %
    /// are beyond x. Nothing for rates.
    #[must_use]
    pub fn beyond(&self, stats: &Stats) -> (u64, u64) {
        let own =
            || stats.kinds.iter().filter(|(kind, _)| self.kind.is_none_or(|own| own == *kind)).map(|(_, own)| own);
        let sum = |of: &dyn Fn(&KindStats) -> u64| own().map(of).fold(0_u64, u64::saturating_add);
        let tally = &stats.measured;
        let (ok, failed) = match self.kind {
            None => (tally.ok, tally.failed.saturating_add(tally.dropped)),
            Some(_) => (sum(&|kind| kind.ok), sum(&|kind| kind.failed)),
        };
        match self.metric {
            Metric::Success => (failed, ok.saturating_add(failed)),
            Metric::Time(timed, _) => {
                let slow = sum(&|kind| timed.of(kind).beyond(self.bound).0);
                (slow.saturating_add(failed), sum(&|kind| timed.of(kind).count()).saturating_add(failed))
            }
            Metric::Speed(_) => (sum(&|kind| kind.speed.beyond(self.bound).1), sum(&|kind| kind.speed.count())),
            Metric::Rate | Metric::Goodput => (0, 0),
        }
    }

    /// The time, counted from its intended start, after which an operation that has not ended lies beyond the bound for sure.
    #[must_use]
    pub fn overdue_after(&self) -> Option<Duration> {
        match self.metric {
            Metric::Time(Timed::Response, _) if self.kind.is_none() => Some(Duration::from_nanos(self.bound as u64)),
            _ => None,
        }
    }

    /// Judges a run.
    #[must_use]
    pub fn judge(&self, summary: &Summary) -> Judgement {
        match self.metric {
            Metric::Time(timed, q) => self.judge_time(summary, timed, q),
            _ => match self.value(summary) {
                None => Judgement::NotJudged,
                Some(value) if value >= self.bound => Judgement::Met,
                Some(_) => Judgement::Broken,
            },
        }
    }

    fn judge_time(&self, summary: &Summary, timed: Timed, q: f64) -> Judgement {
        match self.quantile_of_all(summary, timed, q) {
            Quantile::Empty => Judgement::NotJudged,
            Quantile::Failed => Judgement::Broken,
            Quantile::Value(nanos) if nanos as f64 <= self.bound => Judgement::Met,
            Quantile::Value(_) => Judgement::Broken,
            // It is beyond what they had waited, which says something only when that was too long already.
            Quantile::Unfinished => match self.of(summary).0.unfinished_wait.min() {
                Some(waited) if waited as f64 > self.bound => Judgement::Broken,
                _ => Judgement::NotJudged,
            },
        }
    }

    /// A quantile of the times of all operations: failed and dropped ones are beyond every time.
    fn quantile_of_all(&self, summary: &Summary, timed: Timed, q: f64) -> Quantile {
        let (own, dropped) = self.of(summary);
        timed.of(&own).quantile_of_all(q, own.unfinished, own.failed.saturating_add(dropped))
    }
}

impl Timed {
    fn of(self, kind: &KindStats) -> &Distribution {
        match self {
            Self::Response => &kind.response,
            Self::Service => &kind.service,
            Self::Ttfb => &kind.ttfb,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Response => "response",
            Self::Service => "service",
            Self::Ttfb => "ttfb",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(text: &str, summary: &Summary) -> Judgement {
        text.parse::<Objective>().unwrap().judge(summary)
    }

    #[test]
    fn what_is_written_is_read_again() {
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
    }

    #[test]
    fn what_is_no_objective_is_refused_with_the_mend() {
        for (text, why) in [
            ("response p99 = 1s", "needs <= or >="),
            ("latency p99 <= 1s", "no such metric"),
            ("response p101 <= 1s", "no such metric"),
            ("response p99 >= 1s", "from above"),
            ("goodput <= 1GB/s", "from below"),
            ("goodput >= 1GB", "ends in /s"),
            ("success >= 101%", "no share"),
            ("response p99 <= fast", "fast"),
        ] {
            let error = text.parse::<Objective>().unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("write it like"), "{text}: {error}");
        }
    }

    #[test]
    fn a_condition_speaks_of_the_objective_that_is_missed() {
        for (condition, objective) in [
            ("success < 50%", "success >= 50%"),
            ("response p99 > 5s", "response p99 <= 5s"),
            ("speed p5 < 1MB/s", "speed p5 >= 1MB/s"),
        ] {
            let missed = Objective::missed_when(condition).unwrap();
            assert_eq!((missed.to_string().as_str(), missed.condition().as_str()), (objective, condition));
        }
        for (condition, why) in [
            ("success > 50%", "should be"),
            ("p99 <= 1s", "should be"),
            ("goodput < 1GB/s", "a rate"),
            ("success 50%", "needs < or >"),
        ] {
            let error = Objective::missed_when(condition).unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("write it like 'success < 50%'"), "{error}");
        }
    }

    /// What lies beyond a bound is what breaks it: more than the share that is tolerated.
    #[test]
    fn what_lies_beyond_agrees_with_the_judgement() {
        let mut random = crate::random::Random::new(5);
        for round in 0..300 {
            let mut stats = Stats::default();
            for _ in 0..40 + random.below(400) {
                let kind = stats.kind_mut(if random.below(2) == 0 { OpKind::Get } else { OpKind::Put });
                kind.response.record(1_000_000 + random.below(30_000_000) as u64);
                kind.speed.record(1 + random.below(40_000_000) as u64);
                kind.ok += 1;
                stats.measured.ok += 1;
            }
            stats.measured.failed = random.below(30) as u64;
            stats.kind_mut(OpKind::Get).failed = stats.measured.failed;
            stats.measured.dropped = random.below(4) as u64;
            let summary = Summary { all: stats.all_kinds(), stats, ..Summary::default() };
            for text in ["success >= 95%", "response p90 <= 27ms", "p50 <= 17ms", "max <= 32ms", "speed p10 >= 4MB/s"] {
                let objective: Objective = text.parse().unwrap();
                let (beyond, all) = objective.beyond(&summary.stats);
                let tolerated = objective.tolerated().unwrap() * all as f64;
                // The slowest tenth has as many as a rank of 10 % rounded up, and one of them below the bound is its last.
                let broken = match objective.metric {
                    Metric::Speed(_) => beyond as f64 >= tolerated - 1e-9,
                    _ => beyond as f64 > tolerated + 1e-9,
                };
                let judged = if broken { Judgement::Broken } else { Judgement::Met };
                assert_eq!(objective.judge(&summary), judged, "seed 5, round {round}, {text}: {beyond} of {all}");
            }
        }
    }

    #[test]
    fn a_bound_beyond_all_is_refused_in_old_runs() {
        let read = |text: &str| serde_json::from_str::<Objective>(text);
        assert_eq!(read(r#"{"success_at_least":0.99}"#).unwrap(), Objective::DEFAULT);
        for text in [r#"{"success_at_least":1.1}"#, r#"{"success_at_least":1e308}"#, r#"{"success_at_least":-1}"#] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn drops_and_failures_break_success_and_unfinished_ones_do_not() {
        let mut summary = Summary::default();
        assert_eq!(Objective::DEFAULT.judge(&summary), Judgement::NotJudged);
        summary.stats.measured.unfinished = 50;
        assert_eq!(Objective::DEFAULT.judge(&summary), Judgement::NotJudged);
        summary.stats.measured.unanswered = 1;
        assert_eq!(Objective::DEFAULT.judge(&summary), Judgement::Broken, "a target that never answers fails");
        summary.stats.measured.unanswered = 0;
        summary.stats.measured.ok = 99;
        summary.stats.measured.failed = 1;
        assert_eq!(Objective::DEFAULT.judge(&summary), Judgement::Met);
        summary.stats.measured.dropped = 1;
        assert_eq!(Objective::DEFAULT.judge(&summary), Judgement::Broken);
    }

    #[test]
    fn failures_and_drops_are_beyond_every_time() {
        let mut summary = Summary::default();
        assert_eq!(judged("response p99 <= 10ms", &summary), Judgement::NotJudged);
        for ms in 1..=99 {
            summary.all.response.record(ms * 1_000_000);
        }
        summary.all.ok = 99;
        assert_eq!(judged("response p50 <= 51ms", &summary), Judgement::Met);
        assert_eq!(judged("response p99 <= 98ms", &summary), Judgement::Broken);
        assert_eq!(judged("response max <= 100ms", &summary), Judgement::Met);
        summary.stats.measured.dropped = 1;
        assert_eq!(judged("response max <= 100ms", &summary), Judgement::Broken);
        summary.all.failed = 100;
        assert_eq!(judged("response p50 <= 1h", &summary), Judgement::Broken);
    }

    #[test]
    fn kinds_of_operations_have_objectives_of_their_own() {
        let mut summary = Summary::default();
        for (kind, ms, failed) in [(OpKind::Get, 5, 0), (OpKind::Put, 80, 10)] {
            let stats = summary.stats.kind_mut(kind);
            (0..90).for_each(|_| stats.response.record(ms * 1_000_000));
            (stats.ok, stats.failed) = (90, failed);
            summary.stats.measured.ok += 90;
            summary.stats.measured.failed += failed;
        }
        summary.all = summary.stats.all_kinds();
        for (text, judgement) in [
            ("get response p99 <= 10ms", Judgement::Met),
            ("put response p90 <= 10ms", Judgement::Broken),
            ("put p50 <= 90ms", Judgement::Met),
            ("put p99 <= 90ms", Judgement::Broken),
            ("get success >= 100%", Judgement::Met),
            ("put success >= 95%", Judgement::Broken),
            ("success >= 94%", Judgement::Met),
            ("delete p50 <= 1s", Judgement::NotJudged),
            ("get-range success >= 1%", Judgement::NotJudged),
        ] {
            assert_eq!(judged(text, &summary), judgement, "{text}");
        }
        let objective: Objective = "put response p90 <= 10ms".parse().unwrap();
        assert_eq!((objective.kind(), objective.beyond(&summary.stats)), (Some(OpKind::Put), (100, 100)));
        assert_eq!(objective.condition(), "put response p90 > 10ms");
        let error = "get goodput >= 1GB/s".parse::<Objective>().unwrap_err().to_string();
        assert!(error.contains("those of all operations"), "{error}");
    }

    #[test]
    fn unfinished_ones_break_a_bound_that_they_have_passed() {
        let mut summary = Summary::default();
        summary.all.response.record(1_000_000);
        (summary.all.ok, summary.all.unfinished) = (1, 9);
        (0..9).for_each(|_| summary.all.unfinished_wait.record(50_000_000));
        assert_eq!(judged("response p99 <= 10ms", &summary), Judgement::Broken);
        assert_eq!(judged("response p99 <= 60ms", &summary), Judgement::NotJudged);
    }
}
