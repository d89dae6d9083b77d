//! The report as one HTML file that opens without a network.
//!
//! Texts and numbers are those of the text report, section by section; the browser draws the charts. This module decides the content
//! and passes it on as JSON ([`model`]). The script and the style in `ui/`, whose built bundle is embedded, decide the look. The
//! script sets text only as text, and a policy in the file forbids any other script and any request, so text from servers cannot do
//! anything.

mod charts;
mod file;
mod load_line;
mod model;
mod run;
mod sections;
mod study;

use crate::load_line::LoadLine;
use crate::study::SavedStudy;
use store::SavedRun;

/// Returns the report of a saved run as an HTML file.
#[must_use]
pub fn html(run: &SavedRun) -> String {
    file::file(&run::document(run))
}

/// Returns the report of a search for the load line as an HTML file. `run` is its last run, from which setup and notes come.
#[must_use]
pub fn html_line(line: &LoadLine, run: Option<&SavedRun>) -> String {
    file::file(&load_line::document(line, run))
}

/// Returns the report of a study as an HTML file.
#[must_use]
pub fn html_study(study: &SavedStudy) -> String {
    file::file(&study::document(study))
}
