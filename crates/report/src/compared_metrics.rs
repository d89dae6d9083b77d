//! The metrics for comparing several runs of the same load, in every format of a report.

use crate::number::{byte_rate, rate};
use crate::percentile;
use measure::objective::Timed;
pub use measure::statistics::median;
use store::SavedRun;

/// A metric of a run.
pub struct ComparedMetric {
    /// Returns the value in a run, or `None` if the run has too little data.
    pub of: fn(&SavedRun) -> Option<f64>,
    /// Returns the lower end of the value's range, or the value itself if the metric has no range.
    pub low: fn(&SavedRun) -> Option<f64>,
    /// Formats a value and the lower end of its range for people.
    pub show: fn(Option<f64>, f64) -> String,
}

/// Successful operations per second, goodput in bytes per second, p50 and p99 of response time in nanoseconds.
pub const COMPARED_METRICS: [ComparedMetric; 4] = [
    ComparedMetric { of: ok_rate, low: ok_rate, show: |_, value| rate(value) },
    ComparedMetric { of: goodput, low: goodput, show: |_, value| byte_rate(value) },
    ComparedMetric { of: |run| high(run, 0.5), low: |run| low(run, 0.5), show: percentile::between },
    ComparedMetric { of: |run| high(run, 0.99), low: |run| low(run, 0.99), show: percentile::between },
];

impl ComparedMetric {
    /// Formats the value of a run for people. Returns `None` if the run has too little data.
    pub fn shown(&self, run: &SavedRun) -> Option<String> {
        (self.of)(run).map(|value| (self.show)((self.low)(run), value))
    }

    /// Formats the median over the runs that have the metric, for people. The median of ranges is also a range, from
    /// the median of the lower ends to the median of the upper ends.
    pub fn median(&self, runs: &[SavedRun]) -> Option<String> {
        let lows = runs.iter().filter_map(self.low).collect();
        median(runs.iter().filter_map(self.of).collect()).map(|value| (self.show)(median(lows), value))
    }

    /// Returns whether the value of a run is a range.
    pub fn is_range(&self, run: &SavedRun) -> bool {
        (self.low)(run) < (self.of)(run)
    }
}

fn ok_rate(run: &SavedRun) -> Option<f64> {
    run.summary().ok_rate()
}

fn goodput(run: &SavedRun) -> Option<f64> {
    run.summary().goodput()
}

/// Returns the upper end of the range of a response time percentile, or `None` if there are too few operations.
fn high(run: &SavedRun, q: f64) -> Option<f64> {
    percentile::ends(&run.summary().all, Timed::Response, q).map(|(_, high)| high as f64)
}

/// Returns the lower end of the range of a response time percentile, or `None` if there are too few operations.
fn low(run: &SavedRun, q: f64) -> Option<f64> {
    percentile::ends(&run.summary().all, Timed::Response, q).map(|(low, _)| low as f64)
}

/// Returns (largest − smallest) / median; `None` if there is no median, or if the median is 0.
pub fn spread(values: Vec<f64>) -> Option<f64> {
    let (least, most) = values.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), v| (least.min(*v), most.max(*v)));
    let middle = median(values).filter(|middle| *middle > 0.0)?;
    Some((most - least) / middle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_is_relative_to_the_median() {
        assert_eq!(spread(vec![90.0, 100.0, 110.0]), Some(0.2));
        assert_eq!(spread(vec![0.0, 0.0]), None);
    }
}
