//! An immutable slice of a run: at most one second of one stage.

use crate::clock::Instant;
use crate::stats::Stats;
use crate::timeline::Stage;
use serde::{Deserialize, Serialize};

/// How loaded the client itself was in an interval. Shares are of 1.
///
/// Merging keeps the largest of each, since one saturated thread or card is enough to set the limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientLoad {
    /// CPU time of the busiest thread of the run loop, without spinning, and time for which it could not hand over what it
    /// had measured, as a share of the interval.
    pub busy: f64,
    /// Share of that thread's looks at its sockets that found answers already waiting, after a full round of work.
    pub unread: f64,
    /// Time for which a thread of the run loop was ready to run and had no core, as a share of the interval.
    pub run_delay: f64,
    /// Time that the hypervisor gave to others, as a share of the interval.
    pub steal: f64,
    /// Traffic of the busiest network card as a share of its speed; 0 where the speed is not known (loopback).
    pub nic: f64,
    /// Open file descriptors as a share of the limit.
    pub descriptors: f64,
    /// Local ports in use as a share of the range.
    pub ports: f64,
    /// Time for which a thread of the run loop was kept from running altogether, though it had asked to be woken: a
    /// stopped process, a paused machine. As a share of the interval.
    #[serde(default)]
    pub frozen: f64,
    /// CPU time of the threads that make, gather and save the load, in nanoseconds. Added up when merged.
    pub cpu_nanos: u64,
}

impl ClientLoad {
    /// The larger share of each pair; CPU time is added.
    #[must_use]
    pub fn merged(self, other: Self) -> Self {
        let (busier, _) = if other.busy > self.busy { (other, self) } else { (self, other) };
        Self {
            busy: busier.busy,
            unread: busier.unread,
            run_delay: self.run_delay.max(other.run_delay),
            steal: self.steal.max(other.steal),
            nic: self.nic.max(other.nic),
            descriptors: self.descriptors.max(other.descriptors),
            ports: self.ports.max(other.ports),
            frozen: self.frozen.max(other.frozen),
            cpu_nanos: self.cpu_nanos.saturating_add(other.cpu_nanos),
        }
    }
}

/// What happened between two instants of one stage.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Interval {
    /// The stage.
    pub stage: Stage,
    /// Its begin.
    pub start: Instant,
    /// Its end.
    pub end: Instant,
    /// Everything counted and timed.
    pub stats: Stats,
    /// Operations in flight at its end.
    pub in_flight: u64,
    /// How loaded the client was.
    pub client: ClientLoad,
}

impl Interval {
    /// An empty interval.
    #[must_use]
    pub fn new(stage: Stage, start: Instant, end: Instant) -> Self {
        Self { stage, start, end, stats: Stats::default(), in_flight: 0, client: ClientLoad::default() }
    }

    /// Its length in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.end.nanos_since(self.start) as f64 / 1e9
    }

    /// Adds what another thread saw in the same interval.
    pub fn merge(&mut self, other: &Self) {
        self.start = self.start.min(other.start);
        self.end = self.end.max(other.end);
        self.stats.merge(&other.stats);
        self.in_flight = self.in_flight.saturating_add(other.in_flight);
        self.client = self.client.merged(other.client);
    }
}
