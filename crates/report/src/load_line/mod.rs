//! The result of a search for the load line.

mod short;
mod table;
mod text;

pub use short::{bar, short_text};
pub(crate) use text::ESTIMATED;
pub use text::text;

use crate::escape::escape;
use crate::limit;
use crate::result::{NamedText, ResultRecord};
use crate::run_metrics::RunMetrics;
use measure::result::load_line::{Found, LoadUnit, Outcome};
use measure::{ExitStatus, ResultWord};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use store::{EndReason, SavedRun};

/// A level of the load that was run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Level {
    /// Operations in flight, or operations per second.
    #[serde(serialize_with = "whole")]
    pub level: f64,
    /// `true` if the level passed: all objectives were met, and, in a search on rate, the backlog did not grow.
    pub passed: bool,
    /// Outcome of the level.
    pub outcome: LevelOutcome,
    /// Reason why the level did not pass: the objective that was missed, or another cause in words.
    pub reason: Option<String>,
    /// `true` if the client or its host limited the level.
    pub limited_by_client: bool,
    /// Length of the level's measured window, in seconds.
    pub seconds: f64,
    /// `true` if the outcome is certain at the required confidence. Otherwise, the outcome is an estimate from the data
    /// of the level.
    pub certain: bool,
    /// Metrics of the level's run.
    #[serde(flatten)]
    pub metrics: RunMetrics,
}

/// Outcome of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LevelOutcome {
    /// The level passed.
    Passed,
    /// An objective was missed, or the backlog grew.
    Failed,
    /// The level reached its maximum duration before its outcome could be decided.
    NotDecided,
    /// The level did not pass, and the cause was the client or its host.
    ClientLimited,
}

impl LevelOutcome {
    fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Passed => Self::Passed,
            Outcome::Failed { .. } => Self::Failed,
            Outcome::NotDecided { .. } => Self::NotDecided,
            Outcome::ClientLimited { .. } => Self::ClientLimited,
        }
    }

    /// Returns the outcome as text for a table.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "FAILED",
            Self::NotDecided => "not decided",
            Self::ClientLimited => "client limited",
        }
    }
}

/// Unit of a load line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LineUnit {
    /// Operations in flight.
    Concurrency,
    /// Operations per second.
    Rate,
}

/// Outcome of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchOutcome {
    /// The load line lies between `passed` and `failed`.
    Found,
    /// No level failed.
    AtLeast,
    /// The lowest level failed.
    NonePassed,
    /// No level passed, and the lowest level above the load line was not decided.
    NotDecided,
    /// Levels passed at first, but failed when they were run again.
    Unsteady,
    /// After a failed level, the target did not return to its earlier speed.
    NotRecovered,
    /// After a failed level, the target stopped serving.
    TargetGone,
    /// The user ended the search.
    Interrupted,
    /// The search is still running, or was killed.
    Unfinished,
}

impl SearchOutcome {
    /// Returns the name used in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::AtLeast => "at_least",
            Self::NonePassed => "none_passed",
            Self::NotDecided => "not_decided",
            Self::Unsteady => "unsteady",
            Self::NotRecovered => "not_recovered",
            Self::TargetGone => "target_gone",
            Self::Interrupted => "interrupted",
            Self::Unfinished => "unfinished",
        }
    }

    /// Returns the result of a search with this outcome.
    fn result(self, limited_by_client: bool) -> ResultWord {
        match self {
            // If every level passed, the limit of the highest level does not matter.
            Self::AtLeast => ResultWord::Pass,
            Self::Interrupted | Self::Unfinished => ResultWord::Partial,
            Self::NotDecided => ResultWord::Unusable,
            _ if limited_by_client => ResultWord::Unusable,
            Self::Found => ResultWord::Pass,
            Self::NonePassed | Self::Unsteady | Self::NotRecovered | Self::TargetGone => ResultWord::Fail,
        }
    }
}

/// A search for the load line.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LoadLine {
    /// Result of the search.
    pub result: ResultRecord,
    /// Unit of the levels and of the load line.
    pub unit: LineUnit,
    /// The target, without secrets.
    pub target: String,
    /// Objectives that every level had to meet.
    pub objectives: Vec<String>,
    /// Outcome of the search.
    pub outcome: SearchOutcome,
    /// Highest level that passed both in the search and when repeated at its end.
    #[serde(serialize_with = "whole_or_none")]
    pub passed: Option<f64>,
    /// Lowest level above `passed` that failed.
    #[serde(serialize_with = "whole_or_none")]
    pub failed: Option<f64>,
    /// First objective missed at the level `failed`, or another cause in words.
    pub first_missed: Option<String>,
    /// `true` if the client or its host limited the highest level. The target may then sustain more.
    pub limited_by_client: bool,
    /// All levels in the order in which they were run.
    pub levels: Vec<Level>,
    /// Exit status of the program.
    #[serde(skip)]
    pub exit: ExitStatus,
}

/// Converts a level from steps, in which the search counts, to operations in flight or operations per second. `steps`
/// is the number of steps per unit.
#[must_use]
pub fn load(level: u64, steps: u64) -> f64 {
    level as f64 / steps.max(1) as f64
}

/// Returns whether a level was not decided when it was last run.
fn is_undecided(levels: &[Level], load: f64) -> bool {
    let last = levels.iter().rev().find(|level| level.level == load);
    last.is_some_and(|level| level.outcome == LevelOutcome::NotDecided)
}

/// Serializes whole numbers without a decimal point.
fn whole<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if value.fract() == 0.0 { serializer.serialize_u64(*value as u64) } else { serializer.serialize_f64(*value) }
}

fn whole_or_none<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => whole(value, serializer),
        None => serializer.serialize_none(),
    }
}

impl Level {
    /// Returns the level of a saved run. If `outcome` is `None`, the outcome follows from the objectives.
    #[must_use]
    pub fn of(level: f64, directory: &str, run: &SavedRun, outcome: Option<Outcome>, certain: bool) -> Self {
        let metrics = RunMetrics { limited_by: limit::of_level(run), ..RunMetrics::of(directory, run) };
        let outcome = outcome.unwrap_or_else(|| match &metrics.first_missed {
            None => Outcome::Passed,
            Some(missed) => Outcome::Failed { why: missed.clone() },
        });
        let limited_by_client = match outcome {
            Outcome::Passed => limit::limiting_client(run).is_some(),
            Outcome::ClientLimited { .. } => true,
            Outcome::Failed { .. } | Outcome::NotDecided { .. } => false,
        };
        // If a level stopped early because an objective was missed, its failure is certain.
        let stopped =
            matches!(run.end.as_ref().map(|end| &end.reason), Some(EndReason::StoppedEarly { first_missed: Some(_) }));
        Self {
            level,
            passed: outcome.is_passed(),
            outcome: LevelOutcome::of(&outcome),
            reason: outcome.why().map(escape),
            limited_by_client,
            seconds: run.summary().measured.seconds,
            certain: certain || stopped,
            metrics,
        }
    }
}

impl LoadLine {
    /// Returns the load line of a search. `found` is the result of the search, with levels in steps, or `None` if the
    /// search is still running or was killed. `steps` is the number of steps per unit.
    #[must_use]
    pub fn of(
        (unit, steps): (LoadUnit, u64),
        begin: Option<&store::Begin>,
        found: Option<Found>,
        levels: Vec<Level>,
    ) -> Self {
        let (outcome, passed, failed) = match found {
            Some(Found::Line { passed, failed }) => (SearchOutcome::Found, Some(passed), Some(failed)),
            Some(Found::AtLeast { passed }) => (SearchOutcome::AtLeast, Some(passed), None),
            Some(Found::Below { failed }) if is_undecided(&levels, load(failed, steps)) => {
                (SearchOutcome::NotDecided, None, Some(failed))
            }
            Some(Found::Below { failed }) => (SearchOutcome::NonePassed, None, Some(failed)),
            Some(Found::Unsteady { failed }) => (SearchOutcome::Unsteady, None, Some(failed)),
            Some(Found::NotRecovered { passed, failed }) => (SearchOutcome::NotRecovered, passed, Some(failed)),
            Some(Found::Gone { passed, failed }) => (SearchOutcome::TargetGone, passed, Some(failed)),
            Some(Found::Interrupted { passed, .. }) => (SearchOutcome::Interrupted, passed, None),
            None => (SearchOutcome::Unfinished, None, None),
        };
        let load = |level: u64| load(level, steps);
        let (passed, failed) = (passed.map(load), failed.map(load));
        let last = |level: Option<f64>| levels.iter().rev().find(|known| Some(known.level) == level);
        let first_missed = last(failed).and_then(|level| level.reason.clone());
        let highest = last(failed).or_else(|| last(passed));
        let objectives = |begin: &store::Begin| begin.objectives.iter().map(ToString::to_string).collect();
        let mut line = Self {
            result: ResultRecord { word: ResultWord::Pass, exit_code: 0, reasons: Vec::new() },
            unit: match unit {
                LoadUnit::Concurrency => LineUnit::Concurrency,
                LoadUnit::Rate => LineUnit::Rate,
            },
            target: begin.and_then(|begin| begin.targets.first()).cloned().unwrap_or_default(),
            objectives: begin.map(objectives).unwrap_or_default(),
            outcome,
            passed,
            failed,
            first_missed,
            limited_by_client: highest.is_some_and(|level| level.limited_by_client),
            levels,
            exit: ExitStatus::Good,
        };
        line.set_result(found.and_then(Found::signal));
        line
    }

    /// Sets the result and the exit status from the outcome. `signal` is the signal that ended the search.
    fn set_result(&mut self, signal: Option<i32>) {
        let word = self.outcome.result(self.limited_by_client);
        let reason = || NamedText { name: self.outcome.name().into(), text: self.sentence() };
        let reasons = (word != ResultWord::Pass).then(reason).into_iter().collect();
        let exit = match (signal, word) {
            (Some(signal), _) => ExitStatus::Interrupted(signal),
            (None, ResultWord::Pass | ResultWord::Partial) => ExitStatus::Good,
            (None, ResultWord::Unusable) => ExitStatus::Unusable,
            (None, ResultWord::Fail) => ExitStatus::Failed,
        };
        self.result = ResultRecord { word, exit_code: exit.code(), reasons };
        self.exit = exit;
    }
}

/// Returns the JSON Schema of [`LoadLine`].
#[must_use]
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(LoadLine).to_value()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outcome_decides_the_result_of_a_search() {
        let found = |found: Option<Found>, by_client: bool| {
            let mut line = LoadLine::of((LoadUnit::Rate, 1), None, found, Vec::new());
            line.limited_by_client = by_client;
            line.set_result(found.and_then(Found::signal));
            let result = line.result;
            (result.word, result.exit_code, result.reasons.first().map(|reason| reason.name.clone()))
        };
        let (line, named) = (Found::Line { passed: 400, failed: 800 }, |name: &str| Some(name.to_owned()));
        assert_eq!(found(Some(line), false), (ResultWord::Pass, 0, None));
        assert_eq!(found(Some(line), true), (ResultWord::Unusable, 3, named("found")));
        assert_eq!(found(Some(Found::AtLeast { passed: 800 }), true), (ResultWord::Pass, 0, None));
        assert_eq!(found(Some(Found::Below { failed: 1 }), false), (ResultWord::Fail, 1, named("none_passed")));
        assert_eq!(found(Some(Found::Below { failed: 1 }), true), (ResultWord::Unusable, 3, named("none_passed")));
        let interrupted = |signal| Found::Interrupted { passed: None, signal };
        assert_eq!(found(Some(interrupted(2)), false), (ResultWord::Partial, 130, named("interrupted")));
        assert_eq!(found(Some(interrupted(15)), false), (ResultWord::Partial, 143, named("interrupted")));
        assert_eq!(found(None, false), (ResultWord::Partial, 0, named("unfinished")));
    }
}
