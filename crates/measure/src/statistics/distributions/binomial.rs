//! The binomial distribution of the number of events that happen, out of `n` independent events with probability `p`.

/// Returns the probability that at least `k` of `n` events happen, each with probability `p` in 0..=1.
///
/// The terms below `k` are added up. Each term is computed from the previous one: C(n, i + 1) / C(n, i) = (n − i) / (i
/// + 1).
#[must_use]
pub fn at_least(k: u64, n: u64, p: f64) -> f64 {
    if k == 0 {
        return 1.0;
    }
    if k > n || p <= 0.0 {
        return 0.0;
    }
    if p >= 1.0 {
        return 1.0;
    }
    let odds = (p / (1.0 - p)).ln();
    let mut log_term = n as f64 * (1.0 - p).ln();
    let mut below = 0.0;
    for i in 0..k {
        below += log_term.exp();
        log_term += ((n - i) as f64 / (i + 1) as f64).ln() + odds;
    }
    (1.0 - below).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_agree_with_closed_forms() {
        for (n, p) in [(1_u64, 0.3_f64), (5, 0.01), (100, 0.01), (298, 0.5)] {
            assert_eq!(at_least(0, n, p), 1.0);
            assert!((at_least(1, n, p) - (1.0 - (1.0 - p).powi(n as i32))).abs() < 1e-12);
            assert!((at_least(n, n, p) - p.powi(n as i32)).abs() < 1e-9);
            assert_eq!(at_least(n + 1, n, p), 0.0);
        }
        // Expected value from R: pbinom(3, 100, 0.01, lower.tail = FALSE)
        assert!((at_least(4, 100, 0.01) - 0.018_374).abs() < 1e-6);
        assert_eq!((at_least(1, 10, 0.0), at_least(3, 10, 1.0)), (0.0, 1.0));
    }
}
