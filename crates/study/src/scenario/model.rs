//! The contents of a scenario.

use super::hooks::Hooks;
use super::yaml::Position;
use std::num::NonZeroU32;

/// A study as described by its file.
///
/// Settings are kept as text. Settings are flags of the command that each trial runs. The program checks them when the
/// matrix is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// Name of the study. The name has up to 64 letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// Free text about the study.
    pub notes: Option<String>,
    /// Flags that name the machines which make the load; empty if this host makes it.
    pub machines: Vec<Setting>,
    /// Targets in the order of the file; at least one.
    pub targets: Vec<Target>,
    /// Settings of all trials.
    pub settings: Vec<Setting>,
    /// Parts, each with its own matrix; at least one.
    pub parts: Vec<Part>,
    /// Number of measurements of each cell on each target, 1 to 1000.
    pub repeats: NonZeroU32,
    /// Order of the trials.
    pub order: Order,
    /// Seed of [`Order::Random`].
    pub seed: u64,
    /// Hooks around each trial.
    pub hooks: Hooks,
    /// Descriptions of the machines, by name.
    pub environment: Vec<(String, String)>,
    /// Variables of the file and the command line. The environment of hooks contains them.
    pub variables: Vec<(String, String)>,
}

/// A system under test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Name in reports.
    pub name: String,
    /// The server, if the study starts the target itself.
    pub server: Option<TargetServer>,
    /// Settings of the target's trials, including `url`.
    pub settings: Vec<Setting>,
    /// Hooks around each trial of the target.
    pub hooks: Hooks,
}

/// A server that the study starts for a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetServer {
    /// Flags of `plimsoll serve`.
    Serve(Vec<Setting>),
    /// Shell command of any server. The server must listen on the address in `PLIMSOLL_LISTEN`.
    Start(String),
}

/// A part of a study: a matrix with its own settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Name in reports; empty if the study has no named parts.
    pub name: String,
    /// Settings of the part's trials.
    pub settings: Vec<Setting>,
    /// Axes of the matrix; empty for a single cell.
    pub axes: Vec<Axis>,
    /// Hooks around each trial of the part.
    pub hooks: Hooks,
}

/// A setting that takes several values in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Name of the setting.
    pub name: String,
    /// Position of the name in the file.
    pub at: Position,
    /// Values; at least one.
    pub values: Vec<AxisValue>,
}

/// A value of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AxisValue {
    /// Name in reports. This is the value itself if the axis does not name its values.
    pub label: String,
    /// Value of the setting.
    pub value: String,
    /// Position of the value in the file.
    pub at: Position,
}

/// A setting. The name of a setting is a flag of the command without the dashes, or `url`,
/// `command`, `cache`, `link` or `agents`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Name of the setting.
    pub name: String,
    /// Position of the name in the file.
    pub at: Position,
    /// Values with their positions. A flag that may be repeated can have several values.
    pub values: Vec<(String, Position)>,
}

/// Order of the trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// All targets of a cell, then the same targets in reverse order (A B B A), then the next cell.
    Interleaved,
    /// All cells of one target, then all cells of the next target.
    Sequential,
    /// Random order that depends on the seed. All cells are measured once before any cell is repeated.
    Random,
}

impl Order {
    /// All orders, with their names in scenario files.
    pub const ALL: [(&'static str, Self); 3] =
        [("interleaved", Self::Interleaved), ("sequential", Self::Sequential), ("random", Self::Random)];
}
