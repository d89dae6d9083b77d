//! What the figures of a [`JsonReport`](super::JsonReport) are worth, and how the run ended.

use crate::standing::Standing;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether the figures can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerdictWord {
    /// The run did what was asked, and the books balance.
    Valid,
    /// The user ended it early, in good order; the books balance.
    Interrupted,
    /// It was cut off; what was recorded until then is all there is.
    Partial,
    /// The books do not balance.
    Invalid,
}

impl VerdictWord {
    /// As people read it.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Valid => "VALID",
            Self::Interrupted => "INTERRUPTED",
            Self::Partial => "PARTIAL",
            Self::Invalid => "INVALID",
        }
    }
}

impl From<&Standing> for VerdictWord {
    fn from(standing: &Standing) -> Self {
        match standing {
            Standing::Valid => Self::Valid,
            Standing::Interrupted => Self::Interrupted,
            Standing::Partial => Self::Partial,
            Standing::Invalid(_) => Self::Invalid,
        }
    }
}

/// What set the limit. The words of [`measure::LimitedBy`] in this format; the compiler keeps the two alike.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(remote = "measure::LimitedBy", rename_all = "snake_case")]
pub enum LimitWord {
    /// The target answered as fast as it could.
    Target,
    /// A thread of the client had no time left.
    ClientCpu,
    /// The client's network card was full.
    ClientNic,
    /// The client had too few descriptors or local ports.
    ClientResources,
    /// Client and others compete for the client's cores.
    SharedHost,
    /// More slots would carry more.
    Concurrency,
    /// The schedule asked for no more.
    Rate,
    /// Too little ended to tell.
    Unknown,
}

/// An identity of the books that does not hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Violated {
    /// Its name.
    pub identity: String,
    /// The identity in words.
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

/// Something that must be known beside the figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoteText {
    /// Its name.
    pub name: String,
    /// In words.
    pub text: String,
}

/// An objective and whether it was met.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObjectiveResult {
    /// The bound, as written.
    pub objective: String,
    /// Whether it was met.
    pub judgement: JudgementWord,
}

/// Whether an objective was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JudgementWord {
    /// It was met.
    Met,
    /// It was not.
    Broken,
    /// Nothing ended that could decide it.
    NotJudged,
}
