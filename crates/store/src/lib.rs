//! Run directories. Run directories are written during a run, and can be read at any time, even after a crash.
//!
//! A short run is one append-only file of JSON lines in independent zstd frames. `zstd -dc | jq` can read the file. A
//! `kill -9` loses at most the frame that was being written. This crate does not interpret the numbers. The crate
//! `measure` merges them, and the crate `report` shows them.
//!
//! ```text
//! runs/20261121-023000-localhost_8080/
//!   records.jsonl.zst   {"begin":…} {"interval":…} … {"end":…}
//!   records-000002.jsonl.zst   records of the second quarter of an hour, and so on; old intervals become longer
//!   snapshot.jsonl.zst  the sum of all complete files of records
//!   ops.jsonl.zst       every operation, with --log-ops
//!   collected.zst       values that were polled during the run, with --collect
//!   damaged.jsonl       objects with wrong or missing content, if any
//!   study.jsonl         in the directory of a study: the cell, target and repeat of each run below it
//!   reserve             space for the end record on a full disk, removed at the end of the run
//! ```

mod client_shares;
mod collected;
mod damaged_objects;
pub mod directory_name;
mod error;
mod files;
pub mod fill_directory;
mod fleet;
mod frames;
pub mod journal;
mod line_writer;
mod op_log;
mod record;
mod record_reader;
mod roll_up;
mod run_writer;
mod saved_run;
pub mod segments;
mod snapshot;
mod study_log;
mod utc;

pub use collected::{
    COLLECTED_FILE, Collected, CollectedBegin, CollectedRecord, CollectedWriter, SOURCES_MAX, for_each_collected,
    read_collected,
};
pub use damaged_objects::DamagedWriter;
pub use error::{StoreError, StoreErrorKind};
pub use fill_directory::SavedFill;
pub use fleet::{AGENTS_MAX, ClockDrift, Fleet, FleetAgent, FleetPart, Scaling};
pub use frames::{Damage, DamageKind, FRAME_BYTES_MAX, Tail};
pub use op_log::{HOPS_KEPT_MAX, HopRecord, OPS_FILE, OpLogReader, OpLogWriter, OpRecord, Slice};
pub use record::{
    Begin, DAMAGED_FILE, DAMAGED_LISTED_MAX, DAMAGED_SHOWN_MAX, Damaged, DamagedObject, End, EndReason, FORMAT, Host,
    LevelStage, Levels, Record, Segment, Server, Tls, Uploads,
};
pub use record_reader::{INTERVALS_MAX, RunRecords, for_each_record, read_records};
pub use roll_up::{RollUpRules, Step};
pub use run_writer::{NewRun, RESERVE_FILE, RecordCopy, RunWriter};
pub use saved_run::{Point, SavedRun};
pub use segments::RECORDS_FILE;
pub use snapshot::SNAPSHOT_FILE;
pub use study_log::{STUDY_FILE, StudyLog, StudyRecord, read_study};
pub use utc::Utc;
