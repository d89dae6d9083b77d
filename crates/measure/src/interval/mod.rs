//! A slice of a run. An interval covers at most one second of one stage, or a longer time if old intervals were joined.

mod builder;
mod client_load;
pub mod joined;
pub(crate) mod judgeable;

pub use builder::IntervalBuilder;
pub use client_load::ClientLoad;
pub use joined::{IntervalJoiner, Joined};

use crate::evidence::Evidence;
use crate::stats::Stats;
use crate::time::{Instant, Stage};
use crate::values::add;
use serde::{Deserialize, Serialize};

/// Everything that happened between two instants of one stage.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Interval {
    /// Stage of the run that contains the interval.
    pub stage: Stage,
    /// Start of the interval.
    pub start: Instant,
    /// End of the interval.
    pub end: Instant,
    /// Counts and times of the interval.
    pub stats: Stats,
    /// Number of operations in flight at the end of the interval.
    pub in_flight: u64,
    /// Largest number of operations in flight. The number is exact for one thread. For several threads, it is the sum
    /// of the threads' peaks. This sum is an upper bound, because the peaks may occur at different instants.
    #[serde(default)]
    pub in_flight_peak: u64,
    /// Sent bytes that the targets had not acknowledged at the end of the interval. Most of them wait in this client's send
    /// buffers.
    #[serde(default)]
    pub unacknowledged: u64,
    /// Load of the client itself.
    pub client: ClientLoad,
    /// Measurements that show what limits the run.
    #[serde(default)]
    pub evidence: Evidence,
    /// Facts about the intervals that were joined to form this one. `None` for a single interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joined: Option<Box<Joined>>,
}

impl Interval {
    /// Returns an empty interval.
    #[must_use]
    pub fn new(stage: Stage, start: Instant, end: Instant) -> Self {
        let (stats, client, evidence) = (Stats::default(), ClientLoad::default(), Evidence::default());
        Self {
            stage,
            start,
            end,
            stats,
            in_flight: 0,
            in_flight_peak: 0,
            unacknowledged: 0,
            client,
            evidence,
            joined: None,
        }
    }

    /// Returns the length of the interval in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.end.nanos_since(self.start) as f64 / 1e9
    }

    /// Adds the results of another thread in the same interval. Neither of the two intervals may be a joined interval.
    pub fn merge(&mut self, other: &Self) {
        debug_assert!(self.joined.is_none() && other.joined.is_none(), "threads have single intervals");
        let Self {
            stage: _,
            start,
            end,
            stats,
            in_flight,
            in_flight_peak,
            unacknowledged,
            client,
            evidence,
            joined: _,
        } = other;
        self.start = self.start.min(*start);
        self.end = self.end.max(*end);
        self.stats.merge(stats);
        add(&mut self.in_flight, *in_flight);
        add(&mut self.in_flight_peak, *in_flight_peak);
        add(&mut self.unacknowledged, *unacknowledged);
        self.client = self.client.merged(*client);
        self.evidence.merge(evidence);
    }

    /// Appends the next slice of the same stage.
    fn append(&mut self, later: &Self) {
        self.append_counts(later);
        self.evidence.merge(&later.evidence);
    }

    /// Appends everything of the next slice of the same stage except its evidence and its facts about joined intervals.
    fn append_counts(&mut self, later: &Self) {
        let Self {
            stage: _,
            start: _,
            end,
            stats,
            in_flight,
            in_flight_peak,
            unacknowledged,
            client,
            evidence: _,
            joined: _,
        } = later;
        self.client = self.client.and_then(self.seconds(), *client, later.seconds());
        self.end = *end;
        self.stats.merge(stats);
        self.in_flight = *in_flight;
        self.in_flight_peak = self.in_flight_peak.max(*in_flight_peak);
        self.unacknowledged = *unacknowledged;
    }
}
