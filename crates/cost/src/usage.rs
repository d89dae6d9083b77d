//! What a run uses of a storage system, and what people pay for.

use serde::{Deserialize, Serialize};

use crate::units::Months;

/// What is stored, sent and asked for. Of a plan for an estimate, or of a finished run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// The sizes of the stored files.
    pub file_bytes: u64,
    /// All bytes that the system stores for them; `None` before a run, and if the system does not report them.
    pub absolute_bytes: Option<u64>,
    /// Bytes of bodies that were sent, those of retries included.
    pub uploaded_bytes: u64,
    /// Bytes of bodies that were received.
    pub downloaded_bytes: u64,
    /// Requests.
    pub requests: Requests,
    /// Contracts that were formed or renewed; `None` before a run, and for systems without contracts.
    pub contracts: Option<u64>,
    /// How long the files are stored.
    pub stored: Months,
}

/// Requests of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requests {
    /// Uploads, parts of uploads, and what begins and completes them.
    pub put: u64,
    /// Downloads and questions about one object.
    pub get: u64,
    /// Lists.
    pub list: u64,
    /// Deletions.
    pub delete: u64,
}

impl Usage {
    /// Returns the usage of a plan: every byte and every request once, and nothing read.
    #[must_use]
    pub fn of_plan(file_bytes: u64, puts: u64, stored: Months) -> Self {
        Self {
            file_bytes,
            absolute_bytes: None,
            uploaded_bytes: file_bytes,
            downloaded_bytes: 0,
            requests: Requests { put: puts, ..Requests::default() },
            contracts: None,
            stored,
        }
    }
}
