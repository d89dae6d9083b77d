//! What `prepare --json` and `cleanup --json` print.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of these formats.
const FORMAT: u32 = 1;

/// A dataset that was prepared on a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JsonPrepared {
    /// Version of this format, the same as that of a run.
    pub format: u32,
    /// Objects of the dataset.
    pub objects: u64,
    /// Bytes of all of them.
    pub object_bytes: u64,
    /// Objects that were written now: all of them, or none where the same dataset was there already.
    pub written: u64,
    /// How long writing took, in seconds.
    pub seconds: f64,
    /// Requests that were repeated because the server or the connection failed for the moment, by cause.
    pub repeated: BTreeMap<String, u64>,
}

/// What `cleanup` deleted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JsonCleaned {
    /// Version of this format, the same as that of a run.
    pub format: u32,
    /// Objects of the dataset that are gone now. With batches of S3, those that had not been there are among them.
    pub dataset_objects: u64,
    /// Objects of the dataset that had not been there; null where the server does not tell.
    pub missing: Option<u64>,
    /// Objects that `mix` had written next to the dataset and that are gone now.
    pub mixed_objects: u64,
    /// Multipart uploads of these objects that were open; null where the server does not list them.
    pub uploads: Option<JsonAborted>,
}

/// Multipart uploads that were open below the prefix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JsonAborted {
    /// Uploads of objects that are ours, which were aborted.
    pub aborted: u64,
    /// Uploads of other objects, which were left alone.
    pub others: u64,
}

impl JsonPrepared {
    /// A dataset of which nothing was written yet.
    #[must_use]
    pub fn new(objects: u64, object_bytes: u64) -> Self {
        Self { format: FORMAT, objects, object_bytes, written: 0, seconds: 0.0, repeated: BTreeMap::new() }
    }
}

impl JsonCleaned {
    /// Nothing was deleted yet.
    #[must_use]
    pub fn new() -> Self {
        Self { format: FORMAT, dataset_objects: 0, missing: None, mixed_objects: 0, uploads: None }
    }
}

impl Default for JsonCleaned {
    fn default() -> Self {
        Self::new()
    }
}

/// The JSON Schema of [`JsonPrepared`].
#[must_use]
pub fn prepared_schema() -> serde_json::Value {
    schemars::schema_for!(JsonPrepared).to_value()
}

/// The JSON Schema of [`JsonCleaned`].
#[must_use]
pub fn cleaned_schema() -> serde_json::Value {
    schemars::schema_for!(JsonCleaned).to_value()
}
