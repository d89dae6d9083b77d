//! The short report of a run, which fits on one screen. The short report has only the result, the main times and the
//! failures.

use super::blocks::{Table, about_left_out, columns};
use super::page::{Page, paint};
use super::sections::times::cell;
use super::sections::{agents, failures};
use super::style::Style;
use crate::number::{count, plural, share};
use crate::overview::Overview;
use crate::percentile::{self, Percentile};
use crate::result;
use measure::objective::{ObjectiveOutcome, ObjectiveResult, Timed};
use measure::values::sum;
use measure::{Enumerated, KindStats};
use std::cmp::Reverse;
use store::SavedRun;

/// Maximum number of lines. Together with the result and up to two lines about the run directory on standard error, and with
/// the prompt of the shell, the report fits on 24 lines.
pub const SHORT_LINES_MAX: usize = 20;
/// Maximum width of a line, in characters.
const WIDTH_MAX: usize = 80;
/// Quantiles in the table, in ascending order.
const QUANTILES: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 1.0];
/// Explanation of ranges, which fits on one line.
const ABOUT_RANGES: &str = "a … b: delays of this client may have raised the percentile from a to b";
/// Indexes of quantiles to leave out if the table is too wide, in this order.
const OPTIONAL_QUANTILES: [usize; 3] = [1, 3, 4];

/// Returns the short report of a run: at most [`SHORT_LINES_MAX`] lines of 80 characters.
#[must_use]
pub fn short_text(run: &SavedRun, style: &Style) -> String {
    let style = narrowed(style);
    let overview = Overview::of(run);
    let mut begin = Lines::new(style);
    head(&mut begin, &overview);
    let mut rest = Lines::new(style);
    let remarks = times(&mut rest, run);
    operations(&mut rest, run);
    kinds(&mut rest, run);
    failed(&mut rest, run);
    objectives(&mut rest, run);
    let room = SHORT_LINES_MAX.saturating_sub(begin.lines.len() + rest.lines.len());
    agents(&mut rest, run, room);
    let room = SHORT_LINES_MAX.saturating_sub(begin.lines.len() + rest.lines.len());
    let notes = overview.notes.iter().map(ToString::to_string);
    begin.lines.extend(rest.lines);
    begin.lines.extend(notes_within(remarks.into_iter().chain(notes), room, style));
    begin.lines.join("\n") + "\n"
}

/// Returns the style of a short report.
pub fn narrowed(style: &Style) -> Style {
    Style { width: style.width.min(WIDTH_MAX), ..*style }
}

/// The lines of a short report so far.
struct Lines {
    style: Style,
    lines: Vec<String>,
}

impl Lines {
    fn new(style: Style) -> Self {
        Self { style, lines: Vec::new() }
    }

    /// Adds a part of at most `most` lines. A longer part is cut.
    fn part(&mut self, most: usize, write: impl FnOnce(&mut Page)) {
        let mut page = Page::new(self.style);
        write(&mut page);
        let text = page.finish();
        let lines: Vec<&str> = text.lines().collect();
        let cut = lines.len() > most;
        for (index, line) in lines.iter().take(most).enumerate() {
            let mark = cut && index + 1 == most;
            self.lines.push(clipped(line, self.style.width, mark));
        }
    }
}

/// Returns a line of at most `width` characters. If the line is cut, or if lines after it are left out, the result ends
/// with `…`.
fn clipped(line: &str, width: usize, more_follows: bool) -> String {
    // `columns` also counts the color codes, so it cannot check a colored line. A colored line always fits, because
    // `Layout` has wrapped it.
    let fits = columns(line) <= width || line.contains('\u{1b}');
    match (fits, more_follows) {
        (true, false) => line.to_owned(),
        (true, true) if columns(line) + 2 <= width => format!("{line} …"),
        _ => line.chars().take(width - 1).chain(['…']).collect(),
    }
}

/// Adds the result, the limit and the accounting.
fn head(lines: &mut Lines, overview: &Overview) {
    let mut pieces = vec![overview.result.text().to_owned()];
    pieces.extend(overview.pieces());
    // A reader needs the reason for a result, so this part may be longer than any other part.
    lines.part(4, |page| page.first_line(paint(overview.result), pieces));
    match overview.further_reasons.as_slice() {
        [] => {}
        [one] => lines.part(1, |page| page.line(&format!("also: {one}"))),
        [one, more @ ..] => {
            let more = plural(more.len() as u64, "more reason");
            lines.part(1, |page| page.line(&format!("also: {more}, and {one}")));
        }
    }
    lines.part(3, |page| page.line(&crate::limit::text(&overview.limit)));
    if let Some(pace) = &overview.pace {
        lines.part(2, |page| page.line(pace));
    }
    lines.part(1, |page| page.line(&overview.accounting));
}

/// Adds the table of times. Returns remarks about its cells.
fn times(lines: &mut Lines, run: &SavedRun) -> Vec<String> {
    let rows = time_rows(run);
    let (table, left_out) = fitting_table(&rows, lines.style.width);
    let is_shown = |q: f64| !left_out.contains(&percentile::label(q));
    let any = |is: fn(&Percentile) -> bool| {
        let mut cells = rows.iter().flat_map(|row| QUANTILES.iter().zip(&row.percentiles));
        cells.any(|(q, shown)| is_shown(*q) && is(shown))
    };
    let mut remarks = Vec::new();
    if any(|shown| matches!(shown, Percentile::TooFew { .. })) {
        remarks.push("n/a: too few operations for this percentile".to_owned());
    }
    if any(|shown| matches!(shown, Percentile::Between(..))) {
        remarks.push(ABOUT_RANGES.to_owned());
    }
    remarks.extend(about_left_out(&left_out));
    lines.part(1, Page::gap);
    lines.part(rows.len() + 1, |page| page.table(table));
    remarks
}

/// A row of the table, with the number of samples of a time and its percentiles.
struct TimeRow {
    title: &'static str,
    samples: u64,
    percentiles: [Percentile; QUANTILES.len()],
}

/// Returns the rows. If operations failed, a second row has the response times with the failures included. In the
/// closed model, the service times have a row only if they differ much from the response times.
fn time_rows(run: &SavedRun) -> Vec<TimeRow> {
    let summary = run.summary();
    let (all, dropped) = (&summary.all, summary.stats.measured.dropped);
    let of = |title, timed| TimeRow {
        title,
        samples: all.timed(timed).0.count(),
        percentiles: QUANTILES.map(|q| percentile::timed(all, timed, q)),
    };
    let mut rows = vec![of("response", Timed::Response)];
    let others = sum([all.failed, all.unfinished, dropped]);
    if others > 0 {
        let percentiles = QUANTILES.map(|q| percentile::of_all(all, dropped, q));
        rows.push(TimeRow { title: "with failures", samples: sum([all.ok, others]), percentiles });
    }
    // In the closed model, the two times differ only by the time before the request is sent, usually to open connections.
    if run.begin.model.is_open() || is_much_shorter(all) {
        rows.push(of("service", Timed::Service));
    }
    rows
}

/// Returns whether the p99 of the service time is much shorter than the p99 of the response time.
fn is_much_shorter(all: &KindStats) -> bool {
    let p99 = |timed| all.timed(timed).0.quantile(0.99);
    p99(Timed::Service).zip(p99(Timed::Response)).is_some_and(|(service, response)| service < response / 2)
}

/// Returns the table with as many columns as fit, and the titles of those that are left out.
fn fitting_table(rows: &[TimeRow], width: usize) -> (Table, Vec<String>) {
    const SAMPLES: usize = 1;
    let column = |quantile: usize| SAMPLES + 1 + quantile;
    let mut table = Table::new();
    table.head(["".to_owned(), "samples".to_owned()].into_iter().chain(QUANTILES.map(percentile::label)));
    for row in rows {
        table.row([row.title.to_owned(), count(row.samples)].into_iter().chain(row.percentiles.iter().map(cell)));
    }
    // Columns without a value are left out first. The report also has the number of samples below the table.
    let is_empty = |index: &usize| rows.iter().all(|row| matches!(row.percentiles[*index], Percentile::TooFew { .. }));
    let empty = (0..QUANTILES.len()).rev().filter(is_empty).map(column);
    let others = OPTIONAL_QUANTILES.into_iter().filter(|index| !is_empty(index)).map(column);
    let optional: Vec<usize> = empty.chain([SAMPLES]).chain(others).collect();
    table.fitted(&optional, width)
}

/// Adds the counts of operations.
fn operations(lines: &mut Lines, run: &SavedRun) {
    let summary = run.summary();
    let tally = &summary.stats.measured;
    let mut pieces = vec![format!("{} ok", count(tally.ok)), format!("{} failed", count(tally.failed))];
    // In the records of a run that was killed, or that still runs, some operations have not ended.
    let open = if run.end.is_none() { summary.open_operations() } else { 0 };
    let optional =
        [(tally.dropped, "dropped"), (tally.unfinished, "unfinished"), (open, "in flight"), (tally.retries, "retries")];
    pieces.extend(
        optional.iter().filter(|(number, _)| *number > 0).map(|(number, what)| format!("{} {what}", count(*number))),
    );
    lines.part(1, Page::gap);
    lines.part(2, |page| {
        page.item("operations", &format!("{} offered: {}", count(tally.scheduled), pieces.join(" · ")));
    });
}

/// Adds the median and the p99 of the response times of each kind of operation, if there are several kinds.
fn kinds(lines: &mut Lines, run: &SavedRun) {
    let kinds = &run.summary().stats.kinds;
    if kinds.len() < 2 {
        return;
    }
    let at = |stats: &KindStats, q: f64| cell(&percentile::timed(stats, Timed::Response, q));
    let shown = kinds.iter().map(|(kind, stats)| {
        format!("{} {} ok, p50 {}, p99 {}", kind.name(), count(stats.ok), at(stats, 0.5), at(stats, 0.99))
    });
    let shown = shown.collect::<Vec<_>>().join(" · ");
    lines.part(2, |page| page.item("by kind", &shown));
}

/// Adds the agents of a run of several hosts, at most `room` lines. The table is left out if not all agents fit.
fn agents(lines: &mut Lines, run: &SavedRun, room: usize) {
    let Some(fleet) = run.end.as_ref().and_then(|end| end.fleet.as_deref()) else { return };
    if room < 2 {
        return;
    }
    let number = plural(fleet.agents.len() as u64, "agent");
    let scaling = agents::scaling(fleet);
    let fits = fleet.agents.len() + 3 + usize::from(scaling.is_some()) <= room;
    let more = if fits { "" } else { "; --full lists them" };
    lines.part(1, Page::gap);
    lines.part(1, |page| page.item("agents", &format!("{number}, started {}{more}", agents::starts(fleet))));
    if let Some(scaling) = scaling {
        lines.part(1, |page| page.item("scaling", &scaling));
    }
    if fits {
        lines.part(fleet.agents.len() + 1, |page| page.table(agents::short_table(fleet)));
    }
}

/// Adds the failed attempts by class, the most frequent class first, with an example of the most frequent cause.
fn failed(lines: &mut Lines, run: &SavedRun) {
    let stats = &run.summary().stats;
    let tally = &stats.measured;
    let mut classes: Vec<_> = failures::failed(&tally.classes).collect();
    if classes.is_empty() {
        return;
    }
    classes.sort_by_key(|(_, number)| Reverse(*number));
    let part = |number: u64| share(number as f64 / tally.attempts.max(1) as f64);
    let shown =
        classes.iter().map(|(class, number)| format!("{} × {} ({})", count(*number), class.name(), part(*number)));
    let shown = shown.collect::<Vec<_>>().join(" · ");
    lines.part(2, |page| page.item("failed attempts", &shown));
    let frequent = stats.examples.iter().max_by_key(|example| tally.causes.get(example.cause()));
    if let Some(example) = frequent {
        let most = if stats.kinds.len() < 2 { 2 } else { 1 };
        lines.part(most, |page| page.item("", &failures::example_line(example)));
    }
}

/// Adds the objectives, the missed ones first.
fn objectives(lines: &mut Lines, run: &SavedRun) {
    let mut judged = result::of(run).objectives;
    judged.sort_by_key(|one| one.outcome == ObjectiveOutcome::Met);
    let line = |one: &ObjectiveResult| format!("{}: {}", one.objective, result::objective_outcome_text(one));
    match judged.as_slice() {
        [] => {}
        [one] => lines.part(2, |page| page.item("objective", &line(one))),
        [one, two] => {
            lines.part(1, |page| page.item("objective", &line(one)));
            lines.part(1, |page| page.item("objective", &line(two)));
        }
        [one, rest @ ..] => {
            let missed = rest.iter().filter(|one| one.outcome != ObjectiveOutcome::Met).count();
            lines.part(1, |page| page.item("objective", &line(one)));
            let text = format!("{} more, {} of them not met", rest.len(), count(missed as u64));
            lines.part(1, |page| page.item("objectives", &text));
        }
    }
}

/// Returns the notes that fit into `room` lines. If not all fit, the last line shows the number of missing notes.
fn notes_within(notes: impl Iterator<Item = String>, room: usize, style: Style) -> Vec<String> {
    let notes: Vec<Vec<String>> = notes
        .map(|note| {
            let mut page = Page::new(style);
            page.line(&format!("note: {note}"));
            page.finish().lines().map(|line| clipped(line, style.width, false)).collect()
        })
        .collect();
    let mut lines: Vec<String> = Vec::new();
    for (index, note) in notes.iter().enumerate() {
        let reserved = usize::from(index + 1 < notes.len());
        if lines.len() + note.len() + reserved > room {
            let more = (notes.len() - index) as u64;
            if lines.len() < room {
                lines.push(format!(
                    "  {}: see the full report",
                    plural(more, if index == 0 { "note" } else { "more note" })
                ));
            }
            break;
        }
        lines.extend(note.iter().cloned());
    }
    lines
}
