//! The load line, which is the highest load that meets all objectives. A search finds the load line as a bracket
//! between two tested levels.

use crate::enumerated;
use serde::{Deserialize, Serialize};

enumerated! {
    /// Unit of a load line.
    pub enum LoadUnit {
        Concurrency => "concurrency", "operations in flight (closed model)";
        Rate => "rate", "operations per second (open model)";
    }
}

impl LoadUnit {
    /// Returns the number of steps in one unit (one operation in flight, or one operation per second). Levels of a
    /// search are whole numbers of steps. For rates, a step is less than one operation per second, so that even a line
    /// at 5/s can be found with a precision of a few percent.
    #[must_use]
    pub fn steps(self) -> u64 {
        match self {
            Self::Concurrency => 1,
            Self::Rate => 100,
        }
    }
}

/// The quantity that was too small to decide a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lack {
    /// The number of operations. In the same time, a higher level makes more operations, and a lower level makes fewer.
    Operations,
    /// Another quantity, such as the time until the growth of a backlog is certain. A lower level may be decided
    /// sooner.
    #[default]
    Other,
}

/// Outcome of a level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Outcome {
    /// The level met all objectives, and its backlog did not grow.
    Passed,
    /// The level missed an objective, or its backlog grew.
    Failed {
        /// Description of the first objective missed, or of the growing backlog.
        #[serde(deserialize_with = "crate::values::bounded::text::<_, 1024>")]
        why: String,
    },
    /// The level was too short to decide whether it passes.
    NotDecided {
        /// The quantity that was too small.
        #[serde(default)]
        lack: Lack,
        /// Description of the undecided objective or backlog.
        #[serde(deserialize_with = "crate::values::bounded::text::<_, 1024>")]
        why: String,
    },
    /// The level did not pass because of this client or its host.
    ClientLimited {
        /// Description of the client's limit.
        #[serde(deserialize_with = "crate::values::bounded::text::<_, 1024>")]
        why: String,
    },
}

impl Outcome {
    /// Returns whether this is [`Outcome::Passed`].
    #[must_use]
    pub fn is_passed(&self) -> bool {
        matches!(self, Self::Passed)
    }

    /// Returns the reason why the level did not pass; `None` if it passed.
    #[must_use]
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Passed => None,
            Self::Failed { why } | Self::NotDecided { why, .. } | Self::ClientLimited { why } => Some(why),
        }
    }
}

/// Result of a search for the load line. Levels are counted in steps ([`LoadUnit::steps`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "found")]
pub enum Found {
    /// The line lies between these levels, and the lower level passed again when it was repeated.
    Line {
        /// Highest level that passed.
        passed: u64,
        /// Lowest failed level above the highest level that passed.
        failed: u64,
    },
    /// No level failed, so the line is at or above the highest level tested.
    AtLeast {
        /// Highest level tested.
        passed: u64,
    },
    /// Even the lowest level failed, so the line is below that level.
    Below {
        /// Lowest level.
        failed: u64,
    },
    /// Repeated levels failed although they had passed before, even after the line was lowered several times.
    Unsteady {
        /// Lowest level that passed at first and failed when it was repeated.
        failed: u64,
    },
    /// After a failed level, the target stayed slower than it was before the first level.
    NotRecovered {
        /// Highest level that had passed before.
        passed: Option<u64>,
        /// Level after which the target did not recover.
        failed: u64,
    },
    /// After a failed level, the target did not serve any requests.
    Gone {
        /// Highest level that had passed before.
        passed: Option<u64>,
        /// Level after which the target did not serve any requests.
        failed: u64,
    },
    /// The user interrupted the search.
    Interrupted {
        /// Highest level that had passed before.
        passed: Option<u64>,
        /// Number of the signal.
        #[serde(default = "sigint")]
        signal: i32,
    },
}

impl Found {
    /// Returns the number of the signal that interrupted the search; `None` if there was none.
    #[must_use]
    pub fn signal(self) -> Option<i32> {
        match self {
            Self::Interrupted { signal, .. } => Some(signal),
            _ => None,
        }
    }
}

/// Returns SIGINT, the default for records of earlier versions, which do not contain the signal.
fn sigint() -> i32 {
    2
}
