//! The report for people, as plain text that can be pasted into an issue. The report starts with the result and the
//! limit of the run. The metrics follow, from the most important to the most specific.

mod blocks;
mod comparison;
mod fill;
mod fit;
mod fleet_fill;
mod layout;
mod ledger;
mod page;
mod repeats;
mod sections;
mod short;
mod style;

pub(crate) use self::fill::fill_blocks;
pub use self::fill::{fill_estimate, fill_text};
pub use self::fleet_fill::fleet_fill_text;
#[cfg(test)]
pub(crate) use blocks::columns;
pub(crate) use blocks::{Block, Table};
pub use comparison::comparison;
pub(crate) use comparison::{comparison_notes, comparison_pieces, comparison_rows, noise_floor};
pub use repeats::repeats;
pub(crate) use sections::failures;
pub use sections::failures::{failed as failed_attempts, failure_line};
pub use sections::leftovers::uploads_line as uploads;
pub use short::{SHORT_LINES_MAX, short_text};
pub use style::Style;

use crate::overview::Overview;
use blocks::about_left_out;
use measure::ResultWord;
use page::{Page, paint};
use short::narrowed;
use store::SavedRun;

/// Width at which every table fits and no label is shortened.
const UNBROKEN_WIDTH: usize = 1000;

/// Returns the whole report. The text ends with a line break.
#[must_use]
pub fn text(run: &SavedRun, style: &Style) -> String {
    let mut page = Page::new(*style);
    overview(&mut page, &Overview::of(run));
    sections::setup::write(&mut page, run);
    METRICS.iter().for_each(|section| section(&mut page, run));
    page.finish()
}

/// The sections with metrics, in order.
const METRICS: [fn(&mut Page, &SavedRun); 13] = [
    sections::operations::write,
    sections::agents::write,
    sections::kinds::write,
    sections::times::write,
    sections::as_ab::write,
    sections::bytes::write,
    sections::redirects::write,
    failures::write,
    sections::leftovers::write,
    sections::groups::write,
    sections::path::write,
    sections::client::write,
    sections::collected::write,
];

fn overview(page: &mut Page, overview: &Overview) {
    let mut pieces = vec![overview.result.text().to_owned()];
    pieces.extend(overview.pieces());
    page.first_line(paint(overview.result), pieces);
    overview.sentences().iter().for_each(|sentence| page.line(sentence));
    overview.notes.iter().for_each(|note| page.line(&format!("note: {note}")));
}

/// Returns the sections of the report, for a format with its own layout. The setup is the last section.
pub(crate) fn section_blocks(run: &SavedRun) -> Vec<Block> {
    blocks(|page| {
        METRICS.iter().for_each(|section| section(page, run));
        sections::setup::write(page, run);
    })
}

/// Returns the setup of one run among several with different loads.
pub(crate) fn setup_without_load(run: &SavedRun) -> Vec<Block> {
    blocks(|page| sections::setup::write_without_load(page, run))
}

/// Returns the setup of one run among several with different loads and targets.
pub(crate) fn setup_without_target(run: &SavedRun) -> Vec<Block> {
    blocks(|page| sections::setup::write_without_target(page, run))
}

fn blocks(write: impl FnOnce(&mut Page)) -> Vec<Block> {
    let mut page = Page::new(Style { width: UNBROKEN_WIDTH, color: false });
    write(&mut page);
    page.into_blocks()
}

/// Returns the first line of a report with its own layout. The line starts with the result, followed by a text.
pub(crate) fn first_line(word: ResultWord, rest: String, style: &Style) -> String {
    let mut page = Page::new(Style { width: UNBROKEN_WIDTH, ..*style });
    page.first_line(paint(word), vec![word.text().to_owned(), rest]);
    page.finish()
}

/// Like [`first_line`], but broken into lines of at most 80 characters.
pub(crate) fn short_first_line(word: ResultWord, rest: String, style: &Style) -> String {
    let mut page = Page::new(narrowed(style));
    page.first_line(paint(word), vec![word.text().to_owned(), rest]);
    page.finish()
}

/// Returns the width of a short report, in characters.
pub(crate) fn short_width(style: &Style) -> usize {
    Page::new(narrowed(style)).width()
}

/// Returns the lines of a table that is part of a short report.
pub(crate) fn short_table(table: &Table) -> String {
    table.lines().iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Returns a remark about columns that were left out of a short report. The remark is empty if there are none.
pub(crate) fn left_out_remark(titles: &[String], style: &Style) -> String {
    about_left_out(titles).map(|text| paragraph(&text, style)).unwrap_or_default()
}

/// Returns a title that is not part of a report, broken at the width of a short report.
pub(crate) fn title(text: &str, style: &Style) -> String {
    layout::wrap(text, short_width(style), 2).iter().map(|line| format!("{line}\n")).collect()
}

/// Returns a paragraph that is not part of a report, broken into lines of at most 80 characters.
pub(crate) fn paragraph(text: &str, style: &Style) -> String {
    let mut page = Page::new(Style { color: false, ..narrowed(style) });
    page.line(text);
    page.finish()
}

/// Returns a table that is not part of a report.
pub(crate) fn table<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    table_with_text_from(COLUMNS, rows)
}

/// Like [`table`]. The columns from `index` on contain text.
pub(crate) fn table_with_text_from<const COLUMNS: usize>(index: usize, rows: &[[String; COLUMNS]]) -> String {
    let mut page = Page::new(Style::default());
    page.table(Table::of(index, rows));
    page.finish()
}
