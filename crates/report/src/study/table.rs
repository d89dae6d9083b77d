//! The trials of a study as a table, with one row for each cell and target.

use super::narrow::fitting;
use super::rows::{MedianRange, Order, Row, rows};
use super::trial::Trial;
use crate::number::{byte_rate, rate, share};
use crate::percentile;
use crate::text::{Style, paragraph, table};

/// Titles of the columns of [`cells`].
pub(crate) const COLUMNS: [&str; 10] =
    ["cell", "target", "ok", "goodput", "vs. first", "TTFB p95", "p50", "p99", "success", "limited by"];

/// Columns that [`short_text`] may leave out, the least important one first: p50, ok, TTFB p95, success,
/// p99, vs. first.
const OPTIONAL: [usize; 6] = [6, 2, 5, 8, 7, 4];
/// Columns with long texts: limited by.
const TEXTS: [usize; 1] = [9];

/// Like [`text`], but at most 80 characters wide.
#[must_use]
pub fn short_text<'t>(trials: &'t [Trial], order: &Order<'t>, style: &Style) -> String {
    let about = about_ranges(trials).map(|text| paragraph(text, style)).unwrap_or_default();
    fitting(&table_rows(trials, order), &TEXTS, &OPTIONAL, style) + &about
}

/// Formats the trials as a table for people, with all columns.
#[must_use]
pub fn text<'t>(trials: &'t [Trial], order: &Order<'t>) -> String {
    let about = about_ranges(trials).map(|text| paragraph(text, &Style::default())).unwrap_or_default();
    table(&table_rows(trials, order)) + &about
}

/// Returns an explanation of the ranges in the table, or `None` if it has no ranges.
pub(crate) fn about_ranges(trials: &[Trial]) -> Option<&'static str> {
    trials.iter().any(Trial::has_ranges).then_some(percentile::ABOUT_RANGES)
}

/// Returns a row of titles, and one row for each cell and target.
pub(crate) fn table_rows<'t>(trials: &'t [Trial], order: &Order<'t>) -> Vec<[String; 10]> {
    let rows = rows(trials, order);
    let row = |row: &Row<'_>| {
        let first = row.first.and_then(|first| rows.get(first));
        let mut cells = cells(row, first);
        if first.is_some() {
            cells[0].clear();
        }
        cells
    };
    std::iter::once(COLUMNS.map(str::to_owned)).chain(rows.iter().map(row)).collect()
}

/// Returns the cells of a row, with the columns of [`COLUMNS`]. The cells show medians over the repeats, and the
/// throughput compared with the first target.
pub(crate) fn cells(row: &Row<'_>, first: Option<&Row<'_>>) -> [String; 10] {
    [
        row.cell.to_owned(),
        row.target.to_owned(),
        median(row, |trial| trial.metrics.ok_per_second, rate),
        median(row, |trial| trial.metrics.goodput_bytes_per_second, byte_rate),
        first.map_or_else(String::new, |first| ratio(row.ratio_to(first))),
        time(row, [|trial| trial.ttfb_p95_low_nanos, |trial| trial.ttfb_p95_nanos]),
        time(row, [|trial| trial.metrics.response_p50_low_nanos, |trial| trial.metrics.response_p50_nanos]),
        time(row, [|trial| trial.metrics.response_p99_low_nanos, |trial| trial.metrics.response_p99_nanos]),
        median(row, |trial| trial.metrics.success_share, share),
        limit_and_missed(row),
    ]
}

fn median(row: &Row<'_>, of: impl Fn(&Trial) -> Option<f64>, form: impl Fn(f64) -> String) -> String {
    row.spread(of).map_or_else(|| "–".to_owned(), |spread| form(spread.median))
}

/// Formats the median of a time. The median of ranges is also a range, from the median of the lower ends to the median
/// of the upper ends.
fn time(row: &Row<'_>, [low, high]: [fn(&Trial) -> Option<u64>; 2]) -> String {
    let median = |of: fn(&Trial) -> Option<u64>| {
        row.spread(|trial| of(trial).map(|nanos| nanos as f64)).map(|spread| spread.median)
    };
    median(high).map_or_else(|| "–".to_owned(), |nanos| percentile::between(median(low), nanos))
}

/// Returns the limit of the first trial, and the first objective missed. If only some trials missed an objective, the
/// number of these trials precedes the objective.
fn limit_and_missed(row: &Row<'_>) -> String {
    let missed: Vec<&String> = row.trials.iter().filter_map(|trial| trial.metrics.first_missed.as_ref()).collect();
    let limited = row.trials.first().map(|trial| trial.metrics.limit_and_pace()).unwrap_or_default();
    match missed.as_slice() {
        [] => limited,
        [first, ..] if missed.len() < row.trials.len() => {
            format!("{limited} · {} of {} not met: {first}", missed.len(), row.trials.len())
        }
        [first, ..] => format!("{limited} · not met: {first}"),
    }
}

/// Formats the median over the pairs. If there are several pairs, the range follows.
fn ratio(ratio: Option<MedianRange>) -> String {
    match ratio {
        Some(MedianRange { median, count: 1, .. }) => format!("{} ×", times(median)),
        Some(MedianRange { median, least, most, .. }) => {
            format!("{} × ({} … {})", times(median), times(least), times(most))
        }
        None => "–".to_owned(),
    }
}

/// Formats a ratio with two decimals.
pub(crate) fn times(ratio: f64) -> String {
    if ratio.is_infinite() { "∞".to_owned() } else { format!("{ratio:.2}") }
}
