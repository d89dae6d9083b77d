//! Seconds in which the client was at one of its limits.
//!
//! The client watches itself in every interval ([`crate::ClientLoad`]); here each interval is judged by the rules of
//! docs/measurement.md, and the flagged seconds are counted. What follows from them is [`crate::limited_by`]'s to say.

use crate::interval::Interval;
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
pub(crate) const BUSY_MAX: f64 = 0.95;
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
/// Flagged seconds, and share of all seconds, from which the client is named.
const FLAGGED_SECONDS_MIN: f64 = 2.0;
const FLAGGED_SHARE_MIN: f64 = 0.05;

/// Seconds of the measured window in which the client was at a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LimitTally {
    /// Seconds looked at.
    pub seconds: f64,
    /// A thread was busy while answers waited unread.
    pub cpu: f64,
    /// Operations started later than the bound allows (open model).
    pub late: f64,
    /// A network card was full.
    pub nic: f64,
    /// Others took this host's cores.
    pub host: f64,
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
        self.cpu += seconds * f64::from(load.busy > BUSY_MAX && load.unread > UNREAD_MAX);
        self.late += seconds * f64::from(late);
        self.nic += seconds * f64::from(load.nic > NIC_MAX);
        self.host += seconds * f64::from(load.run_delay > RUN_DELAY_MAX || load.steal > STEAL_MAX);
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
