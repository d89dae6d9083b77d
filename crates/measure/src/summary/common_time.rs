//! The common time is the time in which several runs of one load were all measured. In this time, the runs count as one
//! run.
//!
//! Each run has its own clock, which is zero at some instant of wall time. Only the common time counts. A whole second
//! of a run belongs to the common time if it lies inside the measured window of every other run. A second of the common
//! time may extend beyond these windows by at most a tenth of a second. This tolerance is needed because the clocks of
//! machines and the starts of runs never agree exactly.
//!
//! Seconds of different runs start at different instants. Each second of a run is assigned to the second of the common
//! time that it overlaps most. Between the results of two machines, there is therefore a shift of at most half a second
//! plus the difference of their clocks. A second of the common time counts only if every run has a second that is
//! assigned to it.
//!
//! If the measured window of a run ends with the common time, the run's drain counts too. Percentiles that include
//! failures need the run's dropped and unfinished operations. If a run continued after the common time, its drain does
//! not count.
//!
//! If several agents make the parts of one run, the clocks of these parts are zero at the same instant. For such parts,
//! no interval is shifted or left out. The parts are merged like the threads of a run ([`CommonTime::of_parts`]).

use crate::evidence::Edges;
use crate::interval::Interval;
use crate::stats::{LastEnds, SuccessEdges};
use crate::time::Instant;
use crate::time::{INTERVAL, Stage};

/// Length of the intervals that count, in nanoseconds.
const SECOND: u64 = INTERVAL.as_nanos() as u64;

/// Maximum time, in nanoseconds, that a second may extend beyond the common time.
const SLACK: u64 = SECOND / 10;

/// Position of an interval on a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Stage of the interval.
    pub stage: Stage,
    /// Start on the run's clock.
    pub start: Instant,
    /// End on the run's clock.
    pub end: Instant,
}

impl Span {
    /// Returns the span of an interval.
    #[must_use]
    pub fn of(interval: &Interval) -> Self {
        Self { stage: interval.stage, start: interval.start, end: interval.end }
    }
}

/// Positions of the intervals of a run on its clock.
#[derive(Clone, Debug)]
pub struct RunTimes {
    /// Wall time at which the clock is zero, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// Intervals, oldest first.
    pub spans: Vec<Span>,
}

impl RunTimes {
    /// Returns the wall time of an instant, in nanoseconds since 1970.
    fn wall(&self, at: Instant) -> u64 {
        self.started_unix_ms.saturating_mul(1_000_000).saturating_add(at.as_nanos())
    }

    fn measured(&self) -> impl Iterator<Item = &Span> {
        self.spans.iter().filter(|span| span.stage == Stage::Measured)
    }

    /// Returns the wall times of the start and the end of the measured window.
    fn window(&self) -> Option<(u64, u64)> {
        let start = self.measured().map(|span| self.wall(span.start)).min()?;
        let end = self.measured().map(|span| self.wall(span.end)).max()?;
        Some((start, end))
    }
}

/// Position of a run relative to the common time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Member {
    /// Wall time at which the run's clock is zero.
    zero: u64,
    /// End of the run's measured window if the drain of the run counts; else `None`.
    drains_from: Option<u64>,
}

/// The time in which all of several runs were measured.
#[derive(Clone, Debug)]
pub struct CommonTime {
    /// Wall time of the start.
    origin: u64,
    /// Wall time of the latest possible end.
    end: u64,
    /// `true` if the runs are parts of one run, so that all of their intervals count, at their own times.
    whole: bool,
    /// Seconds that count, in ascending order, relative to `origin`.
    seconds: Vec<u64>,
    members: Vec<Member>,
}

impl CommonTime {
    /// Returns the common time of several runs; `None` if it contains no whole second.
    #[must_use]
    pub fn of(runs: &[RunTimes]) -> Option<Self> {
        let windows: Vec<(u64, u64)> = runs.iter().map(RunTimes::window).collect::<Option<_>>()?;
        let origin = windows.iter().map(|(start, _)| *start).max()?;
        let end = windows.iter().map(|(_, end)| *end).min()?;
        let mut common = Self { origin, end, whole: false, seconds: Vec::new(), members: Vec::new() };
        for (index, run) in runs.iter().enumerate() {
            let mut seconds: Vec<u64> =
                run.measured().filter_map(|span| common.second(run.wall(span.start), run.wall(span.end))).collect();
            seconds.sort_unstable();
            seconds.dedup();
            if index > 0 {
                seconds.retain(|second| common.seconds.binary_search(second).is_ok());
            }
            common.seconds = seconds;
        }
        let last = common.seconds.last()?;
        let over = origin.saturating_add((last + 1).saturating_mul(SECOND));
        common.members = runs
            .iter()
            .zip(windows)
            .map(|(run, (_, end))| Member {
                zero: run.wall(Instant::ZERO),
                drains_from: (end.saturating_sub(over) <= SECOND).then_some(end),
            })
            .collect();
        Some(common)
    }

    /// Returns the common time of the parts of one run. `None` unless the clocks of all parts are zero at the same
    /// instant. All intervals count, even those before and after the time in which all parts were measured.
    #[must_use]
    pub fn of_parts(parts: &[RunTimes]) -> Option<Self> {
        let started = parts.first()?.started_unix_ms;
        let same_zero = parts.iter().all(|part| part.started_unix_ms == started);
        let origin = started.saturating_mul(1_000_000);
        same_zero.then_some(Self { origin, end: origin, whole: true, seconds: Vec::new(), members: Vec::new() })
    }

    /// Returns whether the runs are parts of one run, so that all of their intervals count.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// Returns the second of the common time that an interval between these wall times overlaps most. `None` unless the
    /// interval is a whole second inside the common time.
    fn second(&self, start: u64, end: u64) -> Option<u64> {
        let (from, to) = (self.origin.saturating_sub(SLACK), self.end.saturating_add(SLACK));
        let inside = start >= from && end <= to && end.checked_sub(start) == Some(SECOND);
        inside.then(|| start.saturating_sub(self.origin).saturating_add(SECOND / 2) / SECOND)
    }

    /// Returns the wall time of the start of the common time, in milliseconds since 1970.
    #[must_use]
    pub fn started_unix_ms(&self) -> u64 {
        self.origin / 1_000_000
    }

    /// Returns the number of seconds that count.
    #[must_use]
    pub fn seconds(&self) -> u64 {
        self.seconds.len() as u64
    }

    /// Converts the span of an interval to a clock that is zero at the start of the common time. `run` is the number of
    /// the run, from 0. `None` if the interval does not count.
    #[must_use]
    pub fn place(&self, run: usize, span: Span) -> Option<Span> {
        if self.whole {
            return Some(span);
        }
        let member = self.members.get(run)?;
        let wall = |at: Instant| member.zero.saturating_add(at.as_nanos());
        let at = Instant::from_nanos;
        match span.stage {
            Stage::Warmup => None,
            Stage::Measured => {
                let second = self.second(wall(span.start), wall(span.end))?;
                self.seconds.binary_search(&second).ok()?;
                Some(Span { start: at(second * SECOND), end: at((second + 1) * SECOND), ..span })
            }
            Stage::Drain => {
                let since = wall(span.start).saturating_sub(member.drains_from?) / SECOND;
                let start = self.seconds.last()?.saturating_add(1).saturating_add(since).saturating_mul(SECOND);
                let length = span.end.nanos_since(span.start).min(SECOND);
                Some(Span { start: at(start), end: at(start.saturating_add(length)), ..span })
            }
        }
    }

    /// Converts an interval of a run to the clock of the common time; `None` if the interval does not count.
    #[must_use]
    pub fn take(&self, run: usize, mut interval: Interval) -> Option<Interval> {
        let placed = self.place(run, Span::of(&interval))?;
        if self.whole {
            return Some(interval);
        }
        let zero = self.members.get(run)?.zero;
        // Drop the first and last operations. Their instants are on the clocks of different runs. In addition, the
        // first and last operations of one run are not the first and last operations of all runs together.
        (interval.evidence.edges, interval.evidence.schedule_end) = (Edges::default(), None);
        for example in &mut interval.stats.examples {
            let wall = zero.saturating_add(example.at.as_nanos());
            example.at = Instant::from_nanos(wall.saturating_sub(self.origin));
        }
        // The clocks of the runs can differ by a part of a second, so the times of their first and last successes
        // cannot be compared.
        (interval.stats.last, interval.stats.edges) = (LastEnds::default(), SuccessEdges::default());
        (interval.start, interval.end) = (placed.start, placed.end);
        Some(interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 1_795_228_200_000;

    /// Returns a run that starts `delay_ms` after the others and is measured for `measured_ms`.
    fn run(delay_ms: u64, measured_ms: u64) -> RunTimes {
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let span = |stage, from: u64, to: u64| Span { stage, start: at(from), end: at(to) };
        let mut spans = vec![span(Stage::Warmup, 0, 500)];
        let starts = (0..measured_ms).step_by(1000);
        spans.extend(starts.map(|ms| span(Stage::Measured, 500 + ms, 500 + (ms + 1000).min(measured_ms))));
        spans.push(span(Stage::Drain, 500 + measured_ms, 700 + measured_ms));
        RunTimes { started_unix_ms: START + delay_ms, spans }
    }

    fn placed(common: &CommonTime, index: usize, times: &RunTimes) -> Vec<(u64, Stage)> {
        let spans = times.spans.iter().filter_map(|span| common.place(index, *span));
        spans.map(|span| (span.start.as_nanos() / SECOND, span.stage)).collect()
    }

    #[test]
    fn only_whole_seconds_of_all_runs_count() {
        // The second run starts and ends 2.3 s later.
        let runs = [run(0, 10_000), run(2_300, 10_000)];
        let common = CommonTime::of(&runs).unwrap();
        // The common time lasts from 2.8 s to 10.5 s on the first run's clock. The seconds of the first run, from 3.5 s
        // on, are assigned to seconds 1 to 7 of the common time. The seconds of the second run are assigned to seconds
        // 0 to 6. Only seconds 1 to 6 have both.
        assert_eq!((common.seconds(), common.started_unix_ms()), (6, START + 2_800));
        let first = placed(&common, 0, &runs[0]);
        let second = placed(&common, 1, &runs[1]);
        let measured: Vec<(u64, Stage)> = (1..7).map(|second| (second, Stage::Measured)).collect();
        // The drain of the first run counts, because its measured window ends with the common time.
        assert_eq!(first, [measured.clone(), vec![(7, Stage::Drain)]].concat());
        assert_eq!(second, measured);
    }

    #[test]
    fn runs_started_almost_together_lose_nothing() {
        let runs = [run(0, 5_000), run(40, 5_000), run(90, 5_000)];
        let common = CommonTime::of(&runs).unwrap();
        assert_eq!(common.seconds(), 5);
        for (index, times) in runs.iter().enumerate() {
            assert_eq!(placed(&common, index, times).len(), 6, "all intervals but the warm-up count");
        }
    }

    #[test]
    fn runs_without_a_common_second_have_no_common_time() {
        assert!(CommonTime::of(&[run(0, 3_000), run(3_000, 3_000)]).is_none());
        assert!(CommonTime::of(&[run(0, 3_000), run(2_500, 3_000)]).is_none());
        assert!(
            CommonTime::of(&[run(0, 900), run(0, 900)]).is_none(),
            "there is no common time without a whole second, which rates need"
        );
        assert!(CommonTime::of(&[]).is_none());
        let empty = RunTimes { started_unix_ms: u64::MAX, spans: Vec::new() };
        assert!(CommonTime::of(&[run(0, 3_000), empty]).is_none());
    }

    #[test]
    fn parts_of_one_run_keep_all_of_their_intervals_in_place() {
        let parts = [run(0, 5_000), run(0, 4_300)];
        let whole = CommonTime::of_parts(&parts).unwrap();
        assert_eq!((whole.is_whole(), whole.started_unix_ms()), (true, START));
        for (index, part) in parts.iter().enumerate() {
            assert!(part.spans.iter().all(|span| whole.place(index, *span) == Some(*span)));
        }
        assert!(CommonTime::of_parts(&[run(0, 5_000), run(1, 5_000)]).is_none(), "the zeros differ");
        assert!(CommonTime::of_parts(&[]).is_none());
    }

    #[test]
    fn seconds_missing_in_one_run_do_not_count() {
        let (whole, mut holed) = (run(0, 6_000), run(0, 6_000));
        holed.spans.remove(3);
        let common = CommonTime::of(&[whole.clone(), holed]).unwrap();
        assert_eq!(common.seconds(), 5);
        let seconds: Vec<u64> = placed(&common, 0, &whole).into_iter().map(|(second, _)| second).collect();
        assert_eq!(seconds, [0, 1, 3, 4, 5, 6]);
    }
}
