//! The fills of a study.

use super::narrow::fitting;
use super::place::{Placed, name_in_cell, sorted};
use super::rows::Order;
use crate::JsonFill;
use crate::escape::escape;
use crate::fill::{Costs, offer_text};
use crate::json::{FillReport, fleet_fill_totals};
use crate::number::{bit_rate, bytes, count};
use crate::text::{Style, table};
use measure::ExitStatus;
use schemars::JsonSchema;
use serde::Serialize;

/// A trial that is a fill.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FillTrial {
    /// Name of its cell.
    pub cell: String,
    /// Name of its target.
    pub target: String,
    /// Number of the repeat, among the trials of this cell on this target, from 1.
    pub repeat: u32,
    /// Name of its directory.
    pub directory: String,
    /// The fill, with its costs by the price sheets of the cell.
    pub fill: JsonFill,
    /// Exit status of the result.
    #[serde(skip)]
    #[schemars(skip)]
    pub exit: ExitStatus,
    /// Costs by each price sheet, rounded for people.
    #[serde(skip)]
    #[schemars(skip)]
    pub costs: Vec<String>,
}

impl FillTrial {
    /// Returns the trial of a fill.
    #[must_use]
    pub fn of((cell, target, repeat): (&str, &str, u32), directory: &str, report: FillReport, prices: &Costs) -> Self {
        let FillReport { fill, exit } = report;
        let offers = prices.of(&fleet_fill_totals(&fill));
        Self {
            cell: cell.to_owned(),
            target: target.to_owned(),
            repeat,
            directory: directory.to_owned(),
            fill,
            exit,
            costs: offers.iter().map(offer_text).collect(),
        }
    }
}

impl Placed for FillTrial {
    fn place(&self) -> (&str, &str, u32) {
        (&self.cell, &self.target, self.repeat)
    }
}

/// Titles of the columns of [`rows`].
pub(crate) const COLUMNS: [&str; 10] =
    ["cell", "target", "result", "objects", "stored", "bandwidth", "read back", "deleted", "costs", "reason"];

/// Columns that [`short_text`] may leave out, the least important one first: deleted, stored, read back, objects,
/// bandwidth.
const OPTIONAL: [usize; 5] = [7, 4, 6, 3, 5];
/// Columns with long texts: costs, reason.
const TEXTS: [usize; 2] = [8, 9];

/// Like [`text`], but at most 80 characters wide.
#[must_use]
pub fn short_text<'s>(fills: &'s [FillTrial], order: &Order<'s>, style: &Style) -> String {
    if fills.is_empty() { String::new() } else { fitting(&table_rows(fills, order), &TEXTS, &OPTIONAL, style) }
}

/// Formats the fills as a table for people, with all columns. The text is empty if there are none.
#[must_use]
pub fn text<'s>(fills: &'s [FillTrial], order: &Order<'s>) -> String {
    if fills.is_empty() { String::new() } else { table(&table_rows(fills, order)) }
}

/// Returns a row of titles, and one row for each fill. The name of a cell is only in the first row of the cell.
pub(crate) fn table_rows<'s>(fills: &'s [FillTrial], order: &Order<'s>) -> Vec<[String; 10]> {
    let mut rows = vec![COLUMNS.map(str::to_owned)];
    let mut cell = None;
    for trial in sorted(fills, order) {
        let mut row = row(trial, fills);
        if cell.replace(&trial.cell) == Some(&trial.cell) {
            row[0].clear();
        }
        rows.push(row);
    }
    rows
}

/// Returns the row of a fill among all fills, with the columns of [`COLUMNS`].
pub(crate) fn row(trial: &FillTrial, all: &[FillTrial]) -> [String; 10] {
    let dash = || "–".to_owned();
    let fill = &trial.fill;
    let of_all = |number: u64| format!("{} of {}", count(number), count(fill.objects));
    let deleted = fill.deleted + fill.not_deleted;
    [
        trial.cell.clone(),
        name_in_cell(trial, all),
        fill.result.text().to_owned(),
        of_all(fill.stored),
        bytes(fill.stored_bytes),
        fill.uploading_bytes_per_second.map_or_else(dash, bit_rate),
        fill.verified.map_or_else(dash, |verified| format!("{} good", count(verified.good))),
        if deleted > 0 { count(fill.deleted) } else { dash() },
        if trial.costs.is_empty() { dash() } else { trial.costs.join(", ") },
        escape(&fill.reasons.join("; ")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fill::tests::all_stored;
    use crate::study::tests::{fits, long_name};
    use cost::{Months, PriceSheet};
    use measure::ResultWord;
    use store::journal::{Record, SessionEnd, Verification, VerifiedObject};

    const SHEET: &str =
        "name: mine\ncurrency: USD\ndate: 2026-01-31\nstorage: {price: 100, per: GB}\nrequests: {put: 50}\n";

    fn trial(target: &str, repeat: u32, end: &Record) -> FillTrial {
        let good = Record::Verified(vec![VerifiedObject { number: 3, result: Verification::Good }]);
        let prices = Costs { sheets: vec![PriceSheet::parse(SHEET).unwrap()], keep: Months::zero() };
        let report = FillReport::of(&all_stored(&[good, end.clone()]), &prices);
        FillTrial::of(("size 1MB", target, repeat), "d", report, &prices)
    }

    fn ended(reason: SessionEnd) -> Record {
        Record::SessionEnded { session: 1, unix_ms: 9000, reason }
    }

    #[test]
    fn each_fill_has_a_row_with_its_result_and_its_costs() {
        let rule = "trailing 24h bandwidth < 50Mbit/s";
        let slow = ended(SessionEnd::StopRule { text: rule.to_owned() });
        let fills = [trial("b", 1, &slow), trial("a", 1, &ended(SessionEnd::Finished))];
        assert_eq!((fills[0].exit, fills[0].fill.result), (ExitStatus::Failed, ResultWord::Fail));
        let order = Order { cells: Vec::new(), targets: vec!["a", "b"] };
        let text = text(&fills, &order);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        for part in ["size 1MB", " a ", "PASS", "10 of 10", "1 good", "USD (mine)"] {
            assert!(lines[1].contains(part), "{part}: {text}");
        }
        assert!(lines[2].contains("FAIL") && lines[2].contains(rule) && !lines[2].contains("size"), "{text}");
        assert_eq!(super::text(&[], &order), "");
    }

    #[test]
    fn repeats_are_numbered_if_there_are_several() {
        let finished = ended(SessionEnd::Finished);
        let fills = [trial("a", 1, &finished), trial("a", 2, &finished)];
        let text = text(&fills, &Order::default());
        assert!(text.contains("a, repeat 1") && text.contains("a, repeat 2"), "{text}");
        assert!(!super::text(&fills[..1], &Order::default()).contains("repeat"), "{text}");
    }

    #[test]
    fn the_table_fits_with_long_names_and_keeps_the_costs() {
        let mut long = trial(&long_name("t"), 1, &ended(SessionEnd::StopRule { text: long_name("r") }));
        (long.cell, long.costs) = (long_name("c"), vec![long_name("p"), "0.01 USD (mine)".to_owned()]);
        let fills = [long, trial("a", 1, &ended(SessionEnd::Finished)), trial("b", 2, &ended(SessionEnd::Interrupted))];
        let order = Order::default();
        fits("fills", |style| short_text(&fills, &order, style));
        let narrow = short_text(&fills[1..], &order, &Style { width: 60, color: false });
        assert!(narrow.contains("costs: ") && narrow.contains("USD (mine)") && narrow.contains("PASS"), "{narrow}");
    }
}
