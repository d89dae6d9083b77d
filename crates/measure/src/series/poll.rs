//! One poll of all sources.

use super::number::Number;
use crate::enumerated;
use crate::sample::outcome::Cause;
use crate::time::Instant;
use serde::{Deserialize, Serialize};

/// Maximum length of the detail of a failure, in characters.
pub const DETAIL_MAX: usize = 200;

enumerated! {
    /// Kind of a source's failure.
    pub enum FailureClass {
        Request => "request", "the request failed";
        NotUnderstood => "not_understood", "the response cannot be read";
        Missing => "missing", "a value is missing";
        NotRunning => "not_running", "there is no such process";
        Unreadable => "unreadable", "a file of this host cannot be read";
        Command => "command", "a command failed";
        TimedOut => "timed_out", "the poll took too long";
        TooLarge => "too_large", "the response is too large";
        Connect => "connect", "the connection could not be opened";
        Internal => "internal", "a defect in this program";
    }
}

/// Failure of a source in one poll. The values that could not be read stay blank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PollFailure {
    /// Kind of the failure.
    pub class: FailureClass,
    /// Cause of a failed request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Status code of the response to a failed request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Further information for a person, in one line of at most [`DETAIL_MAX`] characters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

impl PollFailure {
    /// Returns a failure without a cause. The detail is cut to its first line and to [`DETAIL_MAX`] characters.
    #[must_use]
    pub fn new(class: FailureClass, detail: &str) -> Self {
        let line = detail.trim().lines().next().unwrap_or_default();
        let detail = line.chars().filter(|letter| !letter.is_control()).take(DETAIL_MAX).collect();
        Self { class, cause: None, status: None, detail }
    }

    /// Returns the failure as a phrase.
    #[must_use]
    pub fn about(&self) -> String {
        let what = match (self.cause, self.status) {
            (_, Some(status)) if !(200..300).contains(&status) => format!("status {status}"),
            (Some(cause), _) => cause.about().to_owned(),
            (None, _) => self.class.about().to_owned(),
        };
        if self.detail.is_empty() { what } else { format!("{what}: {}", self.detail) }
    }
}

/// Result of polling one source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourcePoll {
    /// Time that the source took, in nanoseconds.
    pub nanos: u64,
    /// Failure, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<PollFailure>,
}

/// One poll of all sources. Instants are on the clock of the collection, which is zero at the start of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Poll {
    /// Instant directly before the poll.
    #[serde(rename = "start_nanos")]
    pub start: Instant,
    /// Instant directly after the poll.
    #[serde(rename = "end_nanos")]
    pub end: Instant,
    /// Wall time at `start`, in milliseconds since 1970.
    pub start_unix_ms: u64,
    /// Wall time at `end`, in milliseconds since 1970.
    pub end_unix_ms: u64,
    /// Time that all HTTP requests took together, in microseconds.
    pub request_micros: u64,
    /// Number of due polls that were skipped before this poll, because an earlier poll took too long.
    pub missed: u64,
    /// The sources, in order.
    pub sources: Vec<SourcePoll>,
    /// The values, one per column; `None` if a value is unknown.
    pub values: Vec<Option<Number>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_are_short_and_on_one_line() {
        let failure = PollFailure::new(FailureClass::Command, "\n ssh: no\u{1b}[31m route\nsecond line");
        assert_eq!(failure.about(), "a command failed: ssh: no[31m route");
        let long = PollFailure::new(FailureClass::Missing, &"x".repeat(1000));
        assert_eq!(long.detail.len(), DETAIL_MAX);
        let status = PollFailure { status: Some(401), ..PollFailure::new(FailureClass::Request, "") };
        assert_eq!(status.about(), "status 401");
    }
}
