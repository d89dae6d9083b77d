//! The counts of a slice that a monitor needs. If several machines make the parts of a run, each part has its own
//! counts. The sum of these counts describes the slice of the whole run.

use measure::{Instant, Interval, Objective, Stage};
use serde::{Deserialize, Serialize};

/// The counts of a slice of the measured window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SliceCounts {
    /// Start of the slice.
    pub start: Instant,
    /// End of the slice.
    pub end: Instant,
    /// Number of operations that were due.
    pub scheduled: u64,
    /// Number of operations that were started.
    pub started: u64,
    /// Number of operations that succeeded or failed.
    pub ended: u64,
    /// Number of operations that were dropped without being started.
    pub dropped: u64,
    /// Number of operations in flight at the end.
    pub in_flight: u64,
    /// For each objective, the number of operations beyond its bound, and the number of operations to which it applies.
    pub beyond: Vec<(u64, u64)>,
}

/// Error for slices that cannot be added, because they start at different instants or belong to different objectives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnlikeSlices;

impl SliceCounts {
    /// Returns the counts of a slice for these objectives; `None` outside of the measured window.
    pub fn of<'o>(slice: &Interval, objectives: impl IntoIterator<Item = &'o Objective>) -> Option<Self> {
        let tally = &slice.stats.measured;
        (slice.stage == Stage::Measured).then(|| Self {
            start: slice.start,
            end: slice.end,
            scheduled: tally.scheduled,
            started: tally.started,
            ended: tally.completed(),
            dropped: tally.dropped,
            in_flight: slice.in_flight,
            beyond: objectives.into_iter().map(|objective| objective.beyond(&slice.stats)).collect(),
        })
    }

    /// Adds the counts of the same slice of another part of the run.
    ///
    /// # Errors
    /// Fails if `other` is a different slice, or if it has different objectives.
    pub fn merge(&mut self, other: &Self) -> Result<(), UnlikeSlices> {
        let Self { start, end, scheduled, started, ended, dropped, in_flight, beyond } = other;
        if *start != self.start || beyond.len() != self.beyond.len() {
            return Err(UnlikeSlices);
        }
        self.end = self.end.max(*end);
        let counts = [
            (&mut self.scheduled, scheduled),
            (&mut self.started, started),
            (&mut self.ended, ended),
            (&mut self.dropped, dropped),
            (&mut self.in_flight, in_flight),
        ];
        counts.into_iter().for_each(|(sum, count)| *sum = sum.saturating_add(*count));
        for (sum, (slow, all)) in self.beyond.iter_mut().zip(beyond) {
            *sum = (sum.0.saturating_add(*slow), sum.1.saturating_add(*all));
        }
        Ok(())
    }
}
