//! The billable usage of a storage system by a run.

use serde::{Deserialize, Serialize};

use crate::units::Months;

/// Stored and transferred bytes, and requests. The numbers come from a plan (for an estimate) or from a finished run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// The sum of the sizes of the stored files.
    pub file_bytes: u64,
    /// All bytes that the system stores for the files. `None` before a run, or if the system does not report them.
    pub absolute_bytes: Option<u64>,
    /// Bytes of bodies that were sent, including retries.
    pub uploaded_bytes: u64,
    /// Bytes of bodies that were received.
    pub downloaded_bytes: u64,
    /// Requests.
    pub requests: Requests,
    /// Number of contracts that were formed or renewed. `None` before a run, and for systems without contracts.
    pub contracts: Option<u64>,
    /// Time during which the files are stored.
    pub stored: Months,
}

/// Requests of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requests {
    /// Uploads, parts of multipart uploads, and the requests that begin and complete multipart uploads.
    pub put: u64,
    /// Downloads, and requests for the metadata of one object.
    pub get: u64,
    /// Lists.
    pub list: u64,
    /// Deletions.
    pub delete: u64,
}

impl Usage {
    /// Returns the usage of a planned run that sends each byte and each request once, and reads nothing back.
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
