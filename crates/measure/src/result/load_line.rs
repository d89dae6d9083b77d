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

impl LoadUnit {
    /// Levels of a search are whole numbers of steps: so many steps make one operation in flight, or one per second. A line at 5/s
    /// is found to a few percent only with steps that are smaller than one per second.
    #[must_use]
    pub fn steps(self) -> u64 {
        match self {
            Self::Concurrency => 1,
            Self::Rate => 100,
        }
    }
}

/// The result of a level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Outcome {
    /// It met all objectives, and its backlog did not grow.
    Passed,
    /// It did not.
    Failed {
        /// The first objective missed, or that the backlog grew.
        #[serde(deserialize_with = "crate::values::bounded::text::<_, 1024>")]
        why: String,
    },
    /// Its time did not suffice to decide it.
    NotDecided {
        /// What was not decided.
        #[serde(deserialize_with = "crate::values::bounded::text::<_, 1024>")]
        why: String,
    },
    /// It did not pass, and the cause lies with this client or its host.
    ClientLimited {
        /// What the client's limit was.
        #[serde(deserialize_with = "crate::values::bounded::text::<_, 1024>")]
        why: String,
    },
}

impl Outcome {
    /// Whether it is [`Outcome::Passed`].
    #[must_use]
    pub fn is_passed(&self) -> bool {
        matches!(self, Self::Passed)
    }

    /// Why it did not pass.
    #[must_use]
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Passed => None,
            Self::Failed { why } | Self::NotDecided { why } | Self::ClientLimited { why } => Some(why),
        }
    }
}

/// What a search for the line has found. Levels are in the steps of its unit, [`LoadUnit::steps`].
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
    /// After a level that failed, the target served nothing any more.
    Gone {
        /// The highest level that had passed by then.
        passed: Option<u64>,
        /// The level after which it did not.
        failed: u64,
    },
    /// The user ended the search.
    Interrupted {
        /// The highest level that had passed by then.
        passed: Option<u64>,
        /// The signal.
        #[serde(default = "sigint")]
        signal: i32,
    },
}

impl Found {
    /// The signal by which the user ended the search.
    #[must_use]
    pub fn signal(self) -> Option<i32> {
        match self {
            Self::Interrupted { signal, .. } => Some(signal),
            _ => None,
        }
    }
}

/// In searches that were saved before the signal was.
fn sigint() -> i32 {
    2
}
