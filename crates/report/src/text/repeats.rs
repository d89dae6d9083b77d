//! Several runs of the same load under each other, with what they differ by: how much of a figure is noise.

use super::Style;
use super::page::{Page, Table};
use crate::number::{count, share};
use crate::repeated::{FIGURES, median, spread};
use crate::result;
use measure::books::sum;
use store::SavedRun;

/// A table of the runs, and the median and spread of each figure. Medians of runs, never means of percentiles: each
/// run counts once, and nothing is said of the operations of all of them together.
#[must_use]
pub fn repeats(runs: &[SavedRun], style: &Style) -> String {
    let mut page = Page::new(*style);
    page.heading("Repeats");
    let mut table = Table::new();
    table.head(["run", "", "requests", "goodput", "p50", "p99", "failed"]);
    for (index, run) in runs.iter().enumerate() {
        let tally = &run.summary().stats.measured;
        let failed = count(sum([tally.failed, tally.dropped]));
        let mut cells = vec![format!("{}", index + 1), result::of(run).word.text().to_owned()];
        cells.extend(FIGURES.iter().map(|figure| (figure.of)(run).map_or_else(|| "n/a".to_owned(), figure.show)));
        cells.push(failed);
        table.row(cells);
    }
    for (name, summarise) in [("median", median as fn(Vec<f64>) -> Option<f64>), ("spread", spread)] {
        let mut cells = vec![name.to_owned(), String::new()];
        cells.extend(FIGURES.iter().map(|figure| {
            let values: Vec<f64> = runs.iter().filter_map(figure.of).collect();
            match summarise(values) {
                None => "n/a".to_owned(),
                Some(value) if name == "spread" => share(value),
                Some(value) => (figure.show)(value),
            }
        }));
        table.row(cells);
    }
    page.table(table);
    page.line("spread: (largest − smallest) / median of the runs");
    page.finish()
}
