//! Multipart uploads that an earlier run began and a later run continues.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Unfinished multipart uploads, by the number of their object ([`super::Targets::object_number`]).
pub type ResumedUploads = Arc<BTreeMap<u64, ResumedUpload>>;

/// An unfinished multipart upload. The parts of the upload must have the sizes that the plan requires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumedUpload {
    /// The server's ID of the upload.
    pub upload_id: Box<str>,
    /// Parts that the server has, each with its number and its ETag.
    pub parts: Vec<(u16, Box<str>)>,
    /// `true` if the earlier run may have asked the server to complete the upload. If so, the next request that
    /// completes the upload may succeed although the object is not stored ([`crate::OpEntry::completed_again`]).
    pub may_be_complete: bool,
}
