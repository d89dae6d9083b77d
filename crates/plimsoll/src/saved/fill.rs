//! A saved fill: its report and its exit code.

use super::{OutputFormat, announce, fleet_fill, print_json, print_text, text_style};
use crate::failure::{Exit, Failure};
use report::escape::escape;
use report::fill::Costs;
use report::{FillReport, JsonFill};
use std::path::Path;
use store::{SavedFill, StoreErrorKind};

/// A fill in a directory.
pub enum AnyFill {
    /// A fill of one host, with its journal.
    OneHost(Box<SavedFill>),
    /// The report of a fill of several hosts, which have the journals.
    Hosts(Box<JsonFill>),
}

impl AnyFill {
    /// Returns whether a directory contains a fill.
    pub fn is_in(directory: &Path) -> bool {
        SavedFill::is_in(directory) || fleet_fill::is_in(directory)
    }

    /// Reads the fill in a directory.
    pub fn read(directory: &Path) -> Result<Self, Failure> {
        if fleet_fill::is_in(directory) {
            return fleet_fill::read(directory).map(|fill| Self::Hosts(Box::new(fill)));
        }
        read(directory).map(|fill| Self::OneHost(Box::new(fill)))
    }

    /// Returns the report of the fill, with these prices.
    pub fn report(&self, prices: &Costs) -> FillReport {
        match self {
            Self::OneHost(fill) => FillReport::of(fill, prices),
            Self::Hosts(fill) => FillReport::of_hosts((**fill).clone(), prices),
        }
    }

    /// Prints the report of the fill.
    pub fn print(&self, costs: &Costs, format: OutputFormat) -> Result<(), Failure> {
        match self {
            Self::OneHost(fill) => print(fill, costs, format),
            Self::Hosts(_) => fleet_fill::print(&self.report(costs).fill, costs, format),
        }
    }
}

/// Reads the fill of one host in a directory.
pub fn read(directory: &Path) -> Result<SavedFill, Failure> {
    SavedFill::read(directory).map_err(|error| match error.kind {
        StoreErrorKind::Format { .. } => Failure::usage(format!("{error}; use that version to read it")),
        _ => Failure::usage(error),
    })
}

/// Prints the report of a fill of one host.
pub fn print(fill: &SavedFill, costs: &Costs, format: OutputFormat) -> Result<(), Failure> {
    match format {
        OutputFormat::Json => print_json(serde_json::to_string_pretty(&report::json_fill(fill, costs))),
        OutputFormat::None => Ok(()),
        OutputFormat::Text | OutputFormat::Full => print_text(&report::fill_text(fill, costs, &text_style())),
        OutputFormat::Ab | OutputFormat::Httpbench => Err(Failure::usage(
            "--print ab and --print httpbench cannot show a fill; name one of its runs, for example DIR/sessions/0001/upload",
        )),
    }
}

/// Returns the exit code of a fill. If the fill failed, also prints the reason to standard error.
pub fn conclude(report: &FillReport) -> Exit {
    let (fill, exit) = (&report.fill, report.exit.into());
    if let Some(reason) = fill.reasons.first().filter(|_| exit != Exit::Good) {
        announce(&format!("{}: {}", fill.result.text(), escape(reason)), exit);
    }
    exit
}
