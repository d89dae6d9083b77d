//! Steadiness of a run. A run is steady if its initial transient ends and there is no drift after that.

use super::median;
use super::normal;
use super::series::mean;

/// Minimum length of a measured window, in seconds, that is needed to judge steadiness.
pub const SECONDS_MIN: f64 = 60.0;
/// Number of points per batch of MSER-5.
const BATCH: usize = 5;
/// Maximum number of batches, because all pairs of them are compared. Longer series have larger batches.
const BATCHES_MAX: usize = 300;
/// Minimum number of batches, which is 60 points.
const BATCHES_MIN: usize = 12;
/// Maximum probability that the trend test reports a drift in a steady run.
const ALPHA_TREND: f64 = 0.01;
/// Maximum drift over the whole series that is ignored, relative to the median.
const DRIFT_MAX: f64 = 0.05;

/// Behavior of a series over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Steadiness {
    /// The series is steady after an initial transient, which should be left out. Often there is no transient.
    Steady {
        /// Number of points in the initial transient.
        from: usize,
    },
    /// The series still rises or falls after the initial transient.
    Drifting {
        /// Number of points in the initial transient.
        from: usize,
        /// Change from the end of the transient to the end of the series, relative to the median; negative if the
        /// series falls.
        change: f64,
    },
    /// The series does not settle, because MSER-5 would leave out half of the series.
    Unsettled,
}

/// Judges a series of one value per second; `None` if it is too short.
///
/// MSER-5 determines how much of the beginning to leave out. MSER-5 forms batches of 5 points, and chooses the number d
/// ≤ n / 2 of batches for which Σ_{j>d} (Zⱼ − Z̄)² / (n − d)² is the smallest (K. P. White, M. J. Cobb and S. C.
/// Spratt, "A comparison of five steady-state truncation heuristics for simulation", WSC 2000, 755–760). There are
/// counter-examples to MSER-5, so the rest is also tested for a drift. A drift is reported if two conditions are met:
/// the Mann-Kendall test on the batches is significant at 1 % (H. B. Mann, Econometrica 13 (1945), 245–259; M. G.
/// Kendall, "Rank Correlation Methods", 1975), and the change by Sen's slope exceeds 5 % of the median (P. K. Sen,
/// Journal of the American Statistical Association 63 (1968), 1379–1389).
#[must_use]
pub fn judge(seconds: &[f64]) -> Option<Steadiness> {
    let mut size = BATCH;
    while seconds.len() / size > BATCHES_MAX {
        size *= 2;
    }
    let batches: Vec<f64> = seconds.chunks_exact(size).map(mean).collect();
    if batches.len() < BATCHES_MIN || batches.iter().any(|batch| !batch.is_finite()) {
        return None;
    }
    let cut = truncation(&batches);
    if cut == batches.len() / 2 {
        return Some(Steadiness::Unsettled);
    }
    let (from, kept) = (cut * size, &batches[cut..]);
    let change = drift(kept);
    let drifts = trend(kept) <= ALPHA_TREND && change.abs() > DRIFT_MAX;
    Some(if drifts { Steadiness::Drifting { from, change } } else { Steadiness::Steady { from } })
}

/// Returns the number of batches to leave out at the beginning.
fn truncation(batches: &[f64]) -> usize {
    let statistic = |cut: usize| {
        let kept = &batches[cut..];
        let mean = mean(kept);
        kept.iter().map(|batch| (batch - mean).powi(2)).sum::<f64>() / (kept.len() as f64).powi(2)
    };
    (0..=batches.len() / 2).min_by(|a, b| statistic(*a).total_cmp(&statistic(*b))).unwrap_or(0)
}

/// Returns the two-sided p-value of the Mann-Kendall test, corrected for ties.
fn trend(values: &[f64]) -> f64 {
    let (score, variance) = kendall(values);
    if variance > 0.0 { (2.0 * normal::above((score.abs() - 1.0).max(0.0) / variance.sqrt())).min(1.0) } else { 1.0 }
}

/// Returns the number of rising pairs minus the number of falling pairs, and the variance of this difference if there
/// is no trend.
fn kendall(values: &[f64]) -> (f64, f64) {
    let pairs =
        values.iter().enumerate().flat_map(|(at, early)| values[at + 1..].iter().map(move |late| (early, late)));
    let score = pairs.map(|(early, late)| f64::from(late > early) - f64::from(late < early)).sum();
    let weight = |count: usize| (count * (count - 1) * (2 * count + 5)) as f64 / 18.0;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let ties: f64 = sorted.chunk_by(|a, b| a == b).map(|equal| weight(equal.len())).sum();
    (score, weight(values.len()) - ties)
}

/// Returns the change along Sen's slope from the first batch to the last, relative to their median; 0 if the median is
/// 0.
fn drift(values: &[f64]) -> f64 {
    let slopes = values.iter().enumerate().flat_map(|(at, early)| {
        values[at + 1..].iter().zip(1_u32..).map(move |(late, apart)| (late - early) / f64::from(apart))
    });
    let slope = median(slopes.collect()).unwrap_or(0.0);
    let middle = median(values.to_vec()).filter(|middle| *middle != 0.0);
    middle.map_or(0.0, |middle| slope * (values.len() - 1) as f64 / middle)
}

#[cfg(test)]
mod tests {
    use super::super::series::tests::autoregressive;
    use super::*;
    use crate::values::random::Random;

    fn noisy(random: &mut Random, seconds: usize, rho: f64, level: impl Fn(f64) -> f64) -> Vec<f64> {
        let noise = autoregressive(random, seconds, rho);
        noise.iter().enumerate().map(|(second, noise)| level(second as f64) + 20.0 * noise).collect()
    }

    #[test]
    fn steady_runs_are_called_steady() {
        for (rho, seed) in [(0.0, 61), (0.5, 62)] {
            let mut random = Random::new(seed);
            let steady = |_: &u32| {
                let judged = judge(&noisy(&mut random, 120, rho, |_| 1000.0));
                matches!(judged, Some(Steadiness::Steady { from }) if from <= 60)
            };
            let steady = (0..200).filter(steady).count();
            assert!(steady >= 180, "only {steady} of 200 runs are steady at autocorrelation {rho}, seed {seed}");
        }
    }

    #[test]
    fn warm_ups_are_left_out() {
        let mut random = Random::new(63);
        for _ in 0..50 {
            let warming = noisy(&mut random, 180, 0.2, |second| 1000.0 - 600.0 * (-second / 8.0).exp());
            let Some(Steadiness::Steady { from }) = judge(&warming) else { panic!("seed 63: {:?}", judge(&warming)) };
            assert!((10..=90).contains(&from), "seed 63: {from}");
        }
    }

    #[test]
    fn drifts_and_unsettled_runs_are_found() {
        let mut random = Random::new(64);
        let slowing = noisy(&mut random, 300, 0.2, |second| 1000.0 - second);
        let judged = judge(&slowing);
        let drifts = match judged {
            Some(Steadiness::Drifting { change, .. }) => (-0.5..-0.1).contains(&change),
            other => other == Some(Steadiness::Unsettled),
        };
        assert!(drifts, "seed 64: {judged:?}");
        let late = noisy(&mut random, 120, 0.0, |second| if second < 70.0 { 1000.0 } else { 500.0 });
        assert!(!matches!(judge(&late), Some(Steadiness::Steady { .. })), "seed 64: {:?}", judge(&late));
        // The series has one value per second for a day, with a slow rise that no truncation hides.
        let day = noisy(&mut random, 86_400, 0.5, |second| 1000.0 + second / 200.0);
        assert!(!matches!(judge(&day), Some(Steadiness::Steady { .. })), "seed 64: {:?}", judge(&day));
    }

    #[test]
    fn short_series_are_not_judged() {
        assert_eq!(judge(&[1000.0; 59]), None);
        assert_eq!(judge(&[1000.0; 60]), Some(Steadiness::Steady { from: 0 }));
        assert_eq!(judge(&[0.0; 600]), Some(Steadiness::Steady { from: 0 }));
        assert_eq!(judge(&[f64::NAN; 60]), None);
    }

    fn permutations(values: &[f64]) -> Vec<Vec<f64>> {
        if values.len() < 2 {
            return vec![values.to_vec()];
        }
        let with_first = |index: usize| {
            let mut rest = values.to_vec();
            let first = rest.remove(index);
            permutations(&rest).into_iter().map(move |tail| [vec![first], tail].concat())
        };
        (0..values.len()).flat_map(with_first).collect()
    }

    #[test]
    fn the_variance_of_the_trend_agrees_with_all_permutations() {
        for values in [vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], vec![1.0, 1.0, 2.0, 3.0, 3.0, 3.0], vec![2.0; 5]] {
            let scores: Vec<f64> = permutations(&values).iter().map(|order| kendall(order).0).collect();
            let variance = scores.iter().map(|score| score * score).sum::<f64>() / scores.len() as f64;
            assert!((kendall(&values).1 - variance).abs() < 1e-9, "{values:?}: {variance}");
        }
        assert_eq!(kendall(&[1.0, 3.0, 2.0, 2.0]).0, 1.0);
    }

    #[test]
    fn sens_slope_is_the_median_of_all_slopes() {
        assert!((drift(&[10.0, 11.0, 12.0, 13.0, 14.0]) - 4.0 / 12.0).abs() < 1e-12);
        assert!(
            (drift(&[10.0, 11.0, 99.0, 13.0, 14.0]) - 4.0 / 13.0).abs() < 1e-12,
            "one outlier does not change Sen's slope"
        );
    }
}
