//! What a run among others came to, in the few figures that fit a row.

use crate::escape::escape;
use crate::percentile;
use crate::result;
use measure::limits;
use measure::objective::{Judged, Judgement, Metric, Timed};
use measure::{KindStats, Objective, Summary};
use schemars::JsonSchema;
use serde::Serialize;
use store::{EndReason, SavedRun};

/// The figures of one run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Measured {
    /// Operations per second that ended well.
    pub ok_per_second: Option<f64>,
    /// Goodput, in bytes per second; of what was sent, where nothing was received.
    pub goodput: Option<f64>,
    /// Share of operations that ended well, in 0..=1.
    pub success: Option<f64>,
    /// Median response time of successes, in nanoseconds.
    pub response_p50_nanos: Option<u64>,
    /// Lower end of the range of the median; the same as the median where client stalls made no difference.
    pub response_p50_low_nanos: Option<u64>,
    /// 99th percentile of it; null where too few operations ended to tell.
    pub response_p99_nanos: Option<u64>,
    /// Lower end of its range, as of the median.
    pub response_p99_low_nanos: Option<u64>,
    /// What it was held to.
    pub objectives: Vec<Held>,
    /// The objective that was seen first not to be met.
    pub broke: Option<String>,
    /// What set the limit, in words.
    pub limited_by: String,
    /// Name of the run's directory.
    pub directory: String,
}

/// An objective, and what the run came to.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Held {
    /// The objective as it is written.
    #[schemars(with = "String")]
    pub objective: Objective,
    /// The figure that it bounds: a share of 1, nanoseconds, operations per second or bytes per second; null where it lies
    /// among operations that failed or never ended.
    pub value: Option<f64>,
    /// Lower end of the range of a percentile of a time, in nanoseconds; the same as the value where client stalls made no
    /// difference, and for anything else.
    pub low: Option<f64>,
    /// Whether it was met.
    pub met: bool,
}

impl Held {
    /// The result of one objective of a run.
    fn of(judged: &Judged, summary: &Summary) -> Self {
        let objective = judged.objective;
        let low = match objective.metric() {
            Metric::Time(timed, q) => lower_end(judged, summary, timed, q),
            Metric::Success | Metric::Rate | Metric::Goodput | Metric::Speed(_) => judged.value,
        };
        Self { objective, value: judged.value, low, met: judged.judgement == Judgement::Met }
    }

    /// Whether its value is a range.
    pub(crate) fn is_range(&self) -> bool {
        self.low < self.value
    }
}

/// The lower end of the range of an objective's percentile. That is of all operations, failed ones last, so among the successes it
/// has the same rank, and another quantile.
fn lower_end(judged: &Judged, summary: &Summary, timed: Timed, q: f64) -> Option<f64> {
    let value = judged.value?;
    let of_kind = |kind| summary.stats.kinds.iter().find(|(known, _)| *known == kind).map(|(_, stats)| stats);
    let stats = judged.objective.kind().map_or(Some(&summary.all), of_kind);
    let low = |stats: &KindStats| {
        let successes = stats.timed(timed).0.count().max(1);
        let q = (q * judged.operations as f64 / successes as f64).min(1.0);
        percentile::ends(stats, timed, q).map(|(low, _)| low as f64)
    };
    Some(stats.and_then(low).map_or(value, |low| low.min(value)))
}

impl Measured {
    /// What a saved run says.
    #[must_use]
    pub fn of(directory: &str, run: &SavedRun) -> Self {
        let summary = run.summary();
        let decided = match run.end.as_ref().map(|end| &end.reason) {
            Some(EndReason::Decided { broke }) => broke.as_deref().map(escape),
            Some(EndReason::Aborted { condition }) => Some(escape(condition)),
            _ => None,
        };
        let result = result::of(run);
        let response = |q| percentile::ends(&summary.all, Timed::Response, q);
        let median = summary.all.response.quantile(0.5);
        Self {
            ok_per_second: summary.ok_rate(),
            goodput: summary.goodput().filter(|received| *received > 0.0).or(summary.good_sending()),
            success: summary.success(),
            response_p50_nanos: median,
            response_p50_low_nanos: response(0.5).map(|(low, _)| low).or(median),
            response_p99_nanos: response(0.99).map(|(_, high)| high),
            response_p99_low_nanos: response(0.99).map(|(low, _)| low),
            broke: decided.or_else(|| result::first_missed(&result)),
            objectives: result.objectives.iter().map(|judged| Held::of(judged, summary)).collect(),
            limited_by: limits::limited_by(summary, &run.begin.model).to_string(),
            directory: directory.to_owned(),
        }
    }

    /// The median response time as people read it.
    pub(crate) fn p50(&self) -> String {
        shown(self.response_p50_low_nanos, self.response_p50_nanos)
    }

    /// The 99th percentile of it as people read it.
    pub(crate) fn p99(&self) -> String {
        shown(self.response_p99_low_nanos, self.response_p99_nanos)
    }

    /// Whether the median is a range.
    pub(crate) fn p50_is_range(&self) -> bool {
        self.response_p50_low_nanos < self.response_p50_nanos
    }

    /// Whether the 99th percentile is a range.
    pub(crate) fn p99_is_range(&self) -> bool {
        self.response_p99_low_nanos < self.response_p99_nanos
    }
}

/// A time with its range; a dash where there is none.
pub(crate) fn shown(low: Option<u64>, nanos: Option<u64>) -> String {
    let low = low.map(|low| low as f64);
    nanos.map_or_else(|| "–".to_owned(), |nanos| percentile::between(low, nanos as f64))
}
