//! A series of any length, folded into a bounded number of points.

use super::column::{Column, ColumnKind};
use super::poll::Poll;
use crate::values::sum;

/// Maximum number of points of a series. When this number is reached, neighboring points are merged in pairs.
pub const POINTS_MAX: usize = 4096;
/// Maximum time that a value covers, as a multiple of the poll interval. A value covers the time since the previous
/// poll. If this time is longer than the maximum, the beginning of it is a gap.
const GAP_INTERVALS: f64 = 2.5;

/// Value of a column in a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointValue {
    /// Lowest value of the merged polls.
    pub low: f64,
    /// Mean value over the time of the point.
    pub mean: f64,
    /// Highest value of the merged polls.
    pub high: f64,
}

/// Values of all columns over a stretch of time. A point contains the values of gauges, and the increase per second of
/// counters.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesPoint {
    /// Start in seconds since the start of the run.
    pub from: f64,
    /// End in seconds since the start of the run.
    pub to: f64,
    /// Values, one per column.
    pub values: Vec<Option<PointValue>>,
}

/// Summary of all values of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ColumnSummary {
    /// Number of known values of a gauge, or of known rates of a counter.
    pub count: u64,
    /// Minimum value of a gauge, or minimum rate per second of a counter.
    pub min: f64,
    /// Maximum value of a gauge, or maximum rate per second of a counter.
    pub max: f64,
    /// Sum of the values of a gauge, or total increase of a counter.
    pub sum: f64,
    /// Seconds over which a counter increased.
    pub seconds: f64,
    /// Last value that was read.
    pub last: Option<f64>,
    /// Number of times that a counter was lower than at the previous poll.
    pub resets: u64,
}

impl ColumnSummary {
    /// Returns the mean value; for a counter, the mean rate per second.
    #[must_use]
    pub fn mean(&self, kind: ColumnKind) -> Option<f64> {
        let over = match kind {
            ColumnKind::Gauge => self.count as f64,
            ColumnKind::Counter => self.seconds,
        };
        (self.count > 0 && over > 0.0).then(|| self.sum / over)
    }

    fn note(&mut self, value: f64) {
        (self.min, self.max) = match self.count {
            0 => (value, value),
            _ => (self.min.min(value), self.max.max(value)),
        };
        self.count = self.count.saturating_add(1);
    }
}

/// A folded series. [`POINTS_MAX`] and the number of columns limit the size of the series.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The columns.
    pub columns: Vec<Column>,
    /// Summaries, one per column.
    pub summaries: Vec<ColumnSummary>,
    /// Points, oldest first.
    pub points: Vec<SeriesPoint>,
    /// Number of polls.
    pub polls: u64,
    /// Number of polls that were due but not made.
    pub missed: u64,
    /// Number of polls in which at least one source failed.
    pub failed: u64,
    /// Seconds between two polls.
    every: f64,
    /// Number of polls that a full point merges.
    merged: usize,
    /// Number of polls that the last point merges.
    in_last: usize,
    /// Time of the previous poll.
    before: Option<f64>,
    /// Last known value of each column, preceded by its time.
    last: Vec<Option<(f64, f64)>>,
}

impl Series {
    /// Returns an empty series that is polled every `every` seconds.
    #[must_use]
    pub fn new(columns: Vec<Column>, every: f64) -> Self {
        let count = columns.len();
        Self {
            columns,
            summaries: vec![ColumnSummary::default(); count],
            points: Vec::new(),
            polls: 0,
            missed: 0,
            failed: 0,
            every: if every.is_finite() && every > 0.0 { every } else { 1.0 },
            merged: 1,
            in_last: 0,
            before: None,
            last: vec![None; count],
        }
    }

    /// Adds a poll. `offset` is the time in seconds from the start of the run until the poll's clock is zero.
    pub fn add(&mut self, poll: &Poll, offset: f64) {
        self.polls = self.polls.saturating_add(1);
        self.missed = sum([self.missed, poll.missed]);
        self.failed = sum([self.failed, u64::from(poll.sources.iter().any(|source| source.failure.is_some()))]);
        let at = offset + f64::midpoint(poll.start.as_secs_f64(), poll.end.as_secs_f64());
        let earliest = at - GAP_INTERVALS * self.every;
        let from = self.before.map_or(at - self.every, |before| before.max(earliest)).min(at).max(0.0);
        self.before = Some(at);
        let values = (0..self.columns.len()).map(|index| {
            let value = poll.values.get(index)?.as_ref()?.as_f64();
            self.value(index, at, value).map(|value| PointValue { low: value, mean: value, high: value })
        });
        let values = values.collect();
        self.push(SeriesPoint { from, to: at, values });
    }

    /// Adds a value. Returns the value of a gauge, or the rate of a counter, as stored in a point.
    fn value(&mut self, index: usize, at: f64, value: f64) -> Option<f64> {
        let summary = &mut self.summaries[index];
        summary.last = Some(value);
        let before = self.last[index].replace((at, value));
        if self.columns[index].kind == ColumnKind::Gauge {
            summary.note(value);
            summary.sum += value;
            return Some(value);
        }
        let (then, earlier) = before?;
        let (seconds, increase) = (at - then, value - earlier);
        if increase < 0.0 {
            summary.resets = summary.resets.saturating_add(1);
            return None;
        }
        if seconds <= 0.0 {
            return None;
        }
        summary.note(increase / seconds);
        summary.sum += increase;
        summary.seconds += seconds;
        Some(increase / seconds)
    }

    fn push(&mut self, point: SeriesPoint) {
        match self.points.last_mut() {
            Some(last) if self.in_last < self.merged => {
                last.merge(&point);
                self.in_last += 1;
            }
            _ => {
                if self.points.len() >= POINTS_MAX {
                    self.halve();
                }
                self.points.push(point);
                self.in_last = 1;
            }
        }
    }

    /// Merges neighboring points in pairs.
    fn halve(&mut self) {
        let halves = self.points.chunks(2).map(|pair| {
            let mut first = pair[0].clone();
            pair[1..].iter().for_each(|second| first.merge(second));
            first
        });
        self.points = halves.collect();
        self.merged = self.merged.saturating_mul(2);
    }
}

impl SeriesPoint {
    /// Returns the length in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        (self.to - self.from).max(0.0)
    }

    fn merge(&mut self, later: &Self) {
        let Self { from: _, to, values } = later;
        let (mine, theirs) = (self.seconds(), later.seconds());
        for (value, other) in self.values.iter_mut().zip(values) {
            *value = merged(*value, *other, mine, theirs);
        }
        self.to = self.to.max(*to);
    }
}

/// Merges two values. Each is weighted by the time that it covers.
fn merged(first: Option<PointValue>, second: Option<PointValue>, mine: f64, theirs: f64) -> Option<PointValue> {
    let (Some(a), Some(b)) = (first, second) else { return first.or(second) };
    let share = if mine + theirs > 0.0 { theirs / (mine + theirs) } else { 0.5 };
    let (low, high) = (a.low.min(b.low), a.high.max(b.high));
    // Rounding must not move the mean outside of its bounds.
    Some(PointValue { low, mean: (a.mean + (b.mean - a.mean) * share).clamp(low, high), high })
}

#[cfg(test)]
mod tests;
