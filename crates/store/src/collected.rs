//! The file of collected values, with one record per poll.
//!
//! The file is in a run directory, or in a separate directory. Each start of a collector appends a begin record, and
//! each poll appends a record. A collector can therefore be stopped and started again with the same file.

use crate::error::{StoreError, StoreErrorKind};
use crate::files::{self, create_new};
use crate::frames::{Damage, DamageKind, FRAME_BYTES_MAX, FrameReader, FrameWriter, Next, Tail};
use crate::line_writer::LineWriter;
use crate::record::Versioned;
use measure::series::{COLUMNS_MAX, Column, Poll, Series};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Name of the file.
pub const COLLECTED_FILE: &str = "collected.zst";
/// Version of the format.
const COLLECTED_FORMAT: u32 = 1;
/// Maximum number of sources.
pub const SOURCES_MAX: usize = 64;
/// When the pending lines have reached this size, in bytes, they are written as a frame.
const BLOCK_BYTES: usize = 256 << 10;
/// Maximum time between two writes. A crash of this process loses the polls since the last write.
const FLUSH_EVERY: Duration = Duration::from_secs(5);

/// The start of a collector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectedBegin {
    /// Version of the format.
    pub format: u32,
    /// Version of the program.
    pub version: String,
    /// Wall time, in milliseconds since 1970, at which the clock of the polls is zero.
    pub started_unix_ms: u64,
    /// Time between two polls in milliseconds.
    pub every_ms: u64,
    /// Descriptions of the sources in the order of [`Poll::sources`], without secrets.
    pub sources: Vec<String>,
    /// Columns of the series.
    pub columns: Vec<Column>,
}

impl CollectedBegin {
    /// Creates the begin record of a collector.
    #[must_use]
    pub fn new(started_unix_ms: u64, every: Duration, sources: Vec<String>, columns: Vec<Column>) -> Self {
        let every_ms = u64::try_from(every.as_millis()).unwrap_or(u64::MAX);
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Self { format: COLLECTED_FORMAT, version, started_unix_ms, every_ms, sources, columns }
    }

    fn is_sound(&self) -> bool {
        let named = self.columns.iter().all(|column| Column::is_name(&column.name));
        named && self.columns.len() <= COLUMNS_MAX && self.sources.len() <= SOURCES_MAX
    }
}

/// A record of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CollectedRecord {
    /// The start of a collector.
    Begin(Box<CollectedBegin>),
    /// A poll.
    Poll(Box<Poll>),
}

/// The writer of the file.
pub struct CollectedWriter {
    path: PathBuf,
    lines: LineWriter,
    /// A second handle of the same file, which holds the lock.
    _lock: File,
    flushed: Instant,
}

impl CollectedWriter {
    /// Creates the file in the existing directory `dir`.
    ///
    /// # Errors
    /// Fails with [`StoreErrorKind::Exists`] if the file already exists, or with an error of the system.
    pub fn create(dir: &Path, begin: &CollectedBegin) -> Result<Self, StoreError> {
        let path = dir.join(COLLECTED_FILE);
        let file = create_new(&path)?;
        Self::start(path, file, 0, begin)
    }

    /// Opens the file in `dir` for appending, and removes an incomplete last frame. Creates the file if it is missing.
    ///
    /// # Errors
    /// Fails with [`StoreErrorKind::OtherColumns`] if the file has other columns, with [`StoreErrorKind::Damaged`] if
    /// it is damaged, or with an error of the system.
    pub fn resume(dir: &Path, begin: &CollectedBegin) -> Result<Self, StoreError> {
        let path = dir.join(COLLECTED_FILE);
        if !path.exists() {
            fs::create_dir_all(dir).map_err(|error| StoreError::new(dir, error))?;
            return Self::create(dir, begin);
        }
        let mut other = false;
        let tail = for_each_collected(dir, |record| {
            other |= matches!(record, CollectedRecord::Begin(found) if found.columns != begin.columns);
        })?;
        if other {
            return Err(StoreError::new(&path, StoreErrorKind::OtherColumns));
        }
        if let Some(damage) = tail.damage {
            return Err(StoreError::new(&path, StoreErrorKind::Damaged { about: damage.kind.about() }));
        }
        let open = || -> io::Result<(File, u64)> {
            let file = OpenOptions::new().append(true).open(&path)?;
            let whole = file.metadata()?.len().saturating_sub(tail.torn_bytes);
            Ok((file, whole))
        };
        let (file, whole) = open().map_err(|error| StoreError::new(&path, error))?;
        Self::start(path, file, whole, begin)
    }

    /// Truncates the file to its first `whole` bytes, and appends the begin record.
    fn start(path: PathBuf, file: File, whole: u64, begin: &CollectedBegin) -> Result<Self, StoreError> {
        let lock = file.try_clone().map_err(|error| StoreError::new(&path, error))?;
        files::lock(&lock, &path)?;
        file.set_len(whole).map_err(|error| StoreError::new(&path, error))?;
        let mut frames = FrameWriter::new(Box::new(file)).map_err(|error| StoreError::new(&path, error))?;
        frames.set_len(whole);
        let mut writer = Self { path, lines: LineWriter::new(frames), _lock: lock, flushed: Instant::now() };
        writer.line(&CollectedRecord::Begin(Box::new(begin.clone())))?;
        writer.flush()?;
        Ok(writer)
    }

    /// Appends a poll. Polls are written to the file together, about every five seconds.
    ///
    /// # Errors
    /// Fails if the polls cannot be written. [`StoreError::is_full`] is `true` if there is no space left. The unwritten
    /// polls are lost in this case.
    pub fn append(&mut self, poll: Poll) -> Result<(), StoreError> {
        self.line(&CollectedRecord::Poll(Box::new(poll)))?;
        if self.lines.pending_bytes() >= BLOCK_BYTES || self.flushed.elapsed() >= FLUSH_EVERY {
            self.flush()?;
        }
        Ok(())
    }

    /// Passes all appended polls to the kernel, so that a crash of this process cannot lose them.
    ///
    /// # Errors
    /// Fails if the polls cannot be written. [`StoreError::is_full`] is `true` if there is no space left.
    pub fn flush(&mut self) -> Result<(), StoreError> {
        self.flushed = Instant::now();
        self.lines.flush().map_err(|error| StoreError::new(&self.path, error))
    }

    /// Writes the remaining polls and waits until all data is on the disk.
    ///
    /// # Errors
    /// Fails with an error of the system.
    pub fn end(mut self) -> Result<(), StoreError> {
        self.lines.end().map_err(|error| StoreError::new(&self.path, error))
    }

    fn line(&mut self, record: &CollectedRecord) -> Result<(), StoreError> {
        let pushed = self.lines.push_record(record, FRAME_BYTES_MAX - BLOCK_BYTES);
        pushed.map_err(|kind| StoreError::new(&self.path, kind))
    }
}

/// Passes every record of the file in `dir` to `take`, in order. Only one frame is in memory at a time.
///
/// # Errors
/// Fails with an error of the system, such as a missing file, or with [`StoreErrorKind::Format`] for other formats.
/// Damage is not an error: it ends the reading, and the returned [`Tail`] describes it.
pub fn for_each_collected(dir: &Path, take: impl FnMut(CollectedRecord)) -> Result<Tail, StoreError> {
    let path = dir.join(COLLECTED_FILE);
    let file = crate::record_reader::open(dir, &path)?;
    read_collected(file, take).map_err(|kind| StoreError::new(&path, kind))
}

/// Passes every record to `take`, like [`for_each_collected`], but reads the bytes of the file from `input`.
///
/// # Errors
/// Fails like [`for_each_collected`].
pub fn read_collected(input: impl io::Read, mut take: impl FnMut(CollectedRecord)) -> Result<Tail, StoreErrorKind> {
    let mut frames = FrameReader::new(input);
    let mut columns: Option<usize> = None;
    loop {
        let lines = match frames.next()? {
            Next::Lines(lines) => lines,
            Next::End { torn_bytes } => return Ok(Tail { torn_bytes, damage: None }),
            Next::Damaged(damage) => return Ok(Tail { torn_bytes: 0, damage: Some(damage) }),
        };
        let mut wrong = None;
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            match parse(line, &mut columns)? {
                Ok(record) => take(record),
                Err(kind) => {
                    wrong = Some(kind);
                    break;
                }
            }
        }
        if let Some(kind) = wrong {
            return Ok(Tail { torn_bytes: 0, damage: Some(frames.damage(kind)?) });
        }
    }
}

/// Parses a line. `columns` is the number of columns in the last begin record. Returns `Err` if the whole file must be
/// rejected, and `Ok(Err)` for damage, which ends the reading.
fn parse(line: &[u8], columns: &mut Option<usize>) -> Result<Result<CollectedRecord, DamageKind>, StoreErrorKind> {
    let Ok(record) = serde_json::from_slice::<CollectedRecord>(line) else {
        // The line may be the begin record of another format.
        if let Some(begin) = Versioned::of_begin(line) {
            StoreErrorKind::check_format(begin.format, COLLECTED_FORMAT)?;
        }
        return Ok(Err(DamageKind::Record));
    };
    Ok(match &record {
        CollectedRecord::Begin(begin) => {
            StoreErrorKind::check_format(begin.format, COLLECTED_FORMAT)?;
            *columns = Some(begin.columns.len());
            if begin.is_sound() { Ok(record) } else { Err(DamageKind::Record) }
        }
        CollectedRecord::Poll(poll) => match columns {
            None => Err(DamageKind::OutOfPlace),
            Some(count) if poll.values.len() == *count && poll.sources.len() <= SOURCES_MAX => Ok(record),
            Some(_) => Err(DamageKind::Record),
        },
    })
}

/// The collected values of a run as time series.
#[derive(Clone, Debug, PartialEq)]
pub struct Collected {
    /// Descriptions of the sources.
    pub sources: Vec<String>,
    /// The values. The times of the values are seconds since the start of the first collector.
    pub series: Series,
    /// Damage that a crash does not explain. Reading stopped at this damage.
    pub damage: Option<Damage>,
}

impl Collected {
    /// Reads the file in `dir`. Returns `None` if the file is missing or has no begin record yet.
    ///
    /// # Errors
    /// Fails like [`for_each_collected`].
    pub fn read(dir: &Path) -> Result<Option<Self>, StoreError> {
        if !dir.join(COLLECTED_FILE).exists() {
            return Ok(None);
        }
        let mut collected: Option<Self> = None;
        let (mut first_ms, mut offset) = (None, 0.0);
        let tail = for_each_collected(dir, |record| match record {
            CollectedRecord::Begin(begin) => {
                let first = *first_ms.get_or_insert(begin.started_unix_ms);
                offset = begin.started_unix_ms.saturating_sub(first) as f64 / 1e3;
                // Later begin records have the same columns, unless the file was assembled by hand.
                let CollectedBegin { sources, columns, every_ms, .. } = *begin;
                if collected.as_ref().is_none_or(|collected| collected.series.columns != columns) {
                    let series = Series::new(columns, every_ms as f64 / 1e3);
                    collected = Some(Self { sources, series, damage: None });
                }
            }
            CollectedRecord::Poll(poll) => {
                if let Some(collected) = &mut collected {
                    collected.series.add(&poll, offset);
                }
            }
        })?;
        Ok(collected.map(|collected| Self { damage: tail.damage, ..collected }))
    }
}

#[cfg(test)]
mod tests;
