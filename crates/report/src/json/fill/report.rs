//! A fill of one host or of several hosts, for tables and CI output.

use super::document::{JsonFill, json_fill};
use super::hosts::fleet_fill_with_costs;
use crate::fill::{Costs, result};
use crate::number::{bytes, count, plural};
use measure::{ExitStatus, ResultWord};
use store::SavedFill;

/// A fill of one host or of several hosts, with its exit status.
#[derive(Clone, Debug, PartialEq)]
pub struct FillReport {
    /// The fill, with its costs.
    pub fill: JsonFill,
    /// The exit status of a command that ends with this result.
    pub exit: ExitStatus,
}

impl FillReport {
    /// Returns the report of a fill of one host.
    #[must_use]
    pub fn of(fill: &SavedFill, prices: &Costs) -> Self {
        Self { fill: json_fill(fill, prices), exit: result(fill).exit }
    }

    /// Returns the report of a fill of several hosts.
    #[must_use]
    pub fn of_hosts(fill: JsonFill, prices: &Costs) -> Self {
        let exit = if fill.result == ResultWord::Fail { ExitStatus::Failed } else { ExitStatus::Good };
        Self { fill: fleet_fill_with_costs(fill, prices), exit }
    }

    /// Returns the first line of the report: the result, and the number of stored objects.
    #[must_use]
    pub fn first_line(&self) -> String {
        let word = self.fill.result.text().to_owned();
        std::iter::once(word).chain(pieces(&self.fill)).collect::<Vec<_>>().join(" · ")
    }
}

/// Returns the texts that follow the result in the first line of the report: `900 of 1,000 objects stored`, and their
/// bytes.
#[must_use]
pub(crate) fn pieces(fill: &JsonFill) -> [String; 2] {
    let deleted = if fill.deleted > 0 { format!(", {} deleted again", count(fill.deleted)) } else { String::new() };
    let stored = if fill.stored == fill.objects {
        format!("{} stored{deleted}", plural(fill.stored, "object"))
    } else {
        format!("{} of {} stored{deleted}", count(fill.stored), plural(fill.objects, "object"))
    };
    [stored, bytes(fill.stored_bytes)]
}
