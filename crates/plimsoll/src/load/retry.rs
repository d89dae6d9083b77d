//! Retries of requests outside of a measured load. Their number is limited, and the pause before each retry doubles.

use crate::console;
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
/// Interval at which a pause checks for interrupts.
const LOOK: Duration = Duration::from_millis(50);

/// How long requests are retried without a success in between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RetryLimit {
    /// For about half a minute.
    #[default]
    HalfMinute,
    /// For this time, or until the user interrupts.
    Time(Option<Duration>),
}

/// Counts of retries by cause, and the state of the pauses.
#[derive(Debug, Default)]
pub struct Retries {
    /// Number of retried requests by the cause of the failure.
    causes: BTreeMap<&'static str, u64>,
    limit: RetryLimit,
    in_a_row: u32,
    /// Start of the first of these pauses.
    since: Option<Instant>,
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
        self.in_a_row = 0;
        self.since = None;
    }

    /// Waits before the next attempt. Returns `false` if the limit is reached, or if the user interrupts.
    pub fn pause(&mut self) -> bool {
        let since = *self.since.get_or_insert_with(Instant::now);
        let is_over = match self.limit {
            RetryLimit::HalfMinute => self.in_a_row >= PAUSES_MAX,
            RetryLimit::Time(most) => most.is_some_and(|most| since.elapsed() >= most),
        };
        if is_over {
            return false;
        }
        if self.in_a_row == PAUSES_MAX {
            console::eprintln("the target has not responded for half a minute: trying again until it does");
        }
        let until = Instant::now() + (PAUSE * (1 << self.in_a_row.min(PAUSES_MAX))).min(PAUSE_MAX);
        self.in_a_row += 1;
        while Instant::now() < until {
            if sys::signals::interrupts().count > 0 {
                return false;
            }
            std::thread::sleep(LOOK.min(until.saturating_duration_since(Instant::now())));
        }
        true
    }

    /// Returns the number of retried requests for each cause.
    pub fn by_cause(&self) -> &BTreeMap<&'static str, u64> {
        &self.causes
    }

    /// Returns the retries as the end of a message, or an empty text if there were none.
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
    fn retries_are_counted_by_cause() {
        let mut retries = Retries::default();
        assert_eq!(retries.description(), "");
        for cause in [Cause::SlowDown, Cause::Refused, Cause::SlowDown] {
            retries.count(cause);
        }
        assert_eq!(retries.description(), "; 3 requests retried (1 × refused, 2 × slow_down)");
    }
}
