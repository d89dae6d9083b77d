//! The load line: every level that was tried, and where the line lies.

use crate::Style;
use crate::escape::escape;
use crate::joint;
use crate::json::ResultOfRun;
use crate::measured::{Held, Measured};
use crate::number::{byte_rate, count, rate, share};
use crate::percentile;
use crate::text::{first_line, paragraph, table};
use measure::limits;
use measure::result::load_line::{Found, LoadUnit, Outcome};
use measure::objective::{Metric, Timed};
use measure::{Enumerated, ExitStatus, Objective, ResultWord};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use store::{EndReason, SavedRun};

/// A level that was tried.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Level {
    /// Operations in flight, or per second.
    #[serde(serialize_with = "whole")]
    pub level: f64,
    /// Whether it passed: all objectives were met, and on a rate the backlog did not grow.
    pub passed: bool,
    /// Its result.
    pub outcome: OutcomeWord,
    /// Why it did not pass.
    pub why: Option<String>,
    /// Whether the client's side set the limit.
    pub limited_by_client: bool,
    /// For how long it was measured, in seconds.
    pub seconds: f64,
    /// Whether its result is certain at the confidence that was asked for; else by what was measured until its end.
    pub decided: bool,
    /// What its run came to.
    #[serde(flatten)]
    pub measured: Measured,
}

/// The result of a level, as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeWord {
    /// It passed.
    Passed,
    /// An objective was missed, or the backlog grew.
    Failed,
    /// Its time did not suffice to decide it.
    NotDecided,
    /// It did not pass, and the cause lies with the client or its host.
    ClientLimited,
}

impl OutcomeWord {
    fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Passed => Self::Passed,
            Outcome::Failed { .. } => Self::Failed,
            Outcome::NotDecided { .. } => Self::NotDecided,
            Outcome::ClientLimited { .. } => Self::ClientLimited,
        }
    }

    /// As reports write it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "FAILED",
            Self::NotDecided => "not decided",
            Self::ClientLimited => "client limited",
        }
    }
}

/// What a load line is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnitWord {
    /// Operations in flight.
    Concurrency,
    /// Operations per second.
    Rate,
}

/// What a search has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FoundWord {
    /// The line lies between `passed` and `failed`.
    Line,
    /// No level failed.
    AtLeast,
    /// The lowest level failed.
    Below,
    /// What had passed did not pass again.
    Unsteady,
    /// The target did not become as fast again as it was, after the level that failed.
    NotRecovered,
    /// The target served nothing any more, after the level that failed.
    Gone,
    /// The user ended the search.
    Interrupted,
    /// It is going on, or was killed.
    Unfinished,
}

impl FoundWord {
    /// The name in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::AtLeast => "at_least",
            Self::Below => "below",
            Self::Unsteady => "unsteady",
            Self::NotRecovered => "not_recovered",
            Self::Gone => "gone",
            Self::Interrupted => "interrupted",
            Self::Unfinished => "unfinished",
        }
    }
}

/// A search for the load line, as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LoadLine {
    /// The result of the search.
    pub result: ResultOfRun,
    /// What the line is measured in.
    pub unit: UnitWord,
    /// What was loaded; secrets in it are redacted.
    pub target: String,
    /// What every level was held to.
    pub objectives: Vec<String>,
    /// What the search has come to.
    pub found: FoundWord,
    /// The highest level that passed, and passed again at the end.
    #[serde(serialize_with = "whole_or_none")]
    pub passed: Option<f64>,
    /// The lowest level above it that failed.
    #[serde(serialize_with = "whole_or_none")]
    pub failed: Option<f64>,
    /// The objective that broke first at that level.
    pub broke: Option<String>,
    /// Whether the client's side set the limit of the highest level: the target may carry more.
    pub limited_by_client: bool,
    /// All levels, in the order in which they were tried.
    pub levels: Vec<Level>,
    /// The exit code of its result.
    #[serde(skip)]
    pub exit: ExitStatus,
}

/// A level of so many steps, in operations in flight or per second.
#[must_use]
pub fn load(level: u64, steps: u64) -> f64 {
    level as f64 / steps.max(1) as f64
}

/// Whole numbers are written as such, as always.
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
    /// What the saved run of a level shows. Without an outcome, as in logs of older versions, its objectives decide.
    #[must_use]
    pub fn of(level: f64, directory: &str, run: &SavedRun, outcome: Option<Outcome>, certain: bool) -> Self {
        let measured = Measured::of(directory, run);
        let outcome = outcome.unwrap_or_else(|| match &measured.broke {
            None => Outcome::Passed,
            Some(broke) => Outcome::Failed { why: broke.clone() },
        });
        let limited_by_client = match outcome {
            Outcome::Passed => limits::limited_by(run.summary(), &run.begin.model).is_client(),
            Outcome::ClientLimited { .. } => true,
            Outcome::Failed { .. } | Outcome::NotDecided { .. } => false,
        };
        // A level that failed for certain was ended by that; one that passes seldom can be.
        let ended = matches!(run.end.as_ref().map(|end| &end.reason), Some(EndReason::Decided { broke: Some(_) }));
        Self {
            level,
            passed: outcome.is_passed(),
            outcome: OutcomeWord::of(&outcome),
            why: outcome.why().map(escape),
            limited_by_client,
            seconds: run.summary().measured.seconds,
            decided: certain || ended,
            measured,
        }
    }
}

impl LoadLine {
    /// What a search came to; `found` is `None` while it goes on, or when it was killed, and has levels in so many steps for each of
    /// the unit.
    #[must_use]
    pub fn of(
        (unit, steps): (LoadUnit, u64),
        begin: Option<&store::Begin>,
        found: Option<Found>,
        levels: Vec<Level>,
    ) -> Self {
        let (word, passed, failed) = match found {
            Some(Found::Line { passed, failed }) => (FoundWord::Line, Some(passed), Some(failed)),
            Some(Found::AtLeast { passed }) => (FoundWord::AtLeast, Some(passed), None),
            Some(Found::Below { failed }) => (FoundWord::Below, None, Some(failed)),
            Some(Found::Unsteady { failed }) => (FoundWord::Unsteady, None, Some(failed)),
            Some(Found::NotRecovered { passed, failed }) => (FoundWord::NotRecovered, passed, Some(failed)),
            Some(Found::Gone { passed, failed }) => (FoundWord::Gone, passed, Some(failed)),
            Some(Found::Interrupted { passed, .. }) => (FoundWord::Interrupted, passed, None),
            None => (FoundWord::Unfinished, None, None),
        };
        let load = |level: u64| load(level, steps);
        let (passed, failed) = (passed.map(load), failed.map(load));
        let last = |level: Option<f64>| levels.iter().rev().find(|known| Some(known.level) == level);
        let broke = last(failed).and_then(|level| level.why.clone());
        let edge = last(failed).or_else(|| last(passed));
        let mut line = Self {
            result: ResultOfRun { word: ResultWord::Pass, exit_code: 0, reasons: Vec::new() },
            unit: match unit {
                LoadUnit::Concurrency => UnitWord::Concurrency,
                LoadUnit::Rate => UnitWord::Rate,
            },
            target: begin.and_then(|begin| begin.targets.first()).cloned().unwrap_or_default(),
            objectives: begin
                .map(|begin| begin.objectives.iter().map(ToString::to_string).collect())
                .unwrap_or_default(),
            found: word,
            passed,
            failed,
            broke,
            limited_by_client: edge.is_some_and(|level| level.limited_by_client),
            levels,
            exit: ExitStatus::Good,
        };
        let signal = found.and_then(Found::signal);
        (line.result, line.exit) = joint::of_line(&line, signal);
        line
    }

    /// A level in the unit of the line.
    pub(crate) fn shown(&self, level: f64) -> String {
        let number = if level.fract() == 0.0 { count(level as u64) } else { format!("{level}") };
        match self.unit {
            UnitWord::Rate => format!("{number}/s"),
            UnitWord::Concurrency => format!("{number} in flight"),
        }
    }

    /// Titles of what is shown of a level. The objectives' own percentiles are shown, and the 99th of the response time where
    /// there are none.
    pub(crate) fn columns(&self) -> [String; 10] {
        let bounded: Vec<String> = self.bounded().map(|held| bounded_title(&held.objective)).collect();
        let bounded = if bounded.is_empty() { "p99".to_owned() } else { bounded.join(" · ") };
        let titles = ["", "level", "", "ok", "goodput", "p50", &bounded, "success", "measured", "limited by"];
        titles.map(str::to_owned)
    }

    /// Objectives on a percentile, as the first level has them, but those on the median response time, which is always shown.
    fn bounded(&self) -> impl Iterator<Item = &Held> {
        let shown = |held: &&Held| match held.objective.metric() {
            Metric::Time(Timed::Response, q) => q != 0.5 || held.objective.kind().is_some(),
            Metric::Time(..) | Metric::Speed(_) => true,
            Metric::Success | Metric::Rate | Metric::Goodput => false,
        };
        self.levels.first().into_iter().flat_map(|level| &level.measured.objectives).filter(shown)
    }

    /// The values of a level for [`Self::columns`].
    fn values(&self, level: &Level) -> String {
        let dash = || "–".to_owned();
        let value = |objective: &Objective| {
            let held = level.measured.objectives.iter().find(|held| held.objective == *objective)?;
            held.value.map(|value| match objective.metric() {
                Metric::Speed(_) => byte_rate(value),
                _ => percentile::between(held.low, value),
            })
        };
        let values: Vec<String> = self.bounded().map(|held| value(&held.objective).unwrap_or_else(dash)).collect();
        match values.is_empty() {
            true => level.measured.p99(),
            false => values.join(" · "),
        }
    }

    /// What is shown of a level, under [`Self::columns`].
    pub(crate) fn row(&self, level: &Level) -> [String; 10] {
        let dash = || "–".to_owned();
        let edge = if Some(level.level) == self.passed { ">" } else { "" };
        let measured = &level.measured;
        let why = level.why.as_ref();
        [
            edge.to_owned(),
            self.shown(level.level),
            level.outcome.word().to_owned(),
            measured.ok_per_second.map_or_else(dash, rate),
            measured.goodput.map_or_else(dash, byte_rate),
            measured.p50(),
            self.values(level),
            measured.success.map_or_else(dash, share),
            format!("{:.1} s{}", level.seconds, if level.decided { "" } else { " ≈" }),
            why.map_or_else(|| measured.limited_by.clone(), |why| format!("{} · {why}", measured.limited_by)),
        ]
    }

    /// The result of the level at which the search found its upper end: "800/s failed (the backlog grows)".
    fn edge(&self, failed: &str) -> String {
        let level = self.levels.iter().rev().find(|level| Some(level.level) == self.failed && !level.passed);
        let why = level.and_then(|level| level.why.as_ref()).map(|why| format!(" ({why})")).unwrap_or_default();
        match level.map(|level| level.outcome) {
            Some(OutcomeWord::NotDecided) => format!("{failed} was not decided{why}"),
            Some(OutcomeWord::ClientLimited) => format!("at {failed} this client was the limit{why}"),
            _ => format!("{failed} failed{why}"),
        }
    }

    /// What the ranges in its table mean, where there are any.
    pub(crate) fn about_ranges(&self) -> Option<&'static str> {
        let bounded: Vec<Objective> = self.bounded().map(|held| held.objective).collect();
        let of_bounded = |level: &Level| match bounded.is_empty() {
            true => level.measured.p99_is_range(),
            false => level.measured.objectives.iter().any(|held| bounded.contains(&held.objective) && held.is_range()),
        };
        let has_ranges = |level: &Level| level.measured.p50_is_range() || of_bounded(level);
        self.levels.iter().any(has_ranges).then_some(percentile::ABOUT_RANGES)
    }

    /// Where the line lies, in a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let passed = self.passed.map(|level| self.shown(level));
        let edge = self.failed.map(|level| self.edge(&self.shown(level)));
        match (self.found, passed, edge) {
            (FoundWord::Line, Some(passed), Some(edge)) if self.limited_by_client => {
                format!("LOAD LINE at least {passed}; {edge}")
            }
            (FoundWord::Line, Some(passed), Some(edge)) => {
                format!("LOAD LINE {passed} passed; {edge}; run again, {passed} passed")
            }
            (FoundWord::AtLeast, Some(passed), _) if self.limited_by_client => {
                let client = self.levels.last().map(|level| level.measured.limited_by.clone()).unwrap_or_default();
                format!("LOAD LINE at least {passed}: no level failed, and this client was the limit ({client})")
            }
            (FoundWord::AtLeast, Some(passed), _) => {
                format!("LOAD LINE at least {passed}: no level failed; --to looks further")
            }
            (FoundWord::Below, _, Some(edge)) => format!("NO LOAD LINE: {edge}{}", self.once()),
            (FoundWord::Unsteady, _, Some(edge)) => format!(
                "NO LOAD LINE: levels that had passed failed when they were run again; at last {edge}: the target sustains \
                 less than before"
            ),
            (FoundWord::NotRecovered, Some(passed), Some(edge)) => format!(
                "LOAD LINE at least {passed}; {edge}, and the target was not as fast as before in the time of --recovery"
            ),
            (FoundWord::NotRecovered, None, Some(edge)) => {
                format!("NO LOAD LINE: {edge}, and the target was not as fast as before in the time of --recovery")
            }
            (FoundWord::Gone, Some(passed), Some(edge)) => {
                format!("LOAD LINE at least {passed}; {edge}, and then the target served nothing any more")
            }
            (FoundWord::Gone, None, Some(edge)) => {
                format!("NO LOAD LINE: {edge}, and then the target served nothing any more")
            }
            (_, Some(passed), _) => format!("unfinished: {passed} passed so far"),
            _ => "unfinished: no level has passed yet".to_owned(),
        }
    }

    /// The highest level that had passed before all failed.
    fn once(&self) -> String {
        let most = self.levels.iter().filter(|level| level.passed).map(|level| level.level).reduce(f64::max);
        most.map(|most| format!("; {} had passed before", self.shown(most))).unwrap_or_default()
    }
}

/// `p99` for the response time of all operations, and otherwise as the objective names it.
fn bounded_title(objective: &Objective) -> String {
    let metric = objective.metric().to_string();
    match (objective.kind(), metric.strip_prefix("response ")) {
        (None, Some(percentile)) => percentile.to_owned(),
        (None, None) => metric,
        (Some(kind), _) => format!("{} {metric}", kind.name()),
    }
}

/// The note below levels whose result is not certain.
pub(crate) const ESTIMATED: &str = "≈ not decided at the confidence asked for; judged on the data so far\n";

/// The report for people.
#[must_use]
pub fn text(line: &LoadLine, style: &Style) -> String {
    let mut levels: Vec<&Level> = line.levels.iter().collect();
    levels.sort_by(|one, other| one.level.total_cmp(&other.level));
    let rows = levels.into_iter().map(|level| line.row(level));
    let rows: Vec<[String; 10]> = std::iter::once(line.columns()).chain(rows).collect();
    let objectives = line.objectives.join(", ");
    format!(
        "{}\n  target          {}\n  objectives      {objectives}\n  levels          {} tried\n\n{}{}{}",
        first_line(line.result.word, line.sentence(), style),
        escape(&line.target),
        line.levels.len(),
        table(&rows),
        if line.levels.iter().all(|level| level.decided) { "" } else { ESTIMATED },
        line.about_ranges().map(paragraph).unwrap_or_default()
    )
}

/// The JSON Schema of [`LoadLine`].
#[must_use]
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(LoadLine).to_value()
}
