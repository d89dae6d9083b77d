//! Zipf's law: the popularity of objects in caches and file systems.

use crate::random::{Stream, bits};

/// A Zipf distribution over the objects of a plan. The object with rank k (from 1) is chosen with a probability
/// proportional to k^−s, for the exponent s. Object 0 has rank 1, so it is chosen most often.
///
/// Ranks are drawn by rejection inversion, without tables: W. Hörmann and G. Derflinger, "Rejection-inversion to
/// generate variates from monotone discrete distributions", ACM TOMACS 6(3), 1996. On average, a rank takes fewer than
/// 1.1 draws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zipf {
    objects: u64,
    exponent: f64,
    /// Range of [`Self::area`] from which values are drawn.
    areas: (f64, f64),
    /// If the nearest rank exceeds the drawn value by at most this much, it is accepted without a test.
    accepted: f64,
}

impl Zipf {
    /// Highest exponent.
    pub const EXPONENT_MAX: f64 = 10.0;

    /// Returns the distribution over `objects` objects. `None` unless the exponent is above 0 and at most
    /// [`Self::EXPONENT_MAX`], and there is at least one object.
    #[must_use]
    pub fn new(objects: u64, exponent: f64) -> Option<Self> {
        if objects == 0 || !(exponent > 0.0 && exponent <= Self::EXPONENT_MAX) {
            return None;
        }
        let zipf = Self { objects, exponent, areas: (0.0, 0.0), accepted: 0.0 };
        let areas = (zipf.area(1.5) - 1.0, zipf.area(objects as f64 + 0.5));
        let accepted = 2.0 - zipf.inverse_area(zipf.area(2.5) - zipf.density(2.0));
        Some(Self { areas, accepted, ..zipf })
    }

    /// Returns the exponent.
    #[must_use]
    pub fn exponent(self) -> f64 {
        self.exponent
    }

    /// Returns the object of operation `number`, in 0..objects.
    #[must_use]
    pub fn choose(self, seed: u64, number: u64) -> u64 {
        // Each draw of an operation has its own index. The number of the draw is in the upper bits of the index. These
        // indexes differ in the upper bits.
        let draws = (0..=u8::MAX).map(|attempt| {
            let bits = bits(seed, Stream::Object, number ^ u64::from(attempt) << 56);
            (bits >> 11) as f64 / (1_u64 << 53) as f64
        });
        let rank = |uniform: f64| {
            let area = self.areas.1 + uniform * (self.areas.0 - self.areas.1);
            let x = self.inverse_area(area);
            let rank = x.round().clamp(1.0, self.objects as f64);
            let is_accepted = rank - x <= self.accepted || area >= self.area(rank + 0.5) - self.density(rank);
            is_accepted.then_some(rank as u64 - 1)
        };
        // This line is practically unreachable, because each of the 256 draws is rejected with a probability below 0.1.
        draws.filter_map(rank).next().unwrap_or(0)
    }

    /// Integral of the density from 1 to `x`, plus a constant.
    fn area(self, x: f64) -> f64 {
        let log = x.ln();
        expm1_ratio((1.0 - self.exponent) * log) * log
    }

    fn density(self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    fn inverse_area(self, area: f64) -> f64 {
        // Rounding can push the value slightly below −1, where the logarithm is not defined.
        let scaled = (area * (1.0 - self.exponent)).max(-1.0);
        (ln_1p_ratio(scaled) * area).exp()
    }
}

/// Returns (e^x − 1) / x, which stays accurate for x near 0.
fn expm1_ratio(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.exp_m1() / x } else { 1.0 + x / 2.0 }
}

/// Returns ln(1 + x) / x, which stays accurate for x near 0.
fn ln_1p_ratio(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.ln_1p() / x } else { 1.0 - x / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The χ² statistic of the counts of all ranks must not exceed its mean by more than 3.3 standard deviations.
    #[test]
    fn ranks_follow_the_law() {
        for (objects, exponent) in [(1, 1.0), (2, 0.5), (50, 0.99), (50, 1.0), (50, 1.3), (200, 0.2), (200, 3.0)] {
            let zipf = Zipf::new(objects, exponent).unwrap();
            let draws = 200_000_u64;
            let mut counts = vec![0_u64; objects as usize];
            for number in 0..draws {
                counts[zipf.choose(42, number) as usize] += 1;
            }
            let weights: Vec<f64> = (1..=objects).map(|rank| (rank as f64).powf(-exponent)).collect();
            let sum: f64 = weights.iter().sum();
            let (mut chi, mut bins) = (0.0, 0_u32);
            for (count, weight) in counts.iter().zip(&weights) {
                let expected = draws as f64 * weight / sum;
                if expected >= 5.0 {
                    chi += (*count as f64 - expected).powi(2) / expected;
                    bins += 1;
                }
            }
            let freedom = f64::from(bins.saturating_sub(1)).max(1.0);
            assert!(chi < freedom + 3.3 * (2.0 * freedom).sqrt() + 5.0, "{objects} {exponent}: {chi} of {freedom}");
        }
    }

    #[test]
    fn many_objects_need_no_table() {
        let zipf = Zipf::new(1 << 40, 0.99).unwrap();
        let chosen: Vec<u64> = (0..10_000).map(|number| zipf.choose(1, number)).collect();
        assert!(chosen.iter().all(|object| *object < 1 << 40));
        assert!(chosen.iter().any(|object| *object > 1 << 30) && chosen.contains(&0));
        assert_eq!(chosen, (0..10_000).map(|number| zipf.choose(1, number)).collect::<Vec<_>>());
    }

    #[test]
    fn exponents_and_counts_without_a_distribution_are_refused() {
        for (objects, exponent) in [(0, 1.0), (5, 0.0), (5, -1.0), (5, f64::NAN), (5, 11.0), (5, f64::INFINITY)] {
            assert_eq!(Zipf::new(objects, exponent), None, "{objects} {exponent}");
        }
    }
}
