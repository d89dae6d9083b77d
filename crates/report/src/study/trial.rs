//! A trial of a study, which is one run of a cell on a target.

use super::place::Placed;
use super::subtracted_metrics::TrialValues;
use crate::json::Fleet;
use crate::notes;
use crate::percentile;
use crate::result::{self, ResultName};
use crate::run_metrics::RunMetrics;
use crate::text::failures;
use measure::objective::Timed;
use measure::{AttemptClass, ExitStatus, ResultWord};
use schemars::JsonSchema;
use serde::Serialize;
use store::SavedRun;

/// A trial that measured one load.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Trial {
    /// Name of its cell.
    pub cell: String,
    /// Name of its target.
    pub target: String,
    /// Number of the repeat, among the trials of this cell on this target, from 1.
    pub repeat: u32,
    /// 95th percentile of the time to first byte of successes.
    pub ttfb_p95_nanos: Option<u64>,
    /// Lower end of the range that contains the 95th percentile. The lower end equals the percentile if client stalls
    /// made no difference.
    pub ttfb_p95_low_nanos: Option<u64>,
    /// Metrics of the trial's run.
    #[serde(flatten)]
    pub metrics: RunMetrics,
    /// Result of the run.
    #[serde(with = "ResultName")]
    pub result: ResultWord,
    /// Exit status of the result.
    #[serde(skip)]
    #[schemars(skip)]
    pub exit: ExitStatus,
    /// Number of attempts in the measured window.
    pub attempts: u64,
    /// Number of attempts that failed, by class.
    pub failures: Vec<FailedAttempts>,
    /// Notes that a reader needs to interpret the numbers.
    pub notes: Vec<String>,
    /// The agents, if several hosts made the run; null for other trials.
    pub fleet: Option<Fleet>,
    /// Values for computing differences between cells.
    #[serde(skip)]
    #[schemars(skip)]
    pub values: TrialValues,
}

/// The failed attempts of one class.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FailedAttempts {
    /// The class.
    #[schemars(with = "String")]
    pub class: AttemptClass,
    /// Number of attempts.
    pub attempts: u64,
}

impl Placed for Trial {
    fn place(&self) -> (&str, &str, u32) {
        (&self.cell, &self.target, self.repeat)
    }
}

impl Trial {
    /// Returns the trial of a saved run.
    #[must_use]
    pub fn of((cell, target, repeat): (&str, &str, u32), directory: &str, run: &SavedRun) -> Self {
        let tally = &run.summary().stats.measured;
        let failed = |(class, attempts): (AttemptClass, u64)| FailedAttempts { class, attempts };
        let result = result::of(run);
        let all = &run.summary().all;
        let ttfb_p95 = all.ttfb.quantile(0.95);
        Self {
            cell: cell.to_owned(),
            target: target.to_owned(),
            repeat,
            ttfb_p95_nanos: ttfb_p95,
            ttfb_p95_low_nanos: percentile::ends(all, Timed::Ttfb, 0.95).map(|(low, _)| low).or(ttfb_p95),
            metrics: RunMetrics::of(directory, run),
            result: result.word,
            exit: result.exit,
            attempts: tally.attempts,
            failures: failures::failed(&tally.classes).map(failed).collect(),
            notes: notes::of(run).iter().map(ToString::to_string).collect(),
            fleet: Fleet::of(run),
            values: TrialValues::of(run),
        }
    }

    /// Returns whether any of the trial's times is a range.
    pub(super) fn has_ranges(&self) -> bool {
        let metrics = &self.metrics;
        self.ttfb_p95_low_nanos < self.ttfb_p95_nanos || metrics.p50_is_range() || metrics.p99_is_range()
    }

    /// Returns the throughput for comparing targets. This is the goodput, or the number of operations per second if the
    /// objects have no bodies. Returns 0 if nothing succeeded.
    pub(super) fn throughput(&self) -> Option<f64> {
        self.metrics.goodput_bytes_per_second.filter(|goodput| *goodput > 0.0).or(self.metrics.ok_per_second)
    }
}
