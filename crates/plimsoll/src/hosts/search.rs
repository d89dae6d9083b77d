//! The loads of a search on several hosts. Each load is one run of all agents, which stay connected in between.

use super::coordinate::Fleet;
use super::plan_text::PlanText;
use super::received::Received;
use super::{Agents, aborted, refuse_losses, result};
use crate::command::line::{MadeLoad, MakeLoad, MonitorOfLevel, SearchLoad};
use crate::execute::RunOptions;
use crate::failure::Failure;
use fleet::coordinator::{Abort, Outcome, Settings};
use fleet::message::RunId;
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
        let received = Received::new(directory, &self.names, options.progress.clone(), monitor);
        let (outcome, received) = Fleet::new(settings.clone(), self.names.clone(), self, received).run()?;
        let ended = match outcome {
            Outcome::Ended(ended) => ended,
            Outcome::Aborted(Abort::Interrupted) => return Ok(None),
            Outcome::Aborted(abort) => return Err(aborted(&abort)),
        };
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
        let run = format!("{}-{}", self.settings.run.as_str(), self.made);
        let run = RunId::try_from(run).map_err(Failure::could_not_run)?;
        let plan = PlanText { search: Some(load), ..self.plan.clone() }.write()?;
        Ok(Settings { run, plan, ..self.settings.clone() })
    }
}
