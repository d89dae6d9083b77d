//! The directory of a fill: identity, lock, journal, sessions, snapshots.
//!
//! ```text
//! fill.json        the settings of the fill; written once
//! files.zst        the files of a tree, with --from
//! lock             locked while a session runs; contains its process ID
//! journal/         000001.wal and so on
//! sessions/0001/   the runs of each start of the command: upload, verify, delete
//! ledger-*.json    snapshots of the target's ledger
//! ledger.csv       samples of the target's ledger
//! ```

mod directory;
mod error;
mod identity;
mod lock;
mod manifest_index;
mod manifest_reader;
mod manifest_writer;
mod saved_fill;
mod snapshot;

pub use directory::{FillDirectory, Origin, Reservation, sessions, snapshots};
pub use error::FillError;
pub use identity::{FORMAT, Identity, Share};
pub use manifest_index::{FileRange, ManifestIndex};
pub use manifest_reader::ManifestReader;
pub use manifest_writer::{
    FRAME_ENTRIES_MAX, FileEntry, MANIFEST_FILE, ManifestSummary, ManifestWriter, PATH_BYTES_MAX,
};
pub use saved_fill::SavedFill;
pub use snapshot::{NAME_BYTES_MAX, Snapshot};

/// Name of the file with the identity.
pub const IDENTITY_FILE: &str = "fill.json";
/// Name of the file that is locked.
pub const LOCK_FILE: &str = "lock";
/// Name of the directory of segments.
pub const JOURNAL_DIRECTORY: &str = "journal";
/// Name of the table with samples of the target's ledger.
pub const LEDGER_FILE: &str = "ledger.csv";
/// Name of the directory of sessions.
pub const SESSIONS_DIRECTORY: &str = "sessions";
