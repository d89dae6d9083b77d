//! Confidence intervals for rates of one run. The observations are batches of windows.
//!
//! Rates, shares and costs are ratios of two sums over windows, such as operations per second or CPU time per
//! operation. Let xᵢ and yᵢ be the two values of window i, and R the ratio over the whole run. The residuals xᵢ − R yᵢ
//! then add up to 0. The standard error of R follows from batches of residuals (W. G. Cochran, "Sampling Techniques",
//! 3rd ed. 1977, §6.4). The size of batches is doubled until their correlation is small, as in the method of batch
//! means (A. M. Law, "Simulation Modeling and Analysis", 5th ed. 2015, §9.5.3). The remaining correlation ρ widens the
//! interval by √((1 + ρ) / (1 − ρ)), which is the factor of a first-order autoregressive series.

use super::series::{autocorrelation, variance};
use super::{CONFIDENCE, Estimate, student};

/// Minimum number of batches for an interval.
pub const BATCHES_MIN: usize = 20;
/// Maximum correlation of neighboring batches. If the correlation of the batches is higher, the size of the batches is
/// doubled.
const CORRELATION_MAX: f64 = 0.2;
/// Maximum correlation that is accepted for the largest possible batches.
const CORRELATION_LAST: f64 = 0.5;

/// Returns Σx / Σy over windows (x, y), with its interval. `None` if there are fewer than [`BATCHES_MIN`] batches, or
/// if Σy is not positive.
#[must_use]
pub fn ratio(windows: &[(f64, f64)]) -> Option<Estimate> {
    let (above, below) = windows.iter().fold((0.0, 0.0), |(x, y), window| (x + window.0, y + window.1));
    let value = above / below;
    if windows.len() < BATCHES_MIN || !value.is_finite() {
        return None;
    }
    let residuals: Vec<f64> = windows.iter().map(|(x, y)| x - value * y).collect();
    let batches = batches(&residuals)?;
    let count = batches.len() as f64;
    let rho = autocorrelation(&batches, 1).max(0.0);
    let error = (count * variance(&batches) * (1.0 + rho) / (1.0 - rho)).sqrt() / below;
    let half = error * student::quantile(0.5 + CONFIDENCE / 2.0, batches.len() as u64 - 1);
    half.is_finite().then_some(Estimate { value, low: value - half, high: value + half })
}

/// Returns the sums of batches of consecutive residuals. The batches are as small as possible, but large enough for a
/// low correlation between them. Residuals that do not fill a batch are left out.
fn batches(residuals: &[f64]) -> Option<Vec<f64>> {
    let mut last = None;
    let mut size = 1;
    while residuals.len() / size >= BATCHES_MIN {
        let sums: Vec<f64> = residuals.chunks_exact(size).map(|batch| batch.iter().sum()).collect();
        let correlation = autocorrelation(&sums, 1);
        if correlation < CORRELATION_MAX {
            return Some(sums);
        }
        last = (correlation < CORRELATION_LAST).then_some(sums);
        size *= 2;
    }
    last
}

#[cfg(test)]
mod tests {
    use super::super::series::tests::autoregressive;
    use super::*;
    use crate::values::random::Random;

    #[test]
    fn intervals_contain_the_true_rate_with_their_confidence() {
        for (rho, seed) in [(0.0, 31), (0.3, 32), (0.5, 33)] {
            let mut random = Random::new(seed);
            let rate = |_| {
                let levels = autoregressive(&mut random, 300, rho);
                ratio(&levels.iter().map(|level| (1000.0 + 50.0 * level, 1.0)).collect::<Vec<_>>())
            };
            let rates: Vec<Estimate> = (0..1000).filter_map(rate).collect();
            assert!(rates.len() >= 980, "{} of 1,000 have an interval, seed {seed}", rates.len());
            let held = rates.iter().filter(|rate| rate.low <= 1000.0 && 1000.0 <= rate.high).count();
            let share = held as f64 / rates.len() as f64;
            assert!((0.93..=0.97).contains(&share), "autocorrelation {rho}, seed {seed}: {share}");
        }
    }

    #[test]
    fn independent_windows_give_the_interval_of_the_mean() {
        // In a series of 20 values, every second value is larger by 1. Neighbors have no positive correlation, so each
        // batch contains one value.
        let windows: Vec<(f64, f64)> = (0..20).map(|index| (f64::from(10 + index % 2), 1.0)).collect();
        let found = ratio(&windows).unwrap();
        // With s = √(20/19) / 2 and t₁₉ = 2.0930, the interval is 10.5 ± 2.0930 · s / √20.
        let half = 2.0930 * (20.0_f64 / 19.0).sqrt() / 2.0 / 20.0_f64.sqrt();
        assert!((found.value - 10.5).abs() < 1e-12 && (found.high - 10.5 - half).abs() < 1e-4, "{found:?}");
    }

    #[test]
    fn a_short_last_window_counts_by_its_length() {
        let mut windows = vec![(100.0, 1.0); 30];
        windows.push((10.0, 0.1));
        let found = ratio(&windows).unwrap();
        assert!((found.value - 100.0).abs() < 1e-9 && found.high - found.low < 1e-6, "{found:?}");
    }

    #[test]
    fn few_batches_have_no_interval() {
        assert_eq!(ratio(&[(1.0, 1.0); 19]), None);
        assert_eq!(ratio(&[(0.0, 0.0); 30]), None);
        let drift: Vec<(f64, f64)> = (0..300).map(|index| (f64::from(index), 1.0)).collect();
        assert_eq!(ratio(&drift), None, "a drifting rate has no interval");
    }
}
