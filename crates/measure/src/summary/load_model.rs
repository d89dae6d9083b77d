//! Load model of a run, as far as its results depend on it.

use serde::{Deserialize, Serialize};

/// Load model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// Each slot starts an operation when its previous one has ended.
    Closed {
        /// Number of slots.
        concurrency: u64,
    },
    /// Arrivals follow a schedule.
    Open {
        /// Largest number of operations in flight.
        in_flight_max: u64,
    },
}

impl Model {
    /// Returns whether arrivals follow a schedule.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Self::Open { .. })
    }
}
