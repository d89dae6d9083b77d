//! Retries of requests outside of a measured load. The number of retries is limited, and the pause before each retry
//! doubles.

use crate::console;
use measure::units::format_span;
use measure::{Cause, Enumerated};
use report::number::{self, plural};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// First pause.
const PAUSE: Duration = Duration::from_millis(200);
/// Longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// Usual maximum number of consecutive pauses without a success. Eight pauses take about 33 seconds in total.
const PAUSES_MAX: u32 = 8;
/// A message is printed after this time without a response.
const TOLD_AFTER: Duration = Duration::from_secs(30);
/// Interval at which a pause checks for interrupts.
const LOOK: Duration = Duration::from_millis(50);

/// Time limit for retries without a success in between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RetryLimit {
    /// About half a minute.
    #[default]
    HalfMinute,
    /// Time limit if the target does not respond. `None` means until the user interrupts. If the target responds with
    /// failures, the limit is about half a minute.
    UntilContact(Option<Duration>),
}

/// Next step after a failed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Send the request again.
    Again,
    /// Stop: the limit is reached, or the user interrupts.
    GiveUp,
    /// Stop: the target has not responded for the whole time of [`RetryLimit::UntilContact`].
    TargetGone,
}

/// Counts of retries by cause, and the state of the pauses.
#[derive(Debug, Default)]
pub struct Retries {
    /// Number of retried requests by the cause of the failure.
    causes: BTreeMap<&'static str, u64>,
    limit: RetryLimit,
    /// Number of pauses since the last success.
    in_a_row: u32,
    /// Number of pauses since the last success, without the pauses after requests that got no response.
    after_responses: u32,
    /// Start of the first pause since the last response.
    silent_since: Option<Instant>,
    told: bool,
}

impl Retries {
    /// Returns the state before the first request.
    pub fn new(limit: RetryLimit) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Counts a request that will be retried.
    pub fn count(&mut self, cause: Cause) {
        *self.causes.entry(cause.name()).or_default() += 1;
    }

    /// Records a success, so that the next pause is short again.
    pub fn note_success(&mut self) {
        (self.in_a_row, self.after_responses, self.silent_since) = (0, 0, None);
    }

    /// Waits before the next attempt, if there is one. `responded` is `true` if the target sent a response.
    pub fn pause(&mut self, responded: bool) -> Retry {
        if responded {
            self.after_responses += 1;
            self.silent_since = None;
        }
        match self.limit {
            RetryLimit::HalfMinute if self.in_a_row >= PAUSES_MAX => return Retry::GiveUp,
            RetryLimit::HalfMinute => {}
            RetryLimit::UntilContact(_) if responded && self.after_responses > PAUSES_MAX => return Retry::GiveUp,
            RetryLimit::UntilContact(_) if responded => {}
            RetryLimit::UntilContact(most) => {
                let silent = self.silent_since.get_or_insert_with(Instant::now).elapsed();
                if most.is_some_and(|most| silent >= most) {
                    return Retry::TargetGone;
                }
                self.tell(silent, most);
            }
        }
        let until = Instant::now() + (PAUSE * (1 << self.in_a_row.min(PAUSES_MAX))).min(PAUSE_MAX);
        self.in_a_row += 1;
        while Instant::now() < until {
            if sys::signals::interrupts().count > 0 {
                return Retry::GiveUp;
            }
            std::thread::sleep(LOOK.min(until.saturating_duration_since(Instant::now())));
        }
        Retry::Again
    }

    /// Prints a message once if the target has not responded for [`TOLD_AFTER`].
    fn tell(&mut self, silent: Duration, most: Option<Duration>) {
        if silent >= TOLD_AFTER && !self.told {
            self.told = true;
            let most =
                most.map_or_else(|| "until it does".to_owned(), |most| format!("for up to {}", format_span(most)));
            console::eprintln(&format!("the target has not responded for half a minute; trying again {most}"));
        }
    }

    /// Returns the number of retried requests for each cause.
    pub fn by_cause(&self) -> &BTreeMap<&'static str, u64> {
        &self.causes
    }

    /// Returns the number of retries as text for the end of a message, or an empty text if there were no retries.
    pub fn description(&self) -> String {
        let all: u64 = self.causes.values().sum();
        if all == 0 {
            return String::new();
        }
        let causes: Vec<_> =
            self.causes.iter().map(|(cause, times)| format!("{} × {cause}", number::count(*times))).collect();
        format!("; {} retried ({})", plural(all, "request"), causes.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_responds_is_not_waited_for_without_end() {
        let mut retries = Retries { in_a_row: 0, ..Retries::new(RetryLimit::UntilContact(None)) };
        retries.after_responses = PAUSES_MAX;
        assert_eq!(retries.pause(true), Retry::GiveUp);
        assert_eq!(retries.pause(false), Retry::Again, "silence has a limit of its own");
        retries.note_success();
        assert_eq!(retries.pause(true), Retry::Again);
        let mut retries = Retries::new(RetryLimit::UntilContact(Some(Duration::from_millis(100))));
        assert_eq!((retries.pause(false), retries.pause(false)), (Retry::Again, Retry::TargetGone));
        let mut retries = Retries { in_a_row: PAUSES_MAX, ..Retries::default() };
        assert_eq!(retries.pause(false), Retry::GiveUp);
    }

    #[test]
    fn retries_are_counted_by_cause() {
        let mut retries = Retries::default();
        assert_eq!(retries.description(), "");
        for cause in [Cause::SlowDown, Cause::Refused, Cause::SlowDown] {
            retries.count(cause);
        }
        assert_eq!(retries.description(), "; 3 requests retried (1 × refused, 2 × slow_down)");
    }
}
