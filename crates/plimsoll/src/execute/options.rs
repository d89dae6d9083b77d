//! The options of a run that are not part of its plan.

use crate::collectors::Collect;
use crate::emulated_link::LinkName;
use crate::live_metrics::LiveMetrics;
use crate::progress::Progress;
use crate::saved::OutputFormat;
use measure::Objective;
use std::path::PathBuf;
use std::time::Duration;
use study::objective_monitor::ObjectiveMonitor;

/// Options of a run that control its output and its early end.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The run directory, if the user named one.
    pub directory: Option<PathBuf>,
    /// The output format.
    pub format: OutputFormat,
    /// Progress to which the run reports.
    pub progress: Progress,
    /// Number of times to run the plan.
    pub repeat: u64,
    /// Number of this run and of all runs, if the plan runs several times.
    pub number: Option<(u64, u64)>,
    /// Objectives of the run.
    pub objectives: Vec<Objective>,
    /// `true` to accept objectives that have too few operations. With `false`, such objectives fail the run.
    pub accept_not_enough_data: bool,
    /// Objectives that abort the run as soon as it is certain that one of them is missed.
    pub abort: Vec<Objective>,
    /// Monitor that ends the run once the outcomes of its objectives are certain.
    pub monitor: Option<ObjectiveMonitor>,
    /// Length of each probe after the run; `None` if there are no probes.
    pub probe: Option<Duration>,
    /// The emulated link through which the load is made.
    pub link: Option<LinkName>,
    /// Collectors to poll during the run.
    pub collect: Vec<Collect>,
    /// Time between two polls.
    pub collect_every: Duration,
    /// Live metrics, to which the run adds its intervals.
    pub metrics: LiveMetrics,
}
