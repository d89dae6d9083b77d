//! Confidence intervals for percentiles of one run, computed by resampling blocks of whole intervals.
//!
//! Operations within a second depend on each other, and so do neighboring seconds. The circular block bootstrap
//! therefore draws blocks of consecutive windows with replacement, adds their histograms, and takes the quantile of the
//! sum: H. R. Künsch, "The jackknife and the bootstrap for general stationary observations", Annals of Statistics 17
//! (1989), 1217–1241; D. N. Politis and J. P. Romano, "A circular block-resampling procedure for stationary data"
//! (1992).
//!
//! A run has at most [`crate::summary::windows::WINDOWS_MAX`] windows, so the computing time does not depend on its
//! length.

use super::series::Dependence;
use super::{BEYOND, CONFIDENCE, Estimate, Recorded, normal, samples_needed, student};
use crate::values::random::Random;

/// Minimum number of blocks for an interval.
pub const BLOCKS_MIN: usize = 20;
/// Number of resampled runs.
const RESAMPLES: usize = 2000;

/// Returns quantile `q` of all values in `windows`, with its interval. `None` if the windows form fewer than
/// [`BLOCKS_MIN`] blocks, or contain fewer values than the percentile needs. With the same seed, the interval is always
/// the same.
///
/// The length of the blocks is computed from the data. For each window, the number of values that exceed the quantile
/// is counted. The dependence within this series of numbers determines the length. The ends of the interval are
/// percentiles of the resampled quantiles. The interval is widened for two reasons: the number of blocks is small
/// (Student's t and √(m / (m − 1)), as in T. Hesterberg, "What teachers should know about the bootstrap", The American
/// Statistician 69 (2015), 371–386), and values depend on each other across the ends of blocks.
#[must_use]
pub fn percentile(windows: &[&Recorded], q: f64, seed: u64) -> Option<Estimate> {
    interval(windows, q, seed, RESAMPLES)
}

fn interval(windows: &[&Recorded], q: f64, seed: u64, resamples: usize) -> Option<Estimate> {
    let whole = Recorded::sum(windows);
    let (count, value) = (whole.count(), whole.quantile(q)?);
    if count < samples_needed(q) {
        return None;
    }
    let share = whole.at_most(value) as f64 / count as f64;
    let influence = |window: &&Recorded| window.at_most(value) as f64 - share * window.count() as f64;
    let influences: Vec<f64> = windows.iter().map(influence).collect();
    let dependence = Dependence::of(&influences, windows.len() / BLOCKS_MIN)?;
    let blocks = windows.len() / dependence.block;
    let cumulated = Cumulated::of(windows, &whole, q);
    let mut random = Random::new(seed);
    let mut drawn: Vec<u64> =
        (0..resamples).map(|_| cumulated.quantile(&weights(&mut random, windows.len(), dependence.block), q)).collect();
    drawn.sort_unstable();
    let few =
        student::quantile(0.5 + CONFIDENCE / 2.0, blocks as u64 - 1) * (blocks as f64 / (blocks - 1) as f64).sqrt();
    let outside = normal::above(few * dependence.beyond_blocks);
    // The same number of resampled values lies beyond each end of the interval.
    let beyond = ((outside * (resamples + 1) as f64) as usize).clamp(1, resamples);
    let finite = |value: u64| if value == BEYOND { f64::INFINITY } else { value as f64 };
    let (low, high) = (finite(drawn[beyond - 1]), finite(drawn[resamples - beyond]));
    let value = finite(value);
    Some(Estimate { value, low: low.min(value), high: high.max(value) })
}

/// Returns how often each window is drawn. Blocks of consecutive windows are drawn until they contain as many windows
/// as the run. A block can start at any window. A block that reaches the last window continues with the first window.
fn weights(random: &mut Random, windows: usize, block: usize) -> Vec<f64> {
    let mut weights = vec![0.0; windows];
    let mut left = windows;
    while left > 0 {
        let start = random.below(windows);
        let length = block.min(left);
        (start..start + length).for_each(|index| weights[index % windows] += 1.0);
        left -= length;
    }
    weights
}

/// Cumulative counts, with one row for each value that can be the quantile of a resampled run. The row of a value v
/// contains, for each window, the number of recorded values that are at most v.
///
/// The quantile of a sum of histograms lies between the quantiles of its parts. Only values between the smallest and
/// the largest quantile of any window are therefore needed.
struct Cumulated {
    values: Vec<u64>,
    /// One row for each value, one column for each window.
    at_most: Vec<f64>,
    counts: Vec<f64>,
}

impl Cumulated {
    fn of(windows: &[&Recorded], whole: &Recorded, q: f64) -> Self {
        let quantiles = windows.iter().filter_map(|window| window.quantile(q));
        let (least, most) = quantiles.fold((u64::MAX, 0), |(least, most), v| (v.min(least), v.max(most)));
        let values = whole.values().iter().map(|(value, _)| *value);
        let values: Vec<u64> = values.filter(|value| (least..=most).contains(value)).collect();
        let mut at_most = vec![0.0; values.len() * windows.len()];
        for (column, window) in windows.iter().enumerate() {
            let mut recorded = window.values().iter().peekable();
            let mut below = 0_u64;
            for (row, value) in values.iter().enumerate() {
                while let Some((_, count)) = recorded.next_if(|(known, _)| known <= value) {
                    below = below.saturating_add(*count);
                }
                at_most[row * windows.len() + column] = below as f64;
            }
        }
        Self { values, at_most, counts: windows.iter().map(|window| window.count() as f64).collect() }
    }

    /// Returns quantile `q` of the windows, each multiplied by its weight.
    fn quantile(&self, weights: &[f64], q: f64) -> u64 {
        let sum = |counts: &[f64]| counts.iter().zip(weights).map(|(count, weight)| count * weight).sum::<f64>();
        let rank = (q * sum(&self.counts)).ceil().max(1.0);
        let (mut low, mut high) = (0, self.values.len() - 1);
        while low < high {
            let middle = usize::midpoint(low, high);
            let row = &self.at_most[middle * weights.len()..][..weights.len()];
            (low, high) = if sum(row) < rank { (middle + 1, high) } else { (low, middle) };
        }
        self.values[low]
    }
}

#[cfg(test)]
mod tests {
    use super::super::series::tests::autoregressive;
    use super::*;

    /// Standard deviation of the level of windows, on a logarithmic scale.
    const LEVEL: f64 = 0.2;
    /// Standard deviation of values around the level of their window, on a logarithmic scale.
    const WITHIN: f64 = 0.4;

    /// Returns the response times of a run, in nanoseconds. The levels of its windows follow an autoregressive series.
    fn run(random: &mut Random, windows: usize, rho: f64, each: usize) -> Vec<Recorded> {
        let levels = autoregressive(random, windows, rho);
        let mut value = |level: f64| {
            let deviation = LEVEL * level + WITHIN * normal::quantile(random.unit());
            // Values are rounded to three digits, as in a histogram.
            (20e6 * ((1000.0 * deviation).round() / 1000.0).exp()) as u64
        };
        let mut window = |level: f64| Recorded::exactly((0..each).map(|_| value(level)).collect::<Vec<u64>>());
        levels.into_iter().map(&mut window).collect()
    }

    /// Returns the true quantile of runs made by [`run`]. The sum of the two deviations is normally distributed.
    fn truth(q: f64) -> f64 {
        20e6 * (normal::quantile(q) * LEVEL.hypot(WITHIN)).exp()
    }

    fn percentile_of(run: &[Recorded], q: f64, resamples: usize) -> Option<Estimate> {
        interval(&run.iter().collect::<Vec<_>>(), q, 1, resamples)
    }

    fn coverage(q: f64, rho: f64, seed: u64) -> f64 {
        let mut random = Random::new(seed);
        let intervals = (0..1000).filter_map(|_| percentile_of(&run(&mut random, 300, rho, 12), q, 400));
        let held =
            intervals.map(|interval| interval.low <= truth(q) && truth(q) <= interval.high).collect::<Vec<bool>>();
        assert!(held.len() >= 980, "{} of 1,000 have an interval, seed {seed}", held.len());
        held.iter().filter(|held| **held).count() as f64 / held.len() as f64
    }

    #[test]
    fn intervals_contain_the_truth_with_their_confidence() {
        for (q, rho, seed) in [(0.5, 0.5, 22), (0.9, 0.5, 23), (0.99, 0.3, 24)] {
            let share = coverage(q, rho, seed);
            assert!((0.93..=0.97).contains(&share), "q {q}, autocorrelation {rho}, seed {seed}: {share}");
        }
    }

    #[test]
    fn resampled_runs_are_the_sum_of_their_windows() {
        let mut random = Random::new(3);
        let windows = run(&mut random, 40, 0.5, 30);
        let windows: Vec<&Recorded> = windows.iter().collect();
        let whole = Recorded::sum(&windows);
        for (q, block) in [(0.5, 1), (0.9, 3), (0.99, 7), (0.0, 2), (1.0, 2)] {
            let cumulated = Cumulated::of(&windows, &whole, q);
            for _ in 0..20 {
                let weights = weights(&mut random, windows.len(), block);
                assert_eq!(weights.iter().sum::<f64>(), 40.0);
                let mut drawn = Recorded::default();
                for (window, times) in windows.iter().zip(&weights) {
                    (0..*times as usize).for_each(|_| drawn.merge(window));
                }
                assert_eq!(Some(cumulated.quantile(&weights, q)), drawn.quantile(q), "q {q}, seed 3");
            }
        }
    }

    #[test]
    fn few_blocks_and_few_values_have_no_interval() {
        let mut random = Random::new(4);
        let windows = run(&mut random, 60, 0.0, 5);
        assert!(percentile_of(&windows, 0.5, 100).is_some());
        assert_eq!(percentile_of(&windows[..19], 0.5, 100), None, "19 windows are fewer than 20 blocks");
        assert_eq!(percentile_of(&windows, 0.999, 100), None, "300 values are too few for p99.9");
        let slow = run(&mut random, 60, 0.97, 400);
        assert_eq!(percentile_of(&slow, 0.5, 100), None, "long dependence leaves few blocks");
        assert_eq!(percentile_of(&vec![Recorded::default(); 60], 0.5, 100), None);
    }

    #[test]
    fn the_seed_determines_the_interval() {
        let windows = run(&mut Random::new(5), 100, 0.3, 20);
        let windows: Vec<&Recorded> = windows.iter().collect();
        assert_eq!(percentile(&windows, 0.9, 1), percentile(&windows, 0.9, 1));
        let seeds = [1, 2, 3, 4].map(|seed| percentile(&windows, 0.9, seed).unwrap());
        assert!(seeds.iter().any(|other| *other != seeds[0]), "{seeds:?}");
    }

    #[test]
    fn percentiles_among_failures_are_infinite() {
        let mut windows = vec![Recorded::exactly([1_000_000; 50]); 30];
        windows.iter_mut().for_each(|window| window.merge(&Recorded::beyond(10)));
        let (median, last) = (percentile_of(&windows, 0.5, 100).unwrap(), percentile_of(&windows, 0.9, 100).unwrap());
        assert_eq!((median.high, last.low), (1e6, f64::INFINITY));
    }

    #[test]
    fn values_that_never_vary_have_an_interval_of_zero_width() {
        let windows = vec![Recorded::exactly([1_000_000; 50]); 30];
        let found = percentile_of(&windows, 0.9, 100).unwrap();
        assert!(found.low == found.value && found.high == found.value, "{found:?}");
    }
}
