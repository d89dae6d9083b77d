//! Trying again what a server could not do for the moment, outside of measured load: with pauses that double, bounded, and
//! counted.

use measure::{AttemptClass, AttemptOutcome, Cause, Enumerated};
use report::number::{count, plural};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The first pause.
const PAUSE: Duration = Duration::from_millis(200);
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// Pauses in a row without a success, at most: about 33 seconds in all.
const PAUSES_MAX: u32 = 8;
/// How often an interrupt is looked for during a pause.
const LOOK: Duration = Duration::from_millis(50);

/// Pauses, and what led to them.
#[derive(Debug, Default)]
pub struct Retries {
    /// Requests that are repeated, by the cause for which they failed.
    causes: BTreeMap<&'static str, u64>,
    in_a_row: u32,
}

impl Retries {
    /// Counts a request that is repeated.
    pub fn note(&mut self, cause: Cause) {
        *self.causes.entry(cause.name()).or_default() += 1;
    }

    /// Notes that requests succeeded: pauses begin with the shortest again.
    pub fn progress(&mut self) {
        self.in_a_row = 0;
    }

    /// Waits for the next try; `false` when there is none left, or the user has interrupted.
    pub fn pause(&mut self) -> bool {
        if self.in_a_row >= PAUSES_MAX {
            return false;
        }
        let until = Instant::now() + (PAUSE * (1 << self.in_a_row)).min(PAUSE_MAX);
        self.in_a_row += 1;
        while Instant::now() < until {
            if sys::signals::interrupts().count > 0 {
                return false;
            }
            std::thread::sleep(LOOK.min(until.saturating_duration_since(Instant::now())));
        }
        true
    }

    /// How many requests were repeated, by cause.
    pub fn by_cause(&self) -> &BTreeMap<&'static str, u64> {
        &self.causes
    }

    /// What is reported of it; empty when nothing was repeated.
    pub fn told(&self) -> String {
        let all: u64 = self.causes.values().sum();
        if all == 0 {
            return String::new();
        }
        let causes: Vec<_> =
            self.causes.iter().map(|(cause, number)| format!("{} × {cause}", count(*number))).collect();
        format!("; {} repeated ({})", plural(all, "request"), causes.join(", "))
    }
}

/// Whether the same request may succeed a moment later: the server is busy or failed, or the connection did.
pub fn is_transient(outcome: AttemptOutcome, status: Option<u16>) -> bool {
    use AttemptClass::{
        ClosedEarly, ConnectOther, ConnectRefused, ConnectTimeout, Http5xx, Incomplete, Indeterminate, InflightAtEnd,
        Reset, StaleReuse, Throttled, TimeoutHead, TimeoutIdle, TimeoutTotal,
    };
    match outcome.class {
        Http5xx => !matches!(status, Some(501 | 505)),
        Throttled | ConnectRefused | ConnectTimeout | ConnectOther | ClosedEarly | StaleReuse | Reset | Incomplete
        | Indeterminate | InflightAtEnd | TimeoutHead | TimeoutIdle | TimeoutTotal => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Phase;

    #[test]
    fn only_what_may_pass_is_repeated() {
        let of = |class, status| is_transient(AttemptOutcome::failed(class, Cause::Status, Phase::Head), status);
        assert!(of(AttemptClass::Throttled, Some(503)) && of(AttemptClass::Http5xx, Some(500)));
        assert!(of(AttemptClass::Reset, None) && of(AttemptClass::ConnectRefused, None));
        assert!(!of(AttemptClass::Http5xx, Some(501)) && !of(AttemptClass::Http4xx, Some(404)));
        assert!(!of(AttemptClass::Auth, Some(403)) && !of(AttemptClass::TlsCert, None));
    }

    #[test]
    fn repeated_requests_are_counted_by_cause() {
        let mut retries = Retries::default();
        assert_eq!(retries.told(), "");
        for cause in [Cause::SlowDown, Cause::Refused, Cause::SlowDown] {
            retries.note(cause);
        }
        assert_eq!(retries.told(), "; 3 requests repeated (1 × refused, 2 × slow_down)");
    }
}
