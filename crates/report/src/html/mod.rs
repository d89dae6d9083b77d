//! The report as one HTML file that opens offline.
//!
//! The HTML report has the sections, texts and numbers of the text report. The HTML report also has charts, which the
//! browser draws. This module writes the content as JSON ([`script_data`]). The script and the style in `ui/` determine
//! the appearance, and are embedded in the file.
//!
//! Text from servers can do no harm, because the script inserts text only as text nodes. A policy in the file also
//! forbids any other script and all requests.

mod charts;
mod file;
mod fill;
mod load_line;
mod run;
mod script_data;
mod sections;
mod study;

use crate::fill::Costs;
use crate::load_line::LoadLine;
use crate::study::SavedStudy;
use store::{SavedFill, SavedRun};

/// Returns the report of a saved run as an HTML file.
#[must_use]
pub fn html(run: &SavedRun) -> String {
    file::file(&run::document(run))
}

/// Returns the report of a search for the load line as an HTML file. The setup and the notes come from `run`, the last
/// run of the search.
#[must_use]
pub fn html_line(line: &LoadLine, run: Option<&SavedRun>) -> String {
    file::file(&load_line::document(line, run))
}

/// Returns the report of a fill as an HTML file, with its costs if there are price sheets.
#[must_use]
pub fn html_fill(fill: &SavedFill, prices: &Costs) -> String {
    file::file(&fill::document(fill, prices))
}

/// Returns the report of a study as an HTML file.
#[must_use]
pub fn html_study(study: &SavedStudy) -> String {
    file::file(&study::document(study))
}
