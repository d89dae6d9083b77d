//! The chart of response and service time by percentile.

use crate::html::script_data::{Chart, Line, Plot, Role};
use crate::percentile::{self, Percentile};
use store::SavedRun;

/// Number of points from p90 to p99, from p99 to p99.9, and so on.
const STEPS_PER_NINE: u32 = 50;
/// Number of nines at the end of the axis: 4 means p99.99.
const NINES: u32 = 4;
/// Common percentiles that are added to the evenly spaced points.
const OFF_THE_STEPS: [f64; 3] = [0.5, 0.75, 0.95];

/// Returns the chart; `None` if nothing succeeded.
pub fn of(run: &SavedRun) -> Option<Chart> {
    let summary = run.summary();
    let (all, dropped) = (&summary.all, summary.stats.measured.dropped);
    if all.response.count() == 0 {
        return None;
    }
    let line = |label: &str, role: Role, of: &dyn Fn(f64) -> Percentile| {
        let value = |q: &f64| match of(*q) {
            Percentile::Value(nanos) => Some(Some(nanos as f64)),
            _ => None,
        };
        // The line ends at the first percentile that has too few samples, or whose operation failed or did not end.
        let values: Vec<Option<f64>> = quantiles().iter().map_while(value).collect();
        Line { label: label.into(), role, values, low: Vec::new(), high: Vec::new() }
    };
    let mut lines = vec![
        line("response time", Role::Main, &|q| percentile::of(&all.response, q)),
        line("service time", Role::Secondary, &|q| percentile::of(&all.service, q)),
    ];
    let mut caption = String::from(
        "Response time starts when an operation should have started. Service time starts when its request was sent. \
         Both are shown for successful operations.",
    );
    if all.failed.max(all.unfinished).max(dropped) > 0 {
        lines.push(line("response time, failures included", Role::Failed, &|q| percentile::of_all(all, dropped, q)));
        caption.push_str(
            " The line “failures included” also counts failed, dropped and unfinished operations. It ends where these \
              begin.",
        );
    }
    caption.push_str(" A line ends where too few samples are left.");
    let plot = Plot::Quantiles { quantiles: quantiles(), lines };
    Some(Chart { id: "distribution".into(), title: "Response time by percentile".into(), caption, plot })
}

/// Returns the quantiles, evenly spaced on the axis log10(1 / (1 − q)).
fn quantiles() -> Vec<f64> {
    let at = |step: u32| 1.0 - 10_f64.powf(-f64::from(step) / f64::from(STEPS_PER_NINE));
    // Round to six digits, the precision of the axis. This also makes p99 exactly 0.99.
    let steps = (0..=NINES * STEPS_PER_NINE).map(|step| (at(step) * 1e6).round() / 1e6);
    let mut quantiles: Vec<f64> = steps.chain(OFF_THE_STEPS).collect();
    quantiles.sort_by(f64::total_cmp);
    quantiles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_has_the_common_percentiles() {
        let found = quantiles();
        assert!(found.is_sorted() && found.len() == 204);
        for wanted in [0.0, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999] {
            assert!(found.contains(&wanted), "{wanted}");
        }
    }
}
