//! Student's t distribution.

use super::normal;

/// Minimum degrees of freedom at which the normal quantile is used instead. The two quantiles then differ by less than
/// 0.2 %.
const NORMAL_FROM: u64 = 1000;
/// Number of bisections, which exceeds the number of bits of a double.
const BISECTIONS: u32 = 80;

/// Returns the quantile `p` of Student's t distribution, for ½ ≤ `p` < 1. The distribution has `freedom` degrees of
/// freedom, at least 1. The quantile is found by bisection of the exact probability.
pub fn quantile(p: f64, freedom: u64) -> f64 {
    if freedom >= NORMAL_FROM {
        return normal::quantile(p);
    }
    let wanted = 2.0 * p - 1.0;
    let (mut low, mut high) = (0.0, 1.0);
    while within(high, freedom) < wanted && high < 1e12 {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..BISECTIONS {
        let middle = f64::midpoint(low, high);
        let below = within(middle, freedom) < wanted;
        (low, high) = if below { (middle, high) } else { (low, middle) };
    }
    f64::midpoint(low, high)
}

/// Returns P(|T| ≥ |`t`|) of a t variable with `freedom` degrees of freedom (at least 1).
pub fn beyond(t: f64, freedom: u64) -> f64 {
    if freedom >= NORMAL_FROM || t.is_infinite() {
        return (2.0 * normal::above(t.abs())).min(1.0);
    }
    (1.0 - within(t.abs(), freedom)).clamp(0.0, 1.0)
}

/// Returns P(|T| ≤ `t`) by the finite series for whole degrees of freedom, M. Abramowitz and I. A. Stegun, "Handbook of
/// Mathematical Functions" (1964), 26.7.3 and 26.7.4, with θ = arctan(t / √ν).
fn within(t: f64, freedom: u64) -> f64 {
    let nu = freedom as f64;
    let cos_squared = nu / (nu + t * t);
    let sin = t / (nu + t * t).sqrt();
    let odd = !freedom.is_multiple_of(2);
    // For odd ν: 1 + 2/3 cos² + 2·4/(3·5) cos⁴ … up to cos^(ν−3). For even ν: 1 + 1/2 cos² + 1·3/(2·4) cos⁴ … up to
    // cos^(ν−2).
    let mut k = if odd { 3.0 } else { 2.0 };
    let (mut term, mut sum) = (1.0, 1.0);
    while k <= nu - 2.0 {
        term *= cos_squared * (k - 1.0) / k;
        sum += term;
        k += 2.0;
    }
    if !odd {
        return sin * sum;
    }
    let series = if freedom == 1 { 0.0 } else { sin * cos_squared.sqrt() * sum };
    ((t / nu.sqrt()).atan() + series) * std::f64::consts::FRAC_2_PI
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_agree_with_published_tables() {
        for (p, freedom, published) in [
            (0.975, 1, 12.706),
            (0.975, 2, 4.303),
            (0.975, 3, 3.182),
            (0.975, 4, 2.776),
            (0.975, 5, 2.571),
            (0.975, 10, 2.228),
            (0.975, 19, 2.093),
            (0.975, 30, 2.042),
            (0.975, 60, 2.000),
            (0.975, 120, 1.980),
            (0.95, 7, 1.895),
            (0.995, 1, 63.657),
            (0.995, 8, 3.355),
            (0.5, 6, 0.0),
        ] {
            let found = quantile(p, freedom);
            assert!((found - published).abs() < 6e-4, "{p}, {freedom} degrees: {found}, not {published}");
        }
    }

    #[test]
    fn tails_and_quantiles_agree() {
        for freedom in [1, 2, 10, 999, 5000] {
            let p = beyond(quantile(0.975, freedom), freedom);
            assert!((p - 0.05).abs() < 1e-6, "{freedom} degrees: {p}");
        }
        assert_eq!((beyond(0.0, 3), beyond(f64::INFINITY, 3)), (1.0, 0.0));
    }

    #[test]
    fn many_degrees_of_freedom_approach_the_normal_distribution() {
        let (last, normal) = (quantile(0.975, NORMAL_FROM - 1), quantile(0.975, NORMAL_FROM));
        assert!(last > normal && last / normal < 1.002, "{last} and {normal}");
    }
}
