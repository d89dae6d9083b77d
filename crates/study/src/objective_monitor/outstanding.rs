//! Operations that were scheduled and have not ended.

use super::SliceCounts;
use measure::Instant;
use std::collections::VecDeque;
use std::time::Duration;

/// Counts of outstanding operations, with their ages.
#[derive(Clone, Debug, Default)]
pub(super) struct Outstanding {
    count: u64,
    ended: u64,
    /// End of each of the last slices, and the number of operations scheduled in it.
    recent: VecDeque<(Instant, u64)>,
    /// Maximum age for which [`Self::overdue`] is called.
    age_max: Duration,
    now: Instant,
}

impl Outstanding {
    /// Creates an empty count. `age_max` is the maximum age for which [`Self::overdue`] is called.
    pub(super) fn new(age_max: Duration) -> Self {
        Self { age_max, ..Self::default() }
    }

    /// Adds the next slice.
    pub(super) fn add(&mut self, slice: &SliceCounts) {
        let ended = slice.ended.saturating_add(slice.dropped);
        self.count = self.count.saturating_add(slice.scheduled).saturating_sub(ended);
        self.ended = self.ended.saturating_add(ended);
        self.now = slice.end;
        self.recent.push_back((slice.end, slice.scheduled));
        while self.recent.front().is_some_and(|(end, _)| self.now.since(*end) >= self.age_max) {
            self.recent.pop_front();
        }
    }

    /// Returns the number of operations that have ended or were dropped.
    pub(super) fn ended(&self) -> u64 {
        self.ended
    }

    /// Returns a lower bound of the number of outstanding operations that were scheduled at least `age` ago. The number
    /// is a lower bound, because all operations scheduled later are subtracted, including operations that have ended.
    pub(super) fn overdue(&self, age: Duration) -> u64 {
        let since = self.recent.iter().rev().take_while(|(end, _)| self.now.since(*end) < age);
        self.count.saturating_sub(since.map(|(_, scheduled)| scheduled).sum())
    }
}
