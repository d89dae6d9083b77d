//! The run directory: append while the run goes on, and read what a crash left.
//!
//! A run is one append-only file of JSON lines in independent zstd frames, so that `zstd -dc | jq` reads it and a
//! `kill -9` costs at most the frame that was being written. Numbers are folded by `measure` and shown by `report`;
//! nothing here knows what they mean.
//!
//! ```text
//! runs/20261121-023000-localhost_8080/
//!   records.jsonl.zst   {"begin":…} {"interval":…} … {"end":…}
//!   ops.jsonl.zst       every operation, on request
//!   damaged.jsonl       objects whose content was wrong or missing, if there were any
//!   study.jsonl         in the directory of a study: which runs below it were run for what
//!   reserve             room for the end record on a full disk; gone when the run is over
//! ```

mod damaged;
mod error;
mod frames;
mod op_log;
mod record;
mod run_writer;
pub mod runs;
mod saved;
mod study_log;

pub use damaged::DamagedWriter;
pub use error::{StoreError, StoreErrorKind};
pub use frames::{Damage, DamageKind, FRAME_BYTES_MAX};
pub use op_log::{HOPS_KEPT_MAX, HopRecord, OPS_FILE, OpLogReader, OpLogWriter, OpRecord, Slice};
pub use record::{
    Begin, DAMAGED_FILE, DAMAGED_LISTED_MAX, DAMAGED_SHOWN_MAX, Damaged, DamagedObject, End, EndReason, FORMAT, Host,
    LevelStage, Levels, Record, Server, Tls, Uploads,
};
pub use run_writer::{RECORDS_FILE, RESERVE_FILE, RunWriter};
pub use saved::{INTERVALS_MAX, Point, SavedRun, Tail, for_each_record, read_records};
pub use study_log::{STUDY_FILE, StudyLog, StudyRecord, read_study};
