//! Several runs of the same load under each other, with what they differ by: how much of a figure is noise.

use super::Style;
use super::headline::paint;
use super::page::{Page, Table};
use crate::joint;
use crate::number::{count, plural, share};
use crate::percentile;
use crate::repeated::{FIGURES, spread};
use crate::result;
use measure::values::sum;
use store::SavedRun;

/// The result of the runs together, a table of them, and the median and spread of each figure. Medians of runs, never means of
/// percentiles: each run counts once, and nothing is said of the operations of all of them together.
#[must_use]
pub fn repeats(runs: &[SavedRun], style: &Style) -> String {
    let mut page = Page::new(*style);
    let joint = joint::of_repeats(runs);
    let together = format!("{} of the same load", plural(runs.len() as u64, "run"));
    page.verdict(paint(joint.word), vec![joint.word.text().to_owned(), together]);
    joint.reasons.iter().for_each(|reason| page.line(&reason.text));
    page.heading("Repeats");
    let mut table = Table::new();
    table.head(["run", "", "requests", "goodput", "p50", "p99", "failed"]);
    let or_none = |shown: Option<String>| shown.unwrap_or_else(|| "n/a".to_owned());
    for (index, run) in runs.iter().enumerate() {
        let tally = &run.summary().stats.measured;
        let failed = count(sum([tally.failed, tally.dropped]));
        let mut cells = vec![format!("{}", index + 1), result::of(run).word.text().to_owned()];
        cells.extend(FIGURES.iter().map(|figure| or_none(figure.shown(run))));
        cells.push(failed);
        table.row(cells);
    }
    let row = |name: &str| vec![name.to_owned(), String::new()];
    let medians = FIGURES.iter().map(|figure| or_none(figure.median(runs)));
    table.row(row("median").into_iter().chain(medians));
    let spreads = FIGURES.iter().map(|figure| or_none(spread(runs.iter().filter_map(figure.of).collect()).map(share)));
    table.row(row("spread").into_iter().chain(spreads));
    page.table(table);
    page.line("spread: (largest − smallest) / median of the runs");
    if runs.iter().any(|run| FIGURES.iter().any(|figure| figure.is_range(run))) {
        page.line(percentile::ABOUT_RANGES);
    }
    page.finish()
}
