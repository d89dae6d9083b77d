//! The load line: the highest load that meets all objectives, as a bracket between two loads that were tried.

use crate::enumerated;
use serde::{Deserialize, Serialize};

enumerated! {
    /// What a load line is measured in.
    pub enum LoadUnit {
        Concurrency => "concurrency", "operations in flight (closed model)";
        Rate => "rate", "operations per second (open model)";
    }
}

/// What a search for the line has found. Levels are in the unit of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "found")]
pub enum Found {
    /// The line lies between these levels, and the lower one passed when it was run again.
    Line {
        /// The highest level that passed.
        passed: u64,
        /// The lowest level above it that failed.
        failed: u64,
    },
    /// No level failed: the line is at this one or above.
    AtLeast {
        /// The highest level that was tried.
        passed: u64,
    },
    /// The lowest level failed already.
    Below {
        /// That level.
        failed: u64,
    },
    /// What had passed failed when it was run again, however far the line was lowered.
    Unsteady {
        /// The lowest level that passed once and failed later.
        failed: u64,
    },
    /// After a level that failed, the target did not become as fast again as it was before the first one.
    NotRecovered {
        /// The highest level that had passed by then.
        passed: Option<u64>,
        /// The level after which it did not.
        failed: u64,
    },
    /// The user ended the search.
    Interrupted {
        /// The highest level that had passed by then.
        passed: Option<u64>,
    },
}
