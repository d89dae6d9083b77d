//! Why a result is what it is.

use super::ResultWord;
use super::accounting::Violation;
use crate::objective::Judged;
use crate::sample::outcome::Cause;
use crate::stats::Tally;
use crate::values::sum;
use std::time::Duration;

/// Why a run is not PASS.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// Responses had wrong or missing content.
    WrongContent {
        /// How many.
        responses: u64,
    },
    /// Two counters that must agree do not: a defect of the program, or a damaged record.
    CountersDisagree(Violation),
    /// The target could not be reached from the start.
    Unreachable {
        /// What was seen.
        detail: String,
    },
    /// A condition of `--abort-when` came true.
    Aborted {
        /// The condition, as written.
        condition: String,
    },
    /// No operation succeeded.
    NothingSucceeded {
        /// Operations that failed.
        failed: u64,
        /// Operations that never started.
        dropped: u64,
        /// Operations without a byte of a response at the end.
        hanging: u64,
        /// Most frequent failure; `None` if no cause accounts for more than half of the attempts.
        mostly: Option<MostFailures>,
    },
    /// A target that had served failed everything for a time.
    Outage {
        /// For how long.
        length: Duration,
    },
    /// An objective is missed.
    Missed(Judged),
    /// Too few operations ended to judge an objective.
    NotEnoughData(Judged),
    /// The client did not start operations in time.
    ClientMissed {
        /// How many.
        operations: u64,
        /// Of how many that were due.
        of: u64,
        /// Whether its descriptors or local ports allowed too few of them at once.
        lacks_resources: bool,
    },
    /// The client lacked descriptors or local ports.
    ClientResources {
        /// Attempts that could not be made.
        attempts: u64,
        /// Of how many.
        of: u64,
    },
    /// An objective that is met or missed depending on what the client did to the numbers.
    ClientDecides(Judged),
    /// The run ended before its own end.
    CutOff(CutOff),
}

/// Most frequent failure of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MostFailures {
    /// The cause.
    pub cause: Cause,
    /// The status code of most, if it is one of failures.
    pub status: Option<u16>,
}

impl MostFailures {
    /// Returns the cause of more than half of the attempts that failed, if there is one. What the end of the run cut off did not fail.
    pub(super) fn of(tally: &Tally) -> Option<Self> {
        let failures = || tally.causes.nonzero().filter(|(cause, _)| *cause != Cause::RunEnded);
        let all = sum(failures().map(|(_, count)| count));
        let is_most = |count: u64| count > all / 2;
        let (cause, _) = failures().find(|(_, count)| is_most(*count))?;
        let statuses = tally.statuses.sorted();
        let status = statuses.iter().find(|(status, count)| *status >= 400 && is_most(*count));
        Some(Self { cause, status: status.map(|(status, _)| *status) })
    }
}

/// What ended a run before its own end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CutOff {
    /// A signal of the user.
    Interrupted {
        /// Its number.
        signal: i32,
    },
    /// Nothing was recorded: the run is going on, or was killed.
    NoEnd,
    /// Records are damaged from some place on.
    Damaged,
    /// The run is the time that several merged runs have in common.
    Merged {
        /// How many.
        runs: u64,
    },
    /// There was no room for further records.
    DiskFull,
    /// Something else made it impossible to go on.
    Failed {
        /// What was seen.
        detail: String,
    },
}

impl Reason {
    /// The result that follows from it, unless a more important reason comes first.
    #[must_use]
    pub fn word(&self) -> ResultWord {
        match self {
            Self::WrongContent { .. }
            | Self::Unreachable { .. }
            | Self::Aborted { .. }
            | Self::NothingSucceeded { .. }
            | Self::Outage { .. }
            | Self::Missed(_)
            | Self::NotEnoughData(_) => ResultWord::Fail,
            Self::CountersDisagree(_)
            | Self::ClientMissed { .. }
            | Self::ClientResources { .. }
            | Self::ClientDecides(_) => ResultWord::Unusable,
            Self::CutOff(_) => ResultWord::Partial,
        }
    }

    /// Its name in records.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::WrongContent { .. } => "wrong_content",
            Self::CountersDisagree(_) => "counters_disagree",
            Self::Unreachable { .. } => "unreachable",
            Self::Aborted { .. } => "aborted",
            Self::NothingSucceeded { .. } => "nothing_succeeded",
            Self::Outage { .. } => "outage",
            Self::Missed(_) => "objective_missed",
            Self::NotEnoughData(_) => "not_enough_data",
            Self::ClientMissed { .. } => "client_missed_operations",
            Self::ClientResources { .. } => "client_resources",
            Self::ClientDecides(_) => "client_limited_objective",
            Self::CutOff(_) => "cut_off",
        }
    }
}
