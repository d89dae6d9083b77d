//! Joins the intervals of a saved run to form longer intervals, without changing the result of the run.
//!
//! Counts and histograms can be added, but some facts about single seconds cannot be computed from sums. [`Joined`]
//! keeps these facts: the time during which the client was at a limit, the expected overtaking, and the seconds in
//! which the target served requests.

use super::Interval;
use super::judgeable::judgeable;
use crate::evidence::Evidence;
use crate::summary::{ClientLimits, Model, SingleSeconds};
use crate::time::Stage;
use crate::values::add;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Facts about the intervals that were joined.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Joined {
    /// Number of intervals.
    pub intervals: u64,
    /// Time during which the client was at its limits.
    pub limits: ClientLimits,
    /// Number of operations that the marked operations are expected to overtake if all operations are independent.
    pub overtaking_expected: f64,
    /// Facts about the single seconds.
    pub seconds: SingleSeconds,
}

impl Joined {
    /// Returns the facts about an interval, and its evidence. If the expected overtaking is not known, the observed
    /// overtaking has nothing to be compared with. It is then left out of the evidence.
    fn of(model: &Model, interval: &Interval) -> (Self, Evidence) {
        if let Some(joined) = &interval.joined {
            return (Self::clone(joined), interval.evidence.clone());
        }
        let mut limits = ClientLimits::default();
        if interval.stage == Stage::Measured {
            limits.add(model, interval);
        }
        let (evidence, overtaking_expected) = judgeable(interval);
        (Self { intervals: 1, limits, overtaking_expected, seconds: SingleSeconds::of(interval) }, evidence)
    }

    fn append(&mut self, later: &Self) {
        let Self { intervals, limits, overtaking_expected, seconds } = later;
        add(&mut self.intervals, *intervals);
        self.limits.merge(limits);
        self.overtaking_expected += overtaking_expected;
        self.seconds.append(seconds);
    }
}

/// Joiner of the intervals of a run. Joined intervals start and end at multiples of their length on the run's clock.
/// They can therefore be joined again to form even longer intervals.
#[derive(Debug)]
pub struct IntervalJoiner {
    model: Model,
    length_nanos: u64,
    open: Option<Interval>,
}

impl IntervalJoiner {
    /// Creates a joiner for intervals of at most `length`.
    #[must_use]
    pub fn new(model: Model, length: Duration) -> Self {
        let length_nanos = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX).max(1);
        Self { model, length_nanos, open: None }
    }

    /// Adds the next interval. If this interval starts a new joined interval, returns the previous joined interval,
    /// which is complete.
    pub fn add(&mut self, interval: Interval) -> Option<Interval> {
        let number = |interval: &Interval| interval.start.as_nanos() / self.length_nanos;
        let fits = |open: &&mut Interval| {
            open.stage == interval.stage && open.end == interval.start && number(open) == number(&interval)
        };
        match self.open.as_mut().filter(fits) {
            Some(open) => {
                open.join(&self.model, &interval);
                None
            }
            None => self.open.replace(interval),
        }
    }

    /// Returns the last interval.
    #[must_use]
    pub fn rest(self) -> Option<Interval> {
        self.open
    }
}

impl Interval {
    /// Appends the next interval of the same stage.
    fn join(&mut self, model: &Model, later: &Self) {
        let (mut joined, evidence) = Joined::of(model, self);
        let (other, later_evidence) = Joined::of(model, later);
        joined.append(&other);
        let peak = self.in_flight_peak.max(self.in_flight).max(later.in_flight_peak).max(later.in_flight);
        self.append_counts(later);
        self.in_flight_peak = peak;
        self.evidence = evidence;
        self.evidence.merge(&later_evidence);
        self.joined = Some(Box::new(joined));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Instant;

    const MODEL: Model = Model::Closed { concurrency: 4 };

    /// Returns the intervals of a run with a warm-up of 12.5 s. The seconds of its measured window therefore do not
    /// begin at full seconds of its clock.
    fn run() -> Vec<Interval> {
        let at = |half: u64| Instant::from_nanos(half * 500_000_000);
        let mut spans: Vec<(Stage, u64, u64)> =
            (0..12).map(|second| (Stage::Warmup, 2 * second, 2 * second + 2)).collect();
        spans.push((Stage::Warmup, 24, 25));
        spans.extend((0..150).map(|second| (Stage::Measured, 25 + 2 * second, 27 + 2 * second)));
        spans.push((Stage::Drain, 325, 326));
        let interval = |(index, (stage, start, end)): (usize, (Stage, u64, u64))| {
            let mut interval = Interval::new(stage, at(start), at(end));
            interval.stats.measured.ok = index as u64 % 3;
            (interval.in_flight, interval.in_flight_peak) = (index as u64 % 5, index as u64 % 7);
            interval.client.busy = if index.is_multiple_of(10) { 0.99 } else { 0.1 };
            interval.client.unread = 0.9;
            interval
        };
        spans.into_iter().enumerate().map(interval).collect()
    }

    fn join(intervals: &[Interval], seconds: u64) -> Vec<Interval> {
        let mut joiner = IntervalJoiner::new(MODEL, Duration::from_secs(seconds));
        let mut joined: Vec<Interval> = intervals.iter().filter_map(|interval| joiner.add(interval.clone())).collect();
        joined.extend(joiner.rest());
        joined
    }

    #[test]
    fn joining_in_steps_is_the_same_as_joining_at_once() {
        let (steps, once) = (join(&join(&run(), 10), 60), join(&run(), 60));
        let spans = |list: &[Interval]| -> Vec<_> {
            list.iter()
                .map(|interval| (interval.stage, interval.start, interval.end, interval.in_flight_peak))
                .collect()
        };
        assert_eq!(spans(&steps), spans(&once));
        for (a, b) in steps.iter().zip(&once) {
            assert_eq!(a.stats.measured, b.stats.measured);
            let (Some(a), Some(b)) = (&a.joined, &b.joined) else { continue };
            assert_eq!((a.intervals, &a.seconds), (b.intervals, &b.seconds));
            assert_eq!((a.limits.cpu, a.limits.seconds), (b.limits.cpu, b.limits.seconds));
        }
        // Five intervals: the warm-up, one for each of the three clock minutes that overlap the measured window, and
        // the drain.
        assert_eq!(once.len(), 5);
    }

    #[test]
    fn limits_are_those_of_the_single_seconds() {
        use crate::Summary;
        let (single, joined) = (Summary::of(&MODEL, &run()), Summary::of(&MODEL, &join(&run(), 60)));
        assert!(single.limits.cpu >= 15.0, "{}", single.limits.cpu);
        assert_eq!(joined.limits.cpu, single.limits.cpu);
        assert_eq!(joined.limits.busy_max, single.limits.busy_max);
        assert_eq!(joined.in_flight_peak, single.in_flight_peak);
        assert_eq!(joined.window, single.window);
        assert_eq!(joined.seconds, single.seconds);
    }
}
