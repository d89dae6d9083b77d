//! The load on the client and its cost, in a [`JsonReport`](super::JsonReport).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::SavedRun;

/// The load on the client and its cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Client {
    /// Part of the window in which the client was observed, in seconds.
    pub observed_seconds: f64,
    /// Seconds in which a thread was busy while responses waited to be read.
    pub cpu_limited_seconds: f64,
    /// Seconds in which the client started operations too late.
    pub late_seconds: f64,
    /// Seconds in which a network card of the client worked at its full speed.
    pub nic_limited_seconds: f64,
    /// Seconds in which other processes or virtual machines used the cores of the client's host.
    pub shared_host_seconds: f64,
    /// Busy share of the busiest thread.
    pub busy_max_share: f64,
    /// Largest share of the time that any thread waited for a core.
    pub run_delay_max_share: f64,
    /// Speed of the busiest network card, as a share of its maximum speed.
    pub nic_max_share: f64,
    /// Share of service time in which responses waited unread in the client; null if not measured.
    pub unread_share: Option<f64>,
    /// `true` if `unread_share` is a lower bound, because some of the sampled responses did not fit into one segment.
    pub unread_is_lower_bound: bool,
    /// Number of responses that were sampled for `unread_share`.
    pub unread_samples: u64,
    /// CPU time of the client in the window.
    pub cpu_nanos: u64,
    /// CPU time per completed operation.
    pub cpu_nanos_per_operation: Option<f64>,
    /// CPU seconds per decimal GB of bodies that the client received or sent in the window.
    pub cpu_seconds_per_gigabyte: Option<f64>,
    /// Largest resident memory.
    pub peak_memory_bytes: Option<u64>,
    /// `true` if client and target ran on the same host.
    pub loopback: bool,
    /// `true` if the server's certificates were not verified.
    pub insecure: bool,
}

impl Client {
    pub(super) fn of(run: &SavedRun) -> Self {
        let summary = run.summary();
        let limits = &summary.limits;
        let (nanos, done) = (summary.measured.cpu_nanos, summary.stats.measured.completed());
        let body = summary.measured.traffic.moved();
        let unread = summary.client_share();
        Self {
            observed_seconds: limits.seconds,
            cpu_limited_seconds: limits.cpu,
            late_seconds: limits.late,
            nic_limited_seconds: limits.nic,
            shared_host_seconds: limits.host,
            busy_max_share: limits.busy_max,
            run_delay_max_share: limits.run_delay_max,
            nic_max_share: limits.nic_max,
            unread_share: unread.map(|unread| unread.share),
            unread_is_lower_bound: unread.is_some_and(|unread| unread.at_least),
            unread_samples: unread.map_or(0, |unread| unread.samples),
            cpu_nanos: nanos,
            cpu_nanos_per_operation: (done > 0).then(|| nanos as f64 / done as f64),
            // Nanoseconds per byte equal seconds per GB.
            cpu_seconds_per_gigabyte: (body > 0).then(|| nanos as f64 / body as f64),
            peak_memory_bytes: run.end.as_ref().map(|end| end.peak_memory_bytes),
            loopback: run.begin.loopback,
            insecure: run.begin.insecure,
        }
    }
}
