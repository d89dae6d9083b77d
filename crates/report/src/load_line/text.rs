//! The load line, as a sentence and as a table of levels.

use super::{Level, LevelOutcome, LineUnit, LoadLine, SearchOutcome};
use crate::Style;
use crate::escape::escape;
use crate::number::{byte_rate, count, rate, share};
use crate::percentile;
use crate::run_metrics::MeasuredObjective;
use crate::text::{first_line, paragraph, table};
use measure::objective::{Metric, Timed};
use measure::{Enumerated, Objective};

/// Note below the table if the outcome of a level is not certain.
pub(crate) const ESTIMATED: &str = "≈ not decided at the required confidence; judged on the data so far\n";

/// Returns the report for people.
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
        if line.levels.iter().all(|level| level.certain) { "" } else { ESTIMATED },
        line.about_ranges().map(paragraph).unwrap_or_default()
    )
}

impl LoadLine {
    /// Returns a sentence with the position of the load line.
    #[must_use]
    pub fn sentence(&self) -> String {
        let passed = self.passed.map(|level| self.shown(level));
        let end = self.failed.map(|level| self.upper_end(&self.shown(level)));
        match (self.outcome, passed, end) {
            (SearchOutcome::Found, Some(passed), Some(end)) if self.limited_by_client => {
                format!("LOAD LINE at least {passed}; {end}")
            }
            (SearchOutcome::Found, Some(passed), Some(end)) => {
                format!("LOAD LINE {passed} passed; {end}; repeated, {passed} passed again")
            }
            (SearchOutcome::AtLeast, Some(passed), _) if self.limited_by_client => {
                let client = self.levels.last().map(|level| level.metrics.limited_by.clone()).unwrap_or_default();
                format!("LOAD LINE at least {passed}: no level failed, and this client was the limit ({client})")
            }
            (SearchOutcome::AtLeast, Some(passed), _) => {
                format!("LOAD LINE at least {passed}: no level failed; raise --to to search further")
            }
            (SearchOutcome::NonePassed, _, Some(end)) => format!("NO LOAD LINE: {end}{}", self.passed_before()),
            (SearchOutcome::Unsteady, _, Some(end)) => format!(
                "NO LOAD LINE: levels passed, but failed when repeated, at last {end}; the target sustains less than before"
            ),
            (SearchOutcome::NotRecovered, Some(passed), Some(end)) => {
                format!("LOAD LINE at least {passed}; {end}, and the target did not recover within --recovery")
            }
            (SearchOutcome::NotRecovered, None, Some(end)) => {
                format!("NO LOAD LINE: {end}, and the target did not recover within --recovery")
            }
            (SearchOutcome::TargetGone, Some(passed), Some(end)) => {
                format!("LOAD LINE at least {passed}; {end}, and then the target stopped serving")
            }
            (SearchOutcome::TargetGone, None, Some(end)) => {
                format!("NO LOAD LINE: {end}, and then the target stopped serving")
            }
            (_, Some(passed), _) => format!("unfinished: {passed} passed so far"),
            _ => "unfinished: no level has passed yet".to_owned(),
        }
    }

    /// Returns the outcome of the lowest level above the load line, for example "800/s failed (the backlog grows)".
    fn upper_end(&self, failed: &str) -> String {
        let level = self.levels.iter().rev().find(|level| Some(level.level) == self.failed && !level.passed);
        let why = level.and_then(|level| level.reason.as_ref()).map(|why| format!(" ({why})")).unwrap_or_default();
        match level.map(|level| level.outcome) {
            Some(LevelOutcome::NotDecided) => format!("{failed} was not decided{why}"),
            Some(LevelOutcome::ClientLimited) => format!("at {failed} this client was the limit{why}"),
            _ => format!("{failed} failed{why}"),
        }
    }

    /// Returns a phrase with the highest level that passed, although the search found no load line.
    fn passed_before(&self) -> String {
        let most = self.levels.iter().filter(|level| level.passed).map(|level| level.level).reduce(f64::max);
        most.map(|most| format!("; {} had passed before", self.shown(most))).unwrap_or_default()
    }

    /// Formats a level in the unit of the load line.
    pub(crate) fn shown(&self, level: f64) -> String {
        let number = if level.fract() == 0.0 { count(level as u64) } else { format!("{level}") };
        match self.unit {
            LineUnit::Rate => format!("{number}/s"),
            LineUnit::Concurrency => format!("{number} in flight"),
        }
    }

    /// Returns the titles of [`Self::row`]. One column shows the percentiles for which there are objectives. If there
    /// are none, the column shows the p99 of response time.
    pub(crate) fn columns(&self) -> [String; 10] {
        let bounded: Vec<String> = self.bounded().map(|measured| bounded_title(&measured.objective)).collect();
        let bounded = if bounded.is_empty() { "p99".to_owned() } else { bounded.join(" · ") };
        let titles = ["", "level", "", "ok", "goodput", "p50", &bounded, "success", "measured", "limited by"];
        titles.map(str::to_owned)
    }

    /// Returns the cells of a level, in the columns of [`Self::columns`].
    pub(crate) fn row(&self, level: &Level) -> [String; 10] {
        let dash = || "–".to_owned();
        let mark = if Some(level.level) == self.passed { ">" } else { "" };
        let metrics = &level.metrics;
        let reason = level.reason.as_ref();
        [
            mark.to_owned(),
            self.shown(level.level),
            level.outcome.about().to_owned(),
            metrics.ok_per_second.map_or_else(dash, rate),
            metrics.goodput_bytes_per_second.map_or_else(dash, byte_rate),
            metrics.p50(),
            self.bounded_values(level),
            metrics.success_share.map_or_else(dash, share),
            format!("{:.1} s{}", level.seconds, if level.certain { "" } else { " ≈" }),
            reason.map_or_else(|| metrics.limited_by.clone(), |reason| format!("{} · {reason}", metrics.limited_by)),
        ]
    }

    /// Returns the objectives on percentiles from the first level. The median response time is excluded, because it has
    /// a separate column.
    fn bounded(&self) -> impl Iterator<Item = &MeasuredObjective> {
        let shown = |measured: &&MeasuredObjective| match measured.objective.metric() {
            Metric::Time(Timed::Response, q) => q != 0.5 || measured.objective.kind().is_some(),
            Metric::Time(..) | Metric::Speed(_) => true,
            Metric::Success | Metric::Rate | Metric::Goodput => false,
        };
        self.levels.first().into_iter().flat_map(|level| &level.metrics.objectives).filter(shown)
    }

    fn bounded_values(&self, level: &Level) -> String {
        let value = |objective: &Objective| {
            let measured = level.metrics.objectives.iter().find(|measured| measured.objective == *objective)?;
            measured.value.map(|value| match objective.metric() {
                Metric::Speed(_) => byte_rate(value),
                _ => percentile::between(measured.low, value),
            })
        };
        let values: Vec<String> =
            self.bounded().map(|measured| value(&measured.objective).unwrap_or_else(|| "–".to_owned())).collect();
        if values.is_empty() { level.metrics.p99() } else { values.join(" · ") }
    }

    /// Returns an explanation of the ranges in the table, or `None` if it has no ranges.
    pub(crate) fn about_ranges(&self) -> Option<&'static str> {
        let bounded: Vec<Objective> = self.bounded().map(|measured| measured.objective).collect();
        let has_bounded_range = |level: &Level| match bounded.is_empty() {
            true => level.metrics.p99_is_range(),
            false => level
                .metrics
                .objectives
                .iter()
                .any(|measured| bounded.contains(&measured.objective) && measured.is_range()),
        };
        let has_range = |level: &Level| level.metrics.p50_is_range() || has_bounded_range(level);
        self.levels.iter().any(has_range).then_some(percentile::ABOUT_RANGES)
    }
}

/// Returns the title for an objective's column. For the response time of all operations, the title is the percentile
/// alone, such as `p99`. Otherwise, it is the name as in the objective.
fn bounded_title(objective: &Objective) -> String {
    let metric = objective.metric().to_string();
    match (objective.kind(), metric.strip_prefix("response ")) {
        (None, Some(percentile)) => percentile.to_owned(),
        (None, None) => metric,
        (Some(kind), _) => format!("{} {metric}", kind.name()),
    }
}
