//! Reader of the records of a run. The run may be complete, in progress, or cut off by a crash.

use crate::client_shares::shares;
use crate::error::{StoreError, StoreErrorKind};
use crate::frames::{Damage, DamageKind, FrameReader, Next, Tail};
use crate::record::{Begin, FORMAT, Record, Versioned};
use crate::segments;
use measure::ClientLoad;
use measure::summary::ClientLimits;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Maximum number of intervals that are read. This many one-second intervals cover 23 days, and joined intervals cover
/// years. The points of this many intervals take 350 MB of memory.
pub const INTERVALS_MAX: u64 = 2_000_000;
/// Maximum accepted value of a share, such as the used share of a core. Larger values could make sums infinite.
const SHARE_MAX: f64 = 1e12;
/// Maximum accepted value of a sum in a joined interval. Larger values could make further sums infinite.
const SUM_MAX: f64 = 1e24;

/// Passes every record of the run in `dir` to `take`, in order, starting with the begin record. Only one record is in
/// memory at a time.
///
/// # Errors
/// Fails with [`StoreErrorKind::NotARun`] without a begin record, with [`StoreErrorKind::NotAFile`] if the path is not
/// a regular file, with [`StoreErrorKind::Format`] for other formats, or with an error of the system. Damage after the
/// begin record is not an error: it ends the reading, and the returned [`Tail`] describes it.
pub fn for_each_record(dir: &Path, mut take: impl FnMut(Record)) -> Result<Tail, StoreError> {
    Progress::new(INTERVALS_MAX).read_files(dir, &mut take)
}

/// The records of a run, one by one, so that the records of many runs can be read side by side. Keeps one frame in memory.
pub struct RunRecords {
    dir: PathBuf,
    progress: Progress,
    frames: FrameReader<File>,
    /// The lines of the current frame, and the number of bytes that were read.
    lines: (Vec<u8>, usize),
}

impl RunRecords {
    /// Opens the run in `dir`.
    ///
    /// # Errors
    /// Fails if there is no file of records.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let frames = FrameReader::small(open(dir, &segments::path(dir, 1))?);
        Ok(Self { dir: dir.to_owned(), progress: Progress::new(INTERVALS_MAX), frames, lines: (Vec::new(), 0) })
    }

    /// Returns the next record, in the order of [`for_each_record`]. Returns `None` after the last one, and where
    /// [`for_each_record`] reports damage or another error.
    pub fn next_record(&mut self) -> Option<Record> {
        loop {
            let Self { progress, lines: (lines, read), .. } = self;
            while let Some(line) =
                lines.get(*read..).and_then(|rest| rest.split_inclusive(|byte| *byte == b'\n').next())
            {
                *read += line.len();
                let mut taken = None;
                let result = progress.take_lines(line, &mut |record| taken = Some(record));
                if *read == lines.len() {
                    (*lines, *read) = (Vec::new(), 0);
                }
                result.ok()?.ok()?;
                if taken.is_some() {
                    return taken;
                }
            }
            match self.frames.next() {
                Ok(Next::Lines(_)) => self.lines = (self.frames.take_lines(), 0),
                Ok(Next::End { torn_bytes: 0 }) => self.frames = self.next_file()?,
                Ok(Next::End { .. } | Next::Damaged(_)) | Err(_) => return None,
            }
        }
    }

    fn next_file(&mut self) -> Option<FrameReader<File>> {
        let number = self.progress.number.saturating_add(1);
        let file = segments::open(&segments::path(&self.dir, number)).ok()??;
        (self.progress.number, self.progress.expected) = (number, Expected::First);
        Some(FrameReader::small(file))
    }
}

/// Reads the begin record of the run in `dir`.
pub(crate) fn read_begin(dir: &Path) -> Result<Begin, StoreError> {
    let path = segments::path(dir, 1);
    let file = open(dir, &path)?;
    let begin = || -> Result<Begin, StoreErrorKind> {
        let mut frames = FrameReader::new(file);
        let Next::Lines(lines) = frames.next()? else { return Err(StoreErrorKind::NotARun) };
        let line = lines.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
        let mut begin = None;
        let _ = Progress::new(0).take_lines(line, &mut |record| {
            if let Record::Begin(found) = record {
                begin = Some(*found);
            }
        })?;
        begin.ok_or(StoreErrorKind::NotARun)
    };
    begin().map_err(|kind| StoreError::new(&path, kind))
}

pub(crate) fn open(dir: &Path, path: &Path) -> Result<File, StoreError> {
    let missing = if dir.exists() { StoreErrorKind::NotARun } else { StoreErrorKind::Missing };
    segments::open(path)?.ok_or_else(|| StoreError::new(dir, missing))
}

/// Passes every record to `take`, like [`for_each_record`], but reads the bytes of the first file of records from
/// `input`.
///
/// # Errors
/// Fails like [`for_each_record`].
pub fn read_records(input: impl Read, mut take: impl FnMut(Record)) -> Result<Tail, StoreErrorKind> {
    Progress::new(INTERVALS_MAX).read(input, &mut take)
}

/// The kind of the next record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// The first record of a file.
    First,
    IntervalOrEnd,
    Nothing,
}

/// The progress of reading a run.
pub(crate) struct Progress {
    /// Number of the current file.
    number: u32,
    expected: Expected,
    /// `true` if the end record was read.
    ended: bool,
    /// Number of further intervals that may be read.
    intervals_left: u64,
}

/// The result of reading lines. `Err` rejects the whole run. `Ok(Err)` is damage, which ends the reading.
type LinesResult = Result<Result<(), DamageKind>, StoreErrorKind>;

impl Progress {
    pub(crate) fn new(max_intervals: u64) -> Self {
        Self { number: 1, expected: Expected::First, ended: false, intervals_left: max_intervals }
    }

    /// Returns the progress at the start of a file, after this number of intervals.
    pub(crate) fn at_segment(number: u32, intervals: u64) -> Self {
        Self { number, ..Self::new(INTERVALS_MAX.saturating_sub(intervals)) }
    }

    /// Reads the current file and all later files.
    pub(crate) fn read_files(&mut self, dir: &Path, take: &mut impl FnMut(Record)) -> Result<Tail, StoreError> {
        loop {
            let path = segments::path(dir, self.number);
            // If a next file exists, the current file is complete. A run in progress may create the next file at any
            // time, so check this before reading the current file.
            let next = segments::path(dir, self.number.saturating_add(1));
            let is_last = !next.exists();
            let file = match self.number {
                1 => open(dir, &path)?,
                _ => match segments::open(&path)? {
                    Some(file) => file,
                    None => return Ok(Tail::default()),
                },
            };
            let size = file.metadata().map_err(|error| StoreError::new(&path, error))?.len();
            let mut tail = self.read(file, take).map_err(|kind| StoreError::new(&path, kind))?;
            if is_last {
                return Ok(tail);
            }
            if tail.torn_bytes > 0 {
                let (at_byte, unread_bytes) = (size.saturating_sub(tail.torn_bytes), tail.torn_bytes);
                let damage = Damage { file: self.number, at_byte, unread_bytes, kind: DamageKind::Frame };
                tail = Tail { torn_bytes: 0, damage: Some(damage) };
            }
            if let Some(damage) = &mut tail.damage {
                damage.unread_bytes = damage.unread_bytes.saturating_add(size_from(dir, self.number.saturating_add(1)));
                return Ok(tail);
            }
            (self.number, self.expected) = (self.number.saturating_add(1), Expected::First);
        }
    }

    /// Reads the current file.
    pub(crate) fn read(&mut self, input: impl Read, take: &mut impl FnMut(Record)) -> Result<Tail, StoreErrorKind> {
        let mut frames = FrameReader::new(input);
        let damaged = |damage: Damage, file| Ok(Tail { torn_bytes: 0, damage: Some(Damage { file, ..damage }) });
        loop {
            let lines = match frames.next()? {
                Next::Lines(lines) => lines,
                _ if self.number == 1 && self.expected == Expected::First => return Err(StoreErrorKind::NotARun),
                Next::End { torn_bytes } => return Ok(Tail { torn_bytes, damage: None }),
                Next::Damaged(damage) => return damaged(damage, self.number),
            };
            if let Err(kind) = self.take_lines(lines, take)? {
                return damaged(frames.damage(kind)?, self.number);
            }
        }
    }

    fn take_lines(&mut self, lines: &[u8], take: &mut impl FnMut(Record)) -> LinesResult {
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            let begins = self.expected == Expected::First && self.number == 1;
            if begins {
                let begin = Versioned::of_begin(line).ok_or(StoreErrorKind::NotARun)?;
                StoreErrorKind::check_format(begin.format, FORMAT)?;
            }
            // A line without a line ending was truncated when someone repacked the file.
            let Some(line) = line.strip_suffix(b"\n") else { return Ok(Err(DamageKind::Record)) };
            let Some(record) = Record::parse(line).filter(is_sound) else {
                return if begins { Err(StoreErrorKind::NotARun) } else { Ok(Err(DamageKind::Record)) };
            };
            self.expected = match (self.expected, &record) {
                (Expected::First, Record::Begin(_)) if begins => Expected::IntervalOrEnd,
                (Expected::First, _) if begins => return Err(StoreErrorKind::NotARun),
                (Expected::First, Record::Segment(segment)) if segment.number == self.number && !self.ended => {
                    self.expected = Expected::IntervalOrEnd;
                    continue;
                }
                (Expected::IntervalOrEnd, Record::Interval(_)) if self.intervals_left == 0 => {
                    return Ok(Err(DamageKind::TooMany));
                }
                (Expected::IntervalOrEnd, Record::Interval(_)) => {
                    self.intervals_left -= 1;
                    Expected::IntervalOrEnd
                }
                (Expected::IntervalOrEnd, Record::End(_)) => {
                    self.ended = true;
                    Expected::Nothing
                }
                _ => return Ok(Err(DamageKind::OutOfPlace)),
            };
            take(record);
        }
        Ok(Ok(()))
    }
}

/// Returns the total size of a file and all later files.
fn size_from(dir: &Path, number: u32) -> u64 {
    let sizes = (number..).map_while(|number| segments::path(dir, number).metadata().ok());
    sizes.fold(0, |sum, metadata| sum.saturating_add(metadata.len()))
}

/// Returns whether sums of the shares in this record stay finite. JSON has no infinite numbers, but can have huge ones.
fn is_sound(record: &Record) -> bool {
    match record {
        Record::Interval(interval) => {
            let joined = interval.joined.as_ref();
            is_sound_load(&interval.client)
                && joined.is_none_or(|joined| are_sound_sums(&joined.limits, joined.overtaking_expected))
        }
        Record::Begin(_) | Record::Segment(_) | Record::End(_) => true,
    }
}

/// Returns whether sums of these shares of the client's load stay finite.
pub(crate) fn is_sound_load(client: &ClientLoad) -> bool {
    shares(client).into_iter().all(|share| share.abs() <= SHARE_MAX)
}

/// Returns whether these sums of a joined interval or a snapshot stay finite when more values are added.
pub(crate) fn are_sound_sums(limits: &ClientLimits, overtaking_expected: f64) -> bool {
    limits.values().into_iter().chain([overtaking_expected]).all(|value| value.abs() <= SUM_MAX)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::run_writer::tests::begin;
    use measure::{Instant, Interval, Stage};

    pub(crate) fn frame(lines: &[Record]) -> Vec<u8> {
        let lines: Vec<String> = lines.iter().map(|record| serde_json::to_string(record).unwrap() + "\n").collect();
        zstd::bulk::compress(lines.concat().as_bytes(), 1).unwrap()
    }

    pub(crate) fn second(index: u64) -> Record {
        let at = |second: u64| Instant::from_nanos(second * 1_000_000_000);
        Record::Interval(Box::new(Interval::new(Stage::Measured, at(index), at(index + 1))))
    }

    #[test]
    fn the_records_of_a_run_are_the_same_one_by_one() {
        let dir = tempfile::tempdir().unwrap();
        let rules = crate::RollUpRules { file: std::time::Duration::from_secs(2), ..crate::RollUpRules::DEFAULT };
        let mut writer = crate::RunWriter::create(dir.path(), &begin()).unwrap().rolling_up(rules);
        for index in 0..5 {
            let Record::Interval(interval) = second(index) else { unreachable!() };
            writer.interval(&interval).unwrap();
        }
        drop(writer);
        assert!(segments::path(dir.path(), 3).exists());
        let text = |record: &Record| serde_json::to_string(record).unwrap();
        let mut all = Vec::new();
        for_each_record(dir.path(), |record| all.push(text(&record))).unwrap();
        let mut records = RunRecords::open(dir.path()).unwrap();
        let single: Vec<String> = std::iter::from_fn(|| records.next_record()).map(|record| text(&record)).collect();
        assert_eq!((single.len(), single == all), (6, true));
        // Both stop at the same damage.
        let path = segments::path(dir.path(), 2);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 3]).unwrap();
        let (mut count, mut records) = (0, RunRecords::open(dir.path()).unwrap());
        for_each_record(dir.path(), |_| count += 1).unwrap();
        assert_eq!(std::iter::from_fn(|| records.next_record()).count(), count);
        assert!(count < 6);
    }

    #[test]
    fn intervals_above_the_limit_are_reported() {
        let begin = frame(&[Record::Begin(Box::new(begin()))]);
        let file = [begin.clone(), frame(&[second(0)]), frame(&[second(1)]), frame(&[second(2)])].concat();
        let read = |most| {
            let mut intervals = 0;
            let tail = Progress::new(most).read(file.as_slice(), &mut |record| {
                intervals += u64::from(matches!(record, Record::Interval(_)));
            });
            (intervals, tail.unwrap().damage)
        };
        assert_eq!(read(3), (3, None));
        let at_byte = (begin.len() + frame(&[second(0)]).len() + frame(&[second(1)]).len()) as u64;
        let damage = Damage { file: 1, at_byte, unread_bytes: file.len() as u64 - at_byte, kind: DamageKind::TooMany };
        assert_eq!(read(2), (2, Some(damage)));
    }
}
