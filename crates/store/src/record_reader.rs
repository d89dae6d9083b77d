//! Reads the records of a run that is complete, still in progress, or was ended by a crash.

use crate::error::{StoreError, StoreErrorKind};
use crate::frames::{Damage, DamageKind, FrameReader, Next};
use crate::record::{FORMAT, Record};
use crate::run_writer::{RECORDS_FILE, shares};
use serde::Deserialize;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Maximum number of intervals that are read: 23 days with one interval per second. Their points take 350 MB of memory.
pub const INTERVALS_MAX: u64 = 2_000_000;
/// Maximum value that is accepted for a share, such as the use of a core. Larger ones could make sums infinite.
const SHARE_MAX: f64 = 1e12;

/// The state of the end of a records file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    /// Size of an incomplete last frame, which was ignored.
    pub torn_bytes: u64,
    /// Damage at which reading stopped.
    pub damage: Option<Damage>,
}

/// Passes every record of the run in `dir` to `take`, in order, starting with the begin record. Only one record is in
/// memory at a time.
///
/// # Errors
/// [`StoreErrorKind::NotARun`] without a begin record, [`StoreErrorKind::NotAFile`] if the path is not a regular file,
/// [`StoreErrorKind::Format`] for other formats, and errors of the system. Damage after the begin record is not an
/// error: it ends the reading, and the returned [`Tail`] describes it.
pub fn for_each_record(dir: &Path, take: impl FnMut(Record)) -> Result<Tail, StoreError> {
    let path = dir.join(RECORDS_FILE);
    read_records(open(dir, &path)?, take).map_err(|kind| StoreError::new(&path, kind))
}

pub(crate) fn open(dir: &Path, path: &Path) -> Result<File, StoreError> {
    let refused = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound if !dir.exists() => StoreError::new(dir, StoreErrorKind::Missing),
        io::ErrorKind::NotFound => StoreError::new(dir, StoreErrorKind::NotARun),
        _ => StoreError::new(path, error),
    };
    // Opening a pipe would wait for a writer, and a device may be endless.
    if !path.metadata().map_err(refused)?.is_file() {
        return Err(StoreError::new(path, StoreErrorKind::NotAFile));
    }
    File::open(path).map_err(refused)
}

/// Passes the records to `take` like [`for_each_record`], given the bytes of a records file.
///
/// # Errors
/// Those of [`for_each_record`].
pub fn read_records(input: impl Read, take: impl FnMut(Record)) -> Result<Tail, StoreErrorKind> {
    read_up_to(INTERVALS_MAX, input, take)
}

fn read_up_to(max_intervals: u64, input: impl Read, mut take: impl FnMut(Record)) -> Result<Tail, StoreErrorKind> {
    let mut frames = FrameReader::new(input);
    let mut progress = Progress { expected: Expected::Begin, intervals_left: max_intervals };
    loop {
        let lines = match frames.next()? {
            Next::Lines(lines) => lines,
            _ if progress.expected == Expected::Begin => return Err(StoreErrorKind::NotARun),
            Next::End { torn_bytes } => return Ok(Tail { torn_bytes, damage: None }),
            Next::Damaged(damage) => return Ok(Tail { torn_bytes: 0, damage: Some(damage) }),
        };
        if let Err(kind) = progress.take_lines(lines, &mut take)? {
            let damage = frames.damage(kind)?;
            return Ok(Tail { torn_bytes: 0, damage: Some(damage) });
        }
    }
}

/// The kind of the next record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    Begin,
    IntervalOrEnd,
    Nothing,
}

/// The progress of reading a run.
struct Progress {
    expected: Expected,
    /// Number of further intervals that may be read.
    intervals_left: u64,
}

/// The outer error concerns the whole run. The inner one is damage that ends the reading.
type LinesResult = Result<Result<(), DamageKind>, StoreErrorKind>;

impl Progress {
    fn take_lines(&mut self, lines: &[u8], take: &mut impl FnMut(Record)) -> LinesResult {
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            let first = self.expected == Expected::Begin;
            if first {
                check_format(line)?;
            }
            // A line without a line ending was truncated when someone repacked the file.
            let Some(line) = line.strip_suffix(b"\n") else { return Ok(Err(DamageKind::Record)) };
            let Some(record) = serde_json::from_slice::<Record>(line).ok().filter(is_sound) else {
                return if first { Err(StoreErrorKind::NotARun) } else { Ok(Err(DamageKind::Record)) };
            };
            self.expected = match (self.expected, &record) {
                (Expected::Begin, Record::Begin(_)) => Expected::IntervalOrEnd,
                (Expected::Begin, _) => return Err(StoreErrorKind::NotARun),
                (Expected::IntervalOrEnd, Record::Interval(_)) if self.intervals_left == 0 => {
                    return Ok(Err(DamageKind::TooMany));
                }
                (Expected::IntervalOrEnd, Record::Interval(_)) => {
                    self.intervals_left -= 1;
                    Expected::IntervalOrEnd
                }
                (Expected::IntervalOrEnd, Record::End(_)) => Expected::Nothing,
                _ => return Ok(Err(DamageKind::OutOfPlace)),
            };
            take(record);
        }
        Ok(Ok(()))
    }
}

/// Returns whether the shares in a record can be summed. JSON has no infinite numbers, but it has huge ones.
fn is_sound(record: &Record) -> bool {
    match record {
        Record::Interval(interval) => shares(&interval.client).into_iter().all(|share| share.abs() <= SHARE_MAX),
        Record::Begin(_) | Record::End(_) => true,
    }
}

fn check_format(line: &[u8]) -> Result<(), StoreErrorKind> {
    #[derive(Deserialize)]
    struct First {
        begin: Versioned,
    }
    #[derive(Deserialize)]
    struct Versioned {
        format: u64,
    }
    let first: First = serde_json::from_slice(line).map_err(|_| StoreErrorKind::NotARun)?;
    match first.begin.format {
        found if found == u64::from(FORMAT) => Ok(()),
        found => Err(StoreErrorKind::Format { found, readable: FORMAT }),
    }
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
    fn intervals_above_the_limit_are_reported() {
        let begin = frame(&[Record::Begin(Box::new(begin()))]);
        let file = [begin.clone(), frame(&[second(0)]), frame(&[second(1)]), frame(&[second(2)])].concat();
        let read = |most| {
            let mut intervals = 0;
            let tail = read_up_to(most, file.as_slice(), |record| {
                intervals += u64::from(matches!(record, Record::Interval(_)));
            });
            (intervals, tail.unwrap().damage)
        };
        assert_eq!(read(3), (3, None));
        let at_byte = (begin.len() + frame(&[second(0)]).len() + frame(&[second(1)]).len()) as u64;
        let damage = Damage { at_byte, unread_bytes: file.len() as u64 - at_byte, kind: DamageKind::TooMany };
        assert_eq!(read(2), (2, Some(damage)));
    }
}
