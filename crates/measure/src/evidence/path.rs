//! Whether the link between client and target was full: then data waits in its queue, or is lost.
//!
//! The kernel times how long the other side's kernel takes to acknowledge what was sent, whatever the target does. Where that
//! grows far beyond the shortest such time, data waits on the way. An acknowledgement may itself be held back, by 40 ms on
//! Linux: less than `QUEUED_MIN` says nothing.

use serde::{Deserialize, Serialize};

/// By how much the round trip exceeds the shortest one where data waits on the way, in nanoseconds …
const QUEUED_MIN: u64 = 50_000_000;
/// … and how many times as long it is.
const QUEUED_FACTOR: u64 = 2;
/// Share of segments that are lost on a full link, and the segments that make a share.
const LOST_MIN: f64 = 0.01;
const SEGMENTS_MIN: u64 = 50;

/// What the kernel knows of one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathSample {
    /// Smoothed round trip time, in nanoseconds.
    pub round_trip: u64,
    /// The shortest, in nanoseconds.
    pub shortest: u64,
    /// Segments sent and received.
    pub segments: u64,
    /// Those that were sent again, or came behind a gap.
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

/// Samples of connections, taken once an interval and at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paths {
    /// Connections that were looked at, each as often as that was done.
    pub sampled: u64,
    /// Those among them whose data waited on the way or was lost.
    pub full: u64,
    /// Σ of the round trip times of these, in nanoseconds.
    pub round_trip_nanos: u64,
    /// Σ of their shortest ones, in nanoseconds.
    pub shortest_nanos: u64,
}

impl Paths {
    /// Whether nothing was looked at.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sampled == 0
    }

    /// Adds one look at a connection.
    pub fn add(&mut self, sample: &PathSample) {
        self.sampled += 1;
        if sample.is_full() {
            self.full += 1;
            self.round_trip_nanos = self.round_trip_nanos.saturating_add(sample.round_trip);
            self.shortest_nanos = self.shortest_nanos.saturating_add(sample.shortest.min(sample.round_trip));
        }
    }

    /// Whether most connections were on a full link.
    #[must_use]
    pub fn are_full(&self) -> bool {
        self.full > self.sampled / 2
    }

    /// Mean round trip of the connections on a full link, and the mean of their shortest ones, in nanoseconds.
    #[must_use]
    pub fn round_trips(&self) -> Option<(f64, f64)> {
        let mean = |nanos: u64| nanos as f64 / self.full as f64;
        (self.full > 0).then(|| (mean(self.round_trip_nanos), mean(self.shortest_nanos)))
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.sampled = self.sampled.saturating_add(other.sampled);
        self.full = self.full.saturating_add(other.full);
        self.round_trip_nanos = self.round_trip_nanos.saturating_add(other.round_trip_nanos);
        self.shortest_nanos = self.shortest_nanos.saturating_add(other.shortest_nanos);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn queues_and_losses_are_told_from_acknowledgements_that_are_held_back() {
        let look = |round_trip, shortest, segments, lost| PathSample { round_trip, shortest, segments, lost }.is_full();
        assert!(look(65 * MS, 10_000, 600, 0), "as a link of 40 Mbit/s with a queue of 100 ms was seen");
        assert!(!look(44 * MS, 10_000, 600, 0), "a request that is acknowledged with its response, or after 40 ms");
        assert!(!look(160 * MS, 100 * MS, 600, 0), "far away");
        assert!(look(MS, MS, 600, 44) && !look(MS, MS, 600, 2) && !look(MS, MS, 10, 2));
        assert!(!look(MS, u64::MAX, 0, 0), "no round trip was seen");
    }

    #[test]
    fn most_of_the_connections_decide() {
        let mut paths = Paths::default();
        assert!(!paths.are_full() && paths.round_trips().is_none());
        paths.add(&PathSample { round_trip: 80 * MS, ..PathSample::default() });
        assert!(paths.are_full());
        paths.add(&PathSample::default());
        assert!(!paths.are_full());
        assert_eq!(paths.round_trips(), Some((80e6, 0.0)));
    }
}
