//! The text report of several runs of the same load. The spread of each metric shows the noise.

use super::blocks::Table;
use super::page::{Page, paint};
use super::style::Style;
use crate::compared_metrics::{COMPARED_METRICS, spread};
use crate::number::{count, plural, share};
use crate::percentile;
use crate::result;
use crate::result::joint;
use measure::values::sum;
use store::SavedRun;

/// Columns that may be left out, the least important one first: goodput, p50, failed, p99, requests.
const OPTIONAL: [usize; 5] = [3, 4, 6, 5, 2];

/// Returns the joint result of the runs, a table of all runs, and the median and spread of each metric. In a median,
/// each run counts once. Operations of different runs are never merged.
#[must_use]
pub fn repeats(runs: &[SavedRun], style: &Style) -> String {
    let mut page = Page::new(*style);
    let joint = joint::of_repeats(runs);
    let together = format!("{} of the same load", plural(runs.len() as u64, "run"));
    page.first_line(paint(joint.word), vec![joint.word.text().to_owned(), together]);
    joint.reasons.iter().for_each(|reason| page.line(&reason.text));
    page.heading("Repeats");
    let mut table = Table::new();
    table.head(["run", "", "requests", "goodput", "p50", "p99", "failed"]);
    let or_none = |shown: Option<String>| shown.unwrap_or_else(|| "n/a".to_owned());
    for (index, run) in runs.iter().enumerate() {
        let tally = &run.summary().stats.measured;
        let failed = count(sum([tally.failed, tally.dropped]));
        let mut cells = vec![format!("{}", index + 1), result::of(run).word.text().to_owned()];
        cells.extend(COMPARED_METRICS.iter().map(|metric| or_none(metric.shown(run))));
        cells.push(failed);
        table.row(cells);
    }
    let row = |name: &str| vec![name.to_owned(), String::new()];
    let medians = COMPARED_METRICS.iter().map(|metric| or_none(metric.median(runs)));
    table.row(row("median").into_iter().chain(medians));
    let spreads =
        COMPARED_METRICS.iter().map(|metric| or_none(spread(runs.iter().filter_map(metric.of).collect()).map(share)));
    table.row(row("spread").into_iter().chain(spreads));
    page.fitted_table(table, &OPTIONAL);
    page.line("spread: (largest − smallest) / median of the runs");
    if runs.iter().any(|run| COMPARED_METRICS.iter().any(|metric| metric.is_range(run))) {
        page.line(percentile::ABOUT_RANGES);
    }
    page.finish()
}
