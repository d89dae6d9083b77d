//! Whether two sets of runs differ in a figure, by how much, and what that means.
//!
//! Differences are relative, new / base − 1, and computed as differences of logarithms: a server that is slower by a tenth
//! is so at any level.

use super::ranks::{hodges_lehmann, mann_whitney};
use super::{ALPHA, CONFIDENCE, Estimate, normal};
use crate::enumerated;

enumerated! {
    /// What a comparison comes to.
    pub enum Conclusion {
        Worse => "worse", "it is worse, by more than chance and margin";
        Better => "better", "it is better, by more than chance and margin";
        Equivalent => "equivalent", "what difference there can be is inside the margin";
        Inconclusive => "inconclusive", "these runs can not tell";
    }
}

/// Which way a figure improves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Improves {
    /// Rates, shares of success.
    Upwards,
    /// Times, costs.
    Downwards,
}

/// A relative difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// new / base − 1.
    pub change: f64,
    /// The interval that holds it with [`CONFIDENCE`]; `None` with too few runs or windows for one.
    pub interval: Option<(f64, f64)>,
    /// How likely a difference at least as large would be if there was none; `None` when nothing varied, so that nothing
    /// was tested.
    pub p: Option<f64>,
}

impl Difference {
    /// Between sets of runs, each of which counts once: Hodges-Lehmann and Mann-Whitney, on logarithms. `None` when a set is
    /// empty, too large, or a value is not above 0.
    #[must_use]
    pub fn of_runs(base: &[f64], new: &[f64]) -> Option<Self> {
        if base.iter().chain(new).any(|value| !(value.is_finite() && *value > 0.0)) {
            return None;
        }
        let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<f64>>();
        let shift = hodges_lehmann(&logs(base), &logs(new))?;
        let varied = base.iter().chain(new).any(|value| value != &base[0]);
        let difference = Self {
            change: shift.value.exp_m1(),
            interval: shift.interval.map(|(low, high)| (low.exp_m1(), high.exp_m1())),
            p: if varied { mann_whitney(base, new) } else { None },
        };
        difference.checked()
    }

    /// Between two runs whose figures have intervals of their own. It says nothing about further runs. `None` when an interval
    /// reaches down to 0.
    ///
    /// The interval of the difference recovers the variances from the two (G. Y. Zou and A. Donner, "Construction of confidence
    /// limits about effect measures: a general approach", Statistics in Medicine 27 (2008), 1693–1702); the p-value is read
    /// from it (D. G. Altman and J. M. Bland, "How to obtain the P value from a confidence interval", BMJ 343 (2011), d2304).
    #[must_use]
    pub fn of_estimates(base: Estimate, new: Estimate) -> Option<Self> {
        if !(base.low > 0.0 && new.low > 0.0 && base.high.is_finite() && new.high.is_finite()) {
            return None;
        }
        let parts = |of: Estimate| (of.value.ln(), (of.value / of.low).ln(), (of.high / of.value).ln());
        let ((base, base_down, base_up), (new, new_down, new_up)) = (parts(base), parts(new));
        let shift = new - base;
        let (down, up) = (new_down.hypot(base_up), new_up.hypot(base_down));
        let towards_zero = if shift > 0.0 { down } else { up };
        let varied = down > 0.0 || up > 0.0 || shift != 0.0;
        let z = normal::quantile(0.5 + CONFIDENCE / 2.0) * shift.abs() / towards_zero.max(f64::MIN_POSITIVE);
        let difference = Self {
            change: shift.exp_m1(),
            interval: Some(((shift - down).exp_m1(), (shift + up).exp_m1())),
            p: varied.then(|| (2.0 * normal::above(z)).min(1.0)),
        };
        difference.checked()
    }

    /// Absurd records make figures whose ratio is no number.
    fn checked(self) -> Option<Self> {
        let ends = self.interval.is_none_or(|(low, high)| low.is_finite() && high.is_finite());
        (self.change.is_finite() && ends).then_some(self)
    }

    /// What it comes to, where `p` is the p-value after [`super::ranks::holm`]'s correction, and differences up to `margin`
    /// (relative, at least 0) do not matter. Equivalent is only what can not be larger, by its interval; worse or better is
    /// what is not there by chance.
    #[must_use]
    pub fn conclude(&self, p: Option<f64>, margin: f64, improves: Improves) -> Conclusion {
        let inside = self.interval.is_some_and(|(low, high)| -margin <= low && high <= margin);
        if inside {
            Conclusion::Equivalent
        } else if p.is_none_or(|p| p > ALPHA) || self.change == 0.0 {
            Conclusion::Inconclusive
        } else if (self.change > 0.0) == (improves == Improves::Upwards) {
            Conclusion::Better
        } else {
            Conclusion::Worse
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ranks::holm;
    use super::super::runs_needed;
    use super::*;
    use crate::random::Random;

    /// Figures of `runs` runs: rate, p50 and p99, which move together from run to run, by 1 % and a little of their own.
    fn runs(random: &mut Random, runs: usize, slower: f64) -> [Vec<f64>; 3] {
        let mut figures = [const { Vec::new() }; 3];
        for _ in 0..runs {
            let mut deviation = || normal::quantile(random.unit());
            let level = 0.01 * deviation();
            figures[0].push(1000.0 / (1.0 + slower) * (-level).exp());
            figures[1].push(20e6 * (1.0 + slower) * (level + 0.002 * deviation()).exp());
            figures[2].push(31e6 * (1.0 + slower) * (level + 0.01 * deviation()).exp());
        }
        figures
    }

    fn conclusions(base: &[Vec<f64>; 3], new: &[Vec<f64>; 3], margin: f64) -> [Conclusion; 3] {
        let differences = [0, 1, 2].map(|index| Difference::of_runs(&base[index], &new[index]).unwrap());
        let adjusted = holm(&differences.map(|difference| difference.p.unwrap()));
        let improves = [Improves::Upwards, Improves::Downwards, Improves::Downwards];
        [0, 1, 2].map(|index| differences[index].conclude(Some(adjusted[index]), margin, improves[index]))
    }

    #[test]
    fn the_same_target_is_called_different_at_most_once_in_twenty() {
        let mut random = Random::new(51);
        let called = (0..100).filter(|_| {
            let (base, new) = (runs(&mut random, 8, 0.0), runs(&mut random, 8, 0.0));
            let found = conclusions(&base, &new, 0.0);
            found.iter().any(|conclusion| *conclusion != Conclusion::Inconclusive)
        });
        let called = called.count();
        assert!(called <= 10, "{called} of 100, seed 51");
    }

    #[test]
    fn one_in_twenty_slower_is_found_with_the_runs_that_are_needed() {
        let mut random = Random::new(52);
        let needed = runs_needed(3) as usize;
        assert_eq!(needed, 5);
        let found = (0..100).filter(|_| {
            let (base, new) = (runs(&mut random, needed, 0.0), runs(&mut random, needed, 0.05));
            let found = conclusions(&base, &new, 0.02);
            assert!(
                !found.contains(&Conclusion::Better) && !found.contains(&Conclusion::Equivalent),
                "{found:?}, seed 52"
            );
            found[1] == Conclusion::Worse && found[0] == Conclusion::Worse
        });
        let found = found.count();
        assert!(found >= 90, "{found} of 100, seed 52");
    }

    #[test]
    fn what_hardly_differs_is_equivalent() {
        let mut random = Random::new(53);
        let (base, new) = (runs(&mut random, 10, 0.0), runs(&mut random, 10, 0.0));
        assert_eq!(conclusions(&base, &new, 0.05), [Conclusion::Equivalent; 3], "seed 53");
        let same = Difference::of_runs(&[1.0; 4], &[1.0; 4]).unwrap();
        assert_eq!(same, Difference { change: 0.0, interval: Some((0.0, 0.0)), p: None });
        assert_eq!(same.conclude(None, 0.0, Improves::Upwards), Conclusion::Equivalent);
        let few = Difference::of_runs(&[1.0; 2], &[1.0; 2]).unwrap();
        assert_eq!(few.conclude(None, 0.0, Improves::Upwards), Conclusion::Inconclusive);
    }

    #[test]
    fn the_interval_of_two_runs_recovers_both_variances() {
        let around = |value: f64, half: f64| Estimate { value, low: value / half, high: value * half };
        // Logarithms ± 0.03 and ± 0.04 give ± 0.05.
        let (base, new) = (around(100.0, 0.03_f64.exp()), around(110.0, 0.04_f64.exp()));
        let found = Difference::of_estimates(base, new).unwrap();
        let (low, high) = found.interval.unwrap();
        assert!((found.change - 0.1).abs() < 1e-12, "{found:?}");
        assert!((low - (1.1 * (-0.05_f64).exp() - 1.0)).abs() < 1e-12, "{found:?}");
        assert!((high - (1.1 * 0.05_f64.exp() - 1.0)).abs() < 1e-12, "{found:?}");
        // ln 1.1 / (0.05 / 1.96) = 3.736.
        assert!((found.p.unwrap() / 1.869e-4 - 1.0).abs() < 0.01, "{found:?}");
        assert_eq!(found.conclude(found.p, 0.02, Improves::Downwards), Conclusion::Worse);
        assert_eq!(found.conclude(found.p, 0.02, Improves::Upwards), Conclusion::Better);
        assert_eq!(found.conclude(found.p, 0.2, Improves::Upwards), Conclusion::Equivalent);
        assert_eq!(found.conclude(Some(0.06), 0.02, Improves::Upwards), Conclusion::Inconclusive);
    }

    #[test]
    fn an_interval_that_ends_at_zero_has_the_p_value_alpha() {
        let base = Estimate { value: 100.0, low: 100.0, high: 100.0 };
        let new = Estimate { value: 105.0, low: 100.0, high: 115.0 };
        let p = Difference::of_estimates(base, new).and_then(|difference| difference.p).unwrap();
        assert!((p - ALPHA).abs() < 1e-9, "{p}");
        assert_eq!(Difference::of_estimates(base, base).unwrap().p, None);
        assert_eq!(Difference::of_estimates(Estimate { low: 0.0, ..base }, new), None);
    }

    #[test]
    fn what_has_no_logarithm_is_not_compared() {
        for odd in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Difference::of_runs(&[1.0, odd], &[1.0, 2.0]), None, "{odd}");
        }
        assert_eq!(Difference::of_runs(&[], &[1.0]), None);
    }
}
