//! One run of one client, and its cost.

use super::clients::Client;
use super::workload::{Unit, Workload};
use crate::process::{ProcessEnd, Run};

/// One run of one client.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The client.
    pub client: Client,
    /// Number of the round, counted from 0.
    pub pair: u32,
    /// Cost of the process.
    pub run: Run,
    /// Requests that nginx counted.
    pub requests: u64,
    /// Bytes that the loopback interface counted.
    pub bytes: u64,
}

impl Sample {
    /// Returns the cost: CPU time per request in µs, or CPU time per GB in s. `None` if the run failed or made no
    /// request.
    pub fn cost(&self, unit: Unit) -> Option<f64> {
        let cpu = self.run.cpu.as_secs_f64();
        let cost = match unit {
            Unit::Request => cpu * 1e6 / self.requests as f64,
            Unit::Gigabyte => cpu / self.gigabytes(),
        };
        (self.run.end == ProcessEnd::Code(0) && self.requests > 0 && cost.is_finite() && cost > 0.0).then_some(cost)
    }

    /// Returns the received bytes in GB.
    pub fn gigabytes(&self) -> f64 {
        self.bytes as f64 / 1e9
    }

    /// Returns the line of the run in a CSV file.
    pub fn csv(&self, work: Workload) -> String {
        let (wall, cpu) = (self.run.wall.as_secs_f64(), self.run.cpu.as_secs_f64());
        let rss = self.run.peak.bytes() as f64 / f64::from(1 << 20);
        format!(
            "{},{},{},{wall:.6},{cpu:.6},{},{:.9},{rss:.3},{}",
            work.name(),
            self.client.name(),
            self.pair,
            self.requests,
            self.gigabytes(),
            self.run.end
        )
    }
}
