//! The report for people: plain text that can be pasted into an issue. The verdict comes first, then what limited the
//! run, then the figures from the most asked-for to the most particular.

mod asked;
mod bytes;
mod client;
mod compare;
mod connections;
mod counts;
pub(crate) mod failures;
mod groups;
mod headline;
mod hops;
mod kinds;
mod layout;
mod leftovers;
mod page;
mod repeats;
mod times;

pub use compare::comparison;
pub(crate) use compare::{comparison_notes, noise_floor};
pub(crate) use headline::paint;
pub use leftovers::uploads_line as uploads;
pub use repeats::repeats;

use measure::ResultWord;
pub(crate) use page::{Block, Paint};
use page::{Page, Table};
use store::SavedRun;

/// Columns in which every table fits and no label is cut for lack of room.
const UNBROKEN_WIDTH: usize = 1000;

/// How the text is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of a line. URLs are never broken, and tables keep to it unless it is below 60.
    pub width: usize,
    /// Whether headings and verdict are coloured, for terminals.
    pub color: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self { width: 100, color: false }
    }
}

/// The whole report. Ends with a line end.
#[must_use]
pub fn text(run: &SavedRun, style: &Style) -> String {
    let mut page = Page::new(*style);
    headline::write(&mut page, run);
    asked::write(&mut page, run);
    FIGURES.iter().for_each(|section| section(&mut page, run));
    page.finish()
}

/// The sections of figures, in order.
const FIGURES: [fn(&mut Page, &SavedRun); 10] = [
    counts::write,
    kinds::write,
    times::write,
    connections::write,
    bytes::write,
    hops::write,
    failures::write,
    leftovers::write,
    groups::write,
    client::write,
];

/// The same report in its parts, for a form that has a layout of its own: the verdict, and the sections with what was asked
/// for at the end.
pub(crate) fn parts(run: &SavedRun) -> (Vec<Block>, Vec<Block>) {
    let new = || Page::new(Style { width: UNBROKEN_WIDTH, color: false });
    let (mut top, mut sections) = (new(), new());
    headline::write(&mut top, run);
    FIGURES.iter().for_each(|section| section(&mut sections, run));
    asked::write(&mut sections, run);
    (top.into_blocks(), sections.into_blocks())
}

/// What was asked for, of one of several runs that differ in their load.
pub(crate) fn asked_for_all(run: &SavedRun) -> Vec<Block> {
    let mut page = Page::new(Style { width: UNBROKEN_WIDTH, color: false });
    asked::write_for_all(&mut page, run);
    page.into_blocks()
}

/// The same of one of several runs that differ in their targets as well.
pub(crate) fn asked_for_targets(run: &SavedRun) -> Vec<Block> {
    let mut page = Page::new(Style { width: UNBROKEN_WIDTH, color: false });
    asked::write_for_targets(&mut page, run);
    page.into_blocks()
}

/// The first line of a report that is laid out elsewhere: the word of its result, and what follows it.
pub(crate) fn first_line(word: ResultWord, rest: String, style: &Style) -> String {
    let mut page = Page::new(Style { width: UNBROKEN_WIDTH, ..*style });
    page.verdict(paint(word), vec![word.text().to_owned(), rest]);
    page.finish()
}

/// A paragraph, without a report around it.
pub(crate) fn paragraph(text: &str) -> String {
    let mut page = Page::new(Style::default());
    page.line(text);
    page.finish()
}

/// Rows of cells under each other, without a report around them.
pub(crate) fn table<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let mut table = Table::new();
    rows.iter().for_each(|row| table.row(row.clone()));
    let mut page = Page::new(Style::default());
    page.table(table);
    page.finish()
}
