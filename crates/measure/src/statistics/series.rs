//! Dependence within a series of values, and the block length that this dependence requires.

/// Returns the middle value, or the mean of the two middle values; `None` without values.
#[must_use]
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        count if count.is_multiple_of(2) => Some(f64::midpoint(values[middle - 1], values[middle])),
        _ => Some(values[middle]),
    }
}

/// Returns the arithmetic mean; 0 without values.
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Returns the sample variance (divisor n − 1); 0 below two values.
pub(super) fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len().saturating_sub(1).max(1) as f64
}

/// Returns the autocovariance at `lag`, with n as divisor.
fn autocovariance(values: &[f64], lag: usize) -> f64 {
    let mean = mean(values);
    let products = values.iter().zip(values.iter().skip(lag)).map(|(early, late)| (early - mean) * (late - mean));
    products.sum::<f64>() / values.len().max(1) as f64
}

/// Returns the autocorrelation at `lag`; 0 if the values do not vary.
pub(super) fn autocorrelation(values: &[f64], lag: usize) -> f64 {
    let spread = autocovariance(values, 0);
    if spread > 0.0 { autocovariance(values, lag) / spread } else { 0.0 }
}

/// Properties of a series that a block bootstrap needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Dependence {
    /// Length of the blocks; at least 1.
    pub block: usize,
    /// The true standard error of the mean, divided by the standard error that is computed from blocks of this length;
    /// at least 1.
    pub beyond_blocks: f64,
}

/// Minimum number of values for an estimate of the dependence.
const VALUES_MIN: usize = 20;
/// Maximum correction of the standard error. The correction is limited because the part that blocks miss is itself only
/// an uncertain estimate.
const BEYOND_BLOCKS_MAX: f64 = 1.5;

impl Dependence {
    /// Chooses the length of blocks for the circular bootstrap of a mean: b = (2 G² / D)^⅓ n^⅓, by D. N. Politis and H.
    /// White, "Automatic block-length selection for the dependent bootstrap", Econometric Reviews 23 (2004), 53–70,
    /// with the correction of A. Patton, D. N. Politis and H. White, Econometric Reviews 28 (2009), 372–375. The length
    /// is at least n^⅓. A dependence that is too weak to be significant at any single lag may still add up over many
    /// lags.
    ///
    /// Blocks of length b miss a part of the long-run variance Σ R(k), where R is the autocovariance. The missing part
    /// is Σ min(|k| / b, 1) R(k). The missing part is estimated with the same flat-top window as b, and returned as a
    /// factor. The estimate of b is rough. With this correction, b is therefore reduced to `block_max` if it is at most
    /// twice `block_max`.
    ///
    /// Returns `None` if longer blocks are needed, if there are fewer than [`VALUES_MIN`] values, or if `block_max` is
    /// 0.
    pub fn of(values: &[f64], block_max: usize) -> Option<Self> {
        let n = values.len();
        let none = Self { block: 1, beyond_blocks: 1.0 };
        let r0 = autocovariance(values, 0);
        if block_max == 0 || n < VALUES_MIN {
            return None;
        }
        if r0 <= 0.0 {
            return Some(none);
        }
        let reach = reach(values)?;
        let covariances: Vec<f64> = (0..=reach).map(|lag| flat_top(lag, reach) * autocovariance(values, lag)).collect();
        let both_sides = |weight: &dyn Fn(f64) -> f64| {
            let lags = covariances.iter().enumerate().skip(1);
            weight(0.0) * r0 + 2.0 * lags.map(|(lag, covariance)| weight(lag as f64) * covariance).sum::<f64>()
        };
        let (long_run, bias) = (both_sides(&|_| 1.0), both_sides(&|lag| lag));
        if long_run <= 0.0 {
            return Some(none);
        }
        let length = n as f64;
        let wanted = (2.0 * bias * bias / (4.0 / 3.0 * long_run * long_run)).cbrt() * length.cbrt();
        if wanted > 2.0 * block_max as f64 {
            return None;
        }
        let block = wanted.max(length.cbrt()).ceil().min(block_max as f64);
        let seen = both_sides(&|lag| (1.0 - lag / block).max(0.0));
        let beyond_blocks = if seen > 0.0 { (long_run / seen).sqrt() } else { 1.0 };
        Some(Self { block: block as usize, beyond_blocks: beyond_blocks.clamp(1.0, BEYOND_BLOCKS_MAX) })
    }
}

/// Returns the largest lag to use. Let k be √(log₁₀ n), but at least 5. The result is twice the smallest lag after
/// which k consecutive lags have no significant correlation. `None` if there is no such lag up to √n. Without such a
/// lag, the series has not settled.
fn reach(values: &[f64]) -> Option<usize> {
    let length = values.len() as f64;
    let in_a_row = (length.log10().sqrt().ceil() as usize).max(5);
    let most = (length.sqrt().ceil() as usize + in_a_row).min(values.len() - 1);
    let bound = 2.0 * (length.log10() / length).sqrt();
    let significant: Vec<bool> = (1..=most).map(|lag| autocorrelation(values, lag).abs() >= bound).collect();
    let last = significant.windows(in_a_row).position(|lags| !lags.contains(&true))?;
    Some((2 * last.max(1)).min(most))
}

/// Returns the weight of a lag: 1 up to half of the reach, then falling linearly to 0.
fn flat_top(lag: usize, reach: usize) -> f64 {
    (2.0 * (1.0 - lag as f64 / reach.max(1) as f64)).clamp(0.0, 1.0)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::statistics::normal;
    use crate::values::random::Random;

    /// Returns a stationary series xᵢ = ρ xᵢ₋₁ + eᵢ with variance 1.
    pub fn autoregressive(random: &mut Random, length: usize, rho: f64) -> Vec<f64> {
        let mut value = normal::quantile(random.unit());
        let mut next = || {
            value = rho * value + (1.0 - rho * rho).sqrt() * normal::quantile(random.unit());
            value
        };
        (0..length).map(|_| next()).collect()
    }

    #[test]
    fn medians_of_small_lists() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn moments_agree_with_the_formulas() {
        let values = [1.0, 2.0, 4.0, 7.0];
        assert_eq!((mean(&values), variance(&values)), (3.5, 7.0));
        // The deviations are −2.5, −1.5, 0.5, 3.5. The sum of the products of neighbors is 3.75 − 0.75 + 1.75 = 4.75,
        // and the sum of squares is 21.
        assert!((autocorrelation(&values, 1) - 4.75 / 21.0).abs() < 1e-15);
        assert_eq!(autocorrelation(&[5.0; 9], 1), 0.0);
        assert_eq!((mean(&[]), variance(&[1.0])), (0.0, 0.0));
    }

    #[test]
    fn blocks_grow_with_the_dependence() {
        let typical = |rho: f64| {
            let mut random = Random::new(5);
            let blocks =
                (0..101).map(|_| Dependence::of(&autoregressive(&mut random, 1000, rho), 500).unwrap().block as f64);
            median(blocks.collect()).unwrap()
        };
        // With the true covariances, the formula gives (2 · 4ρ² / (1 − ρ²)² / (4 / 3))^⅓ · 10: 13.9 at ρ = ½, and 33 at
        // ρ = 0.8.
        let (none, half, much) = (typical(0.0), typical(0.5), typical(0.8));
        assert!(none == 10.0 && (11.0..19.0).contains(&half) && (25.0..45.0).contains(&much), "{none}, {half}, {much}");
    }

    #[test]
    fn constant_values_need_no_blocks() {
        let none = Dependence { block: 1, beyond_blocks: 1.0 };
        assert_eq!(Dependence::of(&[1.0; VALUES_MIN - 1], 1), None);
        assert_eq!(Dependence::of(&[3.0; 400], 20), Some(none));
        assert_eq!(Dependence::of(&[3.0; 400], 0), None);
        let drift: Vec<f64> = (0..400).map(f64::from).collect();
        assert_eq!(Dependence::of(&drift, 20), None);
    }
}
