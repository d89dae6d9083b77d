//! Reasons for a result.

use super::ResultWord;
use super::accounting::Violation;
use crate::objective::ObjectiveResult;
use crate::sample::outcome::Cause;
use crate::stats::Tally;
use crate::values::sum;
use std::time::Duration;

/// Reason for which a run is not PASS.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// Responses had wrong or missing content.
    WrongContent {
        /// Number of responses.
        responses: u64,
    },
    /// Two counters that must agree do not, because of a defect of the program or a damaged record.
    CountersDisagree(Violation),
    /// The target could not be reached from the start.
    Unreachable {
        /// Description of the failure.
        detail: String,
    },
    /// A condition of `--abort-when` came true.
    Aborted {
        /// Condition as written by the user.
        condition: String,
    },
    /// No operation succeeded.
    NothingSucceeded {
        /// Operations that failed.
        failed: u64,
        /// Operations that were never started.
        dropped: u64,
        /// Operations that had not received a byte of a response at the end.
        hanging: u64,
        /// Most frequent failure; `None` if no cause accounts for more than half of the attempts.
        mostly: Option<MostFailures>,
    },
    /// A target that had served requests failed all of them for a time.
    Outage {
        /// Length of the outage.
        length: Duration,
    },
    /// An objective is missed.
    Missed(ObjectiveResult),
    /// Too few operations ended to judge an objective.
    NotEnoughData(ObjectiveResult),
    /// The client did not start operations in time.
    ClientMissed {
        /// Operations that were not started.
        operations: u64,
        /// Operations that were due.
        of: u64,
        /// `true` if descriptors or local ports allowed too few operations at once.
        lacks_resources: bool,
    },
    /// The client had too few descriptors or local ports.
    ClientResources {
        /// Attempts that could not be made.
        attempts: u64,
        /// All attempts.
        of: u64,
    },
    /// An objective is met or missed depending on what the client did to the times.
    ClientDecides(ObjectiveResult),
    /// The run was cut off before its end.
    CutOff(CutOff),
}

/// Most frequent failure of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MostFailures {
    /// Cause of more than half of the failed attempts.
    pub cause: Cause,
    /// Status code of more than half of the failed attempts, if it is an error status.
    pub status: Option<u16>,
}

impl MostFailures {
    /// Returns the most frequent cause if it accounts for more than half of the failed attempts. Attempts that the end
    /// of the run cut off did not fail.
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

/// Event that cut a run off before its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CutOff {
    /// A signal from the user.
    Interrupted {
        /// Number of the signal.
        signal: i32,
    },
    /// There is no end record: the run is still going on, or was killed.
    NoEnd,
    /// Records are damaged from some position on.
    Damaged,
    /// The run is the common time of several merged runs.
    Merged {
        /// Number of merged runs.
        runs: u64,
    },
    /// The disk had no space for further records.
    DiskFull,
    /// Another failure that the run could not continue after.
    Failed {
        /// Description of the failure.
        detail: String,
    },
}

impl Reason {
    /// Returns the result that follows from this reason unless a more important reason comes first.
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

    /// Returns the name in records.
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
