//! The load line: every level that was tried, and where the line lies.

use crate::Style;
use crate::escape::escape;
use crate::measured::Measured;
use crate::number::{byte_rate, count, rate, share, time};
use crate::text::table;
use measure::load_line::{Found, LoadUnit};
use schemars::JsonSchema;
use serde::Serialize;
use store::{EndReason, SavedRun};

/// A level that was tried.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Level {
    /// Operations in flight, or per second.
    pub level: u64,
    /// Whether all objectives were met.
    pub passed: bool,
    /// Whether the client's side set the limit.
    pub limited_by_client: bool,
    /// For how long it was measured, in seconds.
    pub seconds: f64,
    /// Whether its objectives were decided at the confidence that was asked for; else by what was measured when its time was over.
    pub decided: bool,
    /// What its run came to.
    #[serde(flatten)]
    pub measured: Measured,
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
    /// The user ended the search.
    Interrupted,
    /// It is going on, or was killed.
    Unfinished,
}

/// A search for the load line, as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LoadLine {
    /// What the line is measured in.
    pub unit: UnitWord,
    /// What was loaded; secrets in it are redacted.
    pub target: String,
    /// What every level was held to.
    pub objectives: Vec<String>,
    /// What the search has come to.
    pub found: FoundWord,
    /// The highest level that passed, and passed again at the end.
    pub passed: Option<u64>,
    /// The lowest level above it that failed.
    pub failed: Option<u64>,
    /// The objective that broke first at that level.
    pub broke: Option<String>,
    /// Whether the client's side set the limit of the highest level: the target may carry more.
    pub limited_by_client: bool,
    /// All levels, in the order in which they were tried.
    pub levels: Vec<Level>,
}

impl Level {
    /// What the saved run of a level says.
    #[must_use]
    pub fn of(level: u64, directory: &str, run: &SavedRun) -> Self {
        let measured = Measured::of(directory, run);
        let limited_by_client = run.summary().limited_by(&run.begin.model).is_client();
        // What was decided may look otherwise when what was in flight has ended.
        let decided = match run.end.as_ref().map(|end| &end.reason) {
            Some(EndReason::Decided { broke }) => broke.is_some() == measured.broke.is_some(),
            _ => false,
        };
        let seconds = run.summary().measured.seconds;
        Self { level, passed: measured.broke.is_none(), limited_by_client, seconds, decided, measured }
    }
}

impl LoadLine {
    /// What a search came to; `found` is `None` while it goes on, or when it was killed.
    #[must_use]
    pub fn of(unit: LoadUnit, begin: Option<&store::Begin>, found: Option<Found>, levels: Vec<Level>) -> Self {
        let (word, passed, failed) = match found {
            Some(Found::Line { passed, failed }) => (FoundWord::Line, Some(passed), Some(failed)),
            Some(Found::AtLeast { passed }) => (FoundWord::AtLeast, Some(passed), None),
            Some(Found::Below { failed }) => (FoundWord::Below, None, Some(failed)),
            Some(Found::Unsteady { failed }) => (FoundWord::Unsteady, None, Some(failed)),
            Some(Found::NotRecovered { passed, failed }) => (FoundWord::NotRecovered, passed, Some(failed)),
            Some(Found::Interrupted { passed }) => (FoundWord::Interrupted, passed, None),
            None => (FoundWord::Unfinished, None, None),
        };
        let last = |level: Option<u64>| levels.iter().rev().find(|known| Some(known.level) == level);
        let broke = last(failed).and_then(|level| level.measured.broke.clone());
        let edge = last(failed).or_else(|| last(passed));
        Self {
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
        }
    }

    /// A level in the unit of the line.
    pub(crate) fn shown(&self, level: u64) -> String {
        match self.unit {
            UnitWord::Rate => format!("{}/s", count(level)),
            UnitWord::Concurrency => format!("{} in flight", count(level)),
        }
    }

    /// What is shown of a level, under [`COLUMNS`].
    pub(crate) fn row(&self, level: &Level) -> [String; 10] {
        let dash = || "–".to_owned();
        let edge = if Some(level.level) == self.passed { ">" } else { "" };
        let measured = &level.measured;
        [
            edge.to_owned(),
            self.shown(level.level),
            if level.passed { "held".to_owned() } else { "FAILED".to_owned() },
            measured.ok_per_second.map_or_else(dash, rate),
            measured.goodput.map_or_else(dash, byte_rate),
            measured.response_p50_nanos.map_or_else(dash, |nanos| time(nanos as f64)),
            measured.response_p99_nanos.map_or_else(dash, |nanos| time(nanos as f64)),
            measured.success.map_or_else(dash, share),
            format!("{:.1} s{}", level.seconds, if level.decided { "" } else { " ≈" }),
            measured
                .broke
                .as_ref()
                .map_or_else(|| measured.limited_by.clone(), |broke| format!("{} · {broke}", measured.limited_by)),
        ]
    }

    /// Where the line lies, in a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let because = self.broke.as_ref().map(|broke| format!(" (first to break: {broke})")).unwrap_or_default();
        let passed = self.passed.map(|level| self.shown(level));
        let failed = self.failed.map(|level| self.shown(level));
        match (self.found, passed, failed) {
            (FoundWord::Line, Some(passed), Some(failed)) if self.limited_by_client => {
                format!("LOAD LINE at least {passed}; at {failed} this client was the limit")
            }
            (FoundWord::Line, Some(passed), Some(failed)) => {
                format!("LOAD LINE {passed} hold; {failed} do not{because}; run again, {passed} held")
            }
            (FoundWord::AtLeast, Some(passed), _) if self.limited_by_client => {
                format!("LOAD LINE at least {passed}: this client was the limit")
            }
            (FoundWord::AtLeast, Some(passed), _) => {
                format!("LOAD LINE at least {passed}: no level failed; --to looks further")
            }
            (FoundWord::Below, _, Some(failed)) => format!("NO LOAD LINE: {failed} do not hold{because}"),
            (FoundWord::Unsteady, _, Some(failed)) => {
                format!(
                    "NO LOAD LINE: what had held did not hold again, down to {failed}{because}: the target does not recover"
                )
            }
            (FoundWord::NotRecovered, passed, Some(failed)) => {
                let held = passed.map(|passed| format!("; {passed} had held")).unwrap_or_default();
                format!(
                    "NO LOAD LINE: after {failed}{because} the target did not recover{held}; --recovery waits longer"
                )
            }
            (_, Some(passed), _) => format!("unfinished: {passed} held so far"),
            _ => "unfinished: no level has held yet".to_owned(),
        }
    }
}

/// What is said below levels that were not decided.
pub(crate) const ESTIMATED: &str =
    "≈ not sure when its time was over: held or failed by what was measured until then\n";

/// Titles of what is shown of a level.
pub(crate) const COLUMNS: [&str; 10] =
    ["", "level", "", "ok", "goodput", "p50", "p99", "success", "measured", "limited by"];

/// The report for people.
#[must_use]
pub fn text(line: &LoadLine, style: &Style) -> String {
    let mut levels: Vec<&Level> = line.levels.iter().collect();
    levels.sort_by_key(|level| level.level);
    let rows = levels.into_iter().map(|level| line.row(level));
    let rows: Vec<[String; 10]> = std::iter::once(COLUMNS.map(str::to_owned)).chain(rows).collect();
    let bold = |text: &str| if style.color { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() };
    let objectives = line.objectives.join(", ");
    format!(
        "{}\n\n  target          {}\n  objectives      {objectives}\n  levels          {} tried\n\n{}{}",
        bold(&line.sentence()),
        escape(&line.target),
        line.levels.len(),
        table(&rows),
        if line.levels.iter().all(|level| level.decided) { "" } else { ESTIMATED }
    )
}

/// The JSON Schema of [`LoadLine`].
#[must_use]
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(LoadLine).to_value()
}
