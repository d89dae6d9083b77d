//! A comparison of two sets of runs as JSON.

use super::report::FORMAT;
use crate::compare::{
    ComparedRun, Comparison, ConclusionName, Row, SEED, Scope, Sides, cut_off, finite, is_usable, nothing_succeeded,
};
use crate::text::{comparison_notes, noise_floor};
use measure::Enumerated;
use measure::statistics::CONFIDENCE;
use measure::statistics::difference::Conclusion;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A comparison of two sets of runs, metric by metric.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct JsonComparison {
    /// Version of this format. The version is the same as the version of the report format.
    pub format: u32,
    /// Conclusion over all metrics together. The conclusion is "worse" if any metric is worse. The conclusion is
    /// "better" if any metric is better, none is worse, and success has not dropped. The conclusion is "equivalent" if
    /// all metrics are equivalent.
    #[serde(with = "ConclusionName")]
    pub conclusion: Conclusion,
    /// Unit of observation: a second of a run, a run, or a pair of runs.
    pub scope: ScopeName,
    /// `true` if the two sets are halves of the runs of one target. The difference between the halves shows the noise.
    pub halves: bool,
    /// Largest difference that does not matter, as a fraction (0.02 means 2 %).
    pub margin_share: f64,
    /// Confidence of the intervals, as a fraction (0.95 means 95 %).
    pub confidence_share: f64,
    /// Seed of the bootstrap's random choices.
    pub seed: u64,
    /// Directories of the base runs, escaped.
    pub base: Vec<String>,
    /// Directories of the new runs, escaped.
    pub new: Vec<String>,
    /// Runs of either side in which nothing succeeded.
    pub without_success: Vec<String>,
    /// Runs of either side that ended early.
    pub cut_off: Vec<String>,
    /// Runs of either side that were compared although their result is UNUSABLE.
    pub unusable: Vec<String>,
    /// Differences between the runs, other than their targets. Empty unless the user allowed differences.
    pub differences: Vec<String>,
    /// Metrics that both sets have.
    pub metrics: Vec<MetricComparison>,
    /// Notes that a reader needs to interpret the metrics.
    pub notes: Vec<String>,
}

/// One metric of both sets of runs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MetricComparison {
    /// Name: `success`, `rate`, `goodput`, `goodput_sent`, `response_p50`, `response_p90`, `response_p99`,
    /// `response_p99_9` or `cpu_per_op`. Rates are per second, times are in nanoseconds, and success is a share.
    pub metric: String,
    /// Median over the base runs; for success, the share over all operations. Null if no run has the metric, or if
    /// failures make the median infinite.
    pub base: Option<f64>,
    /// Median over the new runs, computed like `base`.
    pub new: Option<f64>,
    /// Number of base runs in which the operation at the percentile failed. Such runs count as slower than all other
    /// runs.
    pub base_failed_runs: u64,
    /// Number of new runs in which the operation at the percentile failed.
    pub new_failed_runs: u64,
    /// Change from base to new: new / base − 1, or new − base for success. Null if the change cannot be computed, or if
    /// failures make it infinite.
    pub change_share: Option<f64>,
    /// Lower end of the 95 % interval of the change; null if there is no interval, or if the end is infinite.
    pub low_share: Option<f64>,
    /// Upper end of the 95 % interval of the change; null if there is no interval, or if the end is infinite.
    pub high_share: Option<f64>,
    /// p-value after Holm's correction; null if nothing was tested.
    pub p_value: Option<f64>,
    /// Margin that applies to this metric.
    pub margin_share: f64,
    /// Largest absolute change inside the interval, if the two sets are halves of the same runs. Otherwise null.
    pub noise_floor_share: Option<f64>,
    /// Conclusion for this metric.
    #[serde(with = "ConclusionName")]
    pub conclusion: Conclusion,
}

/// The unit of observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScopeName {
    /// A second of a run, if each side has one run. The conclusion holds within these runs only.
    WithinRuns,
    /// A run, if a side has several runs.
    AcrossRuns,
    /// A pair of runs that were made one after the other.
    AcrossPairs,
}

/// Returns the comparison as a document.
#[must_use]
pub fn json_comparison(comparison: &Comparison<'_>) -> JsonComparison {
    let names = |runs: &[ComparedRun]| runs.iter().map(|run| run.name.clone()).collect();
    JsonComparison {
        format: FORMAT,
        conclusion: comparison.conclusion(),
        scope: match comparison.scope {
            Scope::WithinRuns => ScopeName::WithinRuns,
            Scope::AcrossRuns => ScopeName::AcrossRuns,
            Scope::AcrossPairs => ScopeName::AcrossPairs,
        },
        halves: comparison.sides == Sides::Halves,
        margin_share: comparison.margin,
        confidence_share: CONFIDENCE,
        seed: SEED,
        base: names(comparison.base),
        new: names(comparison.new),
        without_success: runs_that(comparison, |run| nothing_succeeded(&run.run)),
        cut_off: runs_that(comparison, |run| cut_off(&run.run).is_some()),
        unusable: runs_that(comparison, |run| is_usable(&run.run).is_err()),
        differences: comparison.differences.clone(),
        metrics: comparison.rows.iter().map(|row| metric(row, comparison.sides)).collect(),
        notes: comparison_notes(comparison),
    }
}

/// Returns the names of all runs on both sides for which `matches` is true.
fn runs_that(comparison: &Comparison<'_>, matches: impl Fn(&ComparedRun) -> bool) -> Vec<String> {
    let runs = comparison.base.iter().chain(comparison.new);
    runs.filter(|run| matches(run)).map(|run| run.name.clone()).collect()
}

fn metric(row: &Row, sides: Sides) -> MetricComparison {
    let interval = row.difference.and_then(|difference| difference.interval);
    MetricComparison {
        metric: row.metric.name().to_owned(),
        base: finite(row.base),
        new: finite(row.new),
        base_failed_runs: row.failed[0],
        new_failed_runs: row.failed[1],
        change_share: finite(row.difference.map(|difference| difference.change)),
        low_share: finite(interval.map(|(low, _)| low)),
        high_share: finite(interval.map(|(_, high)| high)),
        p_value: row.p,
        margin_share: row.margin,
        noise_floor_share: if sides == Sides::Halves { finite(noise_floor(row)) } else { None },
        conclusion: row.conclusion,
    }
}

/// Returns the JSON Schema of [`JsonComparison`].
#[must_use]
pub fn comparison_schema() -> serde_json::Value {
    schemars::schema_for!(JsonComparison).to_value()
}
