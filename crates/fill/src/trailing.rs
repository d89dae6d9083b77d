//! The growth of a total in a window that ends now.

use std::collections::VecDeque;
use std::time::Duration;

/// Number of steps in a window. At most two samples are kept per step, which limits memory.
const STEPS: u32 = 1440;

/// Samples of a growing total, as far back as the window reaches.
///
/// Invariant: samples are in order of time. The first sample is the latest one at or before the start of the window.
#[derive(Clone, Debug)]
pub struct Trailing {
    window: Duration,
    samples: VecDeque<(Duration, u64)>,
}

impl Trailing {
    /// Creates a window of this length. At time 0, the total is 0.
    #[must_use]
    pub fn new(window: Duration) -> Self {
        Self { window, samples: VecDeque::from([(Duration::ZERO, 0)]) }
    }

    /// Forgets everything before this time, so that the window starts again at this time.
    pub fn restart(&mut self, at: Duration, total: u64) {
        self.samples.clear();
        self.samples.push_back((at, total));
    }

    /// Records the total at time `at`. Calls must be in order of time.
    pub fn note(&mut self, at: Duration, total: u64) {
        let step = self.window / STEPS;
        let last_but_one = self.samples.len().checked_sub(2).map(|index| self.samples[index].0);
        match self.samples.back_mut() {
            // If the new sample is less than a step later than the second-last sample, overwrite the last one.
            Some(last) if last_but_one.is_some_and(|before| at.saturating_sub(before) < step) => *last = (at, total),
            _ => self.samples.push_back((at, total)),
        }
        while self.samples.get(1).is_some_and(|second| second.0 + self.window <= at) {
            self.samples.pop_front();
        }
    }

    /// Returns the growth of the total and the time in which it grew. This time is at least the length of the window.
    /// The time exceeds the window by at most one step plus the time between two calls of [`Self::note`]. Returns
    /// `None` until a whole window has passed.
    #[must_use]
    pub fn added(&self) -> Option<(u64, Duration)> {
        self.so_far().filter(|(_, time)| *time >= self.window)
    }

    /// Like [`Self::added`], but before a whole window has passed, returns the growth and the time since the start.
    #[must_use]
    pub fn so_far(&self) -> Option<(u64, Duration)> {
        let (first, last) = (self.samples.front()?, self.samples.back()?);
        let time = last.0.checked_sub(first.0)?;
        (!time.is_zero()).then(|| (last.1.saturating_sub(first.1), time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn nothing_is_known_before_a_window_has_passed() {
        let mut trailing = Trailing::new(HOUR);
        trailing.note(HOUR - Duration::from_secs(1), 1000);
        assert_eq!(trailing.added(), None);
        trailing.note(HOUR, 1000);
        assert_eq!(trailing.added(), Some((1000, HOUR)));
    }

    #[test]
    fn no_progress_is_known_as_such() {
        let mut trailing = Trailing::new(HOUR);
        for second in 0..3 * 3600 {
            trailing.note(Duration::from_secs(second), second.min(3600));
        }
        assert_eq!(trailing.added().map(|(bytes, _)| bytes), Some(0));
    }

    #[test]
    fn a_window_that_starts_again_knows_nothing_of_the_past() {
        let mut trailing = Trailing::new(HOUR);
        trailing.note(5 * HOUR, 1000);
        trailing.restart(5 * HOUR, 1000);
        trailing.note(6 * HOUR - Duration::from_secs(1), 1100);
        assert_eq!(trailing.added(), None);
        trailing.note(6 * HOUR, 1200);
        assert_eq!(trailing.added(), Some((200, HOUR)));
    }

    proptest! {
        #[test]
        fn an_amount_is_that_of_the_stated_time(gaps in prop::collection::vec(1_u64..5000, 2..400), window in 1_u64..100_000) {
            let window = Duration::from_millis(window);
            let mut trailing = Trailing::new(window);
            let mut exact = vec![(Duration::ZERO, 0)];
            for (index, gap) in gaps.iter().enumerate() {
                let (at, total) = (exact[index].0 + Duration::from_millis(*gap), exact[index].1 + gap * 7);
                exact.push((at, total));
                trailing.note(at, total);
                prop_assert!(trailing.samples.len() <= 2 * STEPS as usize + 3);
                if let Some((added, time)) = trailing.added() {
                    // The returned time must start at a recorded sample, and the amount must be the growth since this
                    // sample.
                    let from = exact.iter().find(|(noted, _)| *noted == at - time);
                    prop_assert_eq!(from.map(|(_, before)| total - before), Some(added));
                    prop_assert!(time >= window);
                } else {
                    prop_assert!(at < window + Duration::from_millis(5000));
                }
            }
        }
    }
}
