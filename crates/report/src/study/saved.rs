//! A saved study with its scenario.

use super::document::Study;
use super::rows::{Order, Row, rows};
use store::SavedRun;

/// A saved study. All names are escaped.
#[derive(Debug, Default)]
pub struct SavedStudy {
    /// Name of the study. Empty if the scenario can no longer be read.
    pub name: String,
    /// Notes from the scenario's author.
    pub notes: Option<String>,
    /// Version of the program that began the study.
    pub version: String,
    /// Text of the scenario, without secrets.
    pub text: String,
    /// Variables of the scenario that the user set, without secrets.
    pub set: Vec<(String, String)>,
    /// Targets in the order of the scenario.
    pub targets: Vec<String>,
    /// Cells in the order of the scenario.
    pub cells: Vec<StudyCell>,
    /// Planned number of measurements of each cell.
    pub repeats: u32,
    /// Trials in the order of their runs.
    pub study: Study,
    /// The last run of the study.
    pub last: Option<SavedRun>,
}

/// A cell and its position in the matrix.
#[derive(Debug)]
pub struct StudyCell {
    /// Name of the cell.
    pub label: String,
    /// Part of the scenario to which the cell belongs. Empty if the scenario has only one part.
    pub part: String,
    /// Name and value of each axis.
    pub values: Vec<(String, String)>,
}

impl SavedStudy {
    /// Returns the order of cells and targets in tables.
    #[must_use]
    pub fn order(&self) -> Order<'_> {
        let cells = self.cells.iter().map(|cell| cell.label.as_str()).collect();
        Order { cells, targets: self.targets.iter().map(String::as_str).collect() }
    }

    pub(crate) fn rows(&self) -> Vec<Row<'_>> {
        rows(&self.study.trials, &self.order())
    }
}
