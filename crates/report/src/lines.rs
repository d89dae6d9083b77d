//! Cells of a study that are load lines: where the line of each target lies, beside that of the first.

use crate::load_line::{FoundWord, LoadLine};
use crate::study::Order;
use crate::text::table;
use schemars::JsonSchema;
use serde::Serialize;

/// What one search of a study came to.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LineTrial {
    /// What its cell is called.
    pub cell: String,
    /// What its target is called.
    pub target: String,
    /// Which repeat of its cell on its target, counted from 1.
    pub repeat: u32,
    /// Name of its directory.
    pub directory: String,
    /// The search.
    pub line: LoadLine,
}

/// Searches by cell, repeat and target.
pub(crate) fn sorted<'s>(lines: &'s [LineTrial], order: &Order<'s>) -> Vec<&'s LineTrial> {
    let order = order.with(lines.iter().map(|trial| (trial.cell.as_str(), trial.target.as_str())));
    let place = |names: &[&str], name: &str| names.iter().position(|known| *known == name);
    let mut sorted: Vec<&LineTrial> = lines.iter().collect();
    sorted.sort_by_key(|trial| (place(&order.cells, &trial.cell), trial.repeat, place(&order.targets, &trial.target)));
    sorted
}

/// Titles of what is shown of a search.
pub(crate) const COLUMNS: [&str; 6] =
    ["cell", "target", "load line", "fails at", "vs. first", "first objective missed"];

/// The load lines of a study as a table; nothing where there are none.
#[must_use]
pub fn text<'s>(lines: &'s [LineTrial], order: &Order<'s>) -> String {
    if lines.is_empty() { String::new() } else { table(&shown(lines, order)) }
}

/// A row of titles, and one for each search.
pub(crate) fn shown<'s>(lines: &'s [LineTrial], order: &Order<'s>) -> Vec<[String; 6]> {
    std::iter::once(COLUMNS.map(str::to_owned)).chain(rows(&sorted(lines, order))).collect()
}

/// What is shown of searches, under [`COLUMNS`].
pub(crate) fn rows(lines: &[&LineTrial]) -> Vec<[String; 6]> {
    let mut rows = Vec::new();
    for (index, trial) in lines.iter().enumerate() {
        let of_cell = |other: &&&LineTrial| other.cell == trial.cell && other.repeat == trial.repeat;
        let first = lines.iter().find(of_cell).filter(|first| first.target != trial.target);
        let before = index.checked_sub(1).and_then(|index| lines.get(index));
        let again = before.is_some_and(|before| before.cell == trial.cell);
        let line = &trial.line;
        rows.push([
            if again { String::new() } else { trial.cell.clone() },
            trial.target.clone(),
            held(line),
            line.failed.map_or_else(|| "–".to_owned(), |failed| line.shown(failed)),
            first.map_or_else(String::new, |first| beside(line, &first.line)),
            line.broke.clone().unwrap_or_default(),
        ]);
    }
    rows
}

/// The highest load that passed.
fn held(line: &LoadLine) -> String {
    let passed = line.passed.map(|passed| line.shown(passed));
    match (line.found, passed) {
        (FoundWord::Line, Some(passed)) if line.limited_by_client => format!("at least {passed} (client)"),
        (FoundWord::Line, Some(passed)) => passed,
        (FoundWord::AtLeast, Some(passed)) => format!("at least {passed}"),
        (FoundWord::Below, _) => "none".to_owned(),
        (FoundWord::Unsteady, _) => "none: unsteady".to_owned(),
        (FoundWord::NotRecovered, Some(passed)) => format!("at least {passed}, then did not recover"),
        (FoundWord::Gone, Some(passed)) => format!("at least {passed}, then served nothing"),
        (_, Some(passed)) => format!("{passed} so far"),
        (_, None) => "–".to_owned(),
    }
}

/// The load as a multiple of the first target's.
fn beside(line: &LoadLine, first: &LoadLine) -> String {
    let found = |line: &LoadLine| line.passed.filter(|_| line.found == FoundWord::Line && !line.limited_by_client);
    match (found(line), found(first)) {
        (Some(passed), Some(first)) if first > 0.0 => format!("{:.2} ×", passed / first),
        _ => "–".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::result::load_line::{Found, LoadUnit};

    fn trial(target: &str, found: Found) -> LineTrial {
        LineTrial {
            cell: "range 1MiB".to_owned(),
            target: target.to_owned(),
            repeat: 1,
            directory: String::new(),
            line: LoadLine::of((LoadUnit::Concurrency, 1), None, Some(found), Vec::new()),
        }
    }

    #[test]
    fn lines_stand_beside_the_first_where_both_were_found() {
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
}
