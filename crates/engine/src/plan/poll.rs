//! Work that a server accepts first and does later. The operation then polls the server until the work is done.

use super::{RequestPlan, ResponseBody};
use std::time::Duration;

/// Another request of an operation, which is repeated until the server has done the work that it accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Poll {
    /// Index of the request in the mix. Its weight there is 0, so that no operation begins with it.
    pub request: usize,
    /// The pause before each of these requests.
    pub every: Duration,
    /// The check of their responses.
    pub check: PollCheck,
}

/// The check whether a server has done its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PollCheck {
    /// The response is the list of files of siad (`GET /renter/files`). The work is done when the list has the file that
    /// `POST /renter/upload/…` has named, with an `uploadprogress` of at least 100.
    SiadUpload,
}

/// The most bytes of a list that are kept to check it. A file of siad takes about 250 bytes in its list.
pub const LIST_BYTES_MAX: usize = 256 << 20;

impl Poll {
    /// Returns whether the bodies that the check needs are kept.
    pub(super) fn is_sound(self, own: &RequestPlan, requests: &[RequestPlan]) -> bool {
        let keeps =
            |request: &RequestPlan| matches!(request.response_body, ResponseBody::Kept | ResponseBody::KeptList);
        keeps(own) && requests.get(self.request).is_some_and(keeps)
    }
}
