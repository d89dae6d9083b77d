//! The options of a run that are not part of its plan.

use crate::saved::OutputFormat;
use measure::Objective;
use std::path::PathBuf;
use std::time::Duration;
use study::objective_monitor::ObjectiveMonitor;

/// Options of a run: where its results go, and what ends it early.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The run directory, if the user named one.
    pub directory: Option<PathBuf>,
    /// The output format.
    pub format: OutputFormat,
    /// `true` to show a live line.
    pub live: bool,
    /// Number of times to run the plan.
    pub repeat: u64,
    /// Objectives of the run.
    pub objectives: Vec<Objective>,
    /// `true` to accept objectives with too few operations.
    pub accept_not_enough_data: bool,
    /// Objectives that abort the run once it certainly misses one.
    pub abort: Vec<Objective>,
    /// Ends the run once its objectives are decided.
    pub monitor: Option<ObjectiveMonitor>,
    /// Length of each probe after the run.
    pub probe: Option<Duration>,
}
