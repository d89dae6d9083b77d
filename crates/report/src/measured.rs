//! What a run among others came to, in the few figures that fit a row.

use crate::escape::escape;
use measure::objective::Judgement;
use schemars::JsonSchema;
use serde::Serialize;
use store::{EndReason, SavedRun};

/// The figures of one run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Measured {
    /// Operations per second that ended well.
    pub ok_per_second: Option<f64>,
    /// Goodput, in bytes per second.
    pub goodput: Option<f64>,
    /// Share of operations that ended well, in 0..=1.
    pub success: Option<f64>,
    /// Median response time of successes, in nanoseconds.
    pub response_p50_nanos: Option<u64>,
    /// 99th percentile of it.
    pub response_p99_nanos: Option<u64>,
    /// The objective that was seen first not to be met.
    pub broke: Option<String>,
    /// What set the limit, in words.
    pub limited_by: String,
    /// Name of the run's directory.
    pub directory: String,
}

impl Measured {
    /// What a saved run says.
    #[must_use]
    pub fn of(directory: &str, run: &SavedRun) -> Self {
        let summary = run.summary();
        let decided = match run.end.as_ref().map(|end| &end.reason) {
            Some(EndReason::Decided { broke }) => broke.as_deref().map(escape),
            _ => None,
        };
        let broken = || run.begin.objectives.iter().find(|objective| objective.judge(summary) != Judgement::Met);
        Self {
            ok_per_second: summary.ok_rate(),
            goodput: summary.goodput(),
            success: summary.success(),
            response_p50_nanos: summary.all.response.quantile(0.5),
            response_p99_nanos: summary.all.response.quantile(0.99),
            broke: decided.or_else(|| broken().map(ToString::to_string)),
            limited_by: summary.limited_by(&run.begin.model).to_string(),
            directory: directory.to_owned(),
        }
    }
}
