//! The main metrics of a run, few enough for one row in a table of runs.

use crate::escape::escape;
use crate::pace;
use crate::percentile;
use crate::result;
use measure::limits;
use measure::objective::{Metric, ObjectiveOutcome, ObjectiveResult, Timed};
use measure::{KindStats, Objective, Summary};
use schemars::JsonSchema;
use serde::Serialize;
use store::{EndReason, SavedRun};

/// Metrics of one run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunMetrics {
    /// Successful operations per second.
    pub ok_per_second: Option<f64>,
    /// Goodput of the bytes received, or of the bytes sent if nothing was received.
    pub goodput_bytes_per_second: Option<f64>,
    /// Share of operations that succeeded, from 0 to 1.
    pub success_share: Option<f64>,
    /// Median response time of successes.
    pub response_p50_nanos: Option<u64>,
    /// Lower end of the range that contains the median. The lower end equals the median if client stalls made no
    /// difference.
    pub response_p50_low_nanos: Option<u64>,
    /// 99th percentile of the response time of successes; null if too few operations ended.
    pub response_p99_nanos: Option<u64>,
    /// Lower end of the range that contains the 99th percentile. The lower end equals the percentile if client stalls
    /// made no difference.
    pub response_p99_low_nanos: Option<u64>,
    /// Objectives of the run, with their measured values.
    pub objectives: Vec<MeasuredObjective>,
    /// First objective missed, or another reason why the run did not pass.
    pub first_missed: Option<String>,
    /// Limit of the run, as text.
    pub limited_by: String,
    /// Part that set the pace of the transfers (network, server or client), and the reason, as text; null if there is
    /// no network between client and target, or if too few operations ended.
    pub pace_set_by: Option<String>,
    /// Name of the run's directory.
    pub directory: String,
}

/// An objective, with its measured value.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MeasuredObjective {
    /// Objective, as written.
    #[schemars(with = "String")]
    pub objective: Objective,
    /// Measured value: a fraction (0.99 means 99 %), nanoseconds, operations per second, or bytes per second. Null if
    /// the operation at the percentile failed or never ended.
    pub value: Option<f64>,
    /// Lower end of the range that contains the percentile of a time, in nanoseconds. Equal to the measured value for
    /// all other metrics, or if client stalls made no difference.
    pub low: Option<f64>,
    /// `true` if the objective was met.
    pub met: bool,
}

impl MeasuredObjective {
    fn of(judged: &ObjectiveResult, summary: &Summary) -> Self {
        let objective = judged.objective;
        let low = match objective.metric() {
            Metric::Time(timed, q) => lower_end(judged, summary, timed, q),
            Metric::Success | Metric::Rate | Metric::Goodput | Metric::Speed(_) => judged.value,
        };
        Self { objective, value: judged.value, low, met: judged.outcome == ObjectiveOutcome::Met }
    }

    /// Returns whether the value is a range.
    pub(crate) fn is_range(&self) -> bool {
        self.low < self.value
    }
}

/// Returns the lower end of the range that contains an objective's percentile. The objective counts failed operations
/// as the longest, so with failures, p99 of all operations is a higher percentile of the successes alone.
fn lower_end(judged: &ObjectiveResult, summary: &Summary, timed: Timed, q: f64) -> Option<f64> {
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

impl RunMetrics {
    /// Returns the limit of the run and who set the pace, for a table.
    #[must_use]
    pub fn limit_and_pace(&self) -> String {
        let pace = self.pace_set_by.as_ref().map(|pace| format!("; pace: {pace}")).unwrap_or_default();
        format!("{}{pace}", self.limited_by)
    }

    /// Returns the metrics of a saved run.
    #[must_use]
    pub fn of(directory: &str, run: &SavedRun) -> Self {
        let summary = run.summary();
        let stopped_for = match run.end.as_ref().map(|end| &end.reason) {
            Some(EndReason::StoppedEarly { first_missed }) => first_missed.as_deref().map(escape),
            Some(EndReason::Aborted { condition }) => Some(escape(condition)),
            _ => None,
        };
        let result = result::of(run);
        let response = |q| percentile::ends(&summary.all, Timed::Response, q);
        let median = summary.all.response.quantile(0.5);
        Self {
            ok_per_second: summary.ok_rate(),
            goodput_bytes_per_second: summary.goodput().filter(|received| *received > 0.0).or(summary.good_sending()),
            success_share: summary.success(),
            response_p50_nanos: median,
            response_p50_low_nanos: response(0.5).map(|(low, _)| low).or(median),
            response_p99_nanos: response(0.99).map(|(_, high)| high),
            response_p99_low_nanos: response(0.99).map(|(low, _)| low),
            first_missed: stopped_for.or_else(|| result::first_missed(&result)),
            objectives: result.objectives.iter().map(|judged| MeasuredObjective::of(judged, summary)).collect(),
            limited_by: limits::limited_by(summary, &run.begin.model).to_string(),
            pace_set_by: pace::short(run).map(str::to_owned),
            directory: directory.to_owned(),
        }
    }

    /// Formats the median response time for people.
    pub(crate) fn p50(&self) -> String {
        shown(self.response_p50_low_nanos, self.response_p50_nanos)
    }

    /// Formats the 99th percentile of response time for people.
    pub(crate) fn p99(&self) -> String {
        shown(self.response_p99_low_nanos, self.response_p99_nanos)
    }

    /// Returns whether the median is a range.
    pub(crate) fn p50_is_range(&self) -> bool {
        self.response_p50_low_nanos < self.response_p50_nanos
    }

    /// Returns whether the 99th percentile is a range.
    pub(crate) fn p99_is_range(&self) -> bool {
        self.response_p99_low_nanos < self.response_p99_nanos
    }
}

/// Formats a time with its range, or a dash if there is no time.
pub(crate) fn shown(low: Option<u64>, nanos: Option<u64>) -> String {
    let low = low.map(|low| low as f64);
    nanos.map_or_else(|| "–".to_owned(), |nanos| percentile::between(low, nanos as f64))
}
