//! Reads a run: whole, still going on, or as a crash left it.

use crate::error::{StoreError, StoreErrorKind};
use crate::frames::{Damage, DamageKind, FrameReader, Next};
use crate::record::{Begin, End, EndReason, FORMAT, Record};
use crate::run_writer::RECORDS_FILE;
use measure::{ClientLoad, Instant, Interval, Stage, Summary};
use serde::Deserialize;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Intervals of one run that are read, at most: 23 days of seconds.
pub const POINTS_MAX: usize = 2_000_000;

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
    let refused = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => StoreError::new(dir, StoreErrorKind::NotARun),
        _ => StoreError::new(&path, error),
    };
    // Opening a pipe would wait for a writer, and a device may have no end.
    if !path.metadata().map_err(refused)?.is_file() {
        return Err(StoreError::new(&path, StoreErrorKind::NotAFile));
    }
    let file = File::open(&path).map_err(refused)?;
    read_records(file, take).map_err(|kind| StoreError::new(&path, kind))
}

/// As [`for_each_record`], from the bytes of a records file.
///
/// # Errors
/// As [`for_each_record`].
pub fn read_records(input: impl Read, mut take: impl FnMut(Record)) -> Result<Tail, StoreErrorKind> {
    let mut frames = FrameReader::new(input);
    let mut place = Place::Begin;
    loop {
        let lines = match frames.next()? {
            Next::Lines(lines) => lines,
            _ if place == Place::Begin => return Err(StoreErrorKind::NotARun),
            Next::End { torn_bytes } => return Ok(Tail { torn_bytes, damage: None }),
            Next::Damaged(damage) => return Ok(Tail { torn_bytes: 0, damage: Some(damage) }),
        };
        if let Err(kind) = take_lines(lines, &mut place, &mut take)? {
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

type Taken = Result<Result<(), DamageKind>, StoreErrorKind>;

fn take_lines(lines: &[u8], place: &mut Place, take: &mut impl FnMut(Record)) -> Taken {
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        if *place == Place::Begin {
            check_format(line)?;
        }
        // A line without its end was cut off by whoever repacked the file.
        let Some(line) = line.strip_suffix(b"\n") else { return Ok(Err(DamageKind::Record)) };
        let Ok(record) = serde_json::from_slice::<Record>(line) else {
            return if *place == Place::Begin { Err(StoreErrorKind::NotARun) } else { Ok(Err(DamageKind::Record)) };
        };
        *place = match (*place, &record) {
            (Place::Begin, Record::Begin(_)) | (Place::Interval, Record::Interval(_)) => Place::Interval,
            (Place::Interval, Record::End(_)) => Place::Nothing,
            (Place::Begin, _) => return Err(StoreErrorKind::NotARun),
            _ => return Ok(Err(DamageKind::OutOfPlace)),
        };
        take(record);
    }
    Ok(Ok(()))
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
    /// Measured operations that were given up in it without having been started.
    pub dropped: u64,
    /// Body bytes that arrived in it.
    pub body_bytes: u64,
    /// Median response time of the operations that ended well, in nanoseconds.
    pub response_p50_nanos: Option<u64>,
    /// p99 of the same.
    pub response_p99_nanos: Option<u64>,
    /// Operations in flight at its end.
    pub in_flight: u64,
    /// How loaded the client was.
    pub client: ClientLoad,
}

impl Point {
    /// The interval in brief.
    #[must_use]
    pub fn of(interval: &Interval) -> Self {
        let tally = &interval.stats.measured;
        let response = interval.stats.all_kinds().response;
        Self {
            stage: interval.stage,
            start: interval.start,
            end: interval.end,
            ok: tally.ok,
            failed: tally.failed,
            dropped: tally.dropped,
            body_bytes: interval.stats.traffic.body,
            response_p50_nanos: response.quantile(0.5),
            response_p99_nanos: response.quantile(0.99),
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
        let mut run = None;
        let tail = for_each_record(dir, |record| match (&mut run, record) {
            (_, Record::Begin(begin)) => run = Some(Self::new(*begin)),
            (Some(run), Record::Interval(interval)) => run.add(&interval),
            (Some(run), Record::End(end)) => run.end = Some(*end),
            (None, _) => {}
        })?;
        let mut run = run.ok_or_else(|| StoreError::new(dir, StoreErrorKind::NotARun))?;
        run.torn_bytes = tail.torn_bytes;
        run.damage = tail.damage.or(run.damage);
        run.finish();
        Ok(run)
    }

    /// The run that these records make.
    #[must_use]
    pub fn of<'a>(begin: Begin, intervals: impl IntoIterator<Item = &'a Interval>, end: Option<End>) -> Self {
        let mut run = Self::new(begin);
        intervals.into_iter().for_each(|interval| run.add(interval));
        run.end = end;
        run.finish();
        run
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
        let in_order = |end: &End| matches!(end.reason, EndReason::Completed | EndReason::Interrupted { .. });
        self.damage.is_none() && self.end.as_ref().is_some_and(in_order)
    }

    fn new(begin: Begin) -> Self {
        let summary = Summary::default();
        Self { begin, summary, points: Vec::new(), end: None, torn_bytes: 0, damage: None }
    }

    fn add(&mut self, interval: &Interval) {
        if self.points.len() < POINTS_MAX {
            self.summary.add(&self.begin.model, interval);
            self.points.push(Point::of(interval));
        } else {
            self.damage = Some(Damage { at_byte: 0, unread_bytes: 0, kind: DamageKind::TooMany });
        }
    }

    /// The summary keeps figures of all kinds together only when asked to.
    fn finish(&mut self) {
        self.summary.all = self.summary.stats.all_kinds();
    }
}
