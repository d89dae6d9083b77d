//! The loads that a search makes: the levels, and a few operations that show the speed of the target.
//!
//! Each load is a plan, made from the flags of the search. In a search on several hosts, each agent makes this plan, and
//! takes its part.

use super::args::{LEVEL_TIME, Load, On, SearchArgs};
use crate::load;
use engine::plan::{LoadModel, Plan, StopAfter};
use engine::schedule::Profile;
use measure::Objective;
use measure::units::Rate;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;
use std::time::Duration;
use study::load_line::level::{self, LevelDuration};
use study::objective_monitor::SLICE;

/// Number of operations per machine that show the speed of the target.
const OPS: NonZeroU64 = NonZeroU64::new(5).unwrap();
/// Maximum duration of these operations.
const TIME: Duration = Duration::from_secs(5);

/// A load that a search makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchLoad {
    /// A few operations before the first level. If the target cannot be reached, the search fails.
    Before,
    /// A level. The value is its load, in steps of the search.
    Level(u64),
    /// A few operations after a failed level, which show whether the target has recovered.
    Recovery,
}

/// The settings of a search that decide its loads.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The flags of the search.
    pub args: SearchArgs,
    /// Usual duration of a level.
    pub level_time: Duration,
    /// The objectives of all levels.
    pub objectives: Vec<Objective>,
}

impl Settings {
    /// Returns the settings in the flags of a search.
    pub fn of(args: &SearchArgs, common: &load::Args) -> Self {
        let level_time = common.load.duration.unwrap_or(LEVEL_TIME);
        Self { args: args.clone(), level_time, objectives: load::run_options(common).objectives }
    }

    /// Returns the duration of a level.
    pub fn duration(&self, level: u64) -> LevelDuration {
        let rate = (self.args.on == On::Rate).then(|| self.args.on.load(level));
        level::level_duration(&self.objectives, rate, self.level_time, self.args.level_max)
    }

    /// Sets the flags of a load.
    pub fn set_flags(&self, load: SearchLoad, flags: &mut Load) {
        let level = match load {
            SearchLoad::Level(level) => level,
            // The shape of these loads does not depend on the level.
            SearchLoad::Before | SearchLoad::Recovery => self.args.on.unit().steps(),
        };
        let flags = &mut flags.common().load;
        flags.duration = Some(self.level_time);
        match self.args.on {
            On::Concurrency => flags.concurrency = NonZeroU64::new(level),
            On::Rate => flags.rate = Rate::per_second(self.args.on.load(level)),
        }
    }

    /// Changes a plan with the flags of [`Self::set_flags`] into a load that this number of machines makes together.
    pub fn shape(&self, load: SearchLoad, machines: NonZeroU64, plan: Plan) -> Plan {
        match load {
            SearchLoad::Level(level) => {
                let stop = StopAfter { time: Some(self.duration(level).max), ..plan.stop };
                Plan { slices: Some(SLICE), stop, ..plan }
            }
            SearchLoad::Before | SearchLoad::Recovery => {
                let ops = Some(OPS.saturating_mul(machines));
                let stop = StopAfter { time: Some(TIME), ops, ..StopAfter::default() };
                let load = LoadModel::Closed { slots: Profile::slots(machines), think: Duration::ZERO };
                Plan { load, stop, warmup: Duration::ZERO, log_ops: false, slices: None, ..plan }
            }
        }
    }
}
