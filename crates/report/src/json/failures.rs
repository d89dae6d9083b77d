//! Failed attempts, in a [`JsonReport`](super::JsonReport).

use super::leftovers::{DamagedObjects, UploadsAtEnd};
use crate::escape::escape;
use measure::{AttemptClass, Cause, Enumerated, Example, Flag};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::SavedRun;

/// Failed attempts of the measured window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Failures {
    /// Failed attempts by class.
    pub classes: Vec<ClassCount>,
    /// Failed attempts by cause, with one example of each cause.
    pub causes: Vec<CauseCount>,
    /// Attempts by status code.
    pub statuses: Vec<StatusCount>,
    /// Attempts by anomaly. These anomalies do not change the class of an attempt.
    pub flags: Vec<FlagCount>,
    /// Objects with wrong or missing content; null if there were none.
    pub damaged: Option<DamagedObjects>,
    /// Multipart uploads that were open when the load ended; null if there were none.
    pub open_uploads: Option<UploadsAtEnd>,
}

/// Attempts of one class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClassCount {
    /// The class.
    pub class: String,
    /// Meaning of the class.
    pub description: String,
    /// Number of attempts.
    pub attempts: u64,
    /// Share of all attempts.
    pub attempts_share: f64,
}

/// Attempts of one cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CauseCount {
    /// The cause.
    pub cause: String,
    /// Meaning of the cause.
    pub description: String,
    /// Number of attempts.
    pub attempts: u64,
    /// One of these attempts.
    pub example: Option<FailureExample>,
}

/// One failed attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FailureExample {
    /// Time of the failure, from the start of the run.
    pub at_nanos: u64,
    /// Class of the failure.
    pub class: String,
    /// Phase in which the attempt failed.
    pub phase: String,
    /// URL, without secrets.
    pub url: String,
    /// Address of the server.
    pub address: Option<String>,
    /// Status code.
    pub status: Option<u16>,
    /// Details that the client observed.
    pub detail: String,
}

/// Attempts with one status code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatusCount {
    /// The code.
    pub status: u16,
    /// Number of attempts.
    pub attempts: u64,
}

/// Attempts with one anomaly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlagCount {
    /// The anomaly.
    pub flag: String,
    /// Meaning of the anomaly.
    pub description: String,
    /// Number of attempts.
    pub attempts: u64,
}

impl Failures {
    pub(super) fn of(run: &SavedRun) -> Self {
        let stats = &run.summary().stats;
        let tally = &stats.measured;
        let class = |(class, attempts): (AttemptClass, u64)| ClassCount {
            class: class.name().into(),
            description: class.about().into(),
            attempts,
            attempts_share: attempts as f64 / tally.attempts.max(1) as f64,
        };
        let cause = |(cause, attempts): (Cause, u64)| CauseCount {
            cause: cause.name().into(),
            description: cause.about().into(),
            attempts,
            example: stats.examples.iter().find(|example| example.cause() == cause).map(FailureExample::of),
        };
        let status = |(status, attempts): (u16, u64)| StatusCount { status, attempts };
        let flag = |(flag, attempts): (Flag, u64)| FlagCount {
            flag: flag.name().into(),
            description: flag.about().into(),
            attempts,
        };
        let end = run.end.as_ref();
        Self {
            classes: tally.classes.nonzero().filter(|(class, _)| *class != AttemptClass::Ok).map(class).collect(),
            causes: tally.causes.nonzero().filter(|(cause, _)| *cause != Cause::None).map(cause).collect(),
            statuses: tally.statuses.sorted().into_iter().map(status).collect(),
            flags: tally.flags.nonzero().map(flag).collect(),
            damaged: end.and_then(|end| end.damaged.as_ref()).map(Into::into),
            open_uploads: end.and_then(|end| end.uploads.as_ref()).map(Into::into),
        }
    }
}

impl FailureExample {
    fn of(example: &Example) -> Self {
        Self {
            at_nanos: example.at.as_nanos(),
            class: example.outcome.class.name().into(),
            phase: example.outcome.phase.name().into(),
            url: escape(&example.url),
            address: example.address.as_deref().map(escape),
            status: example.status,
            detail: escape(&example.detail),
        }
    }
}
