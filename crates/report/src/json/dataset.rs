//! The JSON output of `prepare` and `cleanup`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of these formats.
const FORMAT: u32 = 2;

/// A dataset that was prepared on a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JsonPrepared {
    /// Version of this format.
    pub format: u32,
    /// Number of objects in the dataset.
    pub objects: u64,
    /// Bytes of all objects.
    pub object_bytes: u64,
    /// Number of objects that were written: all objects, or 0 if the target already had the same dataset. With
    /// `--repair`, only missing and damaged objects are written.
    pub written: u64,
    /// Number of objects that were missing or damaged and were written again; null without `--repair`.
    pub repaired: Option<u64>,
    /// Duration of reading and writing, in seconds.
    pub seconds: f64,
    /// Number of retries after a temporary failure of the server or the connection, by cause.
    pub retried: BTreeMap<String, u64>,
}

/// Numbers of objects and uploads that `cleanup` deleted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JsonCleaned {
    /// Version of this format.
    pub format: u32,
    /// Number of deleted objects of the dataset. If S3 deleted them in batches, the number includes objects that did
    /// not exist.
    pub dataset_objects: u64,
    /// Number of objects of the dataset that did not exist; null if the server does not report this.
    pub missing: Option<u64>,
    /// Number of deleted objects that `mix` had written next to the dataset.
    pub mix_objects: u64,
    /// Multipart uploads that were open below the prefix; null if the server does not list them.
    pub uploads: Option<JsonAborted>,
}

/// Multipart uploads that were open below the prefix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JsonAborted {
    /// Number of aborted uploads, all for objects of the dataset or of `mix`.
    pub aborted: u64,
    /// Number of uploads for other objects. These uploads were not aborted.
    pub others: u64,
}

impl JsonPrepared {
    /// Returns the report of a dataset before any of its objects is written.
    #[must_use]
    pub fn new(objects: u64, object_bytes: u64) -> Self {
        Self {
            format: FORMAT,
            objects,
            object_bytes,
            written: 0,
            repaired: None,
            seconds: 0.0,
            retried: BTreeMap::new(),
        }
    }
}

impl JsonCleaned {
    /// Returns a report of zero deletions, which is filled in later.
    #[must_use]
    pub fn new() -> Self {
        Self { format: FORMAT, dataset_objects: 0, missing: None, mix_objects: 0, uploads: None }
    }
}

impl Default for JsonCleaned {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the JSON Schema of [`JsonPrepared`].
#[must_use]
pub fn prepared_schema() -> serde_json::Value {
    schemars::schema_for!(JsonPrepared).to_value()
}

/// Returns the JSON Schema of [`JsonCleaned`].
#[must_use]
pub fn cleaned_schema() -> serde_json::Value {
    schemars::schema_for!(JsonCleaned).to_value()
}
