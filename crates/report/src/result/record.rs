//! The result in JSON documents.

use measure::ResultWord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

// This enum repeats the variants of `ResultWord`, which lives in another crate. If they differ, the code that serde
// derives does not compile.
/// The result in one word.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(remote = "ResultWord", rename_all = "snake_case")]
pub enum ResultName {
    /// The numbers are usable, and all objectives were met.
    Pass,
    /// The run is incomplete. Its numbers are correct for the part that was measured.
    Partial,
    /// The numbers must not be used.
    Unusable,
    /// An objective was missed, there was an outage, nothing succeeded, or content was wrong.
    Fail,
}

/// The result of a run, of several runs together, or of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResultRecord {
    /// The result: `pass`, `fail`, `unusable` or `partial`.
    #[serde(with = "ResultName")]
    pub word: ResultWord,
    /// Exit code of the run. `plimsoll report` exits with the same code.
    pub exit_code: u8,
    /// Reasons why the result is not `pass`, the most important first. Empty for `pass`.
    pub reasons: Vec<NamedText>,
}

/// A sentence for people, with a name for programs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NamedText {
    /// Stable name.
    pub name: String,
    /// Sentence with the numbers of this run. The wording may change between versions.
    pub text: String,
}
