//! Load of the client itself in an interval.

use serde::{Deserialize, Serialize};

/// Load of the client in an interval. Shares are in 0..=1 unless stated otherwise.
///
/// Merging keeps the largest of each share, because one saturated thread or network card is enough to limit the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientLoad {
    /// CPU time of the busiest run-loop thread, without busy-waiting, and time for which it could not hand over its results,
    /// as a share of the interval.
    pub busy: f64,
    /// Share of that thread's polls that found responses already waiting after a full round of work.
    pub unread: f64,
    /// Time for which a run-loop thread was ready to run and had no core, as a share of the interval.
    pub run_delay: f64,
    /// Sum of [`Self::run_delay`] over all run-loop threads; may exceed 1. Added when merged.
    #[serde(default)]
    pub run_delay_sum: f64,
    /// Time that the hypervisor gave to other machines, as a share of the interval.
    pub steal: f64,
    /// Time for which the CPU quota of this client's control group kept it from running, as a share of the interval. It is part
    /// of the time for which threads had no core.
    #[serde(default)]
    pub throttled: f64,
    /// Traffic of the busiest network card as a share of its speed; 0 if the speed is not known (loopback).
    pub nic: f64,
    /// Open file descriptors as a share of the limit.
    pub descriptors: f64,
    /// Local ports in use for the destination with the most, including those in TIME_WAIT, as a share of the port range.
    pub ports: f64,
    /// Time for which a run-loop thread did not run at all although it was due to wake up (a stopped process, a paused machine),
    /// as a share of the interval.
    #[serde(default)]
    pub frozen: f64,
    /// Busy time of all cores of this host, whoever used them, as a share of all their time.
    #[serde(default)]
    pub host_busy: f64,
    /// CPU time of the threads that make, gather and save the load, in nanoseconds. Added when merged.
    pub cpu_nanos: u64,
}

impl ClientLoad {
    /// Returns the load of two threads or hosts in the same interval: the larger of each pair of shares, the sum of CPU times.
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

    /// Returns the load over `seconds` with this load, followed by `later_seconds` with `later`: means of the shares, weighted by
    /// time.
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
