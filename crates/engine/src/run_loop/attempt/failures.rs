//! State of an operation after failed attempts: the number of failures, and the pause before the request is sent again.

use crate::plan::RetryPolicy;
use measure::Instant;
use measure::sample::AttemptKind;

/// Pause of an operation.
#[derive(Clone, Copy, Debug)]
pub(in crate::run_loop) struct Pause {
    pub until: Instant,
    /// Kind of the next attempt.
    pub kind: AttemptKind,
}

/// Failures of one request so far.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::run_loop) struct Failures {
    pub all: u32,
    refusals: u32,
}

/// Likelihood that a failed request succeeds if it is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prospect {
    /// The failure is transient.
    Good,
    /// The server refused the request. Some servers refuse requests at random.
    Poor,
    None,
}

impl Failures {
    /// Counts a failure. Returns whether to send the request again.
    pub(super) fn add(&mut self, prospect: Prospect, policy: &RetryPolicy) -> bool {
        self.all = self.all.saturating_add(1);
        match prospect {
            Prospect::Good => true,
            Prospect::Poor => {
                self.refusals += 1;
                self.refusals < policy.refused_max.get()
            }
            Prospect::None => false,
        }
    }
}
