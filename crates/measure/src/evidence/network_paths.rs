//! Signs of a full link between client and target: data waits in its queue, or is lost.
//!
//! The kernel measures how long the peer's kernel takes to acknowledge data, which does not depend on the target
//! program. If that time grows far beyond the shortest one, data waits on the way. The peer may delay an
//! acknowledgement by itself, on Linux by 40 ms, so differences below `QUEUED_MIN` are ignored.

use crate::values::add;
use serde::{Deserialize, Serialize};

/// Excess of the round-trip time over the shortest one from which data waits on the way, in nanoseconds, …
const QUEUED_MIN: u64 = 50_000_000;
/// … and its smallest ratio to the shortest one.
const QUEUED_FACTOR: u64 = 2;
/// Share of lost segments on a full link, and fewest segments for a share.
const LOST_MIN: f64 = 0.01;
const SEGMENTS_MIN: u64 = 50;

/// The kernel's statistics of one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathSample {
    /// Smoothed round-trip time, in nanoseconds.
    pub round_trip: u64,
    /// Shortest round-trip time, in nanoseconds.
    pub shortest: u64,
    /// Segments sent and received.
    pub segments: u64,
    /// Segments that were retransmitted, or arrived behind a gap.
    pub lost: u64,
}

impl PathSample {
    fn is_full(&self) -> bool {
        let queued = self.round_trip.saturating_sub(self.shortest) > QUEUED_MIN
            && self.round_trip > self.shortest.saturating_mul(QUEUED_FACTOR);
        let lossy = self.segments >= SEGMENTS_MIN && self.lost as f64 > LOST_MIN * self.segments as f64;
        queued || lossy
    }
}

/// Sums over samples of connections, taken once per interval and at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkPaths {
    /// Samples taken, several of each connection.
    pub sampled: u64,
    /// Samples in which data waited on the way or was lost.
    pub full: u64,
    /// Σ of the round-trip times of these samples, in nanoseconds.
    pub round_trip_nanos: u64,
    /// Σ of the shortest round-trip times of their connections, in nanoseconds.
    pub shortest_nanos: u64,
}

impl NetworkPaths {
    /// Returns whether there are no samples.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sampled == 0
    }

    /// Adds a sample.
    pub fn add(&mut self, sample: &PathSample) {
        self.sampled += 1;
        if sample.is_full() {
            self.full += 1;
            add(&mut self.round_trip_nanos, sample.round_trip);
            add(&mut self.shortest_nanos, sample.shortest.min(sample.round_trip));
        }
    }

    /// Returns whether most samples show a full link.
    #[must_use]
    pub fn are_full(&self) -> bool {
        self.full > self.sampled / 2
    }

    /// Returns the mean round-trip time of the samples that show a full link, and the mean of their shortest ones, in
    /// nanoseconds.
    #[must_use]
    pub fn round_trips(&self) -> Option<(f64, f64)> {
        let mean = |nanos: u64| nanos as f64 / self.full as f64;
        (self.full > 0).then(|| (mean(self.round_trip_nanos), mean(self.shortest_nanos)))
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        let Self { sampled, full, round_trip_nanos, shortest_nanos } = *other;
        add(&mut self.sampled, sampled);
        add(&mut self.full, full);
        add(&mut self.round_trip_nanos, round_trip_nanos);
        add(&mut self.shortest_nanos, shortest_nanos);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn queues_and_losses_are_distinguished_from_delayed_acknowledgements() {
        let look = |round_trip, shortest, segments, lost| PathSample { round_trip, shortest, segments, lost }.is_full();
        assert!(look(65 * MS, 10_000, 600, 0), "measured on a link of 40 Mbit/s with a queue of 100 ms");
        assert!(!look(44 * MS, 10_000, 600, 0), "a request acknowledged with its response, or after 40 ms");
        assert!(!look(160 * MS, 100 * MS, 600, 0), "far away");
        assert!(look(MS, MS, 600, 44) && !look(MS, MS, 600, 2) && !look(MS, MS, 10, 2));
        assert!(!look(MS, u64::MAX, 0, 0), "no round trip was measured");
    }

    #[test]
    fn most_samples_decide() {
        let mut paths = NetworkPaths::default();
        assert!(!paths.are_full() && paths.round_trips().is_none());
        paths.add(&PathSample { round_trip: 80 * MS, ..PathSample::default() });
        assert!(paths.are_full());
        paths.add(&PathSample::default());
        assert!(!paths.are_full());
        assert_eq!(paths.round_trips(), Some((80e6, 0.0)));
    }
}
