//! Pauses of the target: times without an end, though many operations were in flight.
//!
//! A pause delays all operations in flight at once. Their response times then differ widely, yet they end in the order in which they were
//! sent, as in a queue. So operations that were in flight during a pause are left out where their order is compared with the spread of
//! their times.

use crate::time::Instant;

/// A time without an end is a pause if at least this many operations usually end in it. Among independent operations with exponential
/// times, one time between two ends in 160,000 is as long.
const ENDS_MIN: u64 = 12;
/// Ends from which the usual time between two of them is known.
const KNOWN_FROM: u64 = 20;
/// The first ends.
const FIRST: u64 = 64;
/// Numbers of ends after which a pause among the first ones is looked for.
const LOOKS: [u64; 3] = [FIRST / 2, FIRST, 2 * FIRST];

/// Looks for pauses among the ends that one thread sees.
#[derive(Debug, Default)]
pub(super) struct PauseWatch {
    first_end: Option<Instant>,
    last_end: Instant,
    ends: u64,
    /// The longest time between two of the first ends, in nanoseconds.
    early_gap: u64,
    /// The end of the latest pause.
    paused_until: Option<Instant>,
}

impl PauseWatch {
    /// Counts the end at `end` of an operation that started at `started`, and returns whether the operation was in flight during a pause, or
    /// may have been: nothing is known of the first ones.
    ///
    /// The latest pause decides: an operation that was in flight during an earlier one, and ends only now, was in flight during this one.
    #[inline]
    pub fn ended(&mut self, started: Instant, end: Instant) -> bool {
        self.first_end.get_or_insert(end);
        let gap = if self.ends == 0 { 0 } else { end.nanos_since(self.last_end) };
        if self.ends >= KNOWN_FROM && self.is_pause(gap) {
            self.paused_until = Some(end);
        }
        if self.ends < FIRST {
            self.early_gap = self.early_gap.max(gap);
        }
        self.ends += 1;
        self.last_end = self.last_end.max(end);
        self.ends <= KNOWN_FROM || self.paused_until.is_some_and(|until| started < until)
    }

    /// Returns whether the target turns out to have paused between two of the first ends. Asked after each end.
    #[inline]
    pub fn began_paused(&self) -> bool {
        LOOKS.contains(&self.ends) && self.is_pause(self.early_gap)
    }

    /// Whether a time between two ends is far longer than usual.
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
    fn operations_in_flight_during_a_pause_are_known() {
        let mut watch = PauseWatch::default();
        for end in 1..=100 {
            assert_eq!(watch.ended(at(end * 100 - 50), at(end * 100)), end <= KNOWN_FROM, "{end}");
        }
        // The target pauses for 2 ms after 10 ms. An operation that starts when the first one ends after it is not concerned.
        assert!(watch.ended(at(9_950), at(12_000)));
        assert!(watch.ended(at(10_010), at(12_001)));
        assert!(!watch.ended(at(12_000), at(12_060)));
    }

    #[test]
    fn ends_as_far_apart_as_usual_are_no_pause() {
        let mut watch = PauseWatch::default();
        let mut end = 0;
        for op in 0..1000_u64 {
            end += 100 * (1 + op % 7);
            assert_eq!(watch.ended(at(end - 50), at(end)), op < KNOWN_FROM, "{op}");
            assert!(!watch.began_paused(), "{op}");
        }
    }

    #[test]
    fn a_pause_among_the_first_ends_is_found_later() {
        let mut watch = PauseWatch::default();
        let ends = (1..=10).chain(60..200).map(|end| end * 100);
        let found = ends.filter(|&end| {
            watch.ended(at(end - 50), at(end));
            watch.began_paused()
        });
        assert_eq!(found.count(), LOOKS.len());
    }
}
