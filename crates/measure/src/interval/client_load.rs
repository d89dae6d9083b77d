//! CPU, network and descriptor usage of the client itself in an interval.

use serde::{Deserialize, Serialize};

/// Load of the client in an interval. Shares are in 0..=1 unless stated otherwise.
///
/// Merging keeps the larger value of each share, because one saturated thread or network card is enough to limit the
/// run. [`Self::unread`] always comes from the busier thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientLoad {
    /// Busy time of the busiest run-loop thread, as a share of the interval. Busy time is CPU time without
    /// busy-waiting, plus the time during which the thread could not pass on its results.
    pub busy: f64,
    /// Share of the busiest thread's polls that ended at once, because events such as responses had already arrived.
    pub unread: f64,
    /// Time during which a run-loop thread was ready to run but had no core, as a share of the interval.
    pub run_delay: f64,
    /// Sum of [`Self::run_delay`] over all run-loop threads, which may exceed 1. When merging, the sums are added.
    #[serde(default)]
    pub run_delay_sum: f64,
    /// Time during which the hypervisor ran other virtual machines on this machine's cores (steal time), as a share of
    /// the interval.
    pub steal: f64,
    /// Time during which the client could not run because of the CPU quota of its control group, as a share of the
    /// interval. This time is also included in [`Self::run_delay`].
    #[serde(default)]
    pub throttled: f64,
    /// Traffic of the busiest network card, as a share of its speed; 0 if the speed is unknown (loopback).
    pub nic: f64,
    /// Number of open file descriptors, as a share of the limit.
    pub descriptors: f64,
    /// Number of local ports in use, including those in TIME_WAIT, as a share of the port range. Ports are counted per
    /// destination, and the largest count is used.
    pub ports: f64,
    /// Time during which a run-loop thread did not run although it was due to wake up, as a share of the interval. A
    /// thread does not run if the process is stopped or the machine is paused.
    #[serde(default)]
    pub frozen: f64,
    /// Busy time of all cores of this host, whichever process used them, as a share of the total time of these cores.
    #[serde(default)]
    pub host_busy: f64,
    /// CPU time of the threads that generate the load, gather the results and save them, in nanoseconds. When merging,
    /// the times are added.
    pub cpu_nanos: u64,
}

impl ClientLoad {
    /// Returns the combined load of two threads or hosts in the same interval. For each share, this is the larger
    /// value. [`Self::unread`] comes from the busier thread, and CPU times are added.
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

    /// Returns the combined load of two consecutive intervals. `self` lasts `seconds`, and `later` lasts
    /// `later_seconds`. Shares are averaged, weighted by time.
    pub(super) fn and_then(self, seconds: f64, later: Self, later_seconds: f64) -> Self {
        let all = (seconds + later_seconds).max(f64::MIN_POSITIVE);
        let mean = |early: f64, late: f64| (early * seconds + late * later_seconds) / all;
        Self {
            busy: mean(self.busy, later.busy),
            unread: mean(self.unread, later.unread),
            run_delay: mean(self.run_delay, later.run_delay),
            run_delay_sum: mean(self.run_delay_sum, later.run_delay_sum),
            steal: mean(self.steal, later.steal),
            throttled: mean(self.throttled, later.throttled),
            nic: mean(self.nic, later.nic),
            descriptors: self.descriptors.max(later.descriptors),
            ports: self.ports.max(later.ports),
            frozen: mean(self.frozen, later.frozen),
            host_busy: mean(self.host_busy, later.host_busy),
            cpu_nanos: self.cpu_nanos.saturating_add(later.cpu_nanos),
        }
    }
}
