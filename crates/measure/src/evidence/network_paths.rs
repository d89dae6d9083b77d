//! Measurements that show whether the link between client and target is full. On a full link, data waits in a queue or
//! is lost.
//!
//! The kernel measures the time until the peer's kernel acknowledges data. This round-trip time does not depend on the
//! target program. If one round trip takes much longer than the shortest one measured, data is waiting in the network.
//! The peer may also delay an acknowledgement on purpose, on Linux by 40 ms. Differences below `QUEUED_MIN` are
//! therefore ignored.

use crate::values::add;
use serde::{Deserialize, Serialize};

/// Data counts as waiting if the round-trip time of a sample exceeds the shortest one by at least this number of
/// nanoseconds. The ratio of the two must also reach [`QUEUED_FACTOR`].
const QUEUED_MIN: u64 = 50_000_000;
/// Data counts as waiting if the round-trip time of a sample is at least this multiple of the shortest one.
const QUEUED_FACTOR: u64 = 2;
/// Minimum share of lost segments at which the link counts as full.
const LOST_MIN: f64 = 0.01;
/// Minimum number of segments that is needed to compute the share of lost segments.
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
    /// Segments resent, and segments received out of order.
    pub lost: u64,
    /// Windows and waits of flow control.
    pub flow: FlowSample,
}

impl PathSample {
    fn is_full(&self) -> bool {
        let queued = self.round_trip.saturating_sub(self.shortest) > QUEUED_MIN
            && self.round_trip > self.shortest.saturating_mul(QUEUED_FACTOR);
        let lossy = self.segments >= SEGMENTS_MIN && self.lost as f64 > LOST_MIN * self.segments as f64;
        queued || lossy
    }
}

/// Flow control of one connection since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowSample {
    /// Round-trip time as the receiving side estimates it, in nanoseconds; 0 until enough data has arrived.
    pub receive_round_trip: u64,
    /// Maximum number of unacknowledged bytes that the peer may have in flight; 0 if the kernel does not report this
    /// number.
    pub receive_window: u64,
    /// Maximum number of unacknowledged bytes that the client may have in flight; 0 if the kernel does not report this
    /// number.
    pub send_window: u64,
    /// Time during which data was waiting or in flight to the peer, in nanoseconds.
    pub busy: u64,
    /// The part of [`Self::busy`] in which the peer's receive window was full, in nanoseconds.
    pub window_limited: u64,
    /// The part of [`Self::busy`] in which the client's send buffer was too small, in nanoseconds.
    pub buffer_limited: u64,
}

/// Totals of windows and round-trip times over all samples of connections. [`Self::receiving`] counts only samples in
/// which the receiving side knows its round-trip time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FlowControl {
    /// Number of samples of connections that have received enough data to know their window and their round-trip time.
    pub receiving: u64,
    /// Sum of the round-trip times of these samples, in nanoseconds.
    pub receive_round_trip_nanos: u64,
    /// Sum of the receive windows of these samples, in bytes.
    pub receive_window_bytes: u64,
    /// Sum of the peers' receive windows over all samples, in bytes.
    pub send_window_bytes: u64,
    /// Sum of the shortest round-trip times over all samples, in nanoseconds.
    pub shortest_nanos: u64,
    /// Sum of the times in which data was waiting or in flight to the peer.
    pub busy_nanos: u64,
    /// Sum of the times in which the peer's receive window was full.
    pub window_limited_nanos: u64,
    /// Sum of the times in which the client's send buffer was too small.
    pub buffer_limited_nanos: u64,
}

impl FlowControl {
    fn add(&mut self, sample: &PathSample) {
        let FlowSample { receive_round_trip, receive_window, send_window, busy, window_limited, buffer_limited } =
            sample.flow;
        if receive_round_trip > 0 && receive_window > 0 {
            self.receiving += 1;
            add(&mut self.receive_round_trip_nanos, receive_round_trip);
            add(&mut self.receive_window_bytes, receive_window);
        }
        add(&mut self.send_window_bytes, send_window);
        add(&mut self.shortest_nanos, sample.shortest.min(sample.round_trip));
        add(&mut self.busy_nanos, busy);
        add(&mut self.window_limited_nanos, window_limited);
        add(&mut self.buffer_limited_nanos, buffer_limited);
    }

    fn merge(&mut self, other: &Self) {
        let Self {
            receiving,
            receive_round_trip_nanos,
            receive_window_bytes,
            send_window_bytes,
            shortest_nanos,
            busy_nanos,
            window_limited_nanos,
            buffer_limited_nanos,
        } = *other;
        add(&mut self.receiving, receiving);
        add(&mut self.receive_round_trip_nanos, receive_round_trip_nanos);
        add(&mut self.receive_window_bytes, receive_window_bytes);
        add(&mut self.send_window_bytes, send_window_bytes);
        add(&mut self.shortest_nanos, shortest_nanos);
        add(&mut self.busy_nanos, busy_nanos);
        add(&mut self.window_limited_nanos, window_limited_nanos);
        add(&mut self.buffer_limited_nanos, buffer_limited_nanos);
    }
}

/// Sums over samples. Each connection is sampled once per interval, and at the end of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkPaths {
    /// Number of samples. Each connection is usually sampled several times.
    pub sampled: u64,
    /// Number of samples in which data waited in the network or was lost.
    pub full: u64,
    /// Sum of the round-trip times of the samples counted in [`Self::full`], in nanoseconds.
    pub round_trip_nanos: u64,
    /// Sum of the shortest round-trip times of the connections in these samples, in nanoseconds.
    pub shortest_nanos: u64,
    /// Flow control of all samples.
    #[serde(default)]
    pub flow: FlowControl,
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
        self.flow.add(sample);
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

    /// Returns two means over the samples that show a full link, in nanoseconds. The first mean is that of the
    /// round-trip times. The second mean is that of the shortest round-trip times of the same connections.
    #[must_use]
    pub fn round_trips(&self) -> Option<(f64, f64)> {
        let mean = |nanos: u64| nanos as f64 / self.full as f64;
        (self.full > 0).then(|| (mean(self.round_trip_nanos), mean(self.shortest_nanos)))
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        let Self { sampled, full, round_trip_nanos, shortest_nanos, flow } = *other;
        self.flow.merge(&flow);
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
        let look = |round_trip, shortest, segments, lost| {
            PathSample { round_trip, shortest, segments, lost, ..PathSample::default() }.is_full()
        };
        assert!(
            look(65 * MS, 10_000, 600, 0),
            "values measured on a link of 40 Mbit/s with a queue of 100 ms show a full link"
        );
        assert!(
            !look(44 * MS, 10_000, 600, 0),
            "a delayed acknowledgement (with the response, or after 40 ms) does not show a full link"
        );
        assert!(!look(160 * MS, 100 * MS, 600, 0), "a long round trip to a distant target does not show a full link");
        assert!(look(MS, MS, 600, 44) && !look(MS, MS, 600, 2) && !look(MS, MS, 10, 2));
        assert!(!look(MS, u64::MAX, 0, 0), "without a measured round trip, the link does not count as full");
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
