//! What a run leaves to be looked after, in a [`JsonReport`](super::JsonReport).

use crate::escape::escape;
use measure::Enumerated;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{DAMAGED_FILE, Damaged, DamagedObject, Uploads};

/// Objects whose content was wrong or missing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DamagedObjects {
    /// Operations that found one, each time.
    pub operations: u64,
    /// Different damages that `file` lists: an object may have several, at different offsets.
    pub listed: u64,
    /// Operations whose damage is not listed, because the file is full.
    pub beyond: u64,
    /// File in the run directory: one object of JSON a line, in the form of `first`.
    pub file: String,
    /// The first 20.
    pub first: Vec<DamageFound>,
}

/// One damage of an object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DamageFound {
    /// Key in its bucket, or URL.
    pub object: String,
    /// Offset of the first byte that differs; null where no bytes were compared.
    pub offset: Option<u64>,
    /// What was found.
    pub cause: String,
    /// Status code of the response.
    pub status: Option<u16>,
}

/// Multipart uploads that were neither completed nor aborted when the load ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UploadsAtEnd {
    /// Those that were aborted then.
    pub aborted: u64,
    /// Those that could not be aborted and stay at the server.
    pub left: u64,
    /// Those that may be open as well: the server did not say their ID.
    pub unknown: u64,
}

impl From<&Damaged> for DamagedObjects {
    fn from(damaged: &Damaged) -> Self {
        let Damaged { operations, listed, beyond, ref first } = *damaged;
        Self { operations, listed, beyond, file: DAMAGED_FILE.into(), first: first.iter().map(Into::into).collect() }
    }
}

impl From<&DamagedObject> for DamageFound {
    fn from(found: &DamagedObject) -> Self {
        let DamagedObject { ref object, offset, cause, status } = *found;
        Self { object: escape(object), offset, cause: cause.name().into(), status }
    }
}

impl From<&Uploads> for UploadsAtEnd {
    fn from(uploads: &Uploads) -> Self {
        let Uploads { aborted, left, unknown } = *uploads;
        Self { aborted, left, unknown }
    }
}
