//! Measurements that show what limited a run. This evidence is recorded during the run. The module [`crate::limits`]
//! uses it to determine the limit.
//!
//! In an open run, response times are grouped by the time at which operations were due ([`ArrivalCohort`]). If the
//! target falls behind, response times grow during the whole run.
//!
//! In a closed run, the number of operations in flight is constant, except at the beginning and at the end of the run
//! ([`EdgeOp`]). The first operations of all slots find the target idle, and the last operations find the target less
//! and less busy. Between these two edges, operations that wait in one queue do not overtake each other
//! ([`Overtaking`]). Operations that were in flight during a pause of the target do not overtake each other either, so
//! they are left out (`target_pauses`).
//!
//! If the link is full, data waits in the network ([`NetworkPaths`]).

mod arrival_cohorts;
mod class_cohorts;
mod collector;
mod edge_operations;
mod network_paths;
pub mod overtaking;
mod slot_probes;
mod target_pauses;

pub use arrival_cohorts::{ArrivalCohort, ArrivalCohorts};
pub use class_cohorts::ClassCohorts;
pub(crate) use collector::Collector;
pub use edge_operations::{EdgeOp, Edges, OperationClass};
pub use network_paths::{FlowControl, FlowSample, NetworkPaths, PathSample};
pub use overtaking::Overtaking;
pub use slot_probes::{Probe, Probes};

use crate::time::Instant;
use crate::values::Distribution;
use serde::{Deserialize, Serialize};

/// Evidence from one thread in one interval, from all threads in one interval, or from a whole run. Evidence can be
/// merged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Measured operations, grouped by the time at which they were due. Empty in runs without a schedule.
    #[serde(default, skip_serializing_if = "ArrivalCohorts::is_empty")]
    pub arrival_cohorts: ArrivalCohorts,
    /// The same operations, grouped separately for each class. Empty in runs without a schedule.
    #[serde(default, skip_serializing_if = "ClassCohorts::is_empty")]
    pub class_cohorts: ClassCohorts,
    /// The first operations of the run, and in a closed run also the last ones.
    #[serde(default, skip_serializing_if = "Edges::is_empty")]
    pub edges: Edges,
    /// Overtaking among operations in flight. Closed runs only.
    #[serde(default, skip_serializing_if = "Overtaking::is_empty")]
    pub overtaking: Overtaking,
    /// Service times of the measured operations that were in flight while the target paused. [`Self::overtaking`]
    /// leaves these operations out. Closed runs only.
    #[serde(default, skip_serializing_if = "Distribution::is_empty")]
    pub paused: Distribution,
    /// Statistics of the kernel about the network paths of the connections.
    #[serde(default, skip_serializing_if = "NetworkPaths::is_empty")]
    pub network_paths: NetworkPaths,
    /// Instant at which the schedule ended, if the number of operations was fixed. Open runs only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule_end: Option<Instant>,
}

impl Evidence {
    /// Adds the evidence of another thread or interval.
    pub fn merge(&mut self, other: &Self) {
        let Self { arrival_cohorts, class_cohorts, edges, overtaking, paused, network_paths, schedule_end } = other;
        self.arrival_cohorts.merge(arrival_cohorts);
        self.class_cohorts.merge(class_cohorts);
        self.edges.merge(edges);
        self.overtaking.merge(overtaking);
        self.paused.merge(paused);
        self.network_paths.merge(network_paths);
        self.schedule_end = match (self.schedule_end, *schedule_end) {
            (Some(mine), Some(theirs)) => Some(mine.min(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
    }
}
