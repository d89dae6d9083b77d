//! Damaged objects and open uploads that a run leaves behind, in a [`JsonReport`](super::JsonReport).

use crate::escape::escape;
use measure::Enumerated;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{DAMAGED_FILE, Damaged, DamagedObject, Uploads};

/// Objects with wrong or missing content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DamagedObjects {
    /// Operations that found a damaged object.
    pub operations: u64,
    /// Different damages in `file`. An object may have several at different offsets.
    pub listed: u64,
    /// Operations whose damage is not listed because the file is full.
    pub not_listed: u64,
    /// File in the run directory: one JSON object per line, as in `first`.
    pub file: String,
    /// The first 20 damages.
    pub first: Vec<DamageRecord>,
}

/// One damage of an object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DamageRecord {
    /// Key in its bucket, or URL.
    pub object: String,
    /// Offset of the first byte that differs; null if no bytes were compared.
    pub offset: Option<u64>,
    /// Cause of the failure.
    pub cause: String,
    /// Status code of the response.
    pub status: Option<u16>,
}

/// Multipart uploads that were neither completed nor aborted when the load ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UploadsAtEnd {
    /// Uploads that were aborted then.
    pub aborted: u64,
    /// Uploads that could not be aborted and stay on the server.
    pub not_aborted: u64,
    /// Uploads that may be open: the server did not return their ID.
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
