//! The report for people: plain text that can be pasted into an issue. The verdict comes first, then what limited the
//! run, then the figures from the most asked-for to the most particular.

mod asked;
mod bytes;
mod client;
mod compare;
mod connections;
mod counts;
mod failures;
mod groups;
mod headline;
mod hops;
mod kinds;
mod page;
mod repeats;
mod times;

pub use compare::comparison;
pub(crate) use compare::{comparison_notes, noise_floor};
pub use repeats::repeats;

use page::{Page, Table};
use store::SavedRun;

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
    counts::write(&mut page, run);
    kinds::write(&mut page, run);
    times::write(&mut page, run);
    connections::write(&mut page, run);
    bytes::write(&mut page, run);
    hops::write(&mut page, run);
    failures::write(&mut page, run);
    groups::write(&mut page, run);
    client::write(&mut page, run);
    page.finish()
}

/// Rows of cells under each other, without a report around them.
pub(crate) fn table<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let mut table = Table::new();
    rows.iter().for_each(|row| table.row(row.clone()));
    let mut page = Page::new(Style::default());
    page.table(&table);
    page.finish()
}
