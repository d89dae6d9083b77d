//! Work that a server accepts first and carries out later. The operation polls the server until the work is done.

use super::{RequestPlan, ResponseBody};
use std::time::Duration;

/// A request that an operation repeats until the server has done the work that it accepted earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Poll {
    /// Index of the request in the plan's mix of requests. The weight of the request must be 0, so that no operation
    /// begins with a poll.
    pub request: usize,
    /// Pause before each poll.
    pub every: Duration,
    /// Check of the responses to the polls.
    pub check: PollCheck,
}

/// Check whether a server has done its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PollCheck {
    /// The response is the list of files of siad (`GET /renter/files`). The work is done when the list contains the
    /// file named in `POST /renter/upload/…` with an `uploadprogress` of at least 100.
    SiadUpload,
}

impl PollCheck {
    /// Returns whether the error message of a refused request means that the server has already accepted the work. The
    /// server may have accepted the work in an earlier run, or in a request whose response was lost.
    pub(crate) fn is_accepted_before(self, message: &[u8]) -> bool {
        match self {
            Self::SiadUpload => {
                let exists = b"already exists at that location";
                message.windows(exists.len()).any(|part| part == exists)
            }
        }
    }
}

/// Maximum number of bytes of a list that is kept for a check. In siad's list, a file takes about 250 bytes.
pub const LIST_BYTES_MAX: usize = 256 << 20;

impl Poll {
    /// Returns whether the plan keeps the response bodies that the check needs.
    pub(super) fn is_sound(self, own: &RequestPlan, requests: &[RequestPlan]) -> bool {
        let keeps =
            |request: &RequestPlan| matches!(request.response_body, ResponseBody::Kept | ResponseBody::KeptList);
        keeps(own) && requests.get(self.request).is_some_and(keeps)
    }
}
