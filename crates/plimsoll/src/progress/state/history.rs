//! The course of a run, as a limited number of points. A point contains one or several intervals.

use super::times::Times;
use measure::{Distribution, Interval};

/// Maximum number of points. A terminal rarely has more columns.
const POINTS_MAX: usize = 600;
/// Minimum length, in seconds, of an interval that gets its own point. Rates of shorter intervals depend on chance.
const SECONDS_MIN: f64 = 0.2;

/// The results of one or several consecutive intervals.
#[derive(Clone, Debug, Default)]
pub struct Point {
    /// Start, in seconds since the start of the run.
    pub start: f64,
    /// End, in seconds since the start of the run.
    pub end: f64,
    /// Number of operations that ended.
    pub ended: u64,
    /// Body bytes in both directions. Attempts that failed or were redirects are not included.
    pub good_bytes: u64,
    /// Response times of the operations that succeeded.
    times: Times,
    /// Percentiles of these response times. Computed only once, because each frame of the live view shows the
    /// percentiles of all points.
    pub percentiles: Option<Percentiles>,
    /// Number of intervals.
    intervals: u64,
}

/// Percentiles of response times, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percentiles {
    pub p50: f64,
    pub p99: f64,
}

/// Points in order of time. If there are too many points, neighbors are merged in pairs. No operation is lost.
#[derive(Clone, Debug)]
pub struct History {
    points: Vec<Point>,
    /// Number of intervals in a point.
    intervals: u64,
}

impl Default for History {
    fn default() -> Self {
        Self { points: Vec::new(), intervals: 1 }
    }
}

impl Point {
    /// Returns the point of an interval with these response times.
    pub fn of(interval: &Interval, response: &Distribution) -> Self {
        let stats = &interval.stats;
        let wasted = stats.traffic.wasted.saturating_add(stats.traffic.wasted_sent);
        let times = Times::of(response);
        Self {
            start: interval.start.as_secs_f64(),
            end: interval.end.as_secs_f64(),
            ended: stats.measured.completed().saturating_add(stats.outside.completed()),
            good_bytes: stats.traffic.moved().saturating_sub(wasted),
            percentiles: percentiles(&times),
            times,
            intervals: 1,
        }
    }

    /// Returns the response times of the operations that succeeded.
    pub fn times(&self) -> &Times {
        &self.times
    }

    /// Returns the operations that ended per second.
    pub fn rate(&self) -> f64 {
        self.ended as f64 / self.seconds()
    }

    /// Returns the goodput in bytes per second.
    pub fn goodput(&self) -> f64 {
        self.good_bytes as f64 / self.seconds()
    }

    fn seconds(&self) -> f64 {
        (self.end - self.start).max(1e-9)
    }

    fn append(&mut self, later: &Self) {
        let Self { start: _, end, ended, good_bytes, times, percentiles: _, intervals } = later;
        self.end = *end;
        self.ended = self.ended.saturating_add(*ended);
        self.good_bytes = self.good_bytes.saturating_add(*good_bytes);
        self.times.merge(times);
        self.percentiles = percentiles(&self.times);
        self.intervals += intervals;
    }
}

fn percentiles(times: &Times) -> Option<Percentiles> {
    Some(Percentiles { p50: times.quantile(0.5)?, p99: times.quantile(0.99)? })
}

impl History {
    /// Adds the next point.
    pub fn add(&mut self, point: Point) {
        let is_short = point.seconds() < SECONDS_MIN;
        match self.points.last_mut() {
            Some(last) if is_short || last.intervals < self.intervals => last.append(&point),
            _ => self.points.push(point),
        }
        if self.points.len() > POINTS_MAX {
            self.halve();
        }
    }

    /// Returns the points in order of time.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Divides the time from 0 to `until` seconds into `columns` parts, and returns the mean of a value in each part.
    /// Each point is weighted by the time that it has in common with the part. `None` for parts without a point.
    pub fn columns(&self, columns: usize, until: f64, value: impl Fn(&Point) -> f64) -> Vec<Option<f64>> {
        let width = until / columns.max(1) as f64;
        let mut sums = vec![(0.0, 0.0); columns];
        for point in &self.points {
            let first = ((point.start / width) as usize).min(columns.saturating_sub(1));
            let value = value(point);
            for (index, (sum, time)) in sums.iter_mut().enumerate().skip(first) {
                let (start, end) = (index as f64 * width, (index + 1) as f64 * width);
                if start >= point.end {
                    break;
                }
                let inside = (end.min(point.end) - start.max(point.start)).max(0.0);
                (*sum, *time) = (*sum + value * inside, *time + inside);
            }
        }
        sums.into_iter().map(|(sum, time)| (time > 0.0).then(|| sum / time)).collect()
    }

    fn halve(&mut self) {
        let pairs = self.points.chunks(2).map(|pair| {
            let mut merged = pair[0].clone();
            pair[1..].iter().for_each(|later| merged.append(later));
            merged
        });
        self.points = pairs.collect();
        self.intervals *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(number: u64) -> Point {
        let start = number as f64;
        Point { start, end: start + 1.0, ended: number, good_bytes: 1000, intervals: 1, ..Point::default() }
    }

    #[test]
    fn a_long_history_is_bounded_and_loses_no_operation() {
        let mut history = History::default();
        for number in 0..100_000 {
            history.add(second(number));
            assert!(history.points().len() <= POINTS_MAX);
        }
        assert_eq!(history.points().iter().map(|point| point.ended).sum::<u64>(), (0..100_000).sum::<u64>());
        assert_eq!(history.points().iter().map(|point| point.good_bytes).sum::<u64>(), 100_000_000);
        let first = &history.points()[0];
        assert!((first.goodput() - 1000.0).abs() < 1e-6 && first.end - first.start >= 256.0);
        assert!(history.points().windows(2).all(|pair| pair[0].end == pair[1].start));
    }

    #[test]
    fn columns_are_means_over_time() {
        let mut history = History::default();
        (0..4).for_each(|number| history.add(second(number)));
        let shown = history.columns(2, 4.0, Point::rate);
        assert_eq!(shown, [Some(0.5), Some(2.5)]);
        let shown = history.columns(8, 8.0, Point::rate);
        assert_eq!(shown, [Some(0.0), Some(1.0), Some(2.0), Some(3.0), None, None, None, None]);
        assert_eq!(history.columns(0, 8.0, Point::rate), []);
        assert_eq!(History::default().columns(2, 8.0, Point::rate), [None, None]);
    }

    #[test]
    fn a_short_rest_belongs_to_the_interval_before_it() {
        let mut history = History::default();
        history.add(second(0));
        history.add(Point { start: 1.0, end: 1.05, ended: 7, intervals: 1, ..Point::default() });
        assert_eq!(history.points().len(), 1);
        assert_eq!(history.points()[0].ended, 7);
    }
}
