//! What a run among others came to, in the few figures that fit a row.

use crate::escape::escape;
use crate::percentile::{self, Percentile};
use crate::result;
use measure::Objective;
use measure::objective::{Judged, Judgement};
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
    /// 99th percentile of it; null where too few operations ended to tell.
    pub response_p99_nanos: Option<u64>,
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
    /// Whether it was met.
    pub met: bool,
}

impl From<&Judged> for Held {
    fn from(judged: &Judged) -> Self {
        Self { objective: judged.objective, value: judged.value, met: judged.judgement == Judgement::Met }
    }
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
        let enough = |q| match percentile::of(&summary.all.response, q) {
            Percentile::Value(nanos) => Some(nanos),
            _ => None,
        };
        Self {
            ok_per_second: summary.ok_rate(),
            goodput: summary.goodput().filter(|received| *received > 0.0).or(summary.good_sending()),
            success: summary.success(),
            response_p50_nanos: summary.all.response.quantile(0.5),
            response_p99_nanos: enough(0.99),
            broke: decided.or_else(|| result::first_missed(&result)),
            objectives: result.objectives.iter().map(Held::from).collect(),
            limited_by: summary.limited_by(&run.begin.model).to_string(),
            directory: directory.to_owned(),
        }
    }
}
