//! The state of a command: the totals of its runs, and its current work.

use crate::totals::Totals;
use crate::{Family, families};
use measure::path::PathLimits;
use measure::series::{Column, Number, Poll};
use measure::{ClientLoad, Interval, Model, Objective, OpKind, Stage, Summary};

/// Highest load of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LoadLevel {
    /// Operations in flight (closed model).
    InFlight(f64),
    /// Operations per second (open model).
    PerSecond(f64),
}

/// The run that is in progress, or the last one.
#[derive(Clone, Debug)]
pub struct CurrentRun {
    /// First target, without secrets.
    pub target: String,
    /// Directory of the run.
    pub directory: String,
    /// Load model.
    pub model: Model,
    /// Highest load. In a search for the load line, this is the level.
    pub level: LoadLevel,
    /// Objectives.
    pub objectives: Vec<Objective>,
    /// Kinds of operations that the run makes.
    pub kinds: Vec<OpKind>,
    /// `true` if client and target run on the same host.
    pub shares_host: bool,
    /// Limits of the emulated path between client and target.
    pub path: PathLimits,
}

/// The trial of a study that is in progress, or the last one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Number of the trial, from 1.
    pub number: u64,
    /// Number of trials.
    pub of: u64,
    /// Values of the matrix.
    pub cell: String,
    /// Name of the target.
    pub target: String,
    /// Number of the repetition, from 1.
    pub repeat: u64,
}

/// A phase of a fill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FillPhase {
    /// Uploading.
    #[default]
    Upload,
    /// Reading back.
    Verify,
    /// Deleting.
    Delete,
}

impl FillPhase {
    /// All phases, in their order.
    pub const ALL: [Self; 3] = [Self::Upload, Self::Verify, Self::Delete];

    /// Returns the name of the phase. The directories of its runs have the same name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Upload => "upload",
            Self::Verify => "verify",
            Self::Delete => "delete",
        }
    }
}

/// The fill that is in progress, or the last one. All numbers cover the whole fill, including earlier sessions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fill {
    /// Phase.
    pub phase: FillPhase,
    /// Number of stored objects.
    pub stored_objects: u64,
    /// Number of all objects.
    pub objects: u64,
    /// Bytes of the stored objects.
    pub stored_bytes: u64,
    /// Bytes of all objects.
    pub bytes: u64,
    /// Uploads that failed.
    pub failed_uploads: u64,
    /// Stored bytes per second in the last minute; `None` outside uploads.
    pub bandwidth: Option<f64>,
    /// Money spent so far, with its currency; `None` if it is unknown.
    pub spent: Option<(String, f64)>,
    /// Bytes that the target has confirmed, but still has to pack; `None` if it does not report them.
    pub unpacked_bytes: Option<u64>,
}

/// A column of collected values, with the last value.
#[derive(Clone, Debug)]
pub(crate) struct CollectedColumn {
    /// The column.
    pub column: Column,
    /// The last value; `None` if there was none in the last poll.
    pub value: Option<Number>,
}

/// The state of a command.
#[derive(Clone, Debug, Default)]
pub struct State {
    pub(crate) totals: Totals,
    pub(crate) run: Option<CurrentRun>,
    /// Results of the current run so far.
    pub(crate) summary: Summary,
    /// Stage of the current run; `None` between two runs.
    pub(crate) stage: Option<Stage>,
    pub(crate) in_flight: u64,
    pub(crate) client: ClientLoad,
    pub(crate) trial: Option<Trial>,
    pub(crate) fill: Option<Fill>,
    pub(crate) collected: Vec<CollectedColumn>,
}

impl State {
    /// Begins a run. The totals do not change.
    pub fn begin_run(&mut self, run: CurrentRun) {
        self.totals.runs += 1;
        run.kinds.iter().for_each(|kind| {
            self.totals.add_kind(*kind);
        });
        self.summary = Summary { shares_host: run.shares_host, path: run.path, ..Summary::default() };
        self.stage = Some(Stage::Warmup);
        self.run = Some(run);
    }

    /// Adds an interval of the current run.
    pub fn add(&mut self, interval: &Interval) {
        self.totals.add(interval);
        if let Some(run) = &self.run {
            self.summary.add(&run.model, interval);
        }
        self.stage = Some(interval.stage);
        self.in_flight = interval.in_flight;
        self.client = interval.client;
    }

    /// Ends the current run. The results of the run stay until the next run begins.
    pub fn end_run(&mut self) {
        self.stage = None;
        self.in_flight = 0;
        self.client = ClientLoad::default();
        self.collected.clear();
    }

    /// Sets the trial of a study. The fill of an earlier trial is removed, because it has ended.
    pub fn set_trial(&mut self, trial: Trial) {
        self.trial = Some(trial);
        self.fill = None;
    }

    /// Returns the fill, to change it. The first call creates the fill.
    pub fn fill(&mut self) -> &mut Fill {
        self.fill.get_or_insert_default()
    }

    /// Sets the columns of the values that are collected during the current run.
    pub fn set_columns(&mut self, columns: &[Column]) {
        let column = |column: &Column| CollectedColumn { column: column.clone(), value: None };
        self.collected = columns.iter().map(column).collect();
    }

    /// Sets the last collected values.
    pub fn set_collected(&mut self, poll: &Poll) {
        for (column, value) in self.collected.iter_mut().zip(&poll.values) {
            column.value = value.clone();
        }
    }

    /// Returns the metrics.
    #[must_use]
    pub fn families(mut self) -> Vec<Family> {
        self.summary.all = self.summary.stats.all_kinds();
        families::of(&self)
    }
}
