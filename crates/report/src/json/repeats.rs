//! Several runs of the same load in one document.

use super::{FORMAT, JsonReport, ResultOfRun, json};
use crate::joint;
use crate::repeated::{FIGURES, median, spread};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::SavedRun;

/// Runs of the same load: each of them, and what they differ by.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct JsonRepeats {
    /// Version of this format, the same as that of each run.
    pub format: u32,
    /// The result of all runs together: that of the worst.
    pub result: ResultOfRun,
    /// The runs, in the order in which they were made.
    pub runs: Vec<JsonReport>,
    /// Their figures together. Each run counts once; nothing is said of the operations of all of them together.
    pub repeats: RepeatedFigures,
}

/// What the runs are compared by.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RepeatedFigures {
    /// Operations that ended well per second.
    pub ok_per_second: RepeatedFigure,
    /// Goodput in bytes per second.
    pub goodput_bytes_per_second: RepeatedFigure,
    /// Median response time of operations that ended well, in nanoseconds.
    pub response_p50_nanos: RepeatedFigure,
    /// p99 of the same.
    pub response_p99_nanos: RepeatedFigure,
}

/// One figure of all runs.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RepeatedFigure {
    /// Median of the runs that have it; null when none has.
    pub median: Option<f64>,
    /// Median of the lower ends of the ranges of a time; the same as `median` where client stalls made no difference, and for
    /// anything else.
    pub median_low: Option<f64>,
    /// (largest − smallest) / median, as a share of 1; null without a median above 0.
    pub spread_share: Option<f64>,
}

/// The runs in one document.
#[must_use]
pub fn json_repeats(runs: &[SavedRun]) -> JsonRepeats {
    let [ok_per_second, goodput_bytes_per_second, response_p50_nanos, response_p99_nanos] = FIGURES.map(|figure| {
        let values: Vec<f64> = runs.iter().filter_map(figure.of).collect();
        let lows = runs.iter().filter_map(figure.low).collect();
        RepeatedFigure { median: median(values.clone()), median_low: median(lows), spread_share: spread(values) }
    });
    let repeats = RepeatedFigures { ok_per_second, goodput_bytes_per_second, response_p50_nanos, response_p99_nanos };
    let result = joint::of_repeats(runs);
    JsonRepeats { format: FORMAT, result, runs: runs.iter().map(json).collect(), repeats }
}

/// The JSON Schema of [`JsonRepeats`].
#[must_use]
pub fn repeats_schema() -> serde_json::Value {
    schemars::schema_for!(JsonRepeats).to_value()
}
