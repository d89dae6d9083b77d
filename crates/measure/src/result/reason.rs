//! Reasons for a result.

use super::ResultWord;
use super::accounting::Violation;
use crate::objective::ObjectiveResult;
use crate::path::EmulatorHealth;
use crate::sample::outcome::Cause;
use crate::stats::Tally;
use crate::values::sum;
use std::time::Duration;

/// Reason why a run is not PASS.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// Responses had wrong or missing content.
    WrongContent {
        /// Number of responses.
        responses: u64,
    },
    /// Two counters disagree, because of a defect of the program or a damaged record.
    CountersDisagree(Violation),
    /// The target could not be reached at all.
    Unreachable {
        /// Description of the failure.
        detail: String,
    },
    /// A condition of `--abort-when` became true.
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
        /// Number of operations that had not received any byte of a response by the end.
        hanging: u64,
        /// Most frequent failure; `None` if no cause is responsible for more than half of the failures.
        mostly: Option<MostFailures>,
    },
    /// The target failed all requests for a time, although it had served requests before.
    Outage {
        /// Total length of the outages.
        length: Duration,
    },
    /// An objective is missed.
    Missed(ObjectiveResult),
    /// Too few operations ended to judge an objective.
    NotEnoughData(ObjectiveResult),
    /// The client failed to start operations in time.
    ClientMissed {
        /// Operations that the client failed to start.
        operations: u64,
        /// Operations that were due.
        of: u64,
        /// `true` if the client had too few descriptors or local ports to run enough operations concurrently.
        lacks_resources: bool,
    },
    /// The client had too few descriptors or local ports.
    ClientResources {
        /// Number of attempts that failed for this reason.
        attempts: u64,
        /// All attempts.
        of: u64,
    },
    /// The emulated path between client and target differs from the path that the user requested.
    OtherPath {
        /// Measured properties that differ, each as a clause of a sentence.
        differences: Vec<String>,
    },
    /// The emulator of the path did not get enough CPU time or memory during the run.
    Emulator(EmulatorHealth),
    /// The outcome of an objective depends on the delays that the client added.
    ClientDecides(ObjectiveResult),
    /// The run was cut off before its end.
    CutOff(CutOff),
}

/// Most frequent failure of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MostFailures {
    /// Cause of more than half of the failed attempts.
    pub cause: Cause,
    /// Error status code of more than half of the failed attempts; `None` if there is no such code.
    pub status: Option<u16>,
}

impl MostFailures {
    /// Returns the most frequent cause of failure, if it is the cause of more than half of the failed attempts.
    /// Attempts that the end of the run interrupted do not count as failed.
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

/// Event that ended a run before its regular end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CutOff {
    /// A signal from the user.
    Interrupted {
        /// Number of the signal.
        signal: i32,
    },
    /// The record has no end, so the run is still going or was killed.
    NoEnd,
    /// The records are damaged from some position on.
    Damaged,
    /// The result combines several runs, and covers the time in which all of these runs were measured.
    Merged {
        /// Number of merged runs.
        runs: u64,
    },
    /// Agents of a run of several hosts were lost after the start.
    AgentsLost {
        /// Names of the lost agents.
        lost: Vec<String>,
        /// Number of all agents.
        agents: u64,
    },
    /// The agents of a run of several hosts did not start together.
    StartsApart {
        /// Time between the first and the last start.
        spread: Duration,
        /// The limit.
        limit: Duration,
    },
    /// The disk had no space for further records.
    DiskFull,
    /// The run could not continue after another failure.
    Failed {
        /// Description of the failure.
        detail: String,
    },
}

impl Reason {
    /// Returns the result that follows from this reason if no other reason is more important.
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
            | Self::OtherPath { .. }
            | Self::Emulator(_)
            | Self::ClientDecides(_) => ResultWord::Unusable,
            Self::CutOff(_) => ResultWord::Partial,
        }
    }

    /// Returns the name that records use.
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
            Self::OtherPath { .. } => "path_differs",
            Self::Emulator(_) => "emulator_overloaded",
            Self::ClientDecides(_) => "client_limited_objective",
            Self::CutOff(_) => "cut_off",
        }
    }
}
