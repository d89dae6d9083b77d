//! How attempts failed, in a [`JsonReport`](super::JsonReport).

use super::{DamagedObjects, UploadsAtEnd};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How attempts of the measured window failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Failures {
    /// Attempts by class, without those that ended well.
    pub classes: Vec<ClassCount>,
    /// Attempts by cause, with one example each.
    pub causes: Vec<CauseCount>,
    /// Attempts by status code.
    pub statuses: Vec<StatusCount>,
    /// Attempts with something odd that does not change their class.
    pub flags: Vec<FlagCount>,
    /// Objects whose content was wrong or missing; null when there were none.
    pub damaged: Option<DamagedObjects>,
    /// Multipart uploads that were open when the load ended; null when there were none.
    pub open_uploads: Option<UploadsAtEnd>,
}

/// Attempts of one class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClassCount {
    /// The class.
    pub class: String,
    /// In words.
    pub about: String,
    /// How many.
    pub attempts: u64,
    /// Their share of all attempts.
    pub attempts_share: f64,
}

/// Attempts of one cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CauseCount {
    /// The cause.
    pub cause: String,
    /// In words.
    pub about: String,
    /// How many.
    pub attempts: u64,
    /// One of them.
    pub example: Option<FailureExample>,
}

/// One failed attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FailureExample {
    /// When, from the start of the run.
    pub at_nanos: u64,
    /// Its class.
    pub class: String,
    /// The part of the attempt in which it failed.
    pub phase: String,
    /// The URL, without secrets.
    pub url: String,
    /// The address that was connected to.
    pub address: Option<String>,
    /// Status code.
    pub status: Option<u16>,
    /// What was seen.
    pub detail: String,
}

/// Attempts with one status code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatusCount {
    /// The code.
    pub status: u16,
    /// How many.
    pub attempts: u64,
}

/// Attempts with one oddity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlagCount {
    /// The oddity.
    pub flag: String,
    /// In words.
    pub about: String,
    /// How many.
    pub attempts: u64,
}
