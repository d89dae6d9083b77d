//! The sums of a fill over all agents, and what depends on them: stop rules, the limit on spending, and the report.

use crate::command::fill::{Budget, must_stop};
use crate::console;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::saved::fleet_fill;
use ::fill::stop_watch::{Reached, StopWatch};
use report::{FleetFill, JsonFill};
use std::path::Path;
use std::time::Duration;
use store::journal::{SessionEnd, Totals};

/// Returns for how long the agents have run.
pub(super) fn active(whole: &FleetFill) -> Duration {
    Duration::try_from_secs_f64(whole.active_seconds()).unwrap_or_default()
}

/// The sums of a fill, and what depends on them.
pub(super) struct Sum<'a> {
    pub whole: FleetFill,
    pub watch: StopWatch,
    pub budget: &'a Budget,
    pub progress: &'a Progress,
    /// Directory of the report.
    pub directory: &'a Path,
}

impl Sum<'_> {
    /// Saves the report so far, and returns it.
    pub fn save(&self) -> Result<JsonFill, Failure> {
        let report = report::json_fleet_fill(&self.whole, self.budget.costs());
        fleet_fill::save(self.directory, &report).map(|()| report)
    }

    /// Returns a message and the end of the uploads, if a rule or the limit on spending holds.
    pub fn stopped(&mut self, active: Duration, totals: &Totals) -> Option<(String, SessionEnd)> {
        // The agents apply rules about contact with the target.
        let reached = Reached { active, files: totals.objects, file_bytes: totals.file_bytes, in_touch: true };
        must_stop(&mut self.watch, self.budget, reached, totals)
    }

    /// Returns the end of a fill that must not upload anything, because a rule holds already.
    pub fn stopped_already(&mut self) -> Option<SessionEnd> {
        let totals = self.whole.totals();
        if self.is_complete(&totals) {
            return None;
        }
        let (about, end) = self.stopped(active(&self.whole), &totals)?;
        console::eprintln(&format!("nothing is uploaded: {about}; change the rule or the limit"));
        Some(end)
    }

    pub fn is_complete(&self, totals: &Totals) -> bool {
        totals.objects >= self.whole.objects
    }
}
