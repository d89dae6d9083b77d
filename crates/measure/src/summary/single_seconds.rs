//! Facts about single seconds. These facts are kept when old intervals are joined.
//!
//! An outage consists of seconds without a success, and of the parts of a second before and after it. An interval of a
//! minute that contains some successes does not show these seconds. Long runs therefore keep these facts for every
//! second. Consecutive equal seconds are stored as one entry.

use crate::interval::Interval;
use crate::result::outage::{self, Edge, Second};
use crate::time::{INTERVAL, Instant, Stage};
use crate::values::{add, bounded, sum};
use serde::{Deserialize, Serialize};

/// Maximum number of seconds that are kept, which is 46 days. Later seconds are left out, so that a hostile record
/// cannot exhaust the memory of its reader.
pub const SECONDS_MAX: u64 = 4_000_000;
/// Maximum length of the list of stretches.
const STRETCHES_MAX: usize = SECONDS_MAX as usize;
/// Maximum share of a second for which the client may be stopped. A second without a success does not count if the
/// client was stopped for longer.
const STOPPED_MAX: f64 = 0.5;

/// Consecutive seconds that are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Stretch {
    /// Number of seconds.
    seconds: u64,
    /// Operations in each of these seconds.
    each: Second,
}

/// An interval in which the target served, which means that operations succeeded or body bytes were transferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Served {
    /// Start of the interval.
    pub start: Instant,
    /// End of the interval.
    pub end: Instant,
    /// End of the last operation that succeeded in the interval.
    pub last_ok: Option<Instant>,
}

/// The time since the target last served, including the interval in which it last served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SinceService {
    /// Last interval in which the target served; `None` if there is none.
    pub served: Option<Served>,
    /// Number of operations that failed for a reason other than a delay of the client.
    pub failed: u64,
    /// Longest time that a failed operation took, in nanoseconds.
    pub longest_nanos: u64,
    /// End of the last operation that failed.
    pub last_failed: Option<Instant>,
}

impl SinceService {
    fn append(&mut self, later: &Self) {
        let Self { served, failed, longest_nanos, last_failed } = *later;
        if served.is_some() {
            *self = *later;
            return;
        }
        add(&mut self.failed, failed);
        self.longest_nanos = self.longest_nanos.max(longest_nanos);
        self.last_failed = self.last_failed.max(last_failed);
    }
}

/// Facts about the single seconds of a run, or of a part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SingleSeconds {
    /// The whole seconds of the measured window in which the client ran, oldest first.
    #[serde(deserialize_with = "bounded::list::<_, _, STRETCHES_MAX>")]
    stretches: Vec<Stretch>,
    /// Number of seconds that were added to [`Self::stretches`].
    #[serde(skip)]
    added: u64,
    /// Number of whole seconds after the warm-up in which nothing came from the target, although operations were in
    /// flight and the client ran. Time between such a second and a success is not included.
    pub without_response: u64,
    /// The time since the target last served.
    pub since_service: SinceService,
    /// `true` if this client was stopped for most of the last interval of the measured window. `None` if there was no
    /// such interval.
    #[serde(default)]
    pub stopped_at_end: Option<bool>,
}

impl SingleSeconds {
    /// Returns the facts about an interval.
    #[must_use]
    pub fn of(interval: &Interval) -> Self {
        match &interval.joined {
            Some(joined) => joined.seconds.clone(),
            None => Self::of_single(interval),
        }
    }

    fn of_single(interval: &Interval) -> Self {
        let (tally, traffic) = (&interval.stats.measured, &interval.stats.traffic);
        let kinds = || interval.stats.kinds.iter().map(|(_, kind)| kind);
        let failed = tally.failed.saturating_sub(sum(kinds().map(|kind| kind.affected.failed)));
        let longest_nanos = kinds().filter_map(|kind| kind.failed_response.max()).max().unwrap_or(0);
        let moved = traffic.moved() > 0;
        let last = interval.stats.last;
        let served =
            (tally.ok > 0 || moved).then_some(Served { start: interval.start, end: interval.end, last_ok: last.ok });
        let is_whole = interval.end.since(interval.start) >= INTERVAL;
        let is_silent = tally.completed() == 0 && !moved && interval.in_flight > 0 && interval.client.frozen == 0.0;
        let mut facts = Self {
            stretches: Vec::new(),
            added: 0,
            without_response: u64::from(is_whole && is_silent && may_be_silent(interval)),
            since_service: SinceService { served, failed, longest_nanos, last_failed: last.failed },
            stopped_at_end: (interval.stage == Stage::Measured).then(|| was_stopped(interval)),
        };
        // Seconds in which the client did not run show nothing about the target.
        if is_whole && interval.stage == Stage::Measured && (tally.ok > 0 || !was_stopped(interval)) {
            let longest = longest_nanos / INTERVAL.as_nanos() as u64;
            let silent = Second { failed, longest, ..Second::default() };
            // Failures between two successes do not matter. Such failures are left out, so that most seconds of a run
            // are equal.
            let each = if tally.ok > 0 { serving(interval, failed) } else { silent };
            facts.push(Stretch { seconds: 1, each });
        }
        facts
    }

    /// Adds the facts about the part of the run that follows this part.
    pub fn append(&mut self, later: &Self) {
        let Self { stretches, added: _, without_response, since_service, stopped_at_end } = later;
        stretches.iter().for_each(|stretch| self.push(*stretch));
        add(&mut self.without_response, *without_response);
        self.since_service.append(since_service);
        self.stopped_at_end = stopped_at_end.or(self.stopped_at_end);
    }

    fn push(&mut self, stretch: Stretch) {
        let seconds = stretch.seconds.min(SECONDS_MAX.saturating_sub(self.added));
        self.added += seconds;
        match self.stretches.last_mut() {
            _ if seconds == 0 => {}
            Some(last) if last.each == stretch.each => last.seconds += seconds,
            _ => self.stretches.push(Stretch { seconds, ..stretch }),
        }
    }

    /// Returns the time in which no operation ended, in seconds, although operations were in flight and the client ran.
    /// Only stretches of at least a second count.
    #[must_use]
    pub fn silent_seconds(&self) -> f64 {
        self.without_response as f64 + outage::pauses(self.seen(), self.without_response > 0).as_secs_f64()
    }

    /// Returns the number of seconds that [`Self::seen`] returns.
    #[must_use]
    pub fn count(&self) -> u64 {
        sum(self.stretches.iter().map(|stretch| stretch.seconds))
    }

    /// Returns the whole seconds of the measured window in which the client ran, oldest first. A second with successes
    /// is returned with a single success, without the failures between two successes.
    pub fn seen(&self) -> impl Iterator<Item = Second> {
        self.stretches.iter().flat_map(|stretch| std::iter::repeat_n(stretch.each, stretch.seconds as usize))
    }
}

/// The edges of a second are kept only if at least this number of operations succeeded in the second, or were in flight
/// at its end. With fewer operations, times without a success are common.
const OPERATIONS_MIN: u64 = 10;

/// Returns a second with successes. The edges of a second in which the client did not run are left out. An edge without
/// a failure is significant only if operations were in flight.
fn serving(interval: &Interval, failed: u64) -> Second {
    let second = Second { ok: 1, ..Second::default() };
    let (stats, is_client) = (&interval.stats, interval.client.frozen > 0.0 || interval.client.throttled > 0.0);
    let (Some(first), Some(last)) = (stats.edges.first_ok, stats.last.ok) else { return second };
    let are_many = stats.measured.ok.max(interval.in_flight) >= OPERATIONS_MIN;
    if is_client || !(are_many || failed > 0) {
        return second;
    }
    let edge = |from: Instant, until: Instant, count: u64| match count.min(failed) {
        0 if interval.in_flight == 0 => Edge::default(),
        failed => Edge::of(until.since(from), failed),
    };
    Second {
        before: edge(interval.start, first, stats.edges.failed_before),
        after: edge(last, interval.end, stats.edges.failed_after),
        ..second
    }
}

/// Returns whether a second without a response shows something about the target. In the drain, a few slow operations are
/// common.
fn may_be_silent(interval: &Interval) -> bool {
    match interval.stage {
        Stage::Warmup => false,
        Stage::Measured => true,
        Stage::Drain => interval.in_flight >= OPERATIONS_MIN,
    }
}

/// Returns whether this client could not run for most of the interval.
fn was_stopped(interval: &Interval) -> bool {
    interval.client.frozen.max(interval.client.throttled) >= STOPPED_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(index: u64, ok: u64, failed: u64) -> Interval {
        let at = |second: u64| Instant::from_nanos(second * 1_000_000_000);
        let mut interval = Interval::new(Stage::Measured, at(index), at(index + 1));
        (interval.stats.measured.ok, interval.stats.measured.failed) = (ok, failed);
        interval
    }

    fn of(seconds: &[(u64, u64)]) -> SingleSeconds {
        let mut facts = SingleSeconds::default();
        for (index, (ok, failed)) in seconds.iter().enumerate() {
            facts.append(&SingleSeconds::of(&interval(index as u64, *ok, *failed)));
        }
        facts
    }

    #[test]
    fn equal_seconds_take_the_space_of_one() {
        let facts = of(&[(5, 0), (7, 3), (1, 0), (0, 4), (0, 4), (0, 5), (9, 0)]);
        assert_eq!(facts.stretches.len(), 4);
        let seen: Vec<(u64, u64)> = facts.seen().map(|second| (second.ok, second.failed)).collect();
        assert_eq!(seen, [(1, 0), (1, 0), (1, 0), (0, 4), (0, 4), (0, 5), (1, 0)]);
    }

    #[test]
    fn failures_since_the_last_service_include_those_of_its_interval() {
        let since = of(&[(5, 1), (0, 2), (5, 3), (0, 4), (0, 5)]).since_service;
        assert_eq!((since.failed, since.served.map(|served| served.start.as_nanos())), (12, Some(2_000_000_000)));
        assert_eq!(of(&[(0, 2), (0, 5)]).since_service, SinceService { failed: 7, ..SinceService::default() });
    }

    #[test]
    fn a_second_of_a_stopped_client_counts_only_with_a_success() {
        let mut stopped = interval(0, 0, 3);
        stopped.client.throttled = 0.5;
        assert_eq!(SingleSeconds::of(&stopped).count(), 0);
        stopped.stats.measured.ok = 1;
        assert_eq!(SingleSeconds::of(&stopped).count(), 1);
    }

    #[test]
    fn only_the_last_measured_interval_decides_whether_the_client_was_stopped_at_the_end() {
        let mut stopped = interval(1, 0, 3);
        stopped.client.throttled = 0.7;
        let mut facts = of(&[(5, 0)]);
        assert_eq!(facts.stopped_at_end, Some(false));
        facts.append(&SingleSeconds::of(&stopped));
        assert_eq!(facts.stopped_at_end, Some(true));
        facts.append(&SingleSeconds::of(&Interval { stage: Stage::Drain, ..interval(2, 0, 0) }));
        assert_eq!(facts.stopped_at_end, Some(true), "the drain does not count");
        facts.append(&of(&[(5, 0)]));
        assert_eq!(facts.stopped_at_end, Some(false));
    }

    #[test]
    fn a_few_slow_operations_in_the_drain_are_no_silence() {
        let silent = |stage, in_flight| {
            let mut interval = Interval { stage, ..interval(0, 0, 0) };
            interval.in_flight = in_flight;
            SingleSeconds::of(&interval).without_response
        };
        assert_eq!([1, 16].map(|in_flight| silent(Stage::Drain, in_flight)), [0, 1]);
        assert_eq!([1, 16].map(|in_flight| silent(Stage::Measured, in_flight)), [1, 1]);
        assert_eq!(silent(Stage::Warmup, 16), 0);
    }

    #[test]
    fn a_hostile_number_of_seconds_is_cut() {
        let each = Second { ok: 1, ..Second::default() };
        let hostile =
            SingleSeconds { stretches: vec![Stretch { seconds: u64::MAX, each }; 3], ..SingleSeconds::default() };
        let mut facts = of(&[(0, 1)]);
        facts.append(&hostile);
        assert_eq!((facts.count(), facts.stretches.len()), (SECONDS_MAX, 2));
    }
}
