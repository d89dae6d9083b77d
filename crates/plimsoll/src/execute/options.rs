//! The options of a run that are not part of its plan.

use crate::collectors::Collect;
use crate::emulated_link::LinkName;
use crate::live_metrics::LiveMetrics;
use crate::progress::Progress;
use crate::saved::OutputFormat;
use measure::Objective;
use std::path::PathBuf;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};
use store::FleetPart;
use study::objective_monitor::{ObjectiveMonitor, SliceCounts};

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
    /// Number of this run, and number of all runs, if the plan runs several times.
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
    /// The part of the run in a run of several hosts; `None` for all other runs.
    pub part: Option<PartOfFleet>,
}

/// A run that an agent makes as its part of a run of several hosts.
#[derive(Clone, Debug)]
pub struct PartOfFleet {
    /// The part.
    pub part: FleetPart,
    /// The command line, as the user of the coordinator typed it.
    pub command: Vec<String>,
    /// Start of the run.
    pub start: Instant,
    /// Objectives whose counts the coordinator gets for each slice, if the plan has slices.
    pub objectives: Vec<Objective>,
    /// Receiver of the events of the run. A receiver that is gone is ignored.
    pub events: SyncSender<PartEvent>,
}

/// An event of a run that an agent makes.
#[derive(Clone, Debug)]
pub enum PartEvent {
    /// All threads have started to make load. The value is the time since the start of the run.
    Started(Duration),
    /// A record was saved.
    Record(Vec<u8>),
    /// These slices ended.
    Slices(Vec<SliceCounts>),
}

impl PartOfFleet {
    /// Returns the time until the start of the run.
    pub fn until_start(&self) -> Duration {
        self.start.saturating_duration_since(Instant::now())
    }

    /// Passes an event on. Waits if the receiver is behind.
    pub fn report(&self, event: PartEvent) {
        let _ = self.events.send(event);
    }
}
