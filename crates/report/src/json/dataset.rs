//! The JSON of `prepare` and `cleanup`.

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
    /// Objects of the dataset.
    pub objects: u64,
    /// Bytes of all objects.
    pub object_bytes: u64,
    /// Objects that were written: all, or none if the same dataset was there already.
    pub written: u64,
    /// Duration of writing.
    pub seconds: f64,
    /// Requests that were retried after a temporary failure of the server or the connection, by cause.
    pub retried: BTreeMap<String, u64>,
}

/// Objects that `cleanup` deleted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JsonCleaned {
    /// Version of this format.
    pub format: u32,
    /// Objects of the dataset that are gone now. Batch deletion in S3 counts objects that did not exist as well.
    pub dataset_objects: u64,
    /// Objects of the dataset that did not exist; null if the server does not report it.
    pub missing: Option<u64>,
    /// Objects that `mix` wrote next to the dataset and that are gone now.
    pub mix_objects: u64,
    /// Open multipart uploads below the prefix; null if the server does not list them.
    pub uploads: Option<JsonAborted>,
}

/// Multipart uploads that were open below the prefix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JsonAborted {
    /// Uploads of these objects, which were aborted.
    pub aborted: u64,
    /// Uploads of other objects, which were left alone.
    pub others: u64,
}

impl JsonPrepared {
    /// Returns a dataset of which nothing was written yet.
    #[must_use]
    pub fn new(objects: u64, object_bytes: u64) -> Self {
        Self { format: FORMAT, objects, object_bytes, written: 0, seconds: 0.0, retried: BTreeMap::new() }
    }
}

impl JsonCleaned {
    /// Returns the report before anything was deleted.
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
