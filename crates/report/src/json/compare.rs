//! Two sets of runs in one document.

use super::FORMAT;
use crate::compare::{ComparedRun, Comparison, Row, SEED, Scope, Sides, cut_off, is_dead, is_usable};
use crate::text::{comparison_notes, noise_floor};
use measure::Enumerated;
use measure::statistics::CONFIDENCE;
use measure::statistics::difference::Conclusion;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Two sets of runs, figure by figure.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct JsonComparison {
    /// Version of this format, the same as that of a report.
    pub format: u32,
    /// The conclusion of all figures together: worse when any is, better when any is, none worse, and success has not dropped,
    /// equivalent when all are.
    #[serde(with = "ConclusionWord")]
    pub conclusion: Conclusion,
    /// Whether one run a side was compared, second by second, or several, each as one observation, or pairs of runs.
    pub scope: ScopeWord,
    /// Whether the sets are two halves of the runs of one target, which show the noise.
    pub halves: bool,
    /// Differences up to this share do not matter.
    pub margin_share: f64,
    /// How often an interval holds the true value.
    pub confidence_share: f64,
    /// Seed of what was drawn again.
    pub seed: u64,
    /// Directories of the base, escaped.
    pub base: Vec<String>,
    /// Directories of the new runs, escaped.
    pub new: Vec<String>,
    /// Those of both in which nothing succeeded.
    pub dead: Vec<String>,
    /// Those of both that were cut off.
    pub cut_off: Vec<String>,
    /// Those of both whose result is UNUSABLE, compared because that was asked for.
    pub unusable: Vec<String>,
    /// What the runs differ by though they should not, compared because that was asked for.
    pub unlike: Vec<String>,
    /// The metrics that the runs have.
    pub figures: Vec<ComparedFigure>,
    /// What must be known beside them.
    pub notes: Vec<String>,
}

/// One metric of both sets.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ComparedFigure {
    /// Its name: `success`, `rate`, `goodput`, `goodput_sent`, `response_p50`, `response_p90`, `response_p99`, `response_p99_9` or
    /// `cpu_per_op`. Rates are per second, times in nanoseconds, success a share.
    pub figure: String,
    /// Median over the runs of the base, of success the share of all operations; null when no run has it, and for a time that
    /// lies among failed operations.
    pub base: Option<f64>,
    /// The same of the new runs.
    pub new: Option<f64>,
    /// Runs of the base whose time lies among failed operations; they count as slower than any other.
    pub base_failed_runs: u64,
    /// The same of the new runs.
    pub new_failed_runs: u64,
    /// new / base − 1, of success new − base; null where it cannot be computed, and where it is infinite because of failures.
    pub change_share: Option<f64>,
    /// Lower end of its interval; null without one, and where it is infinite.
    pub low_share: Option<f64>,
    /// Upper end of its interval; null without one, and where it is infinite.
    pub high_share: Option<f64>,
    /// p-value after Holm's correction; null where nothing was tested.
    pub p: Option<f64>,
    /// The margin of this figure.
    pub margin_share: f64,
    /// The largest change that the interval leaves possible, of two halves; else null.
    pub noise_floor_share: Option<f64>,
    /// What it comes to.
    #[serde(with = "ConclusionWord")]
    pub conclusion: Conclusion,
}

/// What a comparison comes to. The words of [`Conclusion`] in this format; the compiler keeps the two alike.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Conclusion", rename_all = "snake_case")]
pub enum ConclusionWord {
    /// Worse, by more than chance and margin.
    Worse,
    /// Better, by more than chance and margin.
    Better,
    /// Any difference lies within the margin.
    Equivalent,
    /// These runs do not show it.
    Inconclusive,
}

/// What was compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScopeWord {
    /// One run a side: what is said holds within these runs only.
    WithinRuns,
    /// Several runs, each of which counts once.
    AcrossRuns,
    /// Pairs of runs made in turn, each of which counts once.
    AcrossPairs,
}

/// The comparison as a document.
#[must_use]
pub fn json_comparison(comparison: &Comparison<'_>) -> JsonComparison {
    let names = |runs: &[ComparedRun]| runs.iter().map(|run| run.name.clone()).collect();
    JsonComparison {
        format: FORMAT,
        conclusion: comparison.conclusion(),
        scope: match comparison.scope {
            Scope::WithinRuns => ScopeWord::WithinRuns,
            Scope::AcrossRuns => ScopeWord::AcrossRuns,
            Scope::AcrossPairs => ScopeWord::AcrossPairs,
        },
        halves: comparison.sides == Sides::Halves,
        margin_share: comparison.margin,
        confidence_share: CONFIDENCE,
        seed: SEED,
        base: names(comparison.base),
        new: names(comparison.new),
        dead: those(comparison, |run| is_dead(&run.run)),
        cut_off: those(comparison, |run| cut_off(&run.run).is_some()),
        unusable: those(comparison, |run| is_usable(&run.run).is_err()),
        unlike: comparison.unlike.clone(),
        figures: comparison.rows.iter().map(|row| figure(row, comparison.sides)).collect(),
        notes: comparison_notes(comparison),
    }
}

/// Names of the runs of both sides that are so.
fn those(comparison: &Comparison<'_>, are: impl Fn(&ComparedRun) -> bool) -> Vec<String> {
    let runs = comparison.base.iter().chain(comparison.new);
    runs.filter(|run| are(run)).map(|run| run.name.clone()).collect()
}

/// A number as JSON can hold it.
pub(crate) fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}

fn figure(row: &Row, sides: Sides) -> ComparedFigure {
    let interval = row.difference.and_then(|difference| difference.interval);
    ComparedFigure {
        figure: row.figure.name().to_owned(),
        base: finite(row.base),
        new: finite(row.new),
        base_failed_runs: row.failed[0],
        new_failed_runs: row.failed[1],
        change_share: finite(row.difference.map(|difference| difference.change)),
        low_share: finite(interval.map(|(low, _)| low)),
        high_share: finite(interval.map(|(_, high)| high)),
        p: row.p,
        margin_share: row.margin,
        noise_floor_share: if sides == Sides::Halves { finite(noise_floor(row)) } else { None },
        conclusion: row.conclusion,
    }
}

/// The JSON Schema of [`JsonComparison`].
#[must_use]
pub fn comparison_schema() -> serde_json::Value {
    schemars::schema_for!(JsonComparison).to_value()
}
