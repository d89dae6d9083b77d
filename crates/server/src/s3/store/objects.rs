//! Objects, multipart uploads and parts, as kept in a store.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::error::StoreError;
use crate::s3::content::Content;

/// Minimum size of each part except the last, as on S3.
pub(in crate::s3) const PART_BYTES_MIN: u64 = 5 << 20;

/// Information about a stored object, apart from its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::s3) struct ObjectInfo {
    pub(in crate::s3) etag: String,
    pub(in crate::s3) modified: SystemTime,
    /// Header fields from the client: content type, encoding and so on.
    pub(in crate::s3) headers: Headers,
    /// Metadata from `x-amz-meta-…` header fields.
    pub(in crate::s3) metadata: BTreeMap<String, String>,
    /// Checksums that were verified on receipt, in base64. The keys are the names of the algorithms as in header
    /// fields, for example `crc32`.
    pub(in crate::s3) checksums: BTreeMap<String, String>,
}

/// Header fields that are stored with an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::s3) struct Headers {
    pub(in crate::s3) content_type: Option<String>,
    pub(in crate::s3) content_encoding: Option<String>,
    pub(in crate::s3) content_disposition: Option<String>,
    pub(in crate::s3) content_language: Option<String>,
    pub(in crate::s3) cache_control: Option<String>,
}

/// A stored object.
#[derive(Debug)]
pub(in crate::s3) struct Object {
    pub(in crate::s3) info: ObjectInfo,
    pub(in crate::s3) content: Content,
    /// The number of the object's record.
    pub(super) record: u64,
}

/// A part of a multipart upload.
#[derive(Debug)]
pub(in crate::s3) struct UploadedPart {
    pub(in crate::s3) info: ObjectInfo,
    /// The digest in the ETag of the part. The ETag of the completed object is computed from these digests.
    pub(in crate::s3) md5: [u8; 16],
    pub(in crate::s3) content: Content,
}

/// An unfinished multipart upload.
#[derive(Debug)]
pub(in crate::s3) struct Upload {
    pub(in crate::s3) key: String,
    pub(in crate::s3) begun: SystemTime,
    pub(in crate::s3) headers: Headers,
    pub(in crate::s3) metadata: BTreeMap<String, String>,
    pub(in crate::s3) parts: BTreeMap<i32, Arc<UploadedPart>>,
}

/// A completed multipart upload.
#[derive(Debug)]
pub(in crate::s3) struct Completed {
    pub(in crate::s3) parts: Vec<Arc<UploadedPart>>,
    pub(in crate::s3) headers: Headers,
    pub(in crate::s3) metadata: BTreeMap<String, String>,
}

impl Upload {
    /// Returns the parts that a list of numbers and ETags selects.
    ///
    /// # Errors
    /// Fails if the parts cannot form an object: a part is missing, too small or out of order, or the list is empty.
    pub(super) fn choose(&self, named: &[(i32, Option<String>)]) -> Result<Vec<Arc<UploadedPart>>, StoreError> {
        let mut parts: Vec<Arc<UploadedPart>> = Vec::with_capacity(named.len());
        let mut before = 0;
        for (number, etag) in named {
            if *number <= before {
                return Err(StoreError::PartOrder);
            }
            before = *number;
            let part = self.parts.get(number).ok_or(StoreError::BadPart)?;
            if etag.as_ref().is_some_and(|etag| *etag != part.info.etag) {
                return Err(StoreError::BadPart);
            }
            parts.push(Arc::clone(part));
        }
        let small = |part: &Arc<UploadedPart>| part.content.bytes() < PART_BYTES_MIN;
        match parts.split_last() {
            None => Err(StoreError::BadPart),
            Some((_, others)) if others.iter().any(small) => Err(StoreError::PartTooSmall),
            Some(_) => Ok(parts),
        }
    }
}
