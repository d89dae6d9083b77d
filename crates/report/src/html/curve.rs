//! Distributions of response and service time, by quantile.

use super::data::{Chart, Line, Plot, Role};
use crate::percentile::{self, Percentile};
use store::SavedRun;

/// Steps of the axis for each nine: p90, p99, p99.9 and p99.99 are this many apart.
const STEPS_PER_NINE: u32 = 50;
/// Nines at the end of the axis.
const NINES: u32 = 4;
/// Percentiles that people ask for and that lie between two steps.
const OFF_THE_STEPS: [f64; 3] = [0.5, 0.75, 0.95];

/// The chart; `None` when nothing ended well.
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
        // It ends where there are too few samples, or where operations without an end begin.
        let values: Vec<Option<f64>> = quantiles().iter().map_while(value).collect();
        Line { label: label.into(), role, values, low: Vec::new(), high: Vec::new() }
    };
    let mut lines = vec![
        line("response time", Role::Main, &|q| percentile::of(&all.response, q)),
        line("service time", Role::Beside, &|q| percentile::of(&all.service, q)),
    ];
    let mut caption = String::from(
        "Response time counts from when an operation should have started, service time from when its request was sent. \
         Both are of operations that ended well.",
    );
    if all.failed.max(all.unfinished).max(dropped) > 0 {
        lines.push(line("response time of all", Role::Failed, &|q| percentile::of_all(all, dropped, q)));
        caption.push_str(
            " “Of all” counts failed, dropped and unfinished operations too: its line ends where they begin.",
        );
    }
    caption.push_str(" A line ends where too few samples lie beyond.");
    let plot = Plot::Quantiles { quantiles: quantiles(), lines };
    Some(Chart { id: "distribution".into(), title: "Response time by percentile".into(), caption, plot })
}

/// The quantiles, evenly spaced on the axis log10(1 / (1 − q)).
fn quantiles() -> Vec<f64> {
    let at = |step: u32| 1.0 - 10_f64.powf(-f64::from(step) / f64::from(STEPS_PER_NINE));
    // Six digits are all that the axis can tell apart, and keep p99 at 0.99.
    let steps = (0..=NINES * STEPS_PER_NINE).map(|step| (at(step) * 1e6).round() / 1e6);
    let mut quantiles: Vec<f64> = steps.chain(OFF_THE_STEPS).collect();
    quantiles.sort_by(f64::total_cmp);
    quantiles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_has_the_percentiles_that_people_ask_for() {
        let found = quantiles();
        assert!(found.is_sorted() && found.len() == 204);
        for wanted in [0.0, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999] {
            assert!(found.contains(&wanted), "{wanted}");
        }
    }
}
