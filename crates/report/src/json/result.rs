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

/// Whether counters that were counted in independent ways agree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Accounting {
    /// Number of comparisons.
    pub checks: u32,
    /// Comparisons that failed. The result is `unusable` if there are any.
    pub violations: Vec<ViolationRecord>,
}

// The variants are those of `LimitedBy`; serde fails to compile if they differ.
/// What limited the run.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(remote = "measure::LimitedBy", rename_all = "snake_case")]
pub enum LimitName {
    /// The target responded as fast as it could.
    Target,
    /// The network between client and target was full.
    Link,
    /// A thread of the client had no time left.
    ClientCpu,
    /// The client's network card was full.
    ClientNic,
    /// The client had too few file descriptors or local ports.
    ClientResources,
    /// Client and others compete for the client's cores.
    SharedHost,
    /// Operations did not wait for each other: more slots reach a higher rate.
    Concurrency,
    /// The target sustained all that was offered.
    Rate,
    /// One closed level does not show whether the target or the concurrency was the limit.
    NotDetermined,
    /// Too few operations ended.
    Unknown,
}

/// Two counters that must agree and do not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ViolationRecord {
    /// Name of the identity.
    pub identity: String,
    /// What must be true, in words.
    pub description: String,
    /// Value of its left side.
    pub left: u64,
    /// Value of its right side.
    pub right: u64,
}

/// How the run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunEnd {
    /// Why it ended.
    pub reason: EndName,
    /// Number of the signal that interrupted it.
    pub signal: Option<i32>,
    /// Error, condition, or missed objective that ended it.
    pub detail: Option<String>,
    /// When it ended, from the start of the run.
    pub at_nanos: u64,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndName {
    /// It reached its planned end.
    Completed,
    /// The user ended it early.
    Interrupted,
    /// The results of its objectives were certain early.
    StoppedEarly,
    /// A condition of the user ended it.
    Aborted,
    /// It is made of several runs that were measured at the same time.
    Merged,
    /// The disk was full.
    DiskFull,
    /// The target could not be reached.
    Unreachable,
    /// Another error ended it.
    Failed,
}

/// An objective and its outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObjectiveResult {
    /// The objective, as written.
    pub objective: String,
    /// Its outcome.
    pub outcome: ObjectiveOutcome,
    /// Measured value: a share of 1, nanoseconds, operations per second or bytes per second; null if nothing was measured, and if
    /// the percentile lies among operations that failed or did not end.
    pub value: Option<f64>,
    /// Operations that were judged.
    pub operations: u64,
    /// Operations that are needed to meet it.
    pub operations_needed: u64,
}

/// Outcome of an objective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ObjectiveOutcome {
    /// It was met.
    Met,
    /// It was missed.
    Missed,
    /// Too few operations ended to decide it.
    NotEnoughData,
    /// Delays of the client decide whether it was met.
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
            EndReason::StoppedEarly { first_missed } => (EndName::StoppedEarly, None, first_missed.as_deref().map(escape)),
            EndReason::Aborted { condition } => (EndName::Aborted, None, Some(escape(condition))),
            EndReason::Merged { .. } => (EndName::Merged, None, None),
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
