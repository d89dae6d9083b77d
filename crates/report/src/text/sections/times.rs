//! The times section: response time, service time, and the parts of service time.

use crate::number::{count, time};
use crate::percentile::{self, LADDER, Percentile};
use crate::text::blocks::Table;
use crate::text::page::Page;
use measure::objective::Timed;
use measure::values::sum;
use measure::{Distribution, KindStats};
use store::SavedRun;

/// A column of the table.
struct Column {
    title: [&'static str; 2],
    cells: Vec<String>,
    samples: u64,
    /// `true` if any percentile is a range.
    ranges: bool,
    /// For each quantile in the table, the number of samples needed, or `None` if there are enough samples.
    needed: Vec<Option<u64>>,
}

pub fn write(page: &mut Page, run: &SavedRun) {
    let summary = run.summary();
    let (all, tally) = (&summary.all, &summary.stats.measured);
    page.heading("Times of operations");
    if sum([all.ok, all.failed, all.unfinished, tally.dropped]) == 0 {
        page.line("the measured window has no operations");
        return;
    }
    let mut columns = vec![of_timed(["response", "of successes"], all, Timed::Response), with_failures(run)];
    let service = of_timed(["service", "of successes"], all, Timed::Service);
    let ttfb = of_timed(["TTFB", ""], all, Timed::Ttfb);
    columns.extend([service, ttfb].into_iter().filter(|column| column.samples > 0));
    for (title, values) in [
        (["transfer", ""], &all.transfer),
        (["100-continue", "where sent"], &all.expect_continue),
        (["sending", "of uploads"], &all.sending),
        (["waiting", "of uploads"], &all.waiting),
        (["connect", "where opened"], &all.connect),
        (["TLS handshake", "where opened"], &all.handshake),
        (["lateness", "of started"], &all.lateness),
        (["slot wait", "where waited"], &all.slot_wait),
    ] {
        if values.count() > 0 {
            columns.push(of(title, values));
        }
    }
    write_columns(page, &columns);
    if columns.iter().any(|column| column.ranges) {
        page.line(percentile::ABOUT_RANGES);
    }
    if !run.begin.model.is_open() {
        page.line(
            "Closed model: a slow response delays the next request, so fewer are sent while the target is slow. These \
             response times do not predict those of an open system under the same load.",
        );
    }
}

fn of(title: [&'static str; 2], values: &Distribution) -> Column {
    column(title, head(values), values.count(), |q| percentile::of(values, q))
}

/// Returns the column of a time of the target. The percentiles of the column may be ranges, because client stalls may
/// have increased the times.
fn of_timed(title: [&'static str; 2], all: &KindStats, timed: Timed) -> Column {
    let (values, _) = all.timed(timed);
    column(title, head(values), values.count(), |q| percentile::timed(all, timed, q))
}

fn head(values: &Distribution) -> [String; 4] {
    let moments = values.moments();
    let exact = |value: Option<u64>| value.map_or_else(|| "–".into(), |nanos| time(nanos as f64));
    let rounded = |value: Option<f64>| value.map_or_else(|| "–".into(), time);
    [count(values.count()), exact(values.min()), rounded(moments.mean()), rounded(moments.standard_deviation())]
}

fn with_failures(run: &SavedRun) -> Column {
    let summary = run.summary();
    let (all, dropped) = (&summary.all, summary.stats.measured.dropped);
    let samples = sum([all.ok, all.failed, all.unfinished, dropped]);
    let head = [count(samples), "–".into(), "–".into(), "–".into()];
    column(["response", "with failures"], head, samples, |q| percentile::of_all(all, dropped, q))
}

fn column(title: [&'static str; 2], head: [String; 4], samples: u64, quantile: impl Fn(f64) -> Percentile) -> Column {
    let shown = LADDER.map(quantile);
    let cells = head.into_iter().chain(shown.iter().map(cell)).collect();
    let needed = shown.iter().map(|shown| if let Percentile::TooFew { needed } = shown { Some(*needed) } else { None });
    let ranges = shown.iter().any(|shown| matches!(shown, Percentile::Between(..)));
    Column { title, cells, samples, ranges, needed: needed.collect() }
}

pub fn cell(shown: &Percentile) -> String {
    match shown {
        Percentile::Value(nanos) => time(*nanos as f64),
        Percentile::Between(low, high) => percentile::range(*low, *high),
        Percentile::LongerThan(nanos) => format!("> {}", time(*nanos as f64)),
        Percentile::Failed => "failed".into(),
        Percentile::TooFew { .. } => "n/a".into(),
        Percentile::Empty => "–".into(),
    }
}

/// Writes the columns, as several tables if they do not fit side by side.
fn write_columns(page: &mut Page, columns: &[Column]) {
    let widths = table(columns).widths();
    let (labels, remarks) = (widths[0], widths[columns.len() + 1]);
    let mut rest = columns;
    while !rest.is_empty() {
        let done = columns.len() - rest.len();
        let mut used = labels + remarks + 4;
        let fitting = widths[done + 1..=columns.len()].iter().take_while(|width| {
            used += **width + 2;
            used <= page.width()
        });
        let (here, further) = rest.split_at(fitting.count().max(1));
        if done > 0 {
            page.gap();
        }
        page.table(table(here));
        rest = further;
    }
}

/// Returns the columns as a table. If any percentile has too few samples, a last column shows the number needed.
fn table(columns: &[Column]) -> Table {
    let mut table = Table::with_text_from(columns.len() + 1);
    for line in 0..2 {
        let titles = columns.iter().map(|column| column.title[line].to_owned());
        table.head(std::iter::once(String::new()).chain(titles).chain([String::new()]));
    }
    let head = ["samples", "min", "mean", "std dev"].map(str::to_owned);
    let rungs = head.len();
    for (index, label) in head.into_iter().chain(LADDER.map(percentile::label)).enumerate() {
        let cells = columns.iter().map(|column| column.cells[index].clone());
        let needed = index.checked_sub(rungs).and_then(|rung| columns.iter().find_map(|column| column.needed[rung]));
        let remark = needed.map_or_else(String::new, |needed| format!("n/a (needs {})", count(needed)));
        table.row(std::iter::once(label).chain(cells).chain([remark]));
    }
    table
}
