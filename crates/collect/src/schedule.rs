//! The times at which polls are due.

use std::time::Duration;

/// A schedule of polls. Poll number n, counted from 0, is due after n intervals. Polls never overlap. A poll that is
/// due while an earlier one is in progress is missed, and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    every: Duration,
    /// Number of the next poll.
    next: u64,
}

impl Schedule {
    /// Creates a schedule whose first poll is due immediately. An interval of zero counts as a millisecond.
    #[must_use]
    pub fn new(every: Duration) -> Self {
        Self { every: every.max(Duration::from_millis(1)), next: 0 }
    }

    /// Returns the time between two polls.
    #[must_use]
    pub fn every(&self) -> Duration {
        self.every
    }

    /// Returns the time from the start until the next poll is due.
    #[must_use]
    pub fn due(&self) -> Duration {
        let nanos = self.every.as_nanos().saturating_mul(self.next.into());
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Schedules the next poll after a poll that ended at `now`. Returns the number of polls that were missed during
    /// that poll.
    pub fn ended(&mut self, now: Duration) -> u64 {
        let following = self.next.saturating_add(1);
        let first_left = u64::try_from(now.as_nanos().div_ceil(self.every.as_nanos())).unwrap_or(u64::MAX);
        self.next = following.max(first_left);
        self.next - following
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn late_polls_are_missed_and_never_caught_up() {
        let mut schedule = Schedule::new(s(10));
        assert_eq!(schedule.due(), s(0));
        assert_eq!((schedule.ended(s(3)), schedule.due()), (0, s(10)));
        // This poll ends in second 45, so the polls of the seconds 20, 30 and 40 are missed.
        assert_eq!((schedule.ended(s(45)), schedule.due()), (3, s(50)));
        assert_eq!((schedule.ended(s(60)), schedule.due()), (0, s(60)), "a poll is due at the end of the one before");
        // The host was suspended for a day.
        assert_eq!((schedule.ended(s(86_460)), schedule.due()), (8_639, s(86_460)));
    }

    #[test]
    fn extreme_times_do_not_overflow() {
        let mut schedule = Schedule::new(Duration::ZERO);
        assert_eq!(schedule.every(), Duration::from_millis(1));
        schedule.ended(Duration::MAX);
        assert!(schedule.due() > s(1_000_000));
        let mut schedule = Schedule::new(Duration::MAX);
        assert_eq!(schedule.ended(s(1)), 0);
        assert!(schedule.due() > s(1_000_000));
    }

    proptest! {
        #[test]
        fn polls_are_made_or_missed(ends in proptest::collection::vec(0_u64..50, 1..50)) {
            let (mut schedule, mut now, mut missed) = (Schedule::new(s(7)), s(0), 0);
            for (made, took) in ends.iter().enumerate() {
                let due = schedule.due();
                prop_assert_eq!(due.as_secs(), 7 * (made as u64 + missed), "each due time is made or missed");
                now = now.max(due) + s(*took);
                missed += schedule.ended(now);
                prop_assert!(schedule.due() >= now || schedule.due() > due);
            }
        }
    }
}
