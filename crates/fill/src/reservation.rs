//! Reservations: ranges of objects that are written to the journal before the uploads of these objects start.
//!
//! An object must be in the journal before the first request for the object is sent. If the journal were synced once
//! per object, the sync would take longer than a small upload. One journal entry therefore reserves a range of objects.
//! After a crash, the fill must look up every reserved object that was not acknowledged. Ranges are therefore short.

use std::ops::Range;
use std::time::Duration;

/// The minimum number of objects to reserve beyond those that have started.
const LEAST: u64 = 256;
/// The maximum number of objects to reserve beyond those that have started.
const MOST: u64 = 1 << 18;
/// Minimum time over which the rate of starts is computed. Two starts within a microsecond do not show a meaningful
/// rate.
const RATE_TIME_MIN: Duration = Duration::from_millis(40);
/// All objects that are expected to start within this time are reserved. This time is much longer than a slow sync on a
/// busy disk.
const AHEAD: Duration = Duration::from_secs(2);

/// The reserved objects.
#[derive(Clone, Copy, Debug)]
pub struct Reservation {
    /// Number of objects in the fill.
    count: u64,
    /// All objects with lower numbers are reserved.
    end: u64,
    /// The time of the last call of [`Self::due`], and the number of objects that had started at that time.
    last: Option<(Duration, u64)>,
    /// Number of objects to reserve beyond those that have started.
    ahead: u64,
    least: u64,
}

impl Reservation {
    /// Creates the reservation for a fill with `count` objects. The journal already lists the objects below `promised`.
    #[must_use]
    pub fn new(count: u64, promised: u64, in_flight_max: u64) -> Self {
        let least = LEAST.max(in_flight_max.saturating_mul(4)).min(MOST);
        Self { count, end: promised.min(count), last: None, ahead: least, least }
    }

    /// Returns the next range to write to the journal, or `None` while enough objects are reserved. At time `at`, the
    /// objects below `next` have started. Call [`Self::promised`] as soon as the range is durable.
    pub fn due(&mut self, at: Duration, next: u64) -> Option<Range<u64>> {
        let (before, started) = *self.last.get_or_insert((at, next));
        let (time, new) = (at.saturating_sub(before), next.saturating_sub(started));
        if time >= RATE_TIME_MIN {
            self.last = Some((at, next));
            let needed = (new as f64 * AHEAD.as_secs_f64() / time.as_secs_f64()).ceil() as u64;
            // Let `ahead` grow immediately but shrink slowly, because reserving too many objects costs little.
            self.ahead = needed.max(self.ahead - self.ahead / 64).clamp(self.least, MOST);
        }
        let wanted = next.saturating_add(self.ahead).min(self.count);
        // Reserve the next range when at most half of `ahead` is left.
        let left = self.end.saturating_sub(next);
        (wanted > self.end && left <= self.ahead / 2).then_some(self.end..wanted)
    }

    /// Records that the journal contains a range. Objects with numbers below the returned limit may start now.
    pub fn promised(&mut self, range: &Range<u64>) -> u64 {
        debug_assert_eq!(range.start, self.end, "ranges follow each other");
        self.end = self.end.max(range.end);
        self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Simulates a fill that starts uploads at a fixed rate, and whose journal entries are durable immediately.
        /// Uploads must rarely wait for a reservation, and every object must be reserved exactly once.
        #[test]
        fn every_object_is_promised_once_and_in_time(count in 1_u64..3_000_000, rate in 1_u64..200_000, slots in 1_u64..5000) {
            let mut reservation = Reservation::new(count, 0, slots);
            let (mut next, mut allowed, mut waits, mut steps) = (0_u64, 0_u64, 0_u32, 0_u32);
            let mut covered = 0;
            while next < count {
                let at = Duration::from_millis(50 * u64::from(steps));
                if let Some(range) = reservation.due(at, next) {
                    prop_assert_eq!(range.start, covered);
                    prop_assert!(range.end > range.start && range.end <= count);
                    covered = range.end;
                    allowed = reservation.promised(&range);
                }
                let wanted = (next + (rate / 20).max(1)).min(count);
                waits += u32::from(wanted > allowed);
                next = wanted.min(allowed);
                steps += 1;
                prop_assert!(steps < 4_000_000);
            }
            prop_assert_eq!(covered, count);
            prop_assert!(waits <= 20, "waited {waits} times in {steps} steps");
        }
    }

    #[test]
    fn few_objects_are_promised_at_a_low_rate() {
        let mut reservation = Reservation::new(1_000_000, 0, 4);
        let first = reservation.due(Duration::ZERO, 0).unwrap();
        assert_eq!(first, 0..256);
        reservation.promised(&first);
        assert_eq!(reservation.due(Duration::from_secs(60), 10), None);
    }

    #[test]
    fn a_resumed_fill_goes_on_where_the_journal_ends() {
        let mut reservation = Reservation::new(1000, 700, 1);
        assert_eq!(reservation.due(Duration::ZERO, 700), Some(700..956));
    }
}
