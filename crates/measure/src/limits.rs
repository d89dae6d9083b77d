//! How much of the measured window the client was at one of its limits.
//!
//! The client watches itself in every interval ([`crate::ClientLoad`]). Here each interval is looked at by the rules of
//! docs/measurement.md, and added up by how much of the time each limit took. What follows is decided in
//! [`crate::limited_by`].

use crate::interval::Interval;
use crate::stats::Tally;
use serde::{Deserialize, Serialize};

/// The load model, as far as the judgement needs it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// So many slots, each starting an operation when its last one ended.
    Closed {
        /// Slots.
        concurrency: u64,
    },
    /// Arrivals follow a schedule.
    Open {
        /// Operations in flight at most.
        in_flight_max: u64,
    },
}

impl Model {
    /// Whether arrivals follow a schedule.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Self::Open { .. })
    }
}

/// Busy share of a thread above which it has no time left.
const BUSY_MAX: f64 = 0.95;
/// Share of a thread that it may spend whether operations run or not: waking, looking at the time, handing over. What an
/// operation costs is never read from less than this.
const IDLE_COST_MAX: f64 = 0.05;
/// Share of looks that find answers already waiting, above which answers wait unread.
const UNREAD_MAX: f64 = 0.5;
/// Share of a network card's speed.
const NIC_MAX: f64 = 0.9;
/// Share of time for which the process waited for a core.
const RUN_DELAY_MAX: f64 = 0.05;
/// Share of time that the hypervisor gave to others.
const STEAL_MAX: f64 = 0.02;
/// Lateness p99 that is always allowed, and the share of the median response time that is.
const LATENESS_MAX_NANOS: u64 = 1_000_000;
const LATENESS_MAX_SHARE: f64 = 0.05;
/// Intervals shorter than this tell nothing about shares.
const SECONDS_MIN: f64 = 0.2;
/// Share of descriptors or local ports in use from which there are too few.
const RESOURCES_MAX: f64 = 0.95;
/// Share of the time of all cores from which on this host has none to spare.
const HOST_FULL_MIN: f64 = 0.95;
/// Share of an interval for which a thread was kept from running altogether.
const FROZEN_MAX: f64 = 0.1;

/// Whether a thread could not have made what was offered in an open run, even with a core to itself and a target that takes
/// everything: what the operations that were started cost it, put to all that were scheduled, is more than all of its time.
///
/// CPU time is what the thread had, not what others left it: where the host took the core for a while, less was started for less
/// CPU time, and the cost of an operation is the same. With nothing started nothing is known.
pub(crate) fn offered_too_much(busy: f64, tally: &Tally) -> bool {
    let cost = (busy - IDLE_COST_MAX).max(0.0);
    cost * tally.scheduled as f64 > tally.started as f64 && tally.started > 0
}

/// Seconds of the measured window in which the client was at a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LimitTally {
    /// Seconds looked at.
    pub seconds: f64,
    /// A thread was busy while answers waited unread, or more was offered than it had time for.
    pub cpu: f64,
    /// Operations started later than the bound allows (open model).
    pub late: f64,
    /// A network card was full.
    pub nic: f64,
    /// Others took this host's cores.
    pub host: f64,
    /// Too few descriptors or local ports were left.
    pub resources: f64,
    /// A thread was kept from running altogether: a stopped process, a paused machine.
    pub frozen: f64,
    /// Time that others took of this client: its cores, or the whole process, as far as operations were delayed by it.
    pub taken: f64,
    /// Time for which a thread waited for a core that others had, or machines: whether it delayed operations or not.
    pub host_delay: f64,
    /// Time that the quota of its control group took.
    pub throttled: f64,
    /// All cores of this host were in use.
    #[serde(default)]
    pub host_full: f64,
    /// Seconds of CPU time of the busiest thread.
    pub busy: f64,
    /// Highest busy share of a thread.
    pub busy_max: f64,
    /// Highest share of waiting for a core.
    pub run_delay_max: f64,
    /// Highest share of a network card's speed.
    pub nic_max: f64,
}

impl LimitTally {
    /// Judges one measured interval and adds it.
    pub fn add(&mut self, model: &Model, interval: &Interval) {
        let seconds = interval.seconds();
        if seconds < SECONDS_MIN {
            return;
        }
        let load = &interval.client;
        let late = model.is_open() && {
            let stats = interval.stats.all_kinds();
            let allowed = stats.response.quantile(0.5).map_or(0.0, |median| median as f64 * LATENESS_MAX_SHARE);
            stats.lateness.quantile(0.99).is_some_and(|p99| p99 as f64 > allowed.max(LATENESS_MAX_NANOS as f64))
        };
        self.seconds += seconds;
        // Waiting for a core leaves no more time than work does. Requests that are sent have no responses that could wait
        // unread: there, no time left is enough.
        let traffic = &interval.stats.traffic;
        let filled = load.busy + load.run_delay > BUSY_MAX;
        let full = filled && (load.unread > UNREAD_MAX || traffic.sent_body > traffic.body);
        let overfull = model.is_open() && offered_too_much(load.busy, &interval.stats.measured);
        self.cpu += seconds * f64::from(full || overfull);
        self.late += seconds * f64::from(late);
        self.nic += seconds * f64::from(load.nic > NIC_MAX);
        // A quota stops the whole client, and makes its threads wait for cores: that is nobody else's doing.
        let (frozen, waited) = (load.frozen - load.throttled, load.run_delay - load.throttled);
        let shared = waited > RUN_DELAY_MAX || load.steal > STEAL_MAX || frozen > FROZEN_MAX;
        self.host += seconds * f64::from(shared);
        self.host_full += seconds * f64::from(load.host_busy > HOST_FULL_MIN);
        self.frozen += seconds * load.frozen;
        self.throttled += seconds * load.throttled;
        // A thread with time to spare delays what is waiting when it gets its core late: all operations where a full round of
        // responses waits, one of them where they come one by one.
        let delayed = match *model {
            _ if full => 1.0,
            Model::Closed { concurrency } => load.unread.max(1.0 / concurrency.max(1) as f64),
            Model::Open { .. } => load.unread,
        };
        let others = waited.max(load.steal).max(0.0);
        self.host_delay += seconds * others.max(frozen);
        self.taken += seconds * frozen.max(others * delayed);
        self.resources += seconds * f64::from(load.descriptors.max(load.ports) > RESOURCES_MAX);
        self.busy += seconds * load.busy;
        self.busy_max = self.busy_max.max(load.busy);
        self.run_delay_max = self.run_delay_max.max(load.run_delay);
        self.nic_max = self.nic_max.max(load.nic);
    }

    /// Busy share of the busiest thread over all seconds; 0 when nothing was looked at.
    #[must_use]
    pub fn mean_busy(&self) -> f64 {
        self.share(self.busy)
    }

    /// Seconds as a share of those that were looked at.
    #[must_use]
    pub fn share(&self, seconds: f64) -> f64 {
        if self.seconds > 0.0 { seconds / self.seconds } else { 0.0 }
    }
}
