//! A saved run, folded into a summary and one short point per interval.

use crate::collected::Collected;
use crate::error::{StoreError, StoreErrorKind};
use crate::frames::{Damage, Tail};
use crate::record::{Begin, End, EndReason, Record};
use crate::record_reader::{Progress, for_each_record, read_begin, read_records};
use crate::snapshot::Snapshot;
use measure::path::PathLimits;
use measure::{ClientLoad, Distribution, HeatMap, Instant, Interval, Stage, Summary};
use serde::{Deserialize, Serialize};
use std::io::Read;
use std::path::Path;
use std::time::Duration;

/// Quantile of the response time that represents short operations, which are the first to show a late emulator.
const SHORT_OPERATIONS: f64 = 0.1;

/// The main numbers of one interval, for time series. A point takes less than 200 bytes, while the unpacked histograms
/// of an interval take hundreds of kilobytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The stage of the run.
    pub stage: Stage,
    /// The start of the interval.
    pub start: Instant,
    /// The end of the interval.
    pub end: Instant,
    /// Number of measured operations that succeeded.
    pub ok: u64,
    /// Number of measured operations that failed.
    pub failed: u64,
    /// Number of measured operations that were dropped without being started.
    pub dropped: u64,
    /// Number of received body bytes.
    pub body_bytes: u64,
    /// Number of sent body bytes.
    pub sent_body_bytes: u64,
    /// Median response time of successful operations in nanoseconds.
    pub response_p50_nanos: Option<u64>,
    /// p99 response time of successful operations in nanoseconds.
    pub response_p99_nanos: Option<u64>,
    /// Number of operations in flight at the end of the interval.
    pub in_flight: u64,
    /// The load of the client.
    pub client: ClientLoad,
}

impl Point {
    /// Creates the point of an interval.
    pub(crate) fn of_interval(interval: &Interval) -> Self {
        Self::of(interval, &interval.stats.of_all_kinds(|kind| &kind.response))
    }

    /// Creates the point of an interval. `response` contains the response times of the interval's successful
    /// operations.
    fn of(interval: &Interval, response: &Distribution) -> Self {
        let tally = &interval.stats.measured;
        Self {
            stage: interval.stage,
            start: interval.start,
            end: interval.end,
            ok: tally.ok,
            failed: tally.failed,
            dropped: tally.dropped,
            body_bytes: interval.stats.traffic.body,
            sent_body_bytes: interval.stats.traffic.sent_body,
            response_p50_nanos: response.quantile(0.5),
            response_p99_nanos: response.quantile(0.99),
            in_flight: interval.in_flight,
            client: interval.client,
        }
    }
}

/// The saved part of a run. Memory use grows by one [`Point`] per interval. A long run has fewer points, because old
/// intervals are joined.
#[derive(Clone, Debug)]
pub struct SavedRun {
    /// The setup of the run.
    pub begin: Begin,
    /// The sum of all intervals.
    pub summary: Summary,
    /// One point per interval, oldest first.
    pub points: Vec<Point>,
    /// Response times of successful operations by the time at which they ended.
    pub heat: HeatMap,
    /// Values that a collector polled during the run. `None` if the run was not read from its directory.
    pub collected: Option<Collected>,
    /// The end of the run. `None` while it is in progress and after a crash.
    pub end: Option<End>,
    /// Size of an incomplete last frame, which was ignored.
    pub torn_bytes: u64,
    /// Damage that a crash does not explain. Reading stopped at this damage.
    pub damage: Option<Damage>,
}

impl SavedRun {
    /// Reads the run in `dir`.
    ///
    /// # Errors
    /// Fails like [`crate::for_each_record`].
    pub fn read(dir: &Path) -> Result<Self, StoreError> {
        let begin = read_begin(dir)?;
        let Some(snapshot) = Snapshot::read(dir, &begin) else { return Self::read_with(dir, |_| ()) };
        let mut progress =
            Progress::at_segment(snapshot.segments().saturating_add(1), snapshot.run.points.len() as u64);
        let mut run = snapshot.run;
        let tail = progress.read_files(dir, &mut |record| run.take(record))?;
        Ok(Self { collected: Collected::read(dir)?, ..run.finished(tail) })
    }

    /// Reads the run in `dir`, and passes each interval to `look` before merging it. Callers can thus collect data that a
    /// summary does not contain.
    ///
    /// # Errors
    /// Fails like [`crate::for_each_record`].
    pub fn read_with(dir: &Path, mut look: impl FnMut(&Interval)) -> Result<Self, StoreError> {
        let mut run = None;
        let tail = for_each_record(dir, |record| {
            if let Record::Interval(interval) = &record {
                look(interval);
            }
            Self::take_first(&mut run, record);
        })?;
        let run: Self = run.ok_or_else(|| StoreError::new(dir, StoreErrorKind::NotARun))?;
        Ok(Self { collected: Collected::read(dir)?, ..run.finished(tail) })
    }

    /// Reads a run from the bytes of its only file of records.
    ///
    /// # Errors
    /// Fails like [`read_records`].
    pub fn read_from(input: impl Read) -> Result<Self, StoreErrorKind> {
        let mut run = None;
        let tail = read_records(input, |record| Self::take_first(&mut run, record))?;
        run.map(|run: Self| run.finished(tail)).ok_or(StoreErrorKind::NotARun)
    }

    fn take_first(run: &mut Option<Self>, record: Record) {
        match (run, record) {
            (run @ None, Record::Begin(begin)) => *run = Some(Self::new(*begin)),
            (Some(run), record) => run.take(record),
            (None, _) => debug_assert!(false, "a record came before the begin record"),
        }
    }

    fn take(&mut self, record: Record) {
        match record {
            Record::Interval(interval) => self.add(&interval),
            Record::End(end) => self.ended(Some(*end)),
            Record::Begin(_) | Record::Segment(_) => debug_assert!(false, "a run begins once"),
        }
    }

    /// Creates a run from records.
    #[must_use]
    pub fn of<'a>(begin: Begin, intervals: impl IntoIterator<Item = &'a Interval>, end: Option<End>) -> Self {
        let mut run = Self::new(begin);
        intervals.into_iter().for_each(|interval| run.add(interval));
        run.ended(end);
        run.finished(Tail::default())
    }

    fn ended(&mut self, end: Option<End>) {
        self.summary.probes = end.as_ref().and_then(|end| end.probes);
        self.end = end;
    }

    /// Returns the sum of all intervals.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Returns whether the records are complete from begin to end. The records are complete if the run completed, or
    /// was stopped and ended properly.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let in_order = |end: &End| match end.reason {
            EndReason::Completed
            | EndReason::Interrupted { .. }
            | EndReason::StoppedEarly { .. }
            | EndReason::Aborted { .. } => true,
            // Some operations began before the time that all merged runs have in common, or ended after it. Only the
            // start or only the end of such an operation was counted.
            EndReason::Merged { .. } | EndReason::AgentsLost { .. } => false,
            EndReason::StartsApart { .. } => true,
            EndReason::DiskFull | EndReason::Unreachable { .. } | EndReason::Failed { .. } => false,
        };
        self.damage.is_none() && self.end.as_ref().is_some_and(in_order)
    }

    pub(crate) fn new(begin: Begin) -> Self {
        let summary =
            Summary { shares_host: begin.loopback, path: PathLimits::of(begin.path.as_ref()), ..Summary::default() };
        Self {
            begin,
            summary,
            points: Vec::new(),
            heat: HeatMap::default(),
            collected: None,
            end: None,
            torn_bytes: 0,
            damage: None,
        }
    }

    pub(crate) fn add(&mut self, interval: &Interval) {
        self.summary.add(&self.begin.model, interval);
        let response = interval.stats.of_all_kinds(|kind| &kind.response);
        self.heat.add(interval.start, interval.end, &response);
        self.points.push(Point::of(interval, &response));
    }

    /// Completes the run after its last record. Computes the totals over all kinds of operations, because merging
    /// intervals does not update these totals.
    fn finished(mut self, tail: Tail) -> Self {
        (self.torn_bytes, self.damage) = (tail.torn_bytes, tail.damage);
        self.summary.all = self.summary.stats.all_kinds();
        self.judge_emulator();
        self
    }

    /// Compares the lateness of the emulator of the path with the times of the run.
    fn judge_emulator(&mut self) {
        let response = self.summary.all.response.quantile(SHORT_OPERATIONS).map(Duration::from_nanos);
        let measured = self.begin.path.as_ref().and_then(|path| path.measured);
        let round_trip = measured.map(|measured| measured.round_trip);
        if let Some(traffic) = self.end.as_mut().and_then(|end| end.path.as_mut()) {
            *traffic = traffic.judged(response, round_trip);
            self.summary.path.emulator = traffic.emulator();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::DamageKind;
    use crate::record_reader::tests::{frame, second};
    use crate::run_writer::tests::begin;

    #[test]
    fn a_share_that_cannot_be_summed_is_damage() {
        let Record::Interval(mut interval) = second(0) else { unreachable!() };
        interval.client.busy = 1e300;
        let file = [frame(&[Record::Begin(Box::new(begin()))]), frame(&[Record::Interval(interval)])].concat();
        let run = SavedRun::read_from(file.as_slice()).unwrap();
        assert_eq!(run.damage.map(|damage| damage.kind), Some(DamageKind::Record));
        assert_eq!(run.points.len(), 0);
    }
}
