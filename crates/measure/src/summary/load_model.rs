//! The load model of a run, with the properties that matter for results.

use serde::{Deserialize, Serialize};

/// Load model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// Each slot starts its next operation when the previous one has ended.
    Closed {
        /// Number of slots.
        concurrency: u64,
    },
    /// Operations start on a schedule.
    Open {
        /// Largest number of operations in flight.
        in_flight_max: u64,
    },
}

impl Model {
    /// Returns whether operations start on a schedule.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Self::Open { .. })
    }
}
