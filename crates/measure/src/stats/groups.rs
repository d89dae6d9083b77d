//! Results broken down by host, by size, by the value of a response header, and by first or repeated access.

use super::label::Label;
use crate::enumerated;
use crate::values::{Distribution, add};
use serde::{Deserialize, Serialize};

/// Maximum number of values of one dimension that are kept when results are merged. Each thread keeps fewer values
/// ([`super::label::VALUES_OF_A_THREAD`]). This limit is therefore reached only if many threads have different values,
/// or in a damaged record.
pub const GROUPS_MAX: usize = 256;

enumerated! {
    /// Property by which results are broken down.
    pub enum Dimension {
        Host => "host", "host of the URL";
        Size => "size", "size of the body";
        Header => "header", "value of a response header";
        Access => "access", "first or repeated access of the object";
    }
}

/// Results of the measured operations that share a label.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct GroupStats {
    /// Operations that succeeded.
    pub ok: u64,
    /// Operations that failed or were unfinished.
    pub failed: u64,
    /// Body bytes of the operations that succeeded.
    pub ok_bytes: u64,
    /// Response times of the operations that succeeded, in nanoseconds.
    pub response: Distribution,
}

impl GroupStats {
    pub(super) fn merge(&mut self, other: &Self) {
        let Self { ok, failed, ok_bytes, response } = other;
        add(&mut self.ok, *ok);
        add(&mut self.failed, *failed);
        add(&mut self.ok_bytes, *ok_bytes);
        self.response.merge(response);
    }
}

/// A label with its results.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Group {
    /// Dimension of the label.
    pub dimension: Dimension,
    /// Label. [`Label::Other`] contains all values beyond the first [`GROUPS_MAX`].
    pub label: Label,
    /// Results of the operations with this label.
    pub stats: GroupStats,
}
