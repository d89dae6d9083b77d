//! Damaged objects and open uploads that a run leaves behind, in a [`JsonReport`](super::JsonReport).

use crate::escape::escape;
use measure::Enumerated;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{DAMAGED_FILE, Damaged, DamagedObject, Uploads};

/// Objects with wrong or missing content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DamagedObjects {
    /// Number of operations that found a damaged object.
    pub operations: u64,
    /// Number of damaged places that `file` lists. One object can have several, at different offsets.
    pub listed: u64,
    /// Number of operations whose damage is not listed, because `file` has reached its maximum size.
    pub not_listed: u64,
    /// File in the run directory. The file has one JSON object per line, in the format of `first`.
    pub file: String,
    /// The first damages of the file, at most 20.
    pub first: Vec<DamageRecord>,
}

/// Damage found in an object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DamageRecord {
    /// Key within the bucket, or URL.
    pub object: String,
    /// Offset of the first wrong byte; null if no bytes were compared.
    pub offset: Option<u64>,
    /// Cause of the failure.
    pub cause: String,
    /// Status code of the response.
    pub status: Option<u16>,
}

/// Multipart uploads that were neither completed nor aborted when the load ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UploadsAtEnd {
    /// Number of uploads that were then aborted.
    pub aborted: u64,
    /// Number of uploads that could not be aborted. These uploads remain on the server.
    pub not_aborted: u64,
    /// Number of uploads that may still be open. This is unknown, because the server did not return their ID.
    pub possibly_open: u64,
}

impl From<&Damaged> for DamagedObjects {
    fn from(damaged: &Damaged) -> Self {
        let Damaged { operations, listed, beyond, ref first } = *damaged;
        Self {
            operations,
            listed,
            not_listed: beyond,
            file: DAMAGED_FILE.into(),
            first: first.iter().map(Into::into).collect(),
        }
    }
}

impl From<&DamagedObject> for DamageRecord {
    fn from(found: &DamagedObject) -> Self {
        let DamagedObject { ref object, offset, cause, status } = *found;
        Self { object: escape(object), offset, cause: cause.name().into(), status }
    }
}

impl From<&Uploads> for UploadsAtEnd {
    fn from(uploads: &Uploads) -> Self {
        let Uploads { aborted, left, unknown } = *uploads;
        Self { aborted, not_aborted: left, possibly_open: unknown }
    }
}
