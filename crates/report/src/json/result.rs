//! Result, accounting, limit, objectives and end of a run, in a [`JsonReport`](super::JsonReport).

use crate::escape::escape;
use crate::result::{NamedText, ResultRecord};
use measure::objective;
use measure::result::Reason;
use measure::result::accounting::Violation;
use measure::{Enumerated, RunResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{End, EndReason};

/// Comparison of independent counters, which must agree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Accounting {
    /// Number of comparisons between counters.
    pub checks: u32,
    /// Comparisons that failed. If there are any, the result is `unusable`.
    pub violations: Vec<ViolationRecord>,
}

// This enum repeats the variants of `LimitedBy`, which lives in another crate. If they differ, the code that serde
// derives does not compile.
/// Resource or setting that limited the rate of a run.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(remote = "measure::LimitedBy", rename_all = "snake_case")]
pub enum LimitName {
    /// The target responded as fast as it could.
    Target,
    /// The capacity of the network between client and target was used up.
    Link,
    /// The emulator of the network between client and target had too little CPU time or memory.
    Emulator,
    /// A thread of the client was busy all the time, so the CPU was the limit.
    ClientCpu,
    /// The client's network card worked at its full speed.
    ClientNic,
    /// The client had too few file descriptors or local ports.
    ClientResources,
    /// Other processes or virtual machines used the cores of the client's host.
    SharedHost,
    /// The number of slots. Operations did not wait for each other, so more slots would reach a higher rate.
    Concurrency,
    /// The target sustained the offered rate.
    Rate,
    /// Not known. A closed run with only one number of slots does not show whether the target or this number was the
    /// limit.
    NotDetermined,
    /// Not known, because too few operations ended.
    Unknown,
}

/// Two counters that must agree but do not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ViolationRecord {
    /// Name of the rule that the counters break.
    pub identity: String,
    /// The rule in words.
    pub description: String,
    /// Value on the left side of the rule.
    pub left: u64,
    /// Value on the right side of the rule.
    pub right: u64,
}

/// End of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunEnd {
    /// Reason for the end.
    pub reason: EndName,
    /// Number of the signal that interrupted the run.
    pub signal: Option<i32>,
    /// The error, condition or missed objective that ended the run.
    pub detail: Option<String>,
    /// Time from the start of the run to its end.
    pub at_nanos: u64,
}

/// Reason for which a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndName {
    /// The run reached its planned end.
    Completed,
    /// The user interrupted the run.
    Interrupted,
    /// The run stopped early, because the results of all objectives were certain.
    StoppedEarly,
    /// A condition was met at which the user had asked to abort the run.
    Aborted,
    /// The run was merged from several runs that took place at the same time.
    Merged,
    /// Agents of a run of several hosts were lost after the start.
    AgentsLost,
    /// The agents of a run of several hosts did not start together.
    StartsApart,
    /// The disk was full.
    DiskFull,
    /// The target could not be reached.
    Unreachable,
    /// Another error ended the run.
    Failed,
}

/// An objective and its outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObjectiveResult {
    /// The objective, as written.
    pub objective: String,
    /// Outcome of the objective.
    pub outcome: ObjectiveOutcome,
    /// Measured value: a fraction (0.99 means 99 %), nanoseconds, operations per second, or bytes per second. Null if
    /// nothing was measured, or if the operation at the percentile failed or did not end.
    pub value: Option<f64>,
    /// Number of operations on which the outcome is based.
    pub operations: u64,
    /// Minimum number of operations at which the objective can be met.
    pub operations_needed: u64,
}

/// Outcome of an objective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ObjectiveOutcome {
    /// The objective was met.
    Met,
    /// The objective was missed.
    Missed,
    /// Too few operations ended to decide the objective.
    NotEnoughData,
    /// The outcome is unknown, because it depends on delays of the client.
    ClientLimited,
}

pub(super) fn record(result: &RunResult) -> ResultRecord {
    let reason = |reason: &Reason| NamedText { name: reason.name().into(), text: crate::result::text(reason) };
    let reasons = result.reasons.iter().map(reason).collect();
    ResultRecord { word: result.word, exit_code: result.exit.code(), reasons }
}

impl Accounting {
    pub(super) fn of(result: &RunResult) -> Self {
        let record = |violation: &Violation| ViolationRecord {
            identity: violation.identity.name().into(),
            description: violation.identity.about().into(),
            left: violation.left,
            right: violation.right,
        };
        let violations = result.accounting.violations.iter().map(record).collect();
        Self { checks: result.accounting.checks, violations }
    }
}

impl RunEnd {
    pub(super) fn of(end: &End) -> Self {
        let (reason, signal, detail) = match &end.reason {
            EndReason::Completed => (EndName::Completed, None, None),
            EndReason::Interrupted { signal } => (EndName::Interrupted, Some(*signal), None),
            EndReason::StoppedEarly { first_missed } => {
                (EndName::StoppedEarly, None, first_missed.as_deref().map(escape))
            }
            EndReason::Aborted { condition } => (EndName::Aborted, None, Some(escape(condition))),
            EndReason::Merged { .. } => (EndName::Merged, None, None),
            EndReason::AgentsLost { .. } => (EndName::AgentsLost, None, None),
            EndReason::StartsApart { .. } => (EndName::StartsApart, None, None),
            EndReason::DiskFull => (EndName::DiskFull, None, None),
            EndReason::Unreachable { detail } => (EndName::Unreachable, None, Some(escape(detail))),
            EndReason::Failed { detail } => (EndName::Failed, None, Some(escape(detail))),
        };
        Self { reason, signal, detail, at_nanos: end.at.as_nanos() }
    }
}

impl ObjectiveResult {
    pub(super) fn of(judged: &objective::ObjectiveResult) -> Self {
        Self {
            objective: judged.objective.to_string(),
            outcome: match judged.outcome {
                objective::ObjectiveOutcome::Met => ObjectiveOutcome::Met,
                objective::ObjectiveOutcome::Missed => ObjectiveOutcome::Missed,
                objective::ObjectiveOutcome::NotEnoughData => ObjectiveOutcome::NotEnoughData,
                objective::ObjectiveOutcome::ClientLimited => ObjectiveOutcome::ClientLimited,
            },
            value: judged.value,
            operations: judged.operations,
            operations_needed: judged.needed,
        }
    }
}
