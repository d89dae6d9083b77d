//! The snapshot of a long run: the sum of all files of records that are complete.
//!
//! With a snapshot, readers need not sum old intervals again. The records contain the same information. If the snapshot
//! is missing or damaged, readers use the records alone.

use crate::error::StoreErrorKind;
use crate::frames::{FrameReader, Next};
use crate::record::{Begin, FORMAT, Record};
use crate::record_reader::{INTERVALS_MAX, Progress, are_sound_sums, is_sound_load};
use crate::saved_run::{Point, SavedRun};
use crate::segments::{self, Replacement};
use measure::summary::SingleSeconds;
use measure::values::bounded;
use measure::{HeatMap, Summary};
use serde::{Deserialize, Serialize};
use std::io::{self, Read};
use std::path::Path;

/// Name of the snapshot.
pub const SNAPSHOT_FILE: &str = "snapshot.jsonl.zst";
/// Number of points in a line.
const POINTS_IN_LINE: usize = 1000;
/// Maximum number of files of records in a snapshot. With a quarter of an hour per file, this covers 28 years.
const SEGMENTS_MAX: usize = 1_000_000;

/// The sum of the first files of records of a run.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    /// The run up to the end of the last file in the sum.
    pub run: SavedRun,
    /// Number of points of each file.
    counts: Vec<u32>,
}

/// A line of the file.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Snapshot(Box<Head>),
    Points(#[serde(deserialize_with = "bounded::list::<_, _, POINTS_IN_LINE>")] Vec<Point>),
}

#[derive(Deserialize)]
struct Head {
    format: u32,
    started_unix_ms: u64,
    #[serde(deserialize_with = "bounded::list::<_, _, SEGMENTS_MAX>")]
    points: Vec<u32>,
    summary: Summary,
    heat: HeatMap,
}

/// A borrowed [`Line`].
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum LineRef<'a> {
    Snapshot(HeadRef<'a>),
    Points(&'a [Point]),
}

#[derive(Serialize)]
struct HeadRef<'a> {
    format: u32,
    /// Start of the run that the snapshot belongs to.
    started_unix_ms: u64,
    points: &'a [u32],
    summary: &'a Summary,
    heat: &'a HeatMap,
}

impl Snapshot {
    /// Creates a snapshot of no files.
    pub(crate) fn new(begin: Begin) -> Self {
        Self { run: SavedRun::new(begin), counts: Vec::new() }
    }

    /// Reads the snapshot of a run. Returns `None` if the snapshot is missing or not usable.
    pub(crate) fn read(dir: &Path, begin: &Begin) -> Option<Self> {
        let file = segments::open(&dir.join(SNAPSHOT_FILE)).ok()??;
        Self::read_from(file, begin)
    }

    fn read_from(input: impl Read, begin: &Begin) -> Option<Self> {
        let mut frames = FrameReader::new(input);
        let mut read: Option<Self> = None;
        loop {
            let lines = match frames.next().ok()? {
                Next::Lines(lines) => lines,
                Next::End { torn_bytes: 0 } => break,
                Next::End { .. } | Next::Damaged(_) => return None,
            };
            for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                match (serde_json::from_slice::<Line>(line).ok()?, &mut read) {
                    (Line::Snapshot(head), None) => read = Some(Self::of(*head, begin)?),
                    (Line::Points(points), Some(snapshot)) => {
                        snapshot.run.points.extend(points);
                        if snapshot.run.points.len() as u64 > INTERVALS_MAX {
                            return None;
                        }
                    }
                    _ => return None,
                }
            }
        }
        read.filter(Self::is_sound)
    }

    fn of(head: Head, begin: &Begin) -> Option<Self> {
        if head.format != FORMAT || head.started_unix_ms != begin.started_unix_ms {
            return None;
        }
        let mut run = SavedRun::new(begin.clone());
        (run.summary, run.heat) = (head.summary, head.heat);
        // A hostile file could contain any number of seconds. Adding the seconds one by one enforces the limit on their
        // number.
        let mut seconds = SingleSeconds::default();
        seconds.append(&run.summary.seconds);
        run.summary.seconds = seconds;
        Some(Self { run, counts: head.points })
    }

    fn is_sound(&self) -> bool {
        let expected: u64 = self.counts.iter().map(|count| u64::from(*count)).sum();
        let summary = &self.run.summary;
        expected == self.run.points.len() as u64
            && self.run.points.iter().all(|point| is_sound_load(&point.client))
            && are_sound_sums(&summary.limits, summary.overtaking_expected)
    }

    /// Returns the number of files in the sum.
    pub(crate) fn segments(&self) -> u32 {
        u32::try_from(self.counts.len()).unwrap_or(u32::MAX)
    }

    /// Adds the next file of records. After an error, the snapshot must not be used.
    pub(crate) fn fold(&mut self, input: impl Read) -> Result<(), StoreErrorKind> {
        let before = self.run.points.len();
        let mut progress = Progress::at_segment(self.segments() + 1, before as u64);
        let tail = progress.read(input, &mut |record| {
            if let Record::Interval(interval) = record {
                self.run.add(&interval);
            }
        })?;
        if tail.torn_bytes > 0 || tail.damage.is_some() {
            return Err(io::Error::from(io::ErrorKind::InvalidData).into());
        }
        self.counts.push(u32::try_from(self.run.points.len() - before).unwrap_or(u32::MAX));
        Ok(())
    }

    /// Returns the points of each file.
    pub(crate) fn points_of_segments(&self) -> impl Iterator<Item = &[Point]> {
        let mut rest = self.run.points.as_slice();
        self.counts.iter().map(move |count| {
            let (points, later) = rest.split_at((*count as usize).min(rest.len()));
            rest = later;
            points
        })
    }

    /// Replaces the points of a file after its intervals were joined.
    pub(crate) fn replace_points(&mut self, number: u32, points: Vec<Point>) {
        let index = (number as usize).saturating_sub(1);
        let start: usize = self.counts.iter().take(index).map(|count| *count as usize).sum();
        let Some(count) = self.counts.get_mut(index) else { return };
        let end = start + *count as usize;
        *count = u32::try_from(points.len()).unwrap_or(u32::MAX);
        self.run.points.splice(start..end, points);
    }

    /// Replaces the snapshot of the run in `dir`.
    pub(crate) fn write(&self, dir: &Path) -> Result<(), StoreErrorKind> {
        let mut file = Replacement::of(&dir.join(SNAPSHOT_FILE))?;
        file.line(&LineRef::Snapshot(HeadRef {
            format: FORMAT,
            started_unix_ms: self.run.begin.started_unix_ms,
            points: &self.counts,
            summary: &self.run.summary,
            heat: &self.run.heat,
        }))?;
        for points in self.run.points.chunks(POINTS_IN_LINE) {
            file.line(&LineRef::Points(points))?;
        }
        file.finish()
    }
}
