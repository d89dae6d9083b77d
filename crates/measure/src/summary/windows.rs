//! Division of a run into a limited number of windows. The bootstrap and batch means use windows as observations.
//!
//! The histograms of all intervals of a long run would not fit into memory. Whenever there are too many windows,
//! neighboring windows are merged in pairs. A run of any length therefore has at most [`WINDOWS_MAX`] windows, and a
//! long run has at least half this number.

use crate::interval::Interval;
use crate::statistics::Recorded;
use crate::time::Stage;

/// Maximum number of windows of a run.
pub const WINDOWS_MAX: usize = 300;

/// Results of consecutive intervals of the measured window, as needed for comparisons of runs.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// Length of the window in seconds.
    pub seconds: f64,
    /// Number of operations that succeeded in this time, even if they were due earlier.
    pub succeeded: u64,
    /// Number of operations that were due in the measured window and succeeded.
    pub ok: u64,
    /// Number of operations that were due in the measured window and succeeded or failed.
    pub completed: u64,
    /// Number of operations that were due in the measured window and count for the share of success. These operations
    /// ended, were dropped, or had not received a byte of a response at the end.
    pub judged: u64,
    /// Response body bytes received, without the bytes of attempts that failed or were redirects. The subtracted bytes
    /// are counted when an operation ends, so the difference may be negative.
    pub good_bytes: f64,
    /// Request body bytes sent, without the bytes of attempts that failed or were redirects. May be negative.
    pub good_sent_bytes: f64,
    /// CPU time of the client, in nanoseconds.
    pub cpu_nanos: f64,
    /// Response times in nanoseconds. Operations that failed, were dropped or never ended count as
    /// [`crate::statistics::BEYOND`].
    pub response: Recorded,
}

impl Window {
    fn add(&mut self, interval: &Interval) {
        let (stats, measured) = (&interval.stats, interval.stage == Stage::Measured);
        let (tally, traffic) = (&stats.measured, &stats.traffic);
        if measured {
            self.seconds += interval.seconds();
            self.succeeded = self.succeeded.saturating_add(tally.ok).saturating_add(stats.outside.ok);
            self.good_bytes += traffic.body as f64;
            self.good_sent_bytes += traffic.sent_body as f64;
            self.cpu_nanos += interval.client.cpu_nanos as f64;
        }
        self.ok = self.ok.saturating_add(tally.ok);
        self.completed = self.completed.saturating_add(tally.completed());
        let judged = tally.completed().saturating_add(tally.dropped).saturating_add(tally.unanswered);
        self.judged = self.judged.saturating_add(judged);
        self.good_bytes -= traffic.wasted as f64;
        self.good_sent_bytes -= traffic.wasted_sent as f64;
        for (_, kind) in &stats.kinds {
            self.response.merge(&Recorded::of(&kind.response));
        }
        let without_time = tally.failed.saturating_add(tally.dropped).saturating_add(tally.unfinished);
        self.response.merge(&Recorded::beyond(without_time));
    }

    fn merge(&mut self, other: &Self) {
        self.seconds += other.seconds;
        self.succeeded = self.succeeded.saturating_add(other.succeeded);
        self.ok = self.ok.saturating_add(other.ok);
        self.completed = self.completed.saturating_add(other.completed);
        self.judged = self.judged.saturating_add(other.judged);
        self.good_bytes += other.good_bytes;
        self.good_sent_bytes += other.good_sent_bytes;
        self.cpu_nanos += other.cpu_nanos;
        self.response.merge(&other.response);
    }
}

/// The windows of a run, built interval by interval.
#[derive(Clone, Debug)]
pub struct Windows {
    list: Vec<Window>,
    /// Number of intervals in each window except the last one. A joined interval counts as the number of intervals from
    /// which it was joined.
    each: u64,
    /// Number of intervals in the last window.
    filled: u64,
}

impl Default for Windows {
    fn default() -> Self {
        Self { list: Vec::new(), each: 1, filled: 0 }
    }
}

impl Windows {
    /// Adds the next interval. The warm-up is left out. Operations that end in the drain belong to the last window, so
    /// the sums over all windows equal the totals of the run.
    pub fn add(&mut self, interval: &Interval) {
        if interval.stage == Stage::Warmup {
            return;
        }
        let is_measured = interval.stage == Stage::Measured;
        let weight = interval.joined.as_ref().map_or(1, |joined| joined.intervals.max(1));
        // Windows are not shorter than the intervals that they contain.
        self.each = self.each.max(weight);
        if self.list.is_empty() || (is_measured && self.filled >= self.each) {
            self.next();
        }
        if is_measured {
            self.filled = self.filled.saturating_add(weight);
        }
        if let Some(last) = self.list.last_mut() {
            last.add(interval);
        }
    }

    /// Makes space for another window, and starts it.
    fn next(&mut self) {
        if self.list.len() == WINDOWS_MAX {
            let halves = std::mem::take(&mut self.list);
            let pairs = halves.chunks(2).map(|pair| {
                let mut both = pair[0].clone();
                pair.iter().skip(1).for_each(|window| both.merge(window));
                both
            });
            self.list = pairs.collect();
            self.each = self.each.saturating_mul(2);
        }
        self.list.push(Window::default());
        self.filled = 0;
    }

    /// Returns all windows, oldest first.
    #[must_use]
    pub fn list(&self) -> &[Window] {
        &self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::OpKind;
    use crate::summary::Model;
    use crate::summary::Summary;
    use crate::time::Instant;

    fn interval(stage: Stage, second: u64) -> Interval {
        let at = |second: u64| Instant::from_nanos(second * 1_000_000_000);
        let mut interval = Interval::new(stage, at(second), at(second + 1));
        let tally = &mut interval.stats.measured;
        (tally.ok, tally.failed, tally.dropped) = (3, 1, second % 2);
        interval.stats.outside.ok = 1;
        (interval.stats.traffic.body, interval.stats.traffic.wasted) = (5000, 100);
        interval.client.cpu_nanos = 1000;
        for kind in [OpKind::Get, OpKind::Put] {
            interval.stats.kind_mut(kind).response.record(1_000_000 * (second % 50 + 1));
        }
        interval
    }

    fn run(seconds: u64) -> (Windows, Summary) {
        let measured = (2..seconds + 2).map(|second| interval(Stage::Measured, second));
        let mut all: Vec<Interval> = (0..2).map(|second| interval(Stage::Warmup, second)).collect();
        all[0].stats = crate::Stats::default();
        all[1].stats = crate::Stats::default();
        all.extend(measured);
        all.push(interval(Stage::Drain, seconds + 2));
        let mut windows = Windows::default();
        all.iter().for_each(|interval| windows.add(interval));
        (windows, Summary::of(&Model::Closed { concurrency: 1 }, &all))
    }

    #[test]
    fn windows_are_bounded_and_add_up_to_the_run() {
        for (seconds, count) in [(1, 1), (20, 20), (300, 300), (301, 151), (600, 300), (601, 151), (5000, 157)] {
            let (windows, summary) = run(seconds);
            let list = windows.list();
            assert_eq!(list.len(), count, "{seconds} s");
            let sum = |of: fn(&Window) -> f64| list.iter().map(of).sum::<f64>();
            assert_eq!(sum(|window| window.seconds), summary.measured.seconds);
            assert_eq!(sum(|window| window.succeeded as f64), summary.window_ok as f64);
            assert_eq!(Some(sum(|window| window.good_bytes) / seconds as f64), summary.goodput());
            assert_eq!(sum(|window| window.cpu_nanos), summary.measured.cpu_nanos as f64);
            assert_eq!(sum(|window| window.completed as f64), summary.stats.measured.completed() as f64);
            let success = sum(|window| window.ok as f64) / sum(|window| window.judged as f64);
            assert_eq!(Some(success), summary.success());
            let mut response = Recorded::default();
            list.iter().for_each(|window| response.merge(&window.response));
            let tally = &summary.stats.measured;
            let without_time = Recorded::beyond(tally.failed + tally.dropped + tally.unfinished);
            assert_eq!(response, Recorded::sum(&[&Recorded::of(&summary.all.response), &without_time]));
        }
    }

    #[test]
    fn joined_intervals_make_windows_of_equal_length() {
        use crate::interval::IntervalJoiner;
        use std::time::Duration;
        // The run has ten hours of intervals of a minute, and then an hour of intervals of a second.
        let mut joiner = IntervalJoiner::new(Model::Closed { concurrency: 1 }, Duration::from_secs(60));
        let old = (0..36_000).map(|second| interval(Stage::Measured, second));
        let mut all: Vec<Interval> = old.filter_map(|interval| joiner.add(interval)).collect();
        all.extend(joiner.rest());
        all.extend((36_000..39_600).map(|second| interval(Stage::Measured, second)));
        let mut windows = Windows::default();
        all.iter().for_each(|interval| windows.add(interval));
        let (last, others) = windows.list().split_last().unwrap();
        assert!(windows.list().len() <= WINDOWS_MAX && windows.list().len() >= WINDOWS_MAX / 2);
        assert!(others.iter().all(|window| window.seconds == 240.0) && last.seconds <= 240.0);
        assert_eq!(windows.list().iter().map(|window| window.ok).sum::<u64>(), 39_600 * 3);
    }

    #[test]
    fn runs_without_a_measured_window_have_one_window_of_their_drain() {
        let mut windows = Windows::default();
        windows.add(&interval(Stage::Warmup, 0));
        assert!(windows.list().is_empty());
        windows.add(&interval(Stage::Drain, 1));
        assert_eq!((windows.list().len(), windows.list()[0].seconds), (1, 0.0));
    }
}
