//! The text report of a search, with the load line as a sentence and a table of levels.

use super::{Level, LevelOutcome, LineUnit, LoadLine, SearchOutcome};
use crate::Style;
use crate::escape::escape;
use crate::number::count;
use crate::text::{first_line, paragraph, table};

/// Explanation below the table, if the outcome of a level is not certain.
pub(crate) const ESTIMATED: &str = "≈ not decided at the required confidence; judged on the data so far\n";

/// Explanation below the table, if a percentile has no value.
const TOO_FEW: &str = "– too few operations for this percentile (a level that certainly fails stops early)\n";

/// Returns the report for people.
#[must_use]
pub fn text(line: &LoadLine, style: &Style) -> String {
    let mut levels: Vec<&Level> = line.levels.iter().collect();
    levels.sort_by(|one, other| one.level.total_cmp(&other.level));
    let rows = levels.into_iter().map(|level| line.row(level));
    let rows: Vec<[String; 10]> = std::iter::once(line.columns()).chain(rows).collect();
    let objectives = line.objectives.join(", ");
    format!(
        "{}\n  target          {}\n  objectives      {objectives}\n  levels          {} tried\n\n{}{}{}{}",
        first_line(line.result.word, line.sentence(), style),
        escape(&line.target),
        line.levels.len(),
        table(&rows),
        if line.levels.iter().all(|level| level.certain) { "" } else { ESTIMATED },
        if line.levels.iter().all(|level| line.has_bounded_values(level)) { "" } else { TOO_FEW },
        line.about_ranges().map(|text| paragraph(text, style)).unwrap_or_default()
    )
}

impl LoadLine {
    /// Returns a sentence about the position of the load line.
    #[must_use]
    pub fn sentence(&self) -> String {
        let passed = self.passed.map(|level| self.shown(level));
        let end = self.failed.map(|level| self.upper_end(&self.shown(level)));
        match (self.outcome, passed, end) {
            (SearchOutcome::Found, Some(passed), Some(end)) if self.limited_by_client => {
                format!("LOAD LINE at least {passed}; {end}{}", self.passed_above())
            }
            (SearchOutcome::Found, Some(passed), Some(end)) => {
                format!("LOAD LINE {passed} passed; {end}; {}{}", self.repeats(&passed), self.passed_above())
            }
            (SearchOutcome::AtLeast, Some(passed), _) if self.limited_by_client => {
                let client = self.levels.last().map(|level| level.metrics.limited_by.clone()).unwrap_or_default();
                format!("LOAD LINE at least {passed}: no level failed, and this client was the limit ({client})")
            }
            (SearchOutcome::AtLeast, Some(passed), _) => {
                format!("LOAD LINE at least {passed}: no level failed; raise --to to search further")
            }
            (SearchOutcome::NonePassed, _, Some(end)) => format!("NO LOAD LINE: {end}{}", self.passed_before()),
            (SearchOutcome::NotDecided, _, Some(end)) => {
                format!("NO LOAD LINE: {end}; use a longer --level-max{}", self.passed_before())
            }
            (SearchOutcome::Unsteady, _, Some(end)) => format!(
                "NO LOAD LINE: levels passed, but failed when repeated, so the target sustains less than before; \
                 finally, {end}"
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
            (_, Some(passed), _) => format!("unfinished: the highest level that passed so far is {passed}"),
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

    /// Returns how often the load line passed. The load line may fail once when it is repeated.
    fn repeats(&self, passed: &str) -> String {
        let tries = || self.levels.iter().filter(|level| Some(level.level) == self.passed);
        let with = |outcome| tries().filter(|level| level.outcome == outcome).count();
        let all = tries().count();
        let others: Vec<String> = [
            (with(LevelOutcome::Failed), "it failed"),
            (with(LevelOutcome::ClientLimited), "this client was the limit"),
            (with(LevelOutcome::NotDecided), "nothing was decided"),
        ]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| if number == 1 { format!("once {what}") } else { format!("{number} times {what}") })
        .collect();
        if others.is_empty() {
            return format!("when repeated, {passed} passed again");
        }
        format!("{passed} passed in {} of {all} tries ({})", with(LevelOutcome::Passed), others.join(", "))
    }

    /// Returns a phrase with the highest level above the load line that passed, if there is one. Such a level exists if
    /// a lower level failed when it was repeated, because the search then lowers the load line.
    fn passed_above(&self) -> String {
        let line = self.passed.unwrap_or(f64::INFINITY);
        let above = self.levels.iter().filter(|level| level.passed && level.level > line).map(|level| level.level);
        above.reduce(f64::max).map(|most| format!("; {} had passed earlier", self.shown(most))).unwrap_or_default()
    }

    /// Returns a phrase with the highest level that passed, if the search found no load line.
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
}
