//! Minimum numbers of samples, runs and pairs for statistical statements.

/// Maximum probability that a percentile is reported although there is no sample beyond it.
const MISS: f64 = 0.05;

/// Returns the number of samples that a percentile needs. With this number, at least one sample lies beyond quantile
/// `q` with a certainty of 95 %. The number is ⌈ln 0.05 / ln q⌉, for example 299 for p99 and 29,956 for p99.99. For the
/// minimum and the maximum, the number is 1.
#[must_use]
pub fn samples_needed(q: f64) -> u64 {
    if q > 0.0 && q < 1.0 { (MISS.ln() / q.ln()).ceil() as u64 } else { 1 }
}

/// Returns the number of runs per side that rank tests need to show a difference in one of `metrics` metrics. The
/// number is the smallest n at which the smallest possible p-value of the Mann-Whitney test, 2 / C(2n, n), is at most α
/// / `metrics`. Holm's correction sets this limit for the smallest p-value.
#[must_use]
pub fn runs_needed(metrics: usize) -> u64 {
    let alpha = super::ALPHA / metrics.max(1) as f64;
    let (mut runs, mut ways) = (1_u64, 2.0_f64);
    while 2.0 / ways > alpha {
        // C(2n + 2, n + 1) = C(2n, n) · 2 (2n + 1) / (n + 1)
        ways *= 2.0 * (2 * runs + 1) as f64 / (runs + 1) as f64;
        runs += 1;
    }
    runs
}

/// Returns the number of pairs of runs that the signed-rank test needs to show a difference in one of `metrics`
/// metrics. The number is the smallest n at which the smallest possible p-value of the test, 2 / 2ⁿ, is at most α /
/// `metrics`.
#[must_use]
pub fn pairs_needed(metrics: usize) -> u64 {
    let alpha = super::ALPHA / metrics.max(1) as f64;
    (2.0 / alpha).log2().ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_needed_follow_the_formula() {
        let needed = [0.99, 0.999, 0.9999, 0.5, 1.0, 0.0].map(samples_needed);
        assert_eq!(needed, [299, 2_995, 29_956, 5, 1, 1]);
    }

    #[test]
    fn pairs_needed_allow_a_small_enough_p_value() {
        // 2 / 2ⁿ is 0.031 for 6 pairs, 0.0156 for 7, 0.0039 for 9.
        assert_eq!([0, 1, 2, 3, 9, 12].map(pairs_needed), [6, 6, 7, 7, 9, 9]);
    }

    #[test]
    fn runs_needed_allow_a_small_enough_p_value() {
        // The smallest possible two-sided p-values are 0.10, 0.029, 0.0079, 0.0022, 0.00058 for 3, 4, 5, 6, 7 runs per
        // side.
        assert_eq!([0, 1, 2, 6, 7, 20, 23, 24].map(runs_needed), [4, 4, 5, 5, 6, 6, 6, 7]);
    }
}
