//! The optional log of all operations. The log is streamed to disk and never held in memory.

use crate::error::{StoreError, StoreErrorKind};
use crate::files::create_new;
use crate::frames::{Damage, DamageKind, FrameReader, FrameWriter, Next};
use crate::line_writer::LineWriter;
use measure::{AttemptClass, Cause, Instant, OpKind};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Name of the log's file.
pub const OPS_FILE: &str = "ops.jsonl.zst";
/// Maximum size of the lines in a frame.
const BLOCK_BYTES: usize = 4 << 20;
/// Maximum size of a line. The longest possible record takes about 30 KB. Without redirects, a record takes at most 700
/// bytes.
const LINE_BYTES_MAX: usize = 64 << 10;

/// The requested byte range, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// Offset of the first byte.
    pub first: u64,
    /// Offset of the last byte.
    pub last: u64,
}

/// One request of a redirected operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HopRecord {
    /// The host of the request, at most 256 bytes.
    pub host: String,
    /// The time at which the first byte was passed to the kernel.
    #[serde(rename = "sent_nanos")]
    pub sent: Option<Instant>,
    /// The time at which the response was complete.
    #[serde(rename = "end_nanos")]
    pub end: Instant,
    /// The status code of the response.
    pub status: Option<u16>,
    /// All bytes received, including heads and framing.
    pub bytes: u64,
}

/// Maximum number of requests per operation in the log, which limits the length of lines.
pub const HOPS_KEPT_MAX: usize = 32;

/// One operation. Instants are nanoseconds on the run's clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpRecord {
    /// The number of the operation in the schedule, from 0.
    pub op: u64,
    /// The kind of operation.
    pub kind: OpKind,
    /// Index of the URL in the list of the run.
    pub url: u64,
    /// The scheduled start.
    #[serde(rename = "intended_nanos")]
    pub intended: Instant,
    /// The actual start.
    #[serde(rename = "started_nanos")]
    pub started: Instant,
    /// The time at which the first byte was passed to the kernel.
    #[serde(rename = "sent_nanos")]
    pub sent: Option<Instant>,
    /// The time at which the first byte of the final response was read.
    #[serde(rename = "first_byte_nanos")]
    pub first_byte: Option<Instant>,
    /// The end of the operation.
    #[serde(rename = "end_nanos")]
    pub end: Instant,
    /// Number of attempts.
    pub attempts: u32,
    /// The status code of the final response.
    pub status: Option<u16>,
    /// The outcome class of the last attempt.
    pub class: AttemptClass,
    /// The cause of the outcome.
    pub cause: Cause,
    /// Body bytes of the final response.
    pub body_bytes: u64,
    /// All bytes received, including heads and framing.
    pub bytes: u64,
    /// The requested range. `None` for whole objects.
    pub range: Option<Slice>,
    /// Time to open connections in nanoseconds. `None` if all connections were reused.
    pub connect_nanos: Option<u64>,
    /// Time of TLS handshakes in nanoseconds. Absent if there was no handshake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshake_nanos: Option<u64>,
    /// The slot of the operation.
    pub slot: u32,
    /// The first [`HOPS_KEPT_MAX`] requests of a redirected operation, in order. Absent otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hops: Vec<HopRecord>,
}

impl OpRecord {
    /// Appends the record to `lines` as one line.
    pub fn write_line(&self, lines: &mut Vec<u8>) {
        serde_json::to_writer(&mut *lines, self).expect("a record of numbers and names has a JSON form");
        lines.push(b'\n');
    }
}

/// The writer of the log.
pub struct OpLogWriter {
    path: PathBuf,
    lines: LineWriter,
}

impl OpLogWriter {
    /// Creates the log of the run in the existing directory `dir`.
    ///
    /// # Errors
    /// Fails with [`StoreErrorKind::Exists`] if there is a log already, or with an error of the system.
    pub fn create(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join(OPS_FILE);
        let file = create_new(&path)?;
        let frames = FrameWriter::new(Box::new(file)).map_err(|error| StoreError::new(&path, error))?;
        Ok(Self { path, lines: LineWriter::new(frames) })
    }

    /// Appends complete lines, including their line endings. The lines are written to the file when a frame is full.
    ///
    /// # Errors
    /// Fails with [`StoreErrorKind::TooLarge`] for a line that is longer than any [`OpRecord`] can be. Also fails if
    /// the lines cannot be written. [`StoreError::is_full`] is `true` if there is no space left. The unwritten lines
    /// are lost in this case.
    pub fn append(&mut self, lines: &[u8]) -> Result<(), StoreError> {
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            let (bytes, limit) = (line.len(), LINE_BYTES_MAX);
            if bytes > limit {
                return Err(StoreError::new(&self.path, StoreErrorKind::TooLarge { bytes, limit }));
            }
            if self.lines.pending_bytes() + bytes > BLOCK_BYTES {
                self.flush()?;
            }
            self.lines.push(line);
        }
        Ok(())
    }

    /// Passes all appended lines to the kernel, so that a crash of this process cannot lose them.
    ///
    /// # Errors
    /// Fails if the lines cannot be written. [`StoreError::is_full`] is `true` if there is no space left.
    pub fn flush(&mut self) -> Result<(), StoreError> {
        self.lines.flush().map_err(|error| StoreError::new(&self.path, error))
    }

    /// Writes the remaining lines and waits until all data is on the disk.
    ///
    /// # Errors
    /// Fails with an error of the system.
    pub fn end(mut self) -> Result<(), StoreError> {
        self.lines.end().map_err(|error| StoreError::new(&self.path, error))
    }
}

/// The reader of the log. Keeps one frame in memory.
pub struct OpLogReader {
    path: PathBuf,
    frames: FrameReader<File>,
    /// Lines of the current frame.
    lines: Vec<u8>,
    /// Offset of the next line.
    at: usize,
    /// `true` if the end was reached.
    over: bool,
    damage: Option<Damage>,
}

impl OpLogReader {
    /// Opens the log of the run in `dir`.
    ///
    /// # Errors
    /// Fails with an error of the system, such as a missing file.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join(OPS_FILE);
        let file = File::open(&path).map_err(|error| StoreError::new(&path, error))?;
        let frames = FrameReader::new(file);
        Ok(Self { path, frames, lines: Vec::new(), at: 0, over: false, damage: None })
    }

    /// Returns the damage at which reading stopped, unless a crash explains the damage. Call this after the last item.
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
