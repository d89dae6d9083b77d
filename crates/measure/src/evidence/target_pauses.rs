//! Pauses of the target. In a pause, no operation ends although many operations are in flight.
//!
//! A pause delays all operations that are in flight. The response times of these operations differ widely. The
//! operations nevertheless end in the order in which they were sent, as if they had waited in a queue. Operations that
//! were in flight during a pause are therefore left out when overtaking is evaluated.

use crate::time::Instant;

/// Minimum length of a pause, as a multiple of the mean gap between two ends. If operations are independent and their
/// times are exponentially distributed, only one gap in 160,000 is that long.
const ENDS_MIN: u64 = 12;
/// Number of ended operations that are needed to know the usual gap between two ends.
const KNOWN_FROM: u64 = 20;

/// Detects pauses from the times at which the operations of one thread end.
#[derive(Debug, Default)]
pub(super) struct PauseWatch {
    first_end: Option<Instant>,
    last_end: Instant,
    ends: u64,
    /// Longest gap between two ends, in nanoseconds.
    longest_gap: u64,
    /// Longest gap that began before the first operations had ended, in nanoseconds. The first operations are those
    /// that started before any operation had ended.
    opening_gap: u64,
    /// End of the latest pause.
    paused_until: Option<Instant>,
}

impl PauseWatch {
    /// Counts the end of an operation, and returns whether the operation was in flight during a pause. Also returns
    /// true for the first [`KNOWN_FROM`] operations, because pauses cannot be detected yet.
    ///
    /// Comparing with the latest pause is enough. An operation that ends now and was in flight during an earlier pause
    /// was also in flight during the latest pause.
    #[inline]
    pub fn ended(&mut self, started: Instant, end: Instant) -> bool {
        let first_end = *self.first_end.get_or_insert(end);
        let gap = if self.ends == 0 { 0 } else { end.nanos_since(self.last_end) };
        if self.ends >= KNOWN_FROM && self.is_pause(gap) {
            self.paused_until = Some(end);
        }
        self.longest_gap = self.longest_gap.max(gap);
        if started < first_end {
            self.opening_gap = self.longest_gap;
        }
        self.ends += 1;
        self.last_end = self.last_end.max(end);
        self.ends <= KNOWN_FROM || self.paused_until.is_some_and(|until| started < until)
    }

    /// Returns whether the target paused before the first operations of the thread had ended. Call this method after
    /// each end of an operation.
    #[inline]
    pub fn began_paused(&self) -> bool {
        self.ends > KNOWN_FROM && self.ends.is_power_of_two() && self.is_pause(self.opening_gap)
    }

    /// Returns whether a gap between two ends is far longer than usual.
    #[inline]
    fn is_pause(&self, gap: u64) -> bool {
        let first_end = self.first_end.unwrap_or(self.last_end);
        let span = self.last_end.nanos_since(first_end);
        gap.saturating_mul(self.ends - 1) > ENDS_MIN.saturating_mul(span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Instant {
        Instant::from_nanos(micros * 1000)
    }

    #[test]
    fn operations_in_flight_during_a_pause_are_found() {
        let mut watch = PauseWatch::default();
        for end in 1..=100 {
            assert_eq!(watch.ended(at(end * 100 - 50), at(end * 100)), end <= KNOWN_FROM, "{end}");
        }
        // The target pauses for 2 ms at 10 ms. Operations that start after the pause are not affected.
        assert!(watch.ended(at(9_950), at(12_000)));
        assert!(watch.ended(at(10_010), at(12_001)));
        assert!(!watch.ended(at(12_000), at(12_060)));
    }

    #[test]
    fn usual_gaps_between_ends_are_not_pauses() {
        let mut watch = PauseWatch::default();
        let mut end = 0;
        for op in 0..1000_u64 {
            end += 100 * (1 + op % 7);
            assert_eq!(watch.ended(at(end - 50), at(end)), op < KNOWN_FROM, "{op}");
            assert!(!watch.began_paused(), "{op}");
        }
    }

    #[test]
    fn pauses_before_the_first_operations_have_ended_are_found_later() {
        let began_paused = |started: u64| {
            let mut watch = PauseWatch::default();
            let ends = (1..=10).chain(60..200).map(|end| end * 100);
            let found = ends.filter(|&end| {
                watch.ended(at(if end == 6000 { started } else { end - 50 }), at(end));
                watch.began_paused()
            });
            found.count() > 0
        };
        assert_eq!((began_paused(60), began_paused(5_950)), (true, false));
    }
}
