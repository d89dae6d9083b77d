//! Reservations: how far ahead a fill promises to upload objects.
//!
//! The journal names an object before the first request for it leaves. To sync the journal once for each object would cost more
//! than a small upload, so it promises a range of them at a time. After a crash, every object that was promised and is not
//! acknowledged has to be looked for at the target, so the range is no longer than needed.

use std::ops::Range;
use std::time::Duration;

/// The least number of objects to promise ahead of those that have started.
const LEAST: u64 = 256;
/// The largest number.
const MOST: u64 = 1 << 18;
/// Objects that start within this time are promised: long next to a slow sync of a busy disk.
const AHEAD: Duration = Duration::from_secs(2);

/// The objects that were promised.
#[derive(Clone, Copy, Debug)]
pub struct Reservation {
    /// Number of objects of the fill.
    count: u64,
    /// Objects below are promised.
    end: u64,
    /// Objects below had ended at the last call, and when that was.
    last: Option<(Duration, u64)>,
    /// How many to promise ahead, and the least of it.
    ahead: u64,
    least: u64,
}

impl Reservation {
    /// Returns the reservation of a fill of `count` objects, of which those below `promised` are in the journal, with so many uploads
    /// in flight.
    #[must_use]
    pub fn new(count: u64, promised: u64, in_flight_max: u64) -> Self {
        let least = LEAST.max(in_flight_max.saturating_mul(4)).min(MOST);
        Self { count, end: promised.min(count), last: None, ahead: least, least }
    }

    /// Returns the next range to write to the journal, when at time `at` the objects below `next` have started; `None` while enough
    /// are promised. Once it is durable, call [`Self::promised`].
    pub fn due(&mut self, at: Duration, next: u64) -> Option<Range<u64>> {
        if let Some((before, started)) = self.last.replace((at, next)) {
            let (time, new) = (at.saturating_sub(before), next.saturating_sub(started));
            if !time.is_zero() {
                let needed = (new as f64 * AHEAD.as_secs_f64() / time.as_secs_f64()).ceil() as u64;
                // It grows at once, and shrinks slowly: what is promised too early costs little.
                self.ahead = needed.max(self.ahead - self.ahead / 64).clamp(self.least, MOST);
            }
        }
        let wanted = next.saturating_add(self.ahead).min(self.count);
        // The next range is promised when half of this one is left.
        let left = self.end.saturating_sub(next);
        (wanted > self.end && left <= self.ahead / 2).then_some(self.end..wanted)
    }

    /// Notes that a range is in the journal. Returns below which number objects may start now.
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
        /// A fill that starts as fast as it may, with a journal that is synced at each call, never waits for long, and promises every
        /// object exactly once.
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
