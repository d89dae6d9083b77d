//! Limit on the rate at which the open model opens connections.

use measure::Instant;
use std::time::Duration;

/// Token bucket for opening connections in the open model.
///
/// Operations arrive even if no connection is free. If each of these operations opened a connection immediately, a
/// target that responds slightly late would be flooded with handshakes. A handshake costs the target more than a
/// request, so the target would respond even later. While the bucket is empty, a thread therefore opens at most one
/// connection per millisecond. The other operations wait for a connection that becomes free. This wait is part of their
/// response time.
#[derive(Debug)]
pub(in crate::run_loop) struct ConnectBudget {
    left: u64,
    filled: Instant,
    /// `true` if a token was denied since the last [`Self::reset_demand`].
    denied: bool,
}

/// Maximum number of tokens in the bucket.
const SIZE: u64 = 64;
/// Interval at which tokens are added, one at a time.
const REFILL_EVERY: Duration = Duration::from_millis(1);

impl ConnectBudget {
    /// Returns a full bucket.
    pub fn new(start: Instant) -> Self {
        Self { left: SIZE, filled: start, denied: false }
    }

    /// Removes a token. Returns whether there was a token.
    pub fn take(&mut self, now: Instant) -> bool {
        let every = REFILL_EVERY.as_nanos() as u64;
        let added = now.nanos_since(self.filled) / every;
        if added > 0 {
            self.left = self.left.saturating_add(added).min(SIZE);
            self.filled = self.filled + Duration::from_nanos(added * every);
        }
        let granted = self.left > 0;
        self.left -= u64::from(granted);
        self.denied |= !granted;
        granted
    }

    /// Forgets that a token was denied.
    pub fn reset_demand(&mut self) {
        self.denied = false;
    }

    /// Returns the instant at which a token is available again, if a token was denied.
    pub fn next_refill(&self) -> Instant {
        if self.denied { self.filled + REFILL_EVERY } else { Instant::NEVER }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_followed_by_one_connection_per_millisecond() {
        let at = |us: u64| Instant::from_nanos(us * 1000);
        let mut budget = ConnectBudget::new(at(0));
        assert_eq!((0..100).filter(|_| budget.take(at(500))).count(), SIZE as usize);
        assert_eq!(budget.next_refill(), at(1000));
        assert!(!budget.take(at(999)) && budget.take(at(1000)) && !budget.take(at(1000)));
        budget.reset_demand();
        assert_eq!(budget.next_refill(), Instant::NEVER);
        assert_eq!(
            (0..100).filter(|_| budget.take(at(10_000_000))).count(),
            SIZE as usize,
            "the bucket must not overflow"
        );
    }
}
