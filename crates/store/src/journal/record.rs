//! Records of the journal.

/// Upper limit of object numbers. All numbers are below this limit.
pub const OBJECTS_MAX: u64 = 1 << 32;
/// Maximum number of objects in one record. Larger batches become several records.
pub const BATCH_MAX: usize = 4096;
/// Maximum size of a text in bytes. Longer texts are cut.
pub const TEXT_BYTES_MAX: usize = 1024;
/// Maximum size of an upload ID in bytes.
pub const UPLOAD_ID_BYTES_MAX: usize = 1024;
/// Maximum size of the name of a class or a cause in bytes. Longer names are cut.
pub const NAME_BYTES_MAX: usize = 64;

/// A record of the journal. Records identify objects by their number in the dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// The start of the command.
    SessionStarted {
        /// Number of the session, from 1.
        session: u32,
        /// Wall time in milliseconds since 1970.
        unix_ms: u64,
    },
    /// The orderly end of a session.
    SessionEnded {
        /// Number of the session.
        session: u32,
        /// Wall time in milliseconds since 1970.
        unix_ms: u64,
        /// The reason.
        reason: SessionEnd,
    },
    /// The reservation of object numbers. After this record, the uploads of these objects may start.
    Intend {
        /// The first number.
        first: u64,
        /// The number after the last one.
        end: u64,
    },
    /// A multipart upload that the server has created.
    UploadCreated {
        /// Number of the object.
        number: u64,
        /// The server's ID of the upload.
        upload_id: String,
    },
    /// A multipart upload that was completed or aborted. The object may have other uploads.
    UploadGone {
        /// Number of the object.
        number: u64,
        /// The server's ID of the upload.
        upload_id: String,
    },
    /// Objects that the server has stored.
    Acked(Vec<AckedObject>),
    /// Objects whose upload failed in all attempts.
    Failed(Vec<FailedObject>),
    /// Objects that were read back.
    Verified(Vec<VerifiedObject>),
    /// Objects that the server has deleted.
    Deleted(Vec<u64>),
    /// Objects that the server did not delete despite a request.
    NotDeleted(Vec<u64>),
    /// A sign that the session still runs.
    Alive {
        /// Time since the start of the session by a monotonic clock, in milliseconds.
        active_ms: u64,
    },
    /// Attempts of this session that are neither in a [`Self::Acked`] nor in a [`Self::Failed`] record. Replaces the
    /// previous record of this kind in the session.
    Unsettled(Unsettled),
    /// A stop rule or limit that has changed since the previous session.
    RuleChanged {
        /// Wall time in milliseconds since 1970.
        unix_ms: u64,
        /// Description of the change.
        text: String,
    },
    /// A notable event.
    Event {
        /// Wall time in milliseconds since 1970.
        unix_ms: u64,
        /// Description of the event.
        text: String,
    },
}

/// The reason why a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionEnd {
    /// The session has stored, verified or deleted all objects, depending on its task.
    Finished,
    /// The user interrupted the session.
    Interrupted,
    /// A stop rule fired.
    StopRule {
        /// The rule.
        text: String,
    },
    /// The target did not respond for too long.
    TargetGone,
    /// The target refused many objects in a row.
    Refused,
    /// The disk of the fill directory is full.
    DiskFull,
    /// Another error ended the session.
    Failed,
}

/// The server's message that shows that an object is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The response to the upload.
    Response,
    /// The object was found at the server when the fill was resumed.
    FoundOnResume,
}

/// An object that the server has stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckedObject {
    /// Number of the object.
    pub number: u64,
    /// Number of attempts.
    pub attempts: u32,
    /// Bytes of content that all attempts sent.
    pub sent_bytes: u64,
    /// Size of the object.
    pub file_bytes: u64,
    /// Shows why the object counts as stored.
    pub evidence: Evidence,
}

/// An object whose upload failed in all attempts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedObject {
    /// Number of the object.
    pub number: u64,
    /// Number of attempts.
    pub attempts: u32,
    /// Bytes of content that all attempts sent.
    pub sent_bytes: u64,
    /// Name of the class of the last attempt.
    pub class: String,
    /// Name of the cause of the last attempt.
    pub cause: String,
}

/// Attempts that a session made for uploads that have no result. These uploads are in flight, were cut off, or are not
/// confirmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unsettled {
    /// Number of attempts.
    pub attempts: u64,
    /// Bytes of content that these attempts sent.
    pub sent_bytes: u64,
}

/// An object that was read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerifiedObject {
    /// Number of the object.
    pub number: u64,
    /// The result of reading the object back.
    pub result: Verification,
}

/// The result of reading an object back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verification {
    /// The right content.
    Good,
    /// No object.
    Missing,
    /// Wrong content.
    Damaged {
        /// Offset of the first wrong byte.
        offset: u64,
    },
    /// Not comparable, because the local file has changed since its upload.
    ChangedSource,
    /// Unknown, because the server refused the request, or all attempts failed.
    Unknown,
}
