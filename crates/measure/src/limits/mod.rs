//! The limit of a run, which is the reason why its rate was not higher.
//!
//! A limit is reported if it explains most of the missing operations or most of the lost time (docs/measurement.md). If
//! two limits are possible, neither is reported.

mod client_impact;
mod end_stall;
mod failures;
pub mod growth;
mod limited_by;
mod offered_load;
pub mod pace;
pub mod queueing;
mod reason;

pub use client_impact::ClientImpact;
pub use end_stall::EndStall;
pub use failures::{failing_share, has_many_failures};
pub use growth::Growth;
pub use limited_by::{limited_by, missed_by_client};
pub use offered_load::{end_stall, growth, misses_offered_rate, not_sustained};
pub use queueing::queueing_odds;
pub use reason::{HostFailures, InFlightLimit, Limit, LimitReason, ProbedRate};

use serde::{Deserialize, Serialize};
use std::fmt;

/// Minimum share of the missing operations, or of the lost time, that a limit has to explain.
const MOST: f64 = 0.5;
/// Minimum number of operations from which conclusions are drawn.
const OPERATIONS_MIN: u64 = 20;

/// Limit of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitedBy {
    /// The target responded as fast as it could.
    Target,
    /// The network between client and target was full.
    Link,
    /// The emulator of the network between client and target had too little CPU time or memory.
    Emulator,
    /// A thread of this client had no time left.
    ClientCpu,
    /// This client's network card transferred data at its full speed.
    ClientNic,
    /// This client had too few descriptors or local ports.
    ClientResources,
    /// Other processes or virtual machines used this host's cores.
    SharedHost,
    /// Operations did not wait for each other, so a higher concurrency would reach a higher rate.
    Concurrency,
    /// The target sustained everything that was offered.
    Rate,
    /// The run does not show whether the target or the concurrency was the limit, because it has a single level of
    /// concurrency.
    NotDetermined,
    /// Not known, because too few operations ended.
    Unknown,
}

impl LimitedBy {
    /// Returns whether the client, its host or the emulator of the path was the limit. The measured rates are then
    /// lower bounds.
    #[must_use]
    pub fn is_client(self) -> bool {
        matches!(self, Self::Emulator | Self::ClientCpu | Self::ClientNic | Self::ClientResources | Self::SharedHost)
    }
}

impl fmt::Display for LimitedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Target => "target",
            Self::Link => "link",
            Self::Emulator => "emulator",
            Self::ClientCpu => "client CPU",
            Self::ClientNic => "client NIC",
            Self::ClientResources => "client descriptors or ports",
            Self::SharedHost => "shared host",
            Self::Concurrency => "your concurrency",
            Self::Rate => "the rate asked for",
            Self::NotDetermined => "not determined",
            Self::Unknown => "unknown",
        })
    }
}

#[cfg(test)]
mod tests;
