//! The loads of a search on several hosts. Each load is one run of all agents, which stay connected in between.

use super::plan_text::PlanText;
use super::{Agents, ended, refuse_losses, result};
use crate::command::line::{MadeLoad, MakeLoad, MonitorOfLevel, SearchLoad};
use crate::execute::RunOptions;
use crate::failure::Failure;
use fleet::coordinator::{Abort, Outcome, Settings};
use std::thread;
use std::time::Duration;

impl MakeLoad for Agents {
    fn make(
        &mut self,
        load: SearchLoad,
        options: &RunOptions,
        monitor: Option<MonitorOfLevel<'_>>,
    ) -> Result<Option<MadeLoad>, Failure> {
        let Some(directory) = &options.directory else {
            return Err(Failure::could_not_run("a load of a search has no directory"));
        };
        let settings = self.settings_of(load)?;
        let all = self.names.len();
        let (outcome, received) = self.make_load(&settings, all, (directory, &options.progress), monitor)?;
        if outcome == Outcome::Aborted(Abort::Interrupted) {
            return Ok(None);
        }
        let ended = ended(outcome)?;
        refuse_losses(&ended, "a search")?;
        let evidence = received.evidence();
        let run = result::merge(&settings, &ended, &received, None, directory)?;
        Ok(Some(MadeLoad { run, evidence }))
    }

    fn pause(&mut self, time: Duration) {
        self.renew_leases(0);
        thread::sleep(time);
    }
}

impl Agents {
    /// Returns the settings of the next load.
    fn settings_of(&mut self, load: SearchLoad) -> Result<Settings, Failure> {
        self.made += 1;
        let run = self.run_id(self.made)?;
        let plan = PlanText { search: Some(load), ..self.plan.clone() }.write()?;
        Ok(Settings { run, plan, ..self.settings.clone() })
    }
}
