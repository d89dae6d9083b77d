//! The journal of a fill. The journal records started uploads, stored objects, and the end of each session.
//!
//! A record counts as soon as it is on the disk. Before the first request of an upload, the intent of the upload is on
//! the disk. The intent is a record that the upload may start. The acknowledgement of an upload is on the disk before
//! any total includes the upload. After a crash, objects whose uploads were intended but not acknowledged are "in
//! doubt". The next session can ask the server whether these objects exist.
//!
//! The journal consists of append-only segments. A failed write or sync ends its segment. On Linux, the pages of a
//! failed sync count as clean, so a second sync would succeed without writing them (Rebello et al., ATC 2020). The
//! records of the failed sync are therefore written again, to the next segment. The header of the next segment states
//! where the valid part of the failed segment ends, so the remains of the first attempt do not count. In the same way,
//! a resumed fill repeats the last records of the previous session, because they may have been in memory only.

mod active_time;
mod disk;
mod encoding;
mod history;
mod number_set;
mod payload;
mod read;
mod record;
mod replay;
mod segment;
mod source;
mod state;
#[cfg(test)]
mod tests;
mod uploads;
mod writer;

pub use active_time::{ALIVE_EVERY, ActiveTime};
pub use history::{Column, History};
pub use number_set::NumberSet;
pub(crate) use payload::{Fields, Malformed, put_bytes, put_number, put_signed};
pub use read::{Entry, Extent};
pub use record::{
    AckedObject, BATCH_MAX, Evidence, FailedObject, NAME_BYTES_MAX, OBJECTS_MAX, Record, SessionEnd, TEXT_BYTES_MAX,
    UPLOAD_ID_BYTES_MAX, Unsettled, Verification, VerifiedObject,
};
pub use replay::{Replay, for_each_entry, replay, replay_bytes};
pub use segment::{FORMAT, SEGMENT_BYTES_MAX};
pub use state::{
    DAMAGED_MAX, EVENTS_MAX, Event, EventKind, FAILURE_KINDS_MAX, FillState, Gap, SESSIONS_MAX, Session, Totals,
    Verified,
};
pub use uploads::{OPEN_UPLOADS_MAX, OpenUploads};
pub use writer::{JournalWriter, PENDING_BYTES_MAX};
