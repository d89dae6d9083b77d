//! Objectives: bounds on a metric that a run must meet.
//!
//! An objective is written as people say it, `response p99 <= 500ms`, and saved as that text. Failed and dropped operations
//! are +∞ in every quantile, so a target can not meet a bound on its times by refusing.

use crate::distribution::{Distribution, Quantile};
use crate::stats::{KindStats, Stats};
use crate::summary::Summary;
use crate::units::{ByteSize, Rate, format_span, parse_span};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A bound on a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Objective {
    metric: Metric,
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

const FORMS: &str = "write it like 'success >= 99.9%', 'response p99 <= 500ms', 'ttfb p95 <= 100ms', 'rate >= 1000', \
                     'goodput >= 1GB/s' or 'speed p5 >= 10MB/s'";

const CONDITIONS: &str = "write it like 'success < 50%', 'response p99 > 5s' or 'speed p5 < 1MB/s'";

impl Objective {
    /// What every run is held to unless told otherwise.
    pub const DEFAULT: Self = Self { metric: Metric::Success, bound: 0.99 };

    /// A share of operations, in 0..=1, that have to end well.
    #[must_use]
    pub fn success_at_least(share: f64) -> Self {
        Self { metric: Metric::Success, bound: share.clamp(0.0, 1.0) }
    }

    /// Whether it bounds the share of operations that end well.
    #[must_use]
    pub fn is_on_success(&self) -> bool {
        self.metric == Metric::Success
    }

    /// The objective that a run misses when the condition holds: `success < 50%` speaks of `success >= 50%`.
    ///
    /// # Errors
    /// When the text is no condition, or one on a rate, which says nothing before a run is over.
    pub fn missed_when(condition: &str) -> Result<Self, ObjectiveError> {
        let wrong = |why: &str| ObjectiveError(format!("`{condition}`: {why}: {CONDITIONS}"));
        let (metric, sign, value) = parts(condition).ok_or_else(|| wrong("a condition needs < or >"))?;
        let metric = metric_of(metric).ok_or_else(|| wrong("there is no such metric"))?;
        let objective = Self { metric, bound: bound_of(metric, value).map_err(|why| wrong(&why))? };
        match (objective.tolerated(), sign == metric.sign()) {
            (None, _) => Err(wrong("a rate is known when a run is over")),
            (Some(_), true) => Err(wrong("that is what a run should be")),
            (Some(_), false) => Ok(objective),
        }
    }

    /// As [`Self::missed_when`] takes it.
    #[must_use]
    pub fn condition(&self) -> String {
        let text = self.to_string();
        if self.metric.sign() == '<' { text.replacen("<=", ">", 1) } else { text.replacen(">=", "<", 1) }
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
            Metric::Success => summary.success(),
            Metric::Rate => summary.ok_rate(),
            Metric::Goodput => summary.goodput(),
            Metric::Speed(q) => summary.all.speed.quantile(q).map(|speed| speed as f64),
            Metric::Time(timed, q) => match quantile_of_all(summary, timed, q) {
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
        let tally = &stats.measured;
        let failed = tally.failed.saturating_add(tally.dropped);
        let counted = |of: &dyn Fn(&KindStats) -> (u64, u64)| {
            stats.kinds.iter().map(|(_, kind)| of(kind)).fold((0_u64, 0_u64), |(beyond, all), (more, count)| {
                (beyond.saturating_add(more), all.saturating_add(count))
            })
        };
        match self.metric {
            Metric::Success => (failed, tally.ok.saturating_add(failed)),
            Metric::Time(timed, _) => {
                let (slow, ended) = counted(&|kind| {
                    let times = timed.of(kind);
                    (times.beyond(self.bound).0, times.count())
                });
                (slow.saturating_add(failed), ended.saturating_add(failed))
            }
            Metric::Speed(_) => counted(&|kind| (kind.speed.beyond(self.bound).1, kind.speed.count())),
            Metric::Rate | Metric::Goodput => (0, 0),
        }
    }

    /// The time, counted from its intended start, after which an operation that has not ended lies beyond the bound for sure.
    #[must_use]
    pub fn overdue_after(&self) -> Option<Duration> {
        match self.metric {
            Metric::Time(Timed::Response, _) => Some(Duration::from_nanos(self.bound as u64)),
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
        match quantile_of_all(summary, timed, q) {
            Quantile::Empty => Judgement::NotJudged,
            Quantile::Failed => Judgement::Broken,
            Quantile::Value(nanos) if nanos as f64 <= self.bound => Judgement::Met,
            Quantile::Value(_) => Judgement::Broken,
            // It is beyond what they had waited, which says something only when that was too long already.
            Quantile::Unfinished => match summary.all.unfinished_wait.min() {
                Some(waited) if waited as f64 > self.bound => Judgement::Broken,
                _ => Judgement::NotJudged,
            },
        }
    }
}

/// A quantile of the times of all operations: failed and dropped ones are beyond every time.
fn quantile_of_all(summary: &Summary, timed: Timed, q: f64) -> Quantile {
    let all = &summary.all;
    let failed = all.failed.saturating_add(summary.stats.measured.dropped);
    timed.of(all).quantile_of_all(q, all.unfinished, failed)
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

impl FromStr for Objective {
    type Err = ObjectiveError;

    fn from_str(text: &str) -> Result<Self, ObjectiveError> {
        let wrong = |why: &str| ObjectiveError(format!("`{text}`: {why}: {FORMS}"));
        let (metric, sign, value) = parts(text).ok_or_else(|| wrong("an objective needs <= or >="))?;
        let metric = metric_of(metric).ok_or_else(|| wrong("there is no such metric"))?;
        let bound = bound_of(metric, value).map_err(|why| wrong(&why))?;
        match metric.sign() {
            own if own == sign => Ok(Self { metric, bound }),
            '<' => Err(wrong("a time is bounded from above, with <=")),
            _ => Err(wrong("this is bounded from below, with >=")),
        }
    }
}

/// Metric, sign and value of a bound.
fn parts(text: &str) -> Option<(&str, char, &str)> {
    let (metric, rest) = text.split_at(text.find(['<', '>'])?);
    let mut rest = rest.chars();
    let sign = rest.next()?;
    Some((metric.trim(), sign, rest.as_str().trim_start_matches('=').trim()))
}

impl Metric {
    /// On which side of its bound it should be.
    fn sign(self) -> char {
        match self {
            Self::Time(..) => '<',
            Self::Success | Self::Rate | Self::Goodput | Self::Speed(_) => '>',
        }
    }
}

fn metric_of(text: &str) -> Option<Metric> {
    let mut words = text.split_whitespace();
    let (name, quantile) = (words.next()?, words.next());
    if words.next().is_some() {
        return None;
    }
    match (name, quantile) {
        ("success", None) => Some(Metric::Success),
        ("rate", None) => Some(Metric::Rate),
        ("goodput", None) => Some(Metric::Goodput),
        ("speed", Some(q)) => quantile_of(q).map(Metric::Speed),
        ("response", Some(q)) => Some(Metric::Time(Timed::Response, quantile_of(q)?)),
        ("service", Some(q)) => Some(Metric::Time(Timed::Service, quantile_of(q)?)),
        ("ttfb", Some(q)) => Some(Metric::Time(Timed::Ttfb, quantile_of(q)?)),
        (q, None) => Some(Metric::Time(Timed::Response, quantile_of(q)?)),
        _ => None,
    }
}

/// `p99.9`, or `max`.
fn quantile_of(text: &str) -> Option<f64> {
    if text == "max" {
        return Some(1.0);
    }
    let percent: f64 = text.strip_prefix('p')?.parse().ok()?;
    (0.0..=100.0).contains(&percent).then_some(percent / 100.0)
}

fn bound_of(metric: Metric, text: &str) -> Result<f64, String> {
    match metric {
        Metric::Success => {
            let percent: Option<f64> = text.strip_suffix('%').and_then(|number| number.trim().parse().ok());
            let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
            percent.map(|percent| percent / 100.0).ok_or_else(|| format!("`{text}` is no share from 0% to 100%"))
        }
        Metric::Time(..) => {
            let span = parse_span(text).map_err(|error| error.to_string())?;
            Ok(span.as_nanos() as f64)
        }
        Metric::Rate => {
            let number = text.strip_suffix("/s").unwrap_or(text);
            number.trim().parse::<Rate>().map(Rate::as_f64).map_err(|error| error.to_string())
        }
        Metric::Goodput | Metric::Speed(_) => {
            let size = text.strip_suffix("/s").ok_or_else(|| format!("`{text}` is no speed: it ends in /s"))?;
            size.trim().parse::<ByteSize>().map(|size| size.0 as f64).map_err(|error| error.to_string())
        }
    }
}

/// As it stands before the sign of an objective.
impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quantile = |q: f64| if q >= 1.0 { "max".to_owned() } else { format!("p{}", tidy(q * 100.0)) };
        match *self {
            Self::Success => f.write_str("success"),
            Self::Time(timed, q) => write!(f, "{} {}", timed.name(), quantile(q)),
            Self::Rate => f.write_str("rate"),
            Self::Goodput => f.write_str("goodput"),
            Self::Speed(q) => write!(f, "speed {}", quantile(q)),
        }
    }
}

/// The form in which it is written; parses back to the same objective.
impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (metric, bound) = (self.metric, self.bound);
        match metric {
            Metric::Success => write!(f, "{metric} >= {}%", tidy(bound * 100.0)),
            Metric::Time(..) => write!(f, "{metric} <= {}", format_span(Duration::from_nanos(bound as u64))),
            Metric::Rate => write!(f, "{metric} >= {bound}"),
            Metric::Goodput | Metric::Speed(_) => write!(f, "{metric} >= {}/s", ByteSize(bound as u64)),
        }
    }
}

/// Without the digits that a division by 100 and back leaves.
fn tidy(percent: f64) -> f64 {
    (percent * 1e9).round() / 1e9
}

impl Serialize for Objective {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The text; or `{"success_at_least": 0.99}`, as runs were saved when there was only this one.
impl<'de> Deserialize<'de> for Objective {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Saved {
            Text(#[serde(deserialize_with = "crate::bounded::text::<_, 256>")] String),
            Share { success_at_least: f64 },
        }
        match Saved::deserialize(deserializer)? {
            Saved::Text(text) => text.parse().map_err(D::Error::custom),
            Saved::Share { success_at_least: share } if (0.0..=1.0).contains(&share) => {
                Ok(Self::success_at_least(share))
            }
            Saved::Share { success_at_least: share } => Err(D::Error::custom(format!("{share} is no share of 1"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::OpKind;

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
    fn unfinished_ones_break_a_bound_that_they_have_passed() {
        let mut summary = Summary::default();
        summary.all.response.record(1_000_000);
        (summary.all.ok, summary.all.unfinished) = (1, 9);
        (0..9).for_each(|_| summary.all.unfinished_wait.record(50_000_000));
        assert_eq!(judged("response p99 <= 10ms", &summary), Judgement::Broken);
        assert_eq!(judged("response p99 <= 60ms", &summary), Judgement::NotJudged);
    }
}
