//! Goals of the benchmarks.

use std::fmt;

/// Result of comparing a measurement with a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoalResult {
    /// The goal is met.
    Met,
    /// The goal is not met.
    NotMet,
    /// The goal is not met, but no program could meet it on this machine: the machine pauses even a thread that never
    /// sleeps for longer than the goal allows.
    NotPossible,
    /// There is too little data to decide.
    NotJudged,
}

impl From<bool> for GoalResult {
    fn from(met: bool) -> Self {
        if met { Self::Met } else { Self::NotMet }
    }
}

impl fmt::Display for GoalResult {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.pad(match self {
            Self::Met => "met",
            Self::NotMet => "NOT MET",
            Self::NotPossible => "not possible here: this machine pauses a spinning thread for longer",
            Self::NotJudged => "n/a",
        })
    }
}
