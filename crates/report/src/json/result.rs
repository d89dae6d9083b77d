//! The result of a [`JsonReport`](super::JsonReport), what set the limit, and how the run ended.

use measure::ResultWord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result. The words of [`measure::ResultWord`] in this format; the compiler keeps the two alike.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(remote = "ResultWord", rename_all = "snake_case")]
pub enum ResultName {
    /// Usable, and all objectives are met.
    Pass,
    /// Cut off, and sound as far as it goes.
    Partial,
    /// The numbers must not be used.
    Unusable,
    /// An objective is missed, there was an outage, nothing succeeded, or content was wrong.
    Fail,
}

/// The result of a run, of several runs together, or of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResultOfRun {
    /// The word.
    #[serde(with = "ResultName")]
    pub word: ResultWord,
    /// The exit code of the program, and of `plimsoll report`.
    pub exit_code: u8,
    /// Why it is not `pass`, the most important reason first; empty for `pass`.
    pub reasons: Vec<NoteText>,
}

/// Whether counters that were counted along different ways agree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AccountingChecks {
    /// Comparisons made.
    pub checks: u32,
    /// Those that failed; the result is `unusable` unless this is empty.
    pub violations: Vec<Violated>,
}

/// What set the limit. The words of [`measure::LimitedBy`] in this format; the compiler keeps the two alike.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(remote = "measure::LimitedBy", rename_all = "snake_case")]
pub enum LimitWord {
    /// The target answered as fast as it could.
    Target,
    /// The network between client and target was full.
    Link,
    /// A thread of the client had no time left.
    ClientCpu,
    /// The client's network card was full.
    ClientNic,
    /// The client had too few descriptors or local ports.
    ClientResources,
    /// Client and others compete for the client's cores.
    SharedHost,
    /// Operations did not wait for each other: more slots reach a higher rate.
    Concurrency,
    /// The schedule asked for no more.
    Rate,
    /// One closed level does not show whether the target or the concurrency set the limit.
    NotDetermined,
    /// Too few operations ended.
    Unknown,
}

/// Two counters that must agree and do not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Violated {
    /// Its name.
    pub identity: String,
    /// What must be true, in words.
    pub about: String,
    /// Its left side.
    pub left: u64,
    /// Its right side.
    pub right: u64,
}

/// How the run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ending {
    /// Why.
    pub reason: EndWord,
    /// Number of the signal that interrupted it.
    pub signal: Option<i32>,
    /// What was seen.
    pub detail: Option<String>,
    /// When, from the start of the run.
    pub at_nanos: u64,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndWord {
    /// It did what was asked.
    Completed,
    /// The user ended it early.
    Interrupted,
    /// Its objectives were decided before its time was over.
    Decided,
    /// A condition was met that ends a run.
    Aborted,
    /// It is made of several runs that were measured at the same time.
    Merged,
    /// There was no room for further records.
    DiskFull,
    /// The target could not be reached at all.
    Unreachable,
    /// Something else made it impossible to go on.
    Failed,
}

/// Something that a reader must know next to the numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoteText {
    /// Its name.
    pub name: String,
    /// In words.
    pub text: String,
}

/// An objective and its outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObjectiveResult {
    /// The bound, as written.
    pub objective: String,
    /// Whether it was met.
    pub judgement: JudgementWord,
    /// What was measured: a share of 1, nanoseconds, operations per second or bytes per second; null where nothing was, and where
    /// the percentile falls among operations that failed or did not end.
    pub value: Option<f64>,
    /// Operations that had a say.
    pub operations: u64,
    /// Operations that are needed to meet it.
    pub needed: u64,
}

/// Whether an objective was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JudgementWord {
    /// It was met.
    Met,
    /// It was missed.
    Missed,
    /// Too few operations ended to decide.
    NotEnoughData,
    /// What the client did to the numbers decides.
    ClientLimited,
}
