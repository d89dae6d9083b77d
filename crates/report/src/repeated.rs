//! What several runs of the same load are compared by, for every form of a report.

use crate::number::{byte_rate, rate, time};
pub use measure::statistics::median;
use measure::statistics::samples_needed;
use store::SavedRun;

/// One figure of a run.
pub struct Figure {
    /// Its value; `None` when the run has too little for it.
    pub of: fn(&SavedRun) -> Option<f64>,
    /// How it is written for people.
    pub show: fn(f64) -> String,
}

/// Operations that ended well per second, goodput in bytes per second, p50 and p99 of response time in nanoseconds.
pub const FIGURES: [Figure; 4] = [
    Figure { of: |run| run.summary().ok_rate(), show: rate },
    Figure { of: |run| run.summary().goodput(), show: byte_rate },
    Figure { of: |run| response(run, 0.5), show: time },
    Figure { of: |run| response(run, 0.99), show: time },
];

/// A percentile of response time, when there are enough operations for it.
pub fn response(run: &SavedRun, q: f64) -> Option<f64> {
    let response = &run.summary().all.response;
    let enough = response.count() >= samples_needed(q);
    response.quantile(q).filter(|_| enough).map(|nanos| nanos as f64)
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
