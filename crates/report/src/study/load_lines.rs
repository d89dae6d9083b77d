//! The searches for load lines in a study. Each search is compared with the search on the first target of the same
//! cell.

use super::narrow::fitting;
use super::place::{Placed, sorted};
use super::rows::Order;
use crate::load_line::{LoadLine, SearchOutcome};
use crate::text::{Style, table};
use schemars::JsonSchema;
use serde::Serialize;

/// A trial that searched for the load line.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LineTrial {
    /// Name of its cell.
    pub cell: String,
    /// Name of its target.
    pub target: String,
    /// Number of the repeat, among the trials of this cell on this target, from 1.
    pub repeat: u32,
    /// Name of its directory.
    pub directory: String,
    /// The search.
    pub load_line: LoadLine,
}

impl Placed for LineTrial {
    fn place(&self) -> (&str, &str, u32) {
        (&self.cell, &self.target, self.repeat)
    }
}

/// Titles of the columns of [`rows`].
pub(crate) const COLUMNS: [&str; 6] =
    ["cell", "target", "load line", "fails at", "vs. first", "first objective missed"];

/// Columns that [`short_text`] may leave out, the least important one first: vs. first, fails at.
const OPTIONAL: [usize; 2] = [4, 3];
/// Columns with long texts: first objective missed.
const TEXTS: [usize; 1] = [5];

/// Like [`text`], but at most 80 characters wide.
#[must_use]
pub fn short_text<'s>(lines: &'s [LineTrial], order: &Order<'s>, style: &Style) -> String {
    if lines.is_empty() { String::new() } else { fitting(&table_rows(lines, order), &TEXTS, &OPTIONAL, style) }
}

/// Formats the searches as a table for people, with all columns. The text is empty if there are none.
#[must_use]
pub fn text<'s>(lines: &'s [LineTrial], order: &Order<'s>) -> String {
    if lines.is_empty() { String::new() } else { table(&table_rows(lines, order)) }
}

/// Returns a row of titles, and one row for each search.
pub(crate) fn table_rows<'s>(lines: &'s [LineTrial], order: &Order<'s>) -> Vec<[String; 6]> {
    std::iter::once(COLUMNS.map(str::to_owned)).chain(rows(&sorted(lines, order))).collect()
}

/// Returns one row for each search, with the columns of [`COLUMNS`].
pub(crate) fn rows(lines: &[&LineTrial]) -> Vec<[String; 6]> {
    let mut rows = Vec::new();
    for (index, trial) in lines.iter().enumerate() {
        let of_cell = |other: &&&LineTrial| other.cell == trial.cell && other.repeat == trial.repeat;
        let first = lines.iter().find(of_cell).filter(|first| first.target != trial.target);
        let before = index.checked_sub(1).and_then(|index| lines.get(index));
        let again = before.is_some_and(|before| before.cell == trial.cell);
        let line = &trial.load_line;
        rows.push([
            if again { String::new() } else { trial.cell.clone() },
            trial.target.clone(),
            passed(line),
            line.failed.map_or_else(|| "–".to_owned(), |failed| line.shown(failed)),
            first.map_or_else(String::new, |first| ratio(line, &first.load_line)),
            line.first_missed.clone().unwrap_or_default(),
        ]);
    }
    rows
}

/// Formats the highest load that passed.
fn passed(line: &LoadLine) -> String {
    let passed = line.passed.map(|passed| line.shown(passed));
    match (line.outcome, passed) {
        (SearchOutcome::Found, Some(passed)) if line.limited_by_client => format!("at least {passed} (client)"),
        (SearchOutcome::Found, Some(passed)) => passed,
        (SearchOutcome::AtLeast, Some(passed)) => format!("at least {passed}"),
        (SearchOutcome::NonePassed, _) => "none".to_owned(),
        (SearchOutcome::NotDecided, _) => "not decided".to_owned(),
        (SearchOutcome::Unsteady, _) => "none: unsteady".to_owned(),
        (SearchOutcome::NotRecovered, Some(passed)) => format!("at least {passed}, then did not recover"),
        (SearchOutcome::TargetGone, Some(passed)) => format!("at least {passed}, then stopped serving"),
        (_, Some(passed)) => format!("{passed} so far"),
        (_, None) => "–".to_owned(),
    }
}

/// Formats the load line as a multiple of the first target's load line.
fn ratio(line: &LoadLine, first: &LoadLine) -> String {
    let found =
        |line: &LoadLine| line.passed.filter(|_| line.outcome == SearchOutcome::Found && !line.limited_by_client);
    match (found(line), found(first)) {
        (Some(passed), Some(first)) if first > 0.0 => format!("{:.2} ×", passed / first),
        _ => "–".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::tests::{fits, long_name};
    use measure::result::load_line::{Found, LoadUnit};

    fn trial(target: &str, found: Found) -> LineTrial {
        LineTrial {
            cell: "range 1MiB".to_owned(),
            target: target.to_owned(),
            repeat: 1,
            directory: String::new(),
            load_line: LoadLine::of((LoadUnit::Concurrency, 1), None, Some(found), Vec::new()),
        }
    }

    #[test]
    fn load_lines_are_compared_with_the_first_if_both_were_found() {
        let lines = [
            trial("nginx", Found::Line { passed: 400, failed: 410 }),
            trial("mine", Found::Line { passed: 300, failed: 310 }),
            trial("other", Found::AtLeast { passed: 4096 }),
        ];
        let text = text(&lines, &Order::default());
        let rows: Vec<&str> = text.lines().collect();
        assert!(rows[1].contains("range 1MiB") && rows[1].contains("400 in flight"), "{text}");
        assert!(rows[2].contains("0.75 ×") && !rows[2].contains("range"), "{text}");
        assert!(rows[3].contains("at least 4,096 in flight") && rows[3].contains('–'), "{text}");
        assert_eq!(super::text(&[], &Order::default()), "");
    }

    #[test]
    fn the_table_fits_with_long_names() {
        let long = |target: &str, found| {
            let mut trial = trial(&long_name(target), found);
            (trial.cell, trial.load_line.first_missed) = (long_name("c"), Some(long_name("o")));
            trial
        };
        let lines = [
            long("a", Found::Gone { passed: Some(1_000_000), failed: 2_000_000 }),
            long("b", Found::Line { passed: 1_000_000, failed: 1_000_001 }),
            trial("nginx", Found::NotRecovered { passed: Some(u64::MAX), failed: u64::MAX }),
        ];
        fits("load lines", |style| short_text(&lines, &Order::default(), style));
    }
}
