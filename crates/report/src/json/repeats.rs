//! Several runs of the same load as JSON.

use super::report::{FORMAT, JsonReport, json};
use crate::compared_metrics::{COMPARED_METRICS, median, spread};
use crate::result::{ResultRecord, joint};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::SavedRun;

/// Runs of the same load, and the spread of their metrics.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct JsonRepeats {
    /// Version of this format. The version is the same as the version of each run's format.
    pub format: u32,
    /// Joint result of all runs, which is the worst of their results.
    pub result: ResultRecord,
    /// The runs in the order in which they were made.
    pub runs: Vec<JsonReport>,
    /// Metrics over all runs. Each run counts once, and operations of different runs are never merged.
    pub repeats: RepeatedMetrics,
}

/// The metrics by which the runs are compared.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RepeatedMetrics {
    /// Successful operations per second.
    pub ok_per_second: RepeatedMetric,
    /// Goodput in bytes per second.
    pub goodput_bytes_per_second: RepeatedMetric,
    /// Median response time of successes.
    pub response_p50_nanos: RepeatedMetric,
    /// p99 of the response time of successes.
    pub response_p99_nanos: RepeatedMetric,
}

/// A metric over all runs.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RepeatedMetric {
    /// Median over the runs that have the metric; null if no run has it.
    pub median: Option<f64>,
    /// Median of the lower ends of the metric's ranges. Equal to `median` if the metric has no ranges, or if client
    /// stalls made no difference.
    pub median_low: Option<f64>,
    /// (largest − smallest) / median, as a fraction (0.02 means 2 %); null unless the median is above 0.
    pub spread_share: Option<f64>,
}

/// Returns the runs in one document.
#[must_use]
pub fn json_repeats(runs: &[SavedRun]) -> JsonRepeats {
    let [ok_per_second, goodput_bytes_per_second, response_p50_nanos, response_p99_nanos] =
        COMPARED_METRICS.map(|metric| {
            let values: Vec<f64> = runs.iter().filter_map(metric.of).collect();
            let lows = runs.iter().filter_map(metric.low).collect();
            RepeatedMetric { median: median(values.clone()), median_low: median(lows), spread_share: spread(values) }
        });
    let repeats = RepeatedMetrics { ok_per_second, goodput_bytes_per_second, response_p50_nanos, response_p99_nanos };
    let result = joint::of_repeats(runs);
    JsonRepeats { format: FORMAT, result, runs: runs.iter().map(json).collect(), repeats }
}

/// Returns the JSON Schema of [`JsonRepeats`].
#[must_use]
pub fn repeats_schema() -> serde_json::Value {
    schemars::schema_for!(JsonRepeats).to_value()
}
