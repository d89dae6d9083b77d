//! Reads a run: whole, still going on, or as a crash left it.

use crate::error::{StoreError, StoreErrorKind};
use crate::frames::{Damage, DamageKind, FrameReader, Next};
use crate::record::{Begin, End, EndReason, FORMAT, Record};
use crate::run_writer::{RECORDS_FILE, shares};
use measure::values::sum;
use measure::stats::LastEnds;
use measure::{ClientLoad, Distribution, HeatMap, Instant, Interval, Stage, Summary};
use serde::Deserialize;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Intervals of one run that are read, at most: 23 days of seconds, whose points take 350 MB.
pub const INTERVALS_MAX: u64 = 2_000_000;
/// Largest share of the client's load that is read. More of them than can be read add up to a finite number.
const SHARE_MAX: f64 = 1e12;

/// How a file of records ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    /// Bytes of a last frame that was still being written, which were left out.
    pub torn_bytes: u64,
    /// What else is wrong.
    pub damage: Option<Damage>,
}

/// Hands every record of the run in `dir` to `take`, in order, the begin record first. One is in memory at a time.
///
/// # Errors
/// [`StoreErrorKind::NotARun`] without a begin record, [`StoreErrorKind::NotAFile`] when the records are in no regular
/// file, [`StoreErrorKind::Format`] when they are of another format, and whatever the system refuses. Damage further on is no error: it ends the reading, and is in the answer.
pub fn for_each_record(dir: &Path, take: impl FnMut(Record)) -> Result<Tail, StoreError> {
    let path = dir.join(RECORDS_FILE);
    read_records(open(dir, &path)?, take).map_err(|kind| StoreError::new(&path, kind))
}

fn open(dir: &Path, path: &Path) -> Result<File, StoreError> {
    let refused = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound if !dir.exists() => StoreError::new(dir, StoreErrorKind::Missing),
        io::ErrorKind::NotFound => StoreError::new(dir, StoreErrorKind::NotARun),
        _ => StoreError::new(path, error),
    };
    // Opening a pipe would wait for a writer, and a device may have no end.
    if !path.metadata().map_err(refused)?.is_file() {
        return Err(StoreError::new(path, StoreErrorKind::NotAFile));
    }
    File::open(path).map_err(refused)
}

/// As [`for_each_record`], from the bytes of a records file.
///
/// # Errors
/// As [`for_each_record`].
pub fn read_records(input: impl Read, take: impl FnMut(Record)) -> Result<Tail, StoreErrorKind> {
    read_up_to(INTERVALS_MAX, input, take)
}

fn read_up_to(most: u64, input: impl Read, mut take: impl FnMut(Record)) -> Result<Tail, StoreErrorKind> {
    let mut frames = FrameReader::new(input);
    let mut progress = Progress { place: Place::Begin, room: most };
    loop {
        let lines = match frames.next()? {
            Next::Lines(lines) => lines,
            _ if progress.place == Place::Begin => return Err(StoreErrorKind::NotARun),
            Next::End { torn_bytes } => return Ok(Tail { torn_bytes, damage: None }),
            Next::Damaged(damage) => return Ok(Tail { torn_bytes: 0, damage: Some(damage) }),
        };
        if let Err(kind) = progress.take_lines(lines, &mut take)? {
            let damage = frames.damage(kind)?;
            return Ok(Tail { torn_bytes: 0, damage: Some(damage) });
        }
    }
}

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Begin,
    Interval,
    Nothing,
}

/// How far a run has been read.
struct Progress {
    place: Place,
    /// Further intervals that are read.
    room: u64,
}

type Taken = Result<Result<(), DamageKind>, StoreErrorKind>;

impl Progress {
    fn take_lines(&mut self, lines: &[u8], take: &mut impl FnMut(Record)) -> Taken {
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            let first = self.place == Place::Begin;
            if first {
                check_format(line)?;
            }
            // A line without its end was cut off by whoever repacked the file.
            let Some(line) = line.strip_suffix(b"\n") else { return Ok(Err(DamageKind::Record)) };
            let Some(record) = serde_json::from_slice::<Record>(line).ok().filter(is_sound) else {
                return if first { Err(StoreErrorKind::NotARun) } else { Ok(Err(DamageKind::Record)) };
            };
            self.place = match (self.place, &record) {
                (Place::Begin, Record::Begin(_)) => Place::Interval,
                (Place::Begin, _) => return Err(StoreErrorKind::NotARun),
                (Place::Interval, Record::Interval(_)) if self.room == 0 => return Ok(Err(DamageKind::TooMany)),
                (Place::Interval, Record::Interval(_)) => {
                    self.room -= 1;
                    Place::Interval
                }
                (Place::Interval, Record::End(_)) => Place::Nothing,
                _ => return Ok(Err(DamageKind::OutOfPlace)),
            };
            take(record);
        }
        Ok(Ok(()))
    }
}

/// Whether the shares in a record can be added up: JSON has no infinite numbers, but huge ones.
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

/// One interval in brief, for series over time. Histograms of an interval take hundreds of kilobytes when unpacked;
/// a point takes two hundred bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The stage.
    pub stage: Stage,
    /// Its begin.
    pub start: Instant,
    /// Its end.
    pub end: Instant,
    /// Measured operations that ended well in it.
    pub ok: u64,
    /// Measured operations that failed in it.
    pub failed: u64,
    /// Those among them that may have failed for a delay of the client.
    pub failed_by_client: u64,
    /// The longest time that an operation took which failed, in nanoseconds; 0 without one.
    pub failed_max_nanos: u64,
    /// Measured operations that were given up in it without having been started.
    pub dropped: u64,
    /// Body bytes that arrived in it.
    pub body_bytes: u64,
    /// Body bytes of requests that were sent in it.
    pub sent_body_bytes: u64,
    /// Median response time of the operations that ended well, in nanoseconds.
    pub response_p50_nanos: Option<u64>,
    /// p99 of the same.
    pub response_p99_nanos: Option<u64>,
    /// When the last operations of it ended.
    pub last: LastEnds,
    /// Operations in flight at its end.
    pub in_flight: u64,
    /// How loaded the client was.
    pub client: ClientLoad,
}

impl Point {
    /// The interval in brief, with the response times of all operations in it that ended well.
    fn of(interval: &Interval, response: &Distribution) -> Self {
        let tally = &interval.stats.measured;
        let kinds = || interval.stats.kinds.iter().map(|(_, kind)| kind);
        Self {
            stage: interval.stage,
            start: interval.start,
            end: interval.end,
            ok: tally.ok,
            failed: tally.failed,
            failed_by_client: sum(kinds().map(|kind| kind.affected.failed)),
            failed_max_nanos: kinds().filter_map(|kind| kind.failed_response.max()).max().unwrap_or(0),
            dropped: tally.dropped,
            body_bytes: interval.stats.traffic.body,
            sent_body_bytes: interval.stats.traffic.sent_body,
            response_p50_nanos: response.quantile(0.5),
            response_p99_nanos: response.quantile(0.99),
            last: interval.stats.last,
            in_flight: interval.in_flight,
            client: interval.client,
        }
    }
}

/// A run as far as it was saved, folded so that its length does not matter.
#[derive(Clone, Debug)]
pub struct SavedRun {
    /// What was asked for.
    pub begin: Begin,
    /// All intervals together.
    pub summary: Summary,
    /// The intervals in brief, oldest first.
    pub points: Vec<Point>,
    /// Response times of operations that ended well, by the time at which they ended.
    pub heat: HeatMap,
    /// How it ended; `None` while it goes on and after a crash.
    pub end: Option<End>,
    /// Bytes of a last frame that was still being written, which were left out.
    pub torn_bytes: u64,
    /// Where reading had to stop, when a crash does not explain it.
    pub damage: Option<Damage>,
}

impl SavedRun {
    /// Reads the run in `dir`.
    ///
    /// # Errors
    /// Those of [`for_each_record`].
    pub fn read(dir: &Path) -> Result<Self, StoreError> {
        Self::read_with(dir, |_| ())
    }

    /// Reads the run in `dir`, and shows each interval to `look` before it is folded: for what a summary does not keep.
    ///
    /// # Errors
    /// Those of [`for_each_record`].
    pub fn read_with(dir: &Path, look: impl FnMut(&Interval)) -> Result<Self, StoreError> {
        let path = dir.join(RECORDS_FILE);
        let file = open(dir, &path)?;
        Self::fold(file, look).map_err(|kind| StoreError::new(&path, kind))
    }

    /// Reads a run from the bytes of its records file.
    ///
    /// # Errors
    /// Those of [`read_records`].
    pub fn read_from(input: impl Read) -> Result<Self, StoreErrorKind> {
        Self::fold(input, |_| ())
    }

    fn fold(input: impl Read, mut look: impl FnMut(&Interval)) -> Result<Self, StoreErrorKind> {
        let mut run = None;
        let tail = read_records(input, |record| match (&mut run, record) {
            (_, Record::Begin(begin)) => run = Some(Self::new(*begin)),
            (Some(run), Record::Interval(interval)) => {
                look(&interval);
                run.add(&interval);
            }
            (Some(run), Record::End(end)) => run.ended(Some(*end)),
            (None, _) => {}
        })?;
        let mut run = run.ok_or(StoreErrorKind::NotARun)?;
        (run.torn_bytes, run.damage) = (tail.torn_bytes, tail.damage);
        run.finish();
        Ok(run)
    }

    /// The run that these records make.
    #[must_use]
    pub fn of<'a>(begin: Begin, intervals: impl IntoIterator<Item = &'a Interval>, end: Option<End>) -> Self {
        let mut run = Self::new(begin);
        intervals.into_iter().for_each(|interval| run.add(interval));
        run.ended(end);
        run.finish();
        run
    }

    fn ended(&mut self, end: Option<End>) {
        self.summary.probes = end.as_ref().and_then(|end| end.probes);
        self.end = end;
    }

    /// All intervals together.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Whether the records reach from begin to end and hold all that the run counted: it completed, or was
    /// interrupted and ended in good order.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let in_order = |end: &End| match end.reason {
            EndReason::Completed
            | EndReason::Interrupted { .. }
            | EndReason::Decided { .. }
            | EndReason::Aborted { .. } => true,
            // Operations that lie across the edges of the common time were counted at one end only.
            EndReason::Merged { .. } => false,
            EndReason::DiskFull | EndReason::Unreachable { .. } | EndReason::Failed { .. } => false,
        };
        self.damage.is_none() && self.end.as_ref().is_some_and(in_order)
    }

    fn new(begin: Begin) -> Self {
        let summary = Summary { shares_host: begin.loopback, ..Summary::default() };
        Self { begin, summary, points: Vec::new(), heat: HeatMap::default(), end: None, torn_bytes: 0, damage: None }
    }

    fn add(&mut self, interval: &Interval) {
        self.summary.add(&self.begin.model, interval);
        let response = interval.stats.all_kinds().response;
        self.heat.add(interval.start, interval.end, &response);
        self.points.push(Point::of(interval, &response));
    }

    /// The summary keeps figures of all kinds together only when asked to.
    fn finish(&mut self) {
        self.summary.all = self.summary.stats.all_kinds();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_writer::tests::begin;

    fn frame(lines: &[Record]) -> Vec<u8> {
        let lines: Vec<String> = lines.iter().map(|record| serde_json::to_string(record).unwrap() + "\n").collect();
        zstd::bulk::compress(lines.concat().as_bytes(), 1).unwrap()
    }

    fn second(index: u64) -> Record {
        let at = |second: u64| Instant::from_nanos(second * 1_000_000_000);
        Record::Interval(Box::new(Interval::new(Stage::Measured, at(index), at(index + 1))))
    }

    #[test]
    fn intervals_beyond_those_that_are_read_are_named() {
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

    #[test]
    fn a_share_that_can_not_be_added_up_is_damage() {
        let Record::Interval(mut interval) = second(0) else { unreachable!() };
        interval.client.busy = 1e300;
        let file = [frame(&[Record::Begin(Box::new(begin()))]), frame(&[Record::Interval(interval)])].concat();
        let run = SavedRun::read_from(file.as_slice()).unwrap();
        assert_eq!(run.damage.map(|damage| damage.kind), Some(DamageKind::Record));
        assert_eq!(run.points.len(), 0);
    }
}
