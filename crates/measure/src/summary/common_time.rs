//! The time that several runs of one load have in common, so that what several machines did counts as one run.
//!
//! Each run has a clock of its own, whose zero is a moment of wall time. Only the time in which all of them measured counts: the
//! whole seconds of each run that lie inside the window of every other one, or reach beyond it by a tenth at most: clocks and starts
//! of machines do not agree more closely. Seconds of different runs begin at different moments;
//! each is put into the second of the common time that it covers most of, so two machines are at most half a second apart,
//! and what their clocks differ by. A second counts when every run has one for it.
//!
//! The drain of a run whose window ends with the common time counts too: what was dropped or never answered stays in the figures
//! "of all". That of a run which went on belongs to another time.

use crate::evidence::Edges;
use crate::interval::Interval;
use crate::stats::LastEnds;
use crate::time::Instant;
use crate::time::{INTERVAL, Stage};

/// Nanoseconds of an interval that counts.
const SECOND: u64 = INTERVAL.as_nanos() as u64;

/// How far a second may reach beyond the common time.
const SLACK: u64 = SECOND / 10;

/// When an interval of a run was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its stage.
    pub stage: Stage,
    /// Its begin on the run's clock.
    pub start: Instant,
    /// Its end on the run's clock.
    pub end: Instant,
}

impl Span {
    /// The span of an interval.
    #[must_use]
    pub fn of(interval: &Interval) -> Self {
        Self { stage: interval.stage, start: interval.start, end: interval.end }
    }
}

/// The times of a run.
#[derive(Clone, Debug)]
pub struct RunTimes {
    /// The wall time of its clock's zero, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// Its intervals, oldest first.
    pub spans: Vec<Span>,
}

impl RunTimes {
    /// Wall time of an instant, in nanoseconds since 1970.
    fn wall(&self, at: Instant) -> u64 {
        self.started_unix_ms.saturating_mul(1_000_000).saturating_add(at.as_nanos())
    }

    fn measured(&self) -> impl Iterator<Item = &Span> {
        self.spans.iter().filter(|span| span.stage == Stage::Measured)
    }

    /// Wall time of the begin and end of its window.
    fn window(&self) -> Option<(u64, u64)> {
        let start = self.measured().map(|span| self.wall(span.start)).min()?;
        let end = self.measured().map(|span| self.wall(span.end)).max()?;
        Some((start, end))
    }
}

/// What a run has to do with the common time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Member {
    /// Wall time of its clock's zero.
    zero: u64,
    /// End of its window, when its drain counts.
    drains_from: Option<u64>,
}

/// The time in which all of several runs measured.
#[derive(Clone, Debug)]
pub struct CommonTime {
    /// Wall time of its begin.
    origin: u64,
    /// Wall time until which it may last.
    end: u64,
    /// The seconds that count, ascending, from `origin`.
    seconds: Vec<u64>,
    members: Vec<Member>,
}

impl CommonTime {
    /// The common time of these runs; `None` when there is no whole second of it.
    #[must_use]
    pub fn of(runs: &[RunTimes]) -> Option<Self> {
        let windows: Vec<(u64, u64)> = runs.iter().map(RunTimes::window).collect::<Option<_>>()?;
        let origin = windows.iter().map(|(start, _)| *start).max()?;
        let end = windows.iter().map(|(_, end)| *end).min()?;
        let mut overlap = Self { origin, end, seconds: Vec::new(), members: Vec::new() };
        for (index, run) in runs.iter().enumerate() {
            let mut seconds: Vec<u64> =
                run.measured().filter_map(|span| overlap.second(run.wall(span.start), run.wall(span.end))).collect();
            seconds.sort_unstable();
            seconds.dedup();
            if index > 0 {
                seconds.retain(|second| overlap.seconds.binary_search(second).is_ok());
            }
            overlap.seconds = seconds;
        }
        let last = overlap.seconds.last()?;
        let over = origin.saturating_add((last + 1).saturating_mul(SECOND));
        overlap.members = runs
            .iter()
            .zip(windows)
            .map(|(run, (_, end))| Member {
                zero: run.wall(Instant::ZERO),
                drains_from: (end.saturating_sub(over) <= SECOND).then_some(end),
            })
            .collect();
        Some(overlap)
    }

    /// The second that an interval between these wall times covers most of; `None` when it is not a whole one inside.
    fn second(&self, start: u64, end: u64) -> Option<u64> {
        let (from, to) = (self.origin.saturating_sub(SLACK), self.end.saturating_add(SLACK));
        let inside = start >= from && end <= to && end.checked_sub(start) == Some(SECOND);
        inside.then(|| start.saturating_sub(self.origin).saturating_add(SECOND / 2) / SECOND)
    }

    /// Wall time of the begin, in milliseconds since 1970.
    #[must_use]
    pub fn started_unix_ms(&self) -> u64 {
        self.origin / 1_000_000
    }

    /// How many seconds count.
    #[must_use]
    pub fn seconds(&self) -> u64 {
        self.seconds.len() as u64
    }

    /// Where an interval of a run, counted from 0, belongs on a clock whose zero is the begin of the common time; `None` when it does
    /// not count.
    #[must_use]
    pub fn place(&self, run: usize, span: Span) -> Option<Span> {
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

    /// Moves an interval of a run to where it belongs.
    #[must_use]
    pub fn take(&self, run: usize, mut interval: Interval) -> Option<Interval> {
        let placed = self.place(run, Span::of(&interval))?;
        let zero = self.members.get(run)?.zero;
        // Its instants are those of one run's clock, and the edges of one run are no edges of all.
        (interval.evidence.edges, interval.evidence.schedule_end) = (Edges::default(), None);
        for example in &mut interval.stats.examples {
            let wall = zero.saturating_add(example.at.as_nanos());
            example.at = Instant::from_nanos(wall.saturating_sub(self.origin));
        }
        // Within a second, the runs are not aligned.
        interval.stats.last = LastEnds::default();
        (interval.start, interval.end) = (placed.start, placed.end);
        Some(interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 1_795_228_200_000;

    /// A run that begins so many milliseconds after the others and measures so many.
    fn run(delay_ms: u64, measured_ms: u64) -> RunTimes {
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let span = |stage, from: u64, to: u64| Span { stage, start: at(from), end: at(to) };
        let mut spans = vec![span(Stage::Warmup, 0, 500)];
        let starts = (0..measured_ms).step_by(1000);
        spans.extend(starts.map(|ms| span(Stage::Measured, 500 + ms, 500 + (ms + 1000).min(measured_ms))));
        spans.push(span(Stage::Drain, 500 + measured_ms, 700 + measured_ms));
        RunTimes { started_unix_ms: START + delay_ms, spans }
    }

    fn placed(overlap: &CommonTime, index: usize, times: &RunTimes) -> Vec<(u64, Stage)> {
        let spans = times.spans.iter().filter_map(|span| overlap.place(index, *span));
        spans.map(|span| (span.start.as_nanos() / SECOND, span.stage)).collect()
    }

    #[test]
    fn only_whole_seconds_that_all_have_count() {
        // The second run begins 2.3 s later and ends 2.3 s later.
        let runs = [run(0, 10_000), run(2_300, 10_000)];
        let overlap = CommonTime::of(&runs).unwrap();
        // From 2.8 s to 10.5 s on the first clock: the first one's seconds from 3.5 s on belong to the common second 1 and later, those of
        // the other to 0 to 6.
        assert_eq!((overlap.seconds(), overlap.started_unix_ms()), (6, START + 2_800));
        let first = placed(&overlap, 0, &runs[0]);
        let second = placed(&overlap, 1, &runs[1]);
        let measured: Vec<(u64, Stage)> = (1..7).map(|second| (second, Stage::Measured)).collect();
        // The first one's drain counts, since its window ends with the common time.
        assert_eq!(first, [measured.clone(), vec![(7, Stage::Drain)]].concat());
        assert_eq!(second, measured);
    }

    #[test]
    fn runs_nearly_at_once_lose_nothing() {
        let runs = [run(0, 5_000), run(40, 5_000), run(90, 5_000)];
        let overlap = CommonTime::of(&runs).unwrap();
        assert_eq!(overlap.seconds(), 5);
        for (index, times) in runs.iter().enumerate() {
            assert_eq!(placed(&overlap, index, times).len(), 6, "all but the warm-up");
        }
    }

    #[test]
    fn without_a_whole_second_in_common_there_is_nothing() {
        assert!(CommonTime::of(&[run(0, 3_000), run(3_000, 3_000)]).is_none());
        assert!(CommonTime::of(&[run(0, 3_000), run(2_500, 3_000)]).is_none());
        assert!(CommonTime::of(&[run(0, 900), run(0, 900)]).is_none(), "a part of a second has no rate to add");
        assert!(CommonTime::of(&[]).is_none());
        let empty = RunTimes { started_unix_ms: u64::MAX, spans: Vec::new() };
        assert!(CommonTime::of(&[run(0, 3_000), empty]).is_none());
    }

    #[test]
    fn a_second_that_one_run_lacks_does_not_count() {
        let (whole, mut holed) = (run(0, 6_000), run(0, 6_000));
        holed.spans.remove(3);
        let overlap = CommonTime::of(&[whole.clone(), holed]).unwrap();
        assert_eq!(overlap.seconds(), 5);
        let seconds: Vec<u64> = placed(&overlap, 0, &whole).into_iter().map(|(second, _)| second).collect();
        assert_eq!(seconds, [0, 1, 3, 4, 5, 6]);
    }
}
