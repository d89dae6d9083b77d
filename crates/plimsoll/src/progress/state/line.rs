//! The state of a search for the load line.

use measure::result::load_line::LoadUnit;
use report::load_line::Level;

/// A search in progress.
#[derive(Debug)]
pub struct Line {
    pub unit: LoadUnit,
    /// The levels that were run, in order.
    pub levels: Vec<Level>,
    pub step: Step,
}

/// Current step of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// The search measures the idle target.
    Unloaded,
    /// The search runs a level: operations in flight, or operations per second.
    Level {
        load: f64,
        /// `true` if the level passed before, and confirms the result.
        confirming: bool,
    },
    /// The search waits until the target has recovered from a failed level.
    Recovery,
}

impl Line {
    /// Returns the state at the start of a search.
    pub fn new(unit: LoadUnit) -> Self {
        Self { unit, levels: Vec::new(), step: Step::Unloaded }
    }

    /// Returns the level that runs now.
    pub fn running(&self) -> Option<f64> {
        match self.step {
            Step::Level { load, .. } => Some(load),
            Step::Unloaded | Step::Recovery => None,
        }
    }

    /// Returns the bracket so far: the highest level that passed, and the lowest failed level above it. The last run of
    /// a level counts.
    pub fn bracket(&self) -> (Option<f64>, Option<f64>) {
        let is_last =
            |index: usize, level: &Level| self.levels.iter().skip(index + 1).all(|later| later.level != level.level);
        let last: Vec<&Level> = self
            .levels
            .iter()
            .enumerate()
            .filter(|(index, level)| is_last(*index, level))
            .map(|(_, level)| level)
            .collect();
        let passed = last.iter().filter(|level| level.passed).map(|level| level.level).reduce(f64::max);
        let above = |level: &&&Level| !level.passed && passed.is_none_or(|passed| level.level > passed);
        let failed = last.iter().filter(above).map(|level| level.level).reduce(f64::min);
        (passed, failed)
    }
}
