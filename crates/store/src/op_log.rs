//! The log of every operation, on request: streamed to disk, never held in memory.

use crate::error::{StoreError, StoreErrorKind};
use crate::frames::{Damage, DamageKind, FrameReader, FrameWriter, Next};
use crate::run_writer::create_new;
use measure::{AttemptClass, Cause, Instant, OpKind};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Name of the log's file.
pub const OPS_FILE: &str = "ops.jsonl.zst";
/// Bytes of lines in a frame, unless a single line is longer.
const BLOCK_BYTES: usize = 4 << 20;
/// A line is never longer; the longest record takes some 30 KB, and 700 bytes without redirects.
const LINE_BYTES_MAX: usize = 64 << 10;

/// The bytes asked for, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// Offset of the first byte.
    pub first: u64,
    /// Offset of the last byte.
    pub last: u64,
}

/// One request of an operation that was redirected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HopRecord {
    /// The host that it went to; at most 256 bytes.
    pub host: String,
    /// When its first byte was handed to the kernel.
    #[serde(rename = "sent_nanos")]
    pub sent: Option<Instant>,
    /// When its answer was complete.
    #[serde(rename = "end_nanos")]
    pub end: Instant,
    /// Status code of its answer.
    pub status: Option<u16>,
    /// All bytes received for it, with heads and framing.
    pub bytes: u64,
}

/// Requests of one operation that are kept: a line must not become too long.
pub const HOPS_KEPT_MAX: usize = 32;

/// One operation. Instants are nanoseconds on the run's clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpRecord {
    /// Its number in the order of the schedule, from 0.
    pub op: u64,
    /// What was asked.
    pub kind: OpKind,
    /// Index of its URL in the list of the run.
    pub url: u64,
    /// When it should have started.
    #[serde(rename = "intended_nanos")]
    pub intended: Instant,
    /// When the client took it.
    #[serde(rename = "started_nanos")]
    pub started: Instant,
    /// When its first byte was handed to the kernel.
    #[serde(rename = "sent_nanos")]
    pub sent: Option<Instant>,
    /// When the first byte of its final answer was read.
    #[serde(rename = "first_byte_nanos")]
    pub first_byte: Option<Instant>,
    /// When it ended.
    #[serde(rename = "end_nanos")]
    pub end: Instant,
    /// Attempts made for it.
    pub attempts: u32,
    /// Status code of its final answer.
    pub status: Option<u16>,
    /// The class in which its last attempt ended.
    pub class: AttemptClass,
    /// The cause of that.
    pub cause: Cause,
    /// Body bytes of its final answer.
    pub body_bytes: u64,
    /// All bytes received for it, with heads and framing.
    pub bytes: u64,
    /// The range asked for; `None` for whole objects.
    pub range: Option<Slice>,
    /// Nanoseconds that opening connections took; `None` when it used kept ones only.
    pub connect_nanos: Option<u64>,
    /// Nanoseconds that TLS handshakes took; absent when there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshake_nanos: Option<u64>,
    /// The slot that it ran in.
    pub slot: u32,
    /// Its requests in order, when it was redirected: the first [`HOPS_KEPT_MAX`]. Absent otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hops: Vec<HopRecord>,
}

impl OpRecord {
    /// Appends the record to `lines` as one line.
    pub fn write_line(&self, lines: &mut Vec<u8>) {
        serde_json::to_writer(&mut *lines, self).expect("a record of numbers and names is always JSON");
        lines.push(b'\n');
    }
}

/// Appends to the log of a run.
pub struct OpLogWriter {
    path: PathBuf,
    frames: FrameWriter,
    pending: Vec<u8>,
}

impl OpLogWriter {
    /// Begins the log of the run in `dir`, which must be there.
    ///
    /// # Errors
    /// [`StoreErrorKind::Exists`] when there is one; whatever the system refuses.
    pub fn create(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join(OPS_FILE);
        let file = create_new(&path)?;
        let frames = FrameWriter::new(Box::new(file)).map_err(|error| StoreError::new(&path, error))?;
        Ok(Self { path, frames, pending: Vec::new() })
    }

    /// Appends whole lines, each with its end. They are written when a frame is full.
    ///
    /// # Errors
    /// [`StoreErrorKind::TooLarge`] for a line that is no [`OpRecord`]; [`StoreError::is_full`] when there is no room
    /// left, and the lines not yet written are lost.
    pub fn append(&mut self, lines: &[u8]) -> Result<(), StoreError> {
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            let (bytes, limit) = (line.len(), LINE_BYTES_MAX);
            if bytes > limit {
                return Err(StoreError::new(&self.path, StoreErrorKind::TooLarge { bytes, limit }));
            }
            if self.pending.len() + bytes > BLOCK_BYTES {
                self.flush()?;
            }
            self.pending.extend_from_slice(line);
        }
        Ok(())
    }

    /// Hands everything appended to the system, so that a crash of this process loses none of it.
    ///
    /// # Errors
    /// [`StoreError::is_full`] when there is no room left.
    pub fn flush(&mut self) -> Result<(), StoreError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let written = self.frames.append(&self.pending);
        self.pending.clear();
        written.map_err(|error| StoreError::new(&self.path, error))
    }

    /// Writes what is left and waits until all is on the disk.
    ///
    /// # Errors
    /// Whatever the system refuses.
    pub fn end(mut self) -> Result<(), StoreError> {
        self.flush()?;
        self.frames.sync().map_err(|error| StoreError::new(&self.path, error))
    }
}

/// Reads the log of a run in order, one frame in memory at a time.
pub struct OpLogReader {
    path: PathBuf,
    frames: FrameReader<File>,
    /// Lines of the current frame, and how many bytes of them were handed out.
    lines: Vec<u8>,
    at: usize,
    /// Set when there is nothing more to read.
    over: bool,
    damage: Option<Damage>,
}

impl OpLogReader {
    /// Opens the log of the run in `dir`.
    ///
    /// # Errors
    /// Whatever the system refuses, such as a file that is not there.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join(OPS_FILE);
        let file = File::open(&path).map_err(|error| StoreError::new(&path, error))?;
        let frames = FrameReader::new(file);
        Ok(Self { path, frames, lines: Vec::new(), at: 0, over: false, damage: None })
    }

    /// Where reading had to stop, when a crash does not explain it. Known once the iteration is over.
    #[must_use]
    pub fn damage(&self) -> Option<Damage> {
        self.damage
    }

    fn load(&mut self) -> Result<(), StoreError> {
        self.at = 0;
        self.lines.clear();
        match self.frames.next().map_err(|error| StoreError::new(&self.path, error))? {
            Next::Lines(lines) => self.lines.extend_from_slice(lines),
            Next::End { .. } => self.over = true,
            Next::Damaged(damage) => (self.over, self.damage) = (true, Some(damage)),
        }
        Ok(())
    }

    fn parse(&mut self) -> Result<Option<OpRecord>, StoreError> {
        let rest = &self.lines[self.at..];
        let end = rest.iter().position(|byte| *byte == b'\n').map(|end| end + 1);
        let record = end.and_then(|end| serde_json::from_slice(&rest[..end]).ok());
        if let (Some(end), Some(_)) = (end, &record) {
            self.at += end;
        } else {
            self.over = true;
            let damage = self.frames.damage(DamageKind::Record).map_err(|error| StoreError::new(&self.path, error))?;
            self.damage = Some(damage);
        }
        Ok(record)
    }
}

impl Iterator for OpLogReader {
    type Item = Result<OpRecord, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.over && self.at == self.lines.len() {
            if let Err(error) = self.load() {
                self.over = true;
                return Some(Err(error));
            }
        }
        if self.over { None } else { self.parse().transpose() }
    }
}
