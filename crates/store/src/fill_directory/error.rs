//! Errors of the files of a fill.

use thiserror::Error;

/// The reason why an operation on the files of a fill failed.
#[derive(Debug, Error)]
pub enum FillError {
    /// Another process uses the fill.
    #[error("another process{} is using this fill; wait until it exits, or stop it", in_parentheses(*pid))]
    InUse {
        /// Process ID of the other process, if the lock file contains one.
        pid: Option<u32>,
    },
    /// The directory is not empty, and `plimsoll fill` did not make it.
    #[error("the directory is not empty, and `plimsoll fill` did not make it; choose another directory")]
    NotEmpty,
    /// The directory does not contain a fill.
    #[error("not a fill, because it contains no {}", super::IDENTITY_FILE)]
    NotAFill,
    /// The fill was started with other settings.
    #[error(
        "the fill in this directory has other settings ({differences}); use another --out, or the same flags as before"
    )]
    OtherSettings {
        /// The settings that differ, with both values.
        differences: String,
    },
    /// The segment or manifest belongs to another fill.
    #[error("belongs to another fill; put back the file of this fill, or use another --out")]
    OtherFill,
    /// The file has damage that a crash does not explain.
    #[error("damaged at byte {at_byte} ({flaw}); restore the file from a copy, or start again with another --out")]
    Damaged {
        /// Offset of the damage.
        at_byte: u64,
        /// A description of the damage, as a noun phrase.
        flaw: &'static str,
    },
    /// A record has a type that this version does not know.
    #[error(
        "a newer version wrote the record of unknown type {kind} at byte {at_byte}; resume the fill with that version"
    )]
    UnknownRecord {
        /// The type.
        kind: u8,
        /// Offset of the record.
        at_byte: u64,
    },
    /// A segment is missing, although a later segment follows it.
    #[error("missing, although a later segment exists; restore the file, or start again with another --out")]
    MissingSegment,
    /// Two segments have the same number.
    #[error("another directory has a segment with the same number; name only the directories of this fill")]
    DuplicateSegment,
    /// There are more segments than any fill creates.
    #[error("more than {limit} segments")]
    TooManySegments {
        /// The limit.
        limit: usize,
    },
    /// A write or sync of the segment failed earlier, so nothing can be added to this segment.
    #[error("an earlier write or sync of this segment failed, so {pending_records} records are not on the disk")]
    SegmentFailed {
        /// Number of records that are not durable.
        pending_records: u64,
    },
    /// Too many records wait for the next sync.
    #[error("records of {limit} bytes wait to be written; sync before adding more")]
    TooMuchPending {
        /// The limit.
        limit: usize,
    },
    /// An upload ID is above the size limit.
    #[error("an upload ID of {bytes} bytes is above the limit of {limit} bytes")]
    UploadIdTooLong {
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// An object number is above the limit.
    #[error("the object number {number} is above the limit of {limit} objects")]
    TooManyObjects {
        /// The number.
        number: u64,
        /// The limit.
        limit: u64,
    },
    /// A manifest cannot contain this path.
    #[error("the path {path:?} {flaw}")]
    BadPath {
        /// The path, with replacement characters.
        path: String,
        /// The reason, as a predicate.
        flaw: &'static str,
    },
    /// The name of a snapshot is not a plain file name.
    #[error("the snapshot name {name:?} must have 1 to {} letters, digits and dashes", super::NAME_BYTES_MAX)]
    BadName {
        /// The name.
        name: String,
    },
}

fn in_parentheses(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" (pid {pid})"))
}

#[cfg(test)]
pub(super) mod tests {
    use super::FillError;
    use crate::error::{StoreError, StoreErrorKind};

    pub fn fill_error(error: StoreError) -> FillError {
        match error.kind {
            StoreErrorKind::Fill(error) => error,
            kind => panic!("{kind}"),
        }
    }
}
