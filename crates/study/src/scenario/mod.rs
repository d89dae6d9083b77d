//! A scenario: what a study asks, read from a file.
//!
//! Reading finds all mistakes of form that there are, not only the first. What a setting means is not known here: settings are
//! flags of the command that each trial runs, and the program checks them when the matrix has been made.

mod read;

use crate::Hooks;
use crate::document::{Fault, Position};
use crate::variables::Variables;
use read::Reader;
use std::num::NonZeroU32;

/// What a study asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// Its name: letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// What people should know about it.
    pub notes: Option<String>,
    /// Who is measured, in the order of the file; at least one.
    pub targets: Vec<Target>,
    /// Settings of all trials.
    pub settings: Vec<Setting>,
    /// Its parts, each with a matrix of its own; at least one.
    pub parts: Vec<Part>,
    /// How often each cell is measured.
    pub repeats: NonZeroU32,
    /// In which order.
    pub order: Order,
    /// Seed of orders that are drawn.
    pub seed: u64,
    /// Commands around each trial.
    pub hooks: Hooks,
    /// What people should know about the machines, by name.
    pub environment: Vec<(String, String)>,
    /// Variables, which hooks find in their environment.
    pub variables: Vec<(String, String)>,
}

/// Who is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// What it is called in reports.
    pub name: String,
    /// Its own settings, `url` among them.
    pub settings: Vec<Setting>,
    /// Commands around each of its trials.
    pub hooks: Hooks,
}

/// A part of a study: a matrix, and settings that hold for it alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it is called in reports; empty where there is only one.
    pub name: String,
    /// Settings that hold for it.
    pub settings: Vec<Setting>,
    /// The axes of its matrix; none for a single cell.
    pub axes: Vec<Axis>,
    /// Commands around each of its trials.
    pub hooks: Hooks,
}

/// A setting that takes several values, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Which.
    pub name: String,
    /// Where it stands.
    pub at: Position,
    /// Its values; at least one.
    pub values: Vec<AxisValue>,
}

/// A value of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AxisValue {
    /// What it is called in reports: the value itself, unless the axis names its values.
    pub label: String,
    /// The value.
    pub value: String,
    /// Where it stands.
    pub at: Position,
}

/// A setting: a flag of the command without its dashes, or `url`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Which.
    pub name: String,
    /// Where it stands.
    pub at: Position,
    /// Its values; several for a flag that may be given several times.
    pub values: Vec<(String, Position)>,
}

/// In which order trials are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// All targets of a cell one after the other, then back (ABBA), then the next cell.
    Interleaved,
    /// All cells of a target, then those of the next.
    Sequential,
    /// As the seed draws it, each repeat of all cells before the next.
    Random,
}

impl Order {
    /// All of them, with the words for them.
    pub const ALL: [(&'static str, Self); 3] =
        [("interleaved", Self::Interleaved), ("sequential", Self::Sequential), ("random", Self::Random)];
}

impl Scenario {
    /// Reads a scenario. `set` are variables that were given on the command line and come before those of the file, `environment`
    /// tells the others.
    ///
    /// # Errors
    /// All mistakes that were found, in the order of the file.
    pub fn parse(
        text: &str,
        set: &[(String, String)],
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Vec<Fault>> {
        let root = crate::document::read(text).map_err(|fault| vec![fault])?;
        let mut reader = Reader { faults: Vec::new(), variables: Variables::new(set, environment) };
        let scenario = reader.scenario(&root);
        match (scenario, reader.faults.is_empty()) {
            (Some(scenario), true) => Ok(scenario),
            (_, _) => {
                reader.faults.sort_by_key(|fault| fault.at);
                Err(reader.faults)
            }
        }
    }
}

#[cfg(test)]
mod tests;
