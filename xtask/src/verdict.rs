//! Whether a goal is met, in the words of every benchmark.

use std::fmt;

/// What is said of a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is reached.
    Met,
    /// It is not.
    NotMet,
    /// It is not, and on this machine no program could reach it: a thread that only spins is stopped for longer.
    NotPossible,
    /// There is too little to tell.
    NotJudged,
}

impl From<bool> for Verdict {
    fn from(met: bool) -> Self {
        if met { Self::Met } else { Self::NotMet }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.pad(match self {
            Self::Met => "met",
            Self::NotMet => "NOT MET",
            Self::NotPossible => "not possible here: this machine stops a spinning thread for longer",
            Self::NotJudged => "n/a",
        })
    }
}
