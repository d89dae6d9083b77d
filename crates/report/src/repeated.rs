//! What several runs of the same load are compared by, for every form of a report.

use crate::number::{byte_rate, rate};
use crate::percentile;
use measure::objective::Timed;
pub use measure::statistics::median;
use store::SavedRun;

/// One figure of a run.
pub struct Figure {
    /// Its value; `None` when the run has too little for it.
    pub of: fn(&SavedRun) -> Option<f64>,
    /// Lower end of its range; the value itself where it has none.
    pub low: fn(&SavedRun) -> Option<f64>,
    /// How it is written for people, from its lower end on.
    pub show: fn(Option<f64>, f64) -> String,
}

/// Operations that ended well per second, goodput in bytes per second, p50 and p99 of response time in nanoseconds.
pub const FIGURES: [Figure; 4] = [
    Figure { of: ok_rate, low: ok_rate, show: |_, value| rate(value) },
    Figure { of: goodput, low: goodput, show: |_, value| byte_rate(value) },
    Figure { of: |run| high(run, 0.5), low: |run| low(run, 0.5), show: percentile::between },
    Figure { of: |run| high(run, 0.99), low: |run| low(run, 0.99), show: percentile::between },
];

impl Figure {
    /// Its value of a run for people; `None` when the run has too little for it.
    pub fn shown(&self, run: &SavedRun) -> Option<String> {
        (self.of)(run).map(|value| (self.show)((self.low)(run), value))
    }

    /// Its median over the runs that have it, for people. The range of a median reaches from the median of the lower ends to that
    /// of the upper ones.
    pub fn median(&self, runs: &[SavedRun]) -> Option<String> {
        let lows = runs.iter().filter_map(self.low).collect();
        median(runs.iter().filter_map(self.of).collect()).map(|value| (self.show)(median(lows), value))
    }

    /// Whether its value of a run is a range.
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

/// A percentile of response time, when there are enough operations for it: the upper end of its range.
fn high(run: &SavedRun, q: f64) -> Option<f64> {
    percentile::ends(&run.summary().all, Timed::Response, q).map(|(_, high)| high as f64)
}

/// The lower end of its range.
fn low(run: &SavedRun, q: f64) -> Option<f64> {
    percentile::ends(&run.summary().all, Timed::Response, q).map(|(low, _)| low as f64)
}

/// (largest − smallest) / median; `None` without a median above 0.
pub fn spread(values: Vec<f64>) -> Option<f64> {
    let (least, most) = values.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), v| (least.min(*v), most.max(*v)));
    let middle = median(values).filter(|middle| *middle > 0.0)?;
    Some((most - least) / middle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads() {
        assert_eq!(spread(vec![90.0, 100.0, 110.0]), Some(0.2));
        assert_eq!(spread(vec![0.0, 0.0]), None);
    }
}
