//! Evidence of what limited a run, recorded while it goes on; [`crate::limits`] draws the conclusion.
//!
//! An open run keeps response times by when operations were due ([`ArrivalCohort`]). If the target falls behind, they grow
//! for as long as the run lasts. A closed run has the same number of operations in flight throughout, so one moment of it
//! looks like any other. Evidence comes from where that number changes: the first operations of all slots find the target
//! empty, and the last ones see it drain ([`EdgeOp`]). In between, operations that wait in one queue do not overtake each
//! other ([`Overtaking`]), except that pauses of the target have the same effect (`target_pauses`). On a full link, data
//! waits on the way ([`NetworkPaths`]).

mod arrival_cohorts;
mod collector;
mod edge_operations;
mod network_paths;
pub mod overtaking;
mod slot_probes;
mod target_pauses;

pub use arrival_cohorts::{ArrivalCohort, ArrivalCohorts};
pub(crate) use collector::Collector;
pub use edge_operations::{EdgeOp, Edges, OperationClass};
pub use network_paths::{NetworkPaths, PathSample};
pub use overtaking::Overtaking;
pub use slot_probes::{Probe, Probes};

use crate::time::Instant;
use crate::values::Distribution;
use serde::{Deserialize, Serialize};

/// Evidence of one thread in an interval, of all threads in an interval, or of a whole run. It adds up at every level.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Measured operations by when they were due; of loads with a schedule.
    #[serde(default, skip_serializing_if = "ArrivalCohorts::is_empty")]
    pub arrival_cohorts: ArrivalCohorts,
    /// First operations, and in the closed model the last ones.
    #[serde(default, skip_serializing_if = "Edges::is_empty")]
    pub edges: Edges,
    /// Overtaking among operations in flight; closed model.
    #[serde(default, skip_serializing_if = "Overtaking::is_empty")]
    pub overtaking: Overtaking,
    /// Service times of measured operations that were in flight while the target paused; closed model. [`Self::overtaking`] leaves
    /// these operations out.
    #[serde(default, skip_serializing_if = "Distribution::is_empty")]
    pub paused: Distribution,
    /// The kernel's statistics of the connections' path through the network.
    #[serde(default, skip_serializing_if = "NetworkPaths::is_empty")]
    pub network_paths: NetworkPaths,
    /// End of the schedule of a fixed number of operations; open model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule_end: Option<Instant>,
}

impl Evidence {
    /// Adds the evidence of another thread or interval.
    pub fn merge(&mut self, other: &Self) {
        let Self { arrival_cohorts, edges, overtaking, paused, network_paths, schedule_end } = other;
        self.arrival_cohorts.merge(arrival_cohorts);
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
