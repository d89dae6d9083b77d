//! Several runs of the same load under each other, with what they differ by: how much of a figure is noise.

use super::Style;
use super::page::{Page, Table};
use crate::number::{byte_rate, count, rate, share, time};
use crate::percentile::samples_needed;
use crate::standing::Standing;
use store::SavedRun;

/// A table of the runs, and the median and spread of each figure. Medians of runs, never means of percentiles: each
/// run counts once, and nothing is said of the operations of all of them together.
#[must_use]
pub fn repeats(runs: &[SavedRun], style: &Style) -> String {
    let mut page = Page::new(*style);
    page.heading("Repeats");
    let mut table = Table::new();
    table.row(["run", "", "requests", "goodput", "p50", "p99", "failed"]);
    for (index, run) in runs.iter().enumerate() {
        let tally = &run.summary().stats.measured;
        let failed = count(tally.failed + tally.dropped);
        let mut cells = vec![format!("{}", index + 1), Standing::of(run).word().to_owned()];
        cells.extend(FIGURES.iter().map(|figure| (figure.of)(run).map_or_else(|| "n/a".to_owned(), figure.show)));
        cells.push(failed);
        table.row(cells);
    }
    for (name, summarise) in [("median", median as Summarise), ("spread", spread)] {
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
    page.table(&table);
    page.line("spread: (largest − smallest) / median of the runs");
    page.finish()
}

type Summarise = fn(Vec<f64>) -> Option<f64>;

/// One figure of a run.
struct Figure {
    of: fn(&SavedRun) -> Option<f64>,
    show: fn(f64) -> String,
}

const FIGURES: [Figure; 4] = [
    Figure { of: |run| run.summary().ok_rate(), show: rate },
    Figure { of: |run| run.summary().goodput(), show: byte_rate },
    Figure { of: |run| response(run, 0.5), show: time },
    Figure { of: |run| response(run, 0.99), show: time },
];

/// A percentile of response time, when there are enough operations for it.
fn response(run: &SavedRun, q: f64) -> Option<f64> {
    let response = &run.summary().all.response;
    let enough = response.count() >= samples_needed(q);
    response.quantile(q).filter(|_| enough).map(|nanos| nanos as f64)
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        count if count.is_multiple_of(2) => Some((values[middle - 1] + values[middle]) / 2.0),
        _ => Some(values[middle]),
    }
}

fn spread(values: Vec<f64>) -> Option<f64> {
    let (least, most) = values.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), v| (least.min(*v), most.max(*v)));
    let middle = median(values).filter(|middle| *middle > 0.0)?;
    Some((most - least) / middle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_spreads() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(spread(vec![90.0, 100.0, 110.0]), Some(0.2));
        assert_eq!(spread(vec![0.0, 0.0]), None);
    }
}
