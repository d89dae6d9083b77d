//! The report as one HTML file: it opens without a network, on any machine, for as long as browsers read HTML.
//!
//! Words and figures are those of the text report, section by section; the charts are drawn in the browser. What a file
//! consists of is decided here and told in JSON ([`data`]); how it looks is decided by the script and the style in `ui/`,
//! whose built bundle is embedded. The script sets text as text alone, and a policy in the file's head lets nothing else run
//! and nothing be fetched, so that whatever a server has said stays something to read.

mod curve;
mod data;
mod document;
mod figure;
mod heat;
mod line;
mod load_curve;
mod matrix;
mod page;
mod sections;
mod series;
mod study;

use crate::load_line::LoadLine;
use store::SavedRun;
pub use study::{Cell as StudyCell, SavedStudy};

/// The report of a saved run as one HTML file.
#[must_use]
pub fn html(run: &SavedRun) -> String {
    page::file(&document::of(run))
}

/// The report of a search for the load line as one HTML file. `run` is the last of its runs, for what was asked for and where.
#[must_use]
pub fn html_line(line: &LoadLine, run: Option<&SavedRun>) -> String {
    page::file(&line::document(line, run))
}

/// The report of a study as one HTML file.
#[must_use]
pub fn html_study(study: &SavedStudy) -> String {
    page::file(&study::document(study))
}
