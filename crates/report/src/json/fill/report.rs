//! A fill of one host or of several hosts, for tables and CI output.

use super::document::{JsonFill, json_fill};
use super::hosts::fleet_fill_with_costs;
use crate::fill::{Costs, Stored, result};
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
        let agents = fill.fleet.as_ref().map_or(&[][..], |fleet| &fleet.agents);
        let all_lost = !agents.is_empty() && agents.iter().all(|agent| agent.lost.is_some());
        let exit = match fill.result {
            ResultWord::Fail => ExitStatus::Failed,
            _ if all_lost => ExitStatus::CouldNotRun,
            _ => ExitStatus::Good,
        };
        Self { fill: fleet_fill_with_costs(fill, prices), exit }
    }

    /// Returns the first line of the report: the result, and the number of stored objects.
    #[must_use]
    pub fn first_line(&self) -> String {
        let word = self.fill.result.text().to_owned();
        std::iter::once(word).chain(stored(&self.fill).pieces()).collect::<Vec<_>>().join(" · ")
    }
}

/// Returns the stored objects of a fill.
pub(crate) fn stored(fill: &JsonFill) -> Stored {
    Stored { objects: fill.stored, bytes: fill.stored_bytes, of: fill.objects, deleted: fill.deleted }
}
