//! The ways to make the loads of a search: in this process, or on connected agents (`hosts/loads.rs`). The search
//! itself is the same for both, and so are the rules that decide a level.

use super::args::Load;
use super::search_load::{SearchLoad, Settings};
use crate::execute::{self, RunOptions};
use crate::failure::Failure;
use engine::plan::Plan;
use std::num::NonZeroU64;
use std::time::Duration;
use store::SavedRun;
use study::objective_monitor::{LevelEvidence, ObjectiveMonitor};

/// Returns the monitor of a level. The argument is the maximum number of operations in flight.
pub type MonitorOfLevel<'m> = &'m dyn Fn(u64) -> ObjectiveMonitor;

/// A load that was made and saved, with what the monitor observed.
pub struct MadeLoad {
    pub run: SavedRun,
    pub evidence: Option<LevelEvidence>,
}

/// A way to make the loads of a search.
pub trait MakeLoad {
    /// Makes a load, and saves it in the directory of the options. An unreachable target is a result, except before the
    /// first level. Returns `None` if the user interrupted the load before it started.
    ///
    /// # Errors
    /// Fails if the load cannot be made or saved.
    fn make(
        &mut self,
        load: SearchLoad,
        options: &RunOptions,
        monitor: Option<MonitorOfLevel<'_>>,
    ) -> Result<Option<MadeLoad>, Failure>;

    /// Passes a short pause between two loads.
    fn pause(&mut self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// This process makes the loads.
pub struct InProcess {
    load: Load,
    settings: Settings,
    /// The plan of the few operations before the first level and after failed levels. The plan is made only once,
    /// because making it may need a response of the target, and the target may not respond after a failed level.
    few: Option<Plan>,
}

impl InProcess {
    pub fn new(load: Load, settings: Settings) -> Self {
        Self { load, settings, few: None }
    }

    fn plan(&mut self, load: SearchLoad) -> Result<Plan, Failure> {
        let is_level = matches!(load, SearchLoad::Level(_));
        if let Some(plan) = self.few.clone().filter(|_| !is_level) {
            return Ok(plan);
        }
        self.settings.set_flags(load, &mut self.load);
        let mut plan = self.settings.shape(load, NonZeroU64::MIN, self.load.plan()?);
        execute::prepare(&mut plan)?;
        if !is_level {
            self.few = Some(plan.clone());
        }
        Ok(plan)
    }
}

impl MakeLoad for InProcess {
    fn make(
        &mut self,
        load: SearchLoad,
        options: &RunOptions,
        monitor: Option<MonitorOfLevel<'_>>,
    ) -> Result<Option<MadeLoad>, Failure> {
        let plan = self.plan(load)?;
        let monitor = monitor.map(|of| of(plan.load.in_flight_max()));
        let options = RunOptions { monitor, ..options.clone() };
        let (run, monitor) = match load {
            SearchLoad::Before => (execute::run(&plan, &options)?, None),
            SearchLoad::Level(_) | SearchLoad::Recovery => execute::run_level(&plan, &options)?,
        };
        Ok(Some(MadeLoad { run, evidence: monitor.map(|monitor| monitor.evidence()) }))
    }
}
