//! The store behind the S3 calls, and the fault that loses objects.

use std::sync::Arc;

use super::content::Content;
use super::store::Store;
use super::store::error::StoreError;
use super::store::objects::ObjectInfo;
use crate::faults::FaultInjector;

/// The store behind the S3 calls.
pub(super) struct Backend {
    pub(super) store: Store,
    pub(super) faults: Arc<FaultInjector>,
}

impl Backend {
    /// Stores an object, unless the fault injector loses it. The caller acknowledges the object in both cases.
    pub(super) fn put(&self, bucket: &str, key: &str, info: ObjectInfo, content: Content) -> Result<(), StoreError> {
        if self.faults.loses_next_object() { Ok(()) } else { self.store.put(bucket, key, info, content) }
    }
}
