//! The state of a study.

use measure::ResultWord;
use std::time::Duration;

/// A study in progress.
#[derive(Debug)]
pub struct Study {
    pub name: String,
    /// Names of the targets, which are the columns of the matrix.
    pub targets: Vec<String>,
    /// The rows of the matrix.
    pub cells: Vec<Cell>,
    /// Estimated time left, from the expected durations and the trials so far.
    pub left: Option<Duration>,
}

/// A cell of a scenario, with its trials.
#[derive(Debug)]
pub struct Cell {
    pub name: String,
    /// Trials in the order of their repeats.
    pub trials: Vec<Trial>,
}

/// A trial of a study.
#[derive(Debug)]
pub struct Trial {
    /// Index of its target.
    pub target: usize,
    pub repeat: u32,
    pub status: TrialStatus,
}

/// The progress of a trial.
#[derive(Clone, Debug, PartialEq)]
pub enum TrialStatus {
    Left,
    Running,
    /// The trial was completed before the study was resumed.
    DoneEarlier,
    Done(TrialResult),
}

/// The result of a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialResult {
    pub word: ResultWord,
    /// The main numbers, in a few words.
    pub text: String,
}

impl Study {
    /// Returns an empty study.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), targets: Vec::new(), cells: Vec::new(), left: None }
    }

    /// Adds a trial. Cells and targets are in the order of their first trials.
    pub fn add(&mut self, cell: &str, target: &str, repeat: u32, status: TrialStatus) {
        let target = self.targets.iter().position(|known| known == target).unwrap_or_else(|| {
            self.targets.push(target.to_owned());
            self.targets.len() - 1
        });
        let row = self.cells.iter().position(|known| known.name == cell).unwrap_or_else(|| {
            self.cells.push(Cell { name: cell.to_owned(), trials: Vec::new() });
            self.cells.len() - 1
        });
        let trials = &mut self.cells[row].trials;
        let place = trials.partition_point(|known| (known.target, known.repeat) <= (target, repeat));
        trials.insert(place, Trial { target, repeat, status });
    }

    /// Sets the progress of a trial.
    pub fn set(&mut self, cell: &str, target: &str, repeat: u32, status: TrialStatus) {
        let Some(target) = self.targets.iter().position(|known| known == target) else { return };
        let trials = self.cells.iter_mut().filter(|known| known.name == cell).flat_map(|cell| &mut cell.trials);
        if let Some(trial) = trials.into_iter().find(|trial| (trial.target, trial.repeat) == (target, repeat)) {
            trial.status = status;
        }
    }

    /// Returns the number of completed trials, and of all trials.
    pub fn done(&self) -> (usize, usize) {
        let trials = || self.cells.iter().flat_map(|cell| &cell.trials);
        (trials().filter(|trial| trial.status.is_done()).count(), trials().count())
    }

    /// Returns the running trial, with the index of its cell.
    pub fn running(&self) -> Option<(usize, &Trial)> {
        let trials =
            self.cells.iter().enumerate().flat_map(|(row, cell)| cell.trials.iter().map(move |trial| (row, trial)));
        trials.into_iter().find(|(_, trial)| trial.status == TrialStatus::Running)
    }
}

impl TrialStatus {
    pub fn is_done(&self) -> bool {
        matches!(self, Self::DoneEarlier | Self::Done(_))
    }
}
