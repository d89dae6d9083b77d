//! An immutable slice of a run: at most one second of one stage.

use crate::clock::Instant;
use crate::evidence::Evidence;
use crate::stats::Stats;
use crate::timeline::{INTERVAL, Stage};
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
    /// The same of all threads of the run loop together. Added up when merged.
    #[serde(default)]
    pub run_delay_sum: f64,
    /// Time that the hypervisor gave to others, as a share of the interval.
    pub steal: f64,
    /// Time for which the quota of this client's control group kept it from running, as a share of the interval. It is a
    /// part of the time for which threads had no core.
    #[serde(default)]
    pub throttled: f64,
    /// Traffic of the busiest network card as a share of its speed; 0 where the speed is not known (loopback).
    pub nic: f64,
    /// Open file descriptors as a share of the limit.
    pub descriptors: f64,
    /// Local ports that this client uses for one destination at most, those in TIME_WAIT among them, as a share of the range.
    pub ports: f64,
    /// Time for which a thread of the run loop was kept from running altogether, though it had asked to be woken: a
    /// stopped process, a paused machine. As a share of the interval.
    #[serde(default)]
    pub frozen: f64,
    /// Time of all cores of this host that was not idle, as a share of all of it: by whomever it was used.
    #[serde(default)]
    pub host_busy: f64,
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
            run_delay_sum: self.run_delay_sum + other.run_delay_sum,
            steal: self.steal.max(other.steal),
            throttled: self.throttled.max(other.throttled),
            nic: self.nic.max(other.nic),
            descriptors: self.descriptors.max(other.descriptors),
            ports: self.ports.max(other.ports),
            frozen: self.frozen.max(other.frozen),
            host_busy: self.host_busy.max(other.host_busy),
            cpu_nanos: self.cpu_nanos.saturating_add(other.cpu_nanos),
        }
    }

    /// This load for so many seconds, and then `later` for so many: shares of time are weighed by it.
    fn and_then(self, seconds: f64, later: Self, later_seconds: f64) -> Self {
        let all = (seconds + later_seconds).max(f64::MIN_POSITIVE);
        let weighed = |early: f64, late: f64| (early * seconds + late * later_seconds) / all;
        Self {
            busy: weighed(self.busy, later.busy),
            unread: weighed(self.unread, later.unread),
            run_delay: weighed(self.run_delay, later.run_delay),
            run_delay_sum: weighed(self.run_delay_sum, later.run_delay_sum),
            steal: weighed(self.steal, later.steal),
            throttled: weighed(self.throttled, later.throttled),
            nic: weighed(self.nic, later.nic),
            descriptors: self.descriptors.max(later.descriptors),
            ports: self.ports.max(later.ports),
            frozen: weighed(self.frozen, later.frozen),
            host_busy: weighed(self.host_busy, later.host_busy),
            cpu_nanos: self.cpu_nanos.saturating_add(later.cpu_nanos),
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
    /// The most operations in flight at any instant of it. Exact for one thread. Peaks of several threads, which need not
    /// fall on the same instant, are added: then it is an upper bound.
    #[serde(default)]
    pub in_flight_peak: u64,
    /// How loaded the client was.
    pub client: ClientLoad,
    /// Evidence of queues.
    #[serde(default)]
    pub evidence: Evidence,
}

impl Interval {
    /// An empty interval.
    #[must_use]
    pub fn new(stage: Stage, start: Instant, end: Instant) -> Self {
        let (stats, client, evidence) = (Stats::default(), ClientLoad::default(), Evidence::default());
        Self { stage, start, end, stats, in_flight: 0, in_flight_peak: 0, client, evidence }
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
        self.in_flight_peak = self.in_flight_peak.saturating_add(other.in_flight_peak);
        self.client = self.client.merged(other.client);
        self.evidence.merge(&other.evidence);
    }

    /// Adds the slice that follows it.
    fn append(&mut self, later: &Self) {
        self.client = self.client.and_then(self.seconds(), later.client, later.seconds());
        self.end = later.end;
        self.stats.merge(&later.stats);
        self.in_flight = later.in_flight;
        self.in_flight_peak = self.in_flight_peak.max(later.in_flight_peak);
        self.evidence.merge(&later.evidence);
    }
}

/// Puts slices together to the intervals that are kept, of [`INTERVAL`] at most.
#[derive(Debug, Default)]
pub struct Whole {
    open: Option<Interval>,
}

impl Whole {
    /// Adds the next slice, and hands on the intervals that are complete with it.
    pub fn add(&mut self, slice: Interval, mut hand_on: impl FnMut(Interval)) {
        let fits = |open: &&mut Interval| {
            open.stage == slice.stage && open.end == slice.start && slice.end.since(open.start) <= INTERVAL
        };
        match self.open.as_mut().filter(fits) {
            Some(open) => open.append(&slice),
            None => {
                if let Some(complete) = self.open.replace(slice) {
                    hand_on(complete);
                }
            }
        }
        if self.open.as_ref().is_some_and(|open| open.end.since(open.start) >= INTERVAL) {
            self.rest().into_iter().for_each(hand_on);
        }
    }

    /// What has been added to no complete interval.
    pub fn rest(&mut self) -> Option<Interval> {
        self.open.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::Timeline;
    use proptest::prelude::*;
    use std::time::Duration;

    /// The slices of a run; each holds how long it is, in its counts.
    fn slices(timeline: &Timeline, until: Instant) -> Vec<Interval> {
        let mut at = Instant::ZERO;
        let mut slices = Vec::new();
        while at < until {
            let end = timeline.interval_end(at).min(until);
            let mut slice = Interval::new(timeline.stage(at), at, end);
            slice.stats.measured.ok = end.nanos_since(at);
            slice.in_flight = slices.len() as u64;
            slice.client.busy = 0.25;
            slices.push(slice);
            at = end;
        }
        slices
    }

    proptest! {
        #[test]
        fn slices_make_the_intervals_that_there_would_be_without_them(warmup in 0_u64..3000, window in 1_u64..4000, drain in 0_u64..2500) {
            let ms = Duration::from_millis;
            let timeline = Timeline::new(Instant::ZERO, ms(warmup), Some(ms(window)));
            let until = timeline.window_end() + ms(drain);
            let (mut whole, mut made) = (Whole::default(), Vec::new());
            for slice in slices(&timeline.in_slices(ms(100)), until) {
                whole.add(slice, |interval| made.push(interval));
            }
            made.extend(whole.rest());
            let expected = slices(&timeline, until);
            prop_assert_eq!(made.len(), expected.len());
            for (made, expected) in made.iter().zip(&expected) {
                prop_assert_eq!((made.stage, made.start, made.end), (expected.stage, expected.start, expected.end));
                prop_assert_eq!(made.stats.measured.ok, expected.stats.measured.ok);
                prop_assert!((made.client.busy - 0.25).abs() < 1e-9);
            }
        }
    }
}
