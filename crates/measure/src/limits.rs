//! Seconds in which the client was at one of its limits.
//!
//! The client watches itself in every interval ([`crate::ClientLoad`]); here each interval is judged by the rules of
//! docs/measurement.md, and the flagged seconds are counted. What follows from them is [`crate::limited_by`]'s to say.

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
/// Share of an interval for which a thread was kept from running altogether.
const FROZEN_MAX: f64 = 0.1;
/// A backlog is judged from so many intervals and operations in flight on, and from that share of what was offered.
const BACKLOG_INTERVALS_MIN: u32 = 5;
const BACKLOG_MIN: u64 = 10;
const BACKLOG_SHARE_MIN: f64 = 0.01;
/// Flagged seconds, and share of all seconds, from which the client is named.
const FLAGGED_SECONDS_MIN: f64 = 2.0;
const FLAGGED_SHARE_MIN: f64 = 0.05;

/// Whether a thread could not have made what was offered in an open run, even with a core to itself and a target that takes
/// everything: what the operations that were started cost it, put to all that were scheduled, is more than all of its time.
///
/// CPU time is what the thread had, not what others left it: where the host took the core for a while, less was started for less
/// CPU time, and the cost of an operation is the same. With nothing started nothing is known.
pub(crate) fn offered_too_much(busy: f64, tally: &Tally) -> bool {
    let cost = (busy - IDLE_COST_MAX).max(0.0);
    cost * tally.scheduled as f64 > tally.started as f64 && tally.started > 0
}

/// Whether operations pile up: the straight line through what is in flight, in seconds' worth of arrivals, against time.
///
/// A target that keeps up has the same number of seconds in flight throughout, whatever they are (Little's law); behind one
/// that does not, they grow for as long as the run lasts. Ordinary least squares, as sums that can be added to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Backlog {
    intervals: u32,
    time: f64,
    time_squared: f64,
    waiting: f64,
    time_waiting: f64,
    scheduled: u64,
    in_flight: u64,
}

impl Backlog {
    fn add(&mut self, end: f64, seconds: f64, interval: &Interval) {
        let scheduled = interval.stats.measured.scheduled;
        self.scheduled = self.scheduled.saturating_add(scheduled);
        if scheduled == 0 {
            return;
        }
        let waiting = interval.in_flight as f64 * seconds / scheduled as f64;
        self.intervals = self.intervals.saturating_add(1);
        self.time += end;
        self.time_squared += end * end;
        self.waiting += waiting;
        self.time_waiting += end * waiting;
        self.in_flight = interval.in_flight;
    }

    /// Operations that were still in flight at the end of the window because more and more had piled up; 0 when the
    /// target kept up.
    #[must_use]
    pub fn piled_up(&self) -> u64 {
        let count = f64::from(self.intervals);
        let spread = count * self.time_squared - self.time * self.time;
        if self.intervals < BACKLOG_INTERVALS_MIN || spread <= 0.0 {
            return 0;
        }
        let slope = (count * self.time_waiting - self.time * self.waiting) / spread;
        // From nothing to the last value along a line, the growth is twice the mean; half of that is taken for growth.
        let grows = slope * (12.0 * spread).sqrt() / count > self.waiting / count;
        let many = self.in_flight >= BACKLOG_MIN && self.in_flight as f64 > BACKLOG_SHARE_MIN * self.scheduled as f64;
        if grows && many { self.in_flight } else { 0 }
    }
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
    /// Operations in flight against time.
    pub backlog: Backlog,
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
        let full = load.busy > BUSY_MAX && load.unread > UNREAD_MAX;
        let overfull = model.is_open() && offered_too_much(load.busy, &interval.stats.measured);
        self.cpu += seconds * f64::from(full || overfull);
        self.late += seconds * f64::from(late);
        self.nic += seconds * f64::from(load.nic > NIC_MAX);
        let frozen = load.frozen > FROZEN_MAX;
        self.host += seconds * f64::from(load.run_delay > RUN_DELAY_MAX || load.steal > STEAL_MAX || frozen);
        self.frozen += seconds * load.frozen;
        self.resources += seconds * f64::from(load.descriptors.max(load.ports) > RESOURCES_MAX);
        if model.is_open() {
            self.backlog.add(self.seconds, seconds, interval);
        }
        self.busy += seconds * load.busy;
        self.busy_max = self.busy_max.max(load.busy);
        self.run_delay_max = self.run_delay_max.max(load.run_delay);
        self.nic_max = self.nic_max.max(load.nic);
    }

    /// Busy share of the busiest thread over all seconds; 0 when nothing was looked at.
    #[must_use]
    pub fn mean_busy(&self) -> f64 {
        if self.seconds > 0.0 { self.busy / self.seconds } else { 0.0 }
    }

    /// Whether so many flagged seconds are enough to name the client.
    pub(crate) fn counts(&self, flagged: f64) -> bool {
        flagged >= FLAGGED_SECONDS_MIN - SECONDS_MIN && flagged > FLAGGED_SHARE_MIN * self.seconds
    }
}
