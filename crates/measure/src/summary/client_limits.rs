//! Time during which the client was at its limits during the measured window.
//!
//! The client measures its own load in every interval ([`crate::ClientLoad`]). The rules in docs/measurement.md
//! determine which limits the client reached in an interval, and [`ClientLimits`] adds up the time. [`crate::limits`]
//! draws the conclusion.

use super::Model;
use crate::interval::Interval;
use crate::stats::Tally;
use serde::{Deserialize, Serialize};

/// Maximum busy share of a thread. Above this share, the thread has no time left.
const BUSY_MAX: f64 = 0.95;
/// Maximum share of time that a thread uses without operations, to wake up, read the clock, and hand over results. Only
/// CPU time beyond this share counts as cost of operations.
const IDLE_COST_MAX: f64 = 0.05;
/// Maximum share of polls that find waiting responses. Above this share, responses wait unread.
const UNREAD_MAX: f64 = 0.5;
/// Maximum used share of a network card's speed. Above this share, the card is full.
const NIC_MAX: f64 = 0.9;
/// Maximum share of time during which a thread may wait for a core.
const RUN_DELAY_MAX: f64 = 0.05;
/// Maximum share of time during which the hypervisor may run other virtual machines on the client's cores.
const STEAL_MAX: f64 = 0.02;
/// Maximum p99 of lateness, in nanoseconds. If [`LATENESS_MAX_SHARE`] of the median response time is larger, that time
/// is the maximum instead.
const LATENESS_MAX_NANOS: u64 = 1_000_000;
/// Maximum p99 of lateness, as a share of the median response time.
const LATENESS_MAX_SHARE: f64 = 0.05;
/// Minimum length of an interval that is examined, in seconds. In shorter intervals, shares depend on chance.
const SECONDS_MIN: f64 = 0.2;
/// Maximum share of descriptors or local ports in use. Above this share, there are too few left.
const RESOURCES_MAX: f64 = 0.95;
/// If the cores are in use for at least this share of their time, the host has no free core.
const HOST_FULL_MIN: f64 = 0.95;
/// Maximum share of an interval for which a thread may be stopped completely.
const FROZEN_MAX: f64 = 0.1;

/// Returns whether the offered load of an open run was too high for a thread, even with its own core and an infinitely
/// fast target. To decide this, the CPU time per started operation is multiplied by the number of scheduled operations.
/// The load is too high if the product exceeds the thread's time.
///
/// `busy` is the CPU time of the thread. While other processes used its core, the thread had less CPU time and started
/// fewer operations, so the cost per operation is the same. The cost is unknown if no operation was started.
pub(crate) fn offered_too_much(busy: f64, tally: &Tally) -> bool {
    let cost = (busy - IDLE_COST_MAX).max(0.0);
    cost * tally.scheduled as f64 > tally.started as f64 && tally.started > 0
}

/// Time in the measured window during which the client was at each of its limits, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientLimits {
    /// Number of seconds that were examined.
    pub seconds: f64,
    /// Seconds in which a thread was busy while responses waited unread, or in which it had too little time for the
    /// offered operations.
    pub cpu: f64,
    /// Seconds in which operations started later than allowed (open model).
    pub late: f64,
    /// Seconds in which a network card was full.
    pub nic: f64,
    /// Seconds in which other processes or virtual machines used this host's cores.
    pub host: f64,
    /// Seconds in which too few descriptors or local ports were left.
    pub resources: f64,
    /// Time during which a thread did not run, because its process was stopped or its machine paused.
    pub frozen: f64,
    /// Time lost because other processes or virtual machines used the client's cores, or because the whole process was
    /// stopped. Time that delayed no operation does not count.
    pub taken: f64,
    /// Time during which a thread waited for a core while other processes or virtual machines used the core. This time
    /// counts even if it did not delay operations.
    pub host_delay: f64,
    /// Time during which the CPU quota of the client's control group kept the client from running.
    pub throttled: f64,
    /// Seconds in which all cores of this host were in use.
    #[serde(default)]
    pub host_full: f64,
    /// CPU time of the busiest thread.
    pub busy: f64,
    /// Highest busy share of a thread in an interval, in 0..=1.
    pub busy_max: f64,
    /// Highest share of an interval for which a thread waited for a core, in 0..=1.
    pub run_delay_max: f64,
    /// Highest share of a network card's speed in an interval.
    pub nic_max: f64,
}

impl ClientLimits {
    /// Adds a measured interval.
    pub fn add(&mut self, model: &Model, interval: &Interval) {
        let seconds = interval.seconds();
        if seconds < SECONDS_MIN {
            return;
        }
        let load = &interval.client;
        // A thread that waits for a core has as little time left as a busy thread. A client without time left is at its
        // limit if, in addition, responses wait unread. Uploads have no response bodies that could wait, so for uploads
        // the first condition is enough.
        let traffic = &interval.stats.traffic;
        let filled = load.busy + load.run_delay > BUSY_MAX;
        let full = filled && (load.unread > UNREAD_MAX || traffic.sent_body > traffic.body);
        let overfull = model.is_open() && offered_too_much(load.busy, &interval.stats.measured);
        // A CPU quota stops the whole client and makes its threads wait for cores. No other process is responsible for
        // this time.
        let (frozen, waited) = (load.frozen - load.throttled, load.run_delay - load.throttled);
        let shared = waited > RUN_DELAY_MAX || load.steal > STEAL_MAX || frozen > FROZEN_MAX;
        // If a thread has time left but gets its core late, only the operations that are ready at that moment are
        // delayed. If the responses of all slots are waiting at that moment, all operations are delayed. If responses
        // arrive one by one, only one operation is delayed.
        let delayed = match *model {
            _ if full => 1.0,
            Model::Closed { concurrency } => load.unread.max(1.0 / concurrency.max(1) as f64),
            Model::Open { .. } => load.unread,
        };
        let others = waited.max(load.steal).max(0.0);
        self.seconds += seconds;
        self.cpu += seconds * f64::from(full || overfull);
        self.late += seconds * f64::from(is_late(model, interval));
        self.nic += seconds * f64::from(load.nic > NIC_MAX);
        self.host += seconds * f64::from(shared);
        self.host_full += seconds * f64::from(load.host_busy > HOST_FULL_MIN);
        self.frozen += seconds * load.frozen;
        self.throttled += seconds * load.throttled;
        self.host_delay += seconds * others.max(frozen);
        self.taken += seconds * frozen.max(others * delayed);
        self.resources += seconds * f64::from(load.descriptors.max(load.ports) > RESOURCES_MAX);
        self.busy += seconds * load.busy;
        self.busy_max = self.busy_max.max(load.busy);
        self.run_delay_max = self.run_delay_max.max(load.run_delay);
        self.nic_max = self.nic_max.max(load.nic);
    }

    /// Adds the time of other intervals.
    pub fn merge(&mut self, other: &Self) {
        let Self {
            seconds,
            cpu,
            late,
            nic,
            host,
            resources,
            frozen,
            taken,
            host_delay,
            throttled,
            host_full,
            busy,
            busy_max,
            run_delay_max,
            nic_max,
        } = other;
        self.seconds += seconds;
        self.cpu += cpu;
        self.late += late;
        self.nic += nic;
        self.host += host;
        self.resources += resources;
        self.frozen += frozen;
        self.taken += taken;
        self.host_delay += host_delay;
        self.throttled += throttled;
        self.host_full += host_full;
        self.busy += busy;
        self.busy_max = self.busy_max.max(*busy_max);
        self.run_delay_max = self.run_delay_max.max(*run_delay_max);
        self.nic_max = self.nic_max.max(*nic_max);
    }

    /// Returns all values, for checks of saved records.
    #[must_use]
    pub fn values(&self) -> [f64; 15] {
        let Self {
            seconds,
            cpu,
            late,
            nic,
            host,
            resources,
            frozen,
            taken,
            host_delay,
            throttled,
            host_full,
            busy,
            busy_max,
            run_delay_max,
            nic_max,
        } = *self;
        [
            seconds,
            cpu,
            late,
            nic,
            host,
            resources,
            frozen,
            taken,
            host_delay,
            throttled,
            host_full,
            busy,
            busy_max,
            run_delay_max,
            nic_max,
        ]
    }

    /// Returns the mean busy share of the busiest thread, in 0..=1; 0 if no interval was examined.
    #[must_use]
    pub fn mean_busy(&self) -> f64 {
        self.share(self.busy)
    }

    /// Returns `seconds` as a share of the seconds examined; 0 if there are none.
    #[must_use]
    pub fn share(&self, seconds: f64) -> f64 {
        if self.seconds > 0.0 { seconds / self.seconds } else { 0.0 }
    }

    /// Returns the time during which this client was stopped, but not by its CPU quota, in seconds.
    #[must_use]
    pub fn stopped(&self) -> f64 {
        (self.frozen - self.throttled).max(0.0)
    }
}

/// Returns whether operations of an open run started later than allowed.
fn is_late(model: &Model, interval: &Interval) -> bool {
    model.is_open() && {
        let response = interval.stats.of_all_kinds(|kind| &kind.response);
        let lateness = interval.stats.of_all_kinds(|kind| &kind.lateness);
        let allowed = response.quantile(0.5).map_or(0.0, |median| median as f64 * LATENESS_MAX_SHARE);
        lateness.quantile(0.99).is_some_and(|p99| p99 as f64 > allowed.max(LATENESS_MAX_NANOS as f64))
    }
}
