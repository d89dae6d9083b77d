//! The difference between two sets of runs in a metric, and the conclusion from it.
//!
//! All comparisons end here: of sets of runs, of pairs of runs and of the seconds of single runs. See [`conclude_all`],
//! and [`conclude_together`] for the conclusion over all metrics.
//!
//! Relative differences, new / base − 1, are computed as differences of logarithms, because a server that is slower by
//! a tenth is so at any level. If so many operations of a run failed that a time has no value, the time is infinite:
//! the run is slower than any other, and its change is +∞.

use super::ranks::{hodges_lehmann, holm, mann_whitney, minus, paired_shift, signed_rank};
use super::{ALPHA, CONFIDENCE, Estimate, normal};
use crate::enumerated;

enumerated! {
    /// Conclusion of a comparison.
    pub enum Conclusion {
Worse => "worse", "worse, by more than chance and margin";
Better => "better", "better, by more than chance and margin";
Equivalent => "equivalent", "any difference lies within the margin";
Inconclusive => "inconclusive", "these runs do not show it";
    }
}

/// Direction in which a metric improves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Improves {
    /// Higher is better: rates, shares of success.
    Upwards,
    /// Lower is better: times, costs.
    Downwards,
}

/// Unit of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Relative: new / base − 1.
    Relative,
    /// Absolute: new − base, in the unit of the metric.
    Absolute,
}

impl Scale {
    /// Returns the values on the scale on which their differences are taken; `None` if a value is not defined on it.
    fn of(self, values: &[f64]) -> Option<Vec<f64>> {
        let sound = |value: &f64| !value.is_nan() && (self == Self::Absolute || *value >= 0.0);
        values.iter().all(sound).then(|| match self {
            Self::Relative => values.iter().map(|value| value.ln()).collect(),
            Self::Absolute => values.to_vec(),
        })
    }

    fn back(self, shift: f64) -> f64 {
        match self {
            Self::Relative => shift.exp_m1(),
            Self::Absolute => shift,
        }
    }
}

/// A difference, relative or absolute as given by its [`Scale`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Amount by which the new value exceeds the base; infinite if most of the new runs have no value because of
    /// failures.
    pub change: f64,
    /// Interval that contains the change with [`CONFIDENCE`]; `None` with too few runs or windows for one.
    pub interval: Option<(f64, f64)>,
    /// Probability of a difference at least as large if there were none; `None` if nothing varied, so that nothing was
    /// tested.
    pub p: Option<f64>,
}

impl Difference {
    /// Returns the difference between sets of runs, each of which counts once: Hodges-Lehmann estimate and Mann-Whitney
    /// test. `None` if a set is empty or too large, or a value is not defined on the scale.
    #[must_use]
    pub fn of_runs(base: &[f64], new: &[f64], scale: Scale) -> Option<Self> {
        let shift = hodges_lehmann(&scale.of(base)?, &scale.of(new)?)?;
        let varied = base.iter().chain(new).any(|value| value != &base[0]);
        let difference = Self {
            change: scale.back(shift.value),
            interval: shift.interval.map(|(low, high)| (scale.back(low), scale.back(high))),
            p: if varied { mann_whitney(base, new) } else { None },
        };
        difference.checked()
    }

    /// Returns the difference between pairs of runs made one after the other, the n-th of one side with the n-th of the
    /// other: the Hodges-Lehmann estimate of the differences of pairs and Wilcoxon's signed-rank test. A change that
    /// affects both runs of a pair equally does not count. `None` as in [`Self::of_runs`], or if the sides have
    /// different lengths.
    #[must_use]
    pub fn of_pairs(base: &[f64], new: &[f64], scale: Scale) -> Option<Self> {
        let differences = pairwise(base, new, scale)?;
        let shift = paired_shift(&differences)?;
        let varied = differences.iter().any(|difference| *difference != 0.0);
        let difference = Self {
            change: scale.back(shift.value),
            interval: shift.interval.map(|(low, high)| (scale.back(low), scale.back(high))),
            p: if varied { signed_rank(&differences) } else { None },
        };
        difference.checked()
    }

    /// Returns the relative difference between two runs whose metrics have intervals of their own. It does not extend
    /// to further runs. `None` if an interval reaches down to 0 or up to infinity, unless it is that value alone.
    ///
    /// The interval of the difference recovers the variances from the two (G. Y. Zou and A. Donner, "Construction of
    /// confidence limits about effect measures: a general approach", Statistics in Medicine 27 (2008), 1693–1702); the
    /// p-value is derived from it (D. G. Altman and J. M. Bland, "How to obtain the P value from a confidence
    /// interval", BMJ 343 (2011), d2304).
    #[must_use]
    pub fn of_estimates(base: Estimate, new: Estimate) -> Option<Self> {
        let (one, other) = (Bound::of(base)?, Bound::of(new)?);
        if one == other && one != Bound::Within {
            return Some(Self { change: 0.0, interval: Some((0.0, 0.0)), p: None });
        } else if one != Bound::Within || other != Bound::Within {
            let change = if one < other { f64::INFINITY } else { -1.0 };
            return Some(Self { change, interval: Some((change, change)), p: Some(P_SEPARATE) });
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

    /// Returns the difference unless it is NaN, as damaged records can make it.
    fn checked(self) -> Option<Self> {
        let ends = self.interval.is_none_or(|(low, high)| !low.is_nan() && !high.is_nan());
        (!self.change.is_nan() && ends).then_some(self)
    }

    /// Returns the conclusion. `p` is the p-value after [`holm`]'s correction; differences of up to `margin` (on the
    /// scale of the difference, at least 0) do not matter. The conclusion is equivalent only if the interval excludes a
    /// larger difference, and worse or better only if the test excludes chance.
    fn conclude(&self, p: Option<f64>, margin: f64, improves: Improves) -> Conclusion {
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

/// p-value for two bootstrap or batch-means intervals of which one is 0 or infinite as a whole. Such intervals cannot
/// show a smaller one.
const P_SEPARATE: f64 = 0.001;

/// Position of an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
enum Bound {
    /// Certainly 0: nothing succeeded.
    Zero,
    /// Its interval is above 0 and finite.
    Within,
    /// Certainly infinite: everything failed.
    Infinite,
}

impl Bound {
    fn of(estimate: Estimate) -> Option<Self> {
        match estimate {
            Estimate { low, high, .. } if low == 0.0 && high == 0.0 => Some(Self::Zero),
            Estimate { low: f64::INFINITY, .. } => Some(Self::Infinite),
            Estimate { low, high, .. } => (low > 0.0 && high.is_finite()).then_some(Self::Within),
        }
    }
}

/// Returns the differences of pairs on a scale; `None` if there is no pair or the sides cannot be paired.
fn pairwise(base: &[f64], new: &[f64], scale: Scale) -> Option<Vec<f64>> {
    let (base, new) = (scale.of(base)?, scale.of(new)?);
    let paired = base.len() == new.len() && !base.is_empty();
    paired.then(|| base.iter().zip(&new).map(|(base, new)| minus(*new, *base)).collect())
}

/// Returns the smallest and the largest difference of pairs; `None` as in [`Difference::of_pairs`].
#[must_use]
pub fn range_of_pairs(base: &[f64], new: &[f64], scale: Scale) -> Option<(f64, f64)> {
    let differences = pairwise(base, new, scale)?;
    let (least, most) = differences
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), of| (least.min(*of), most.max(*of)));
    Some((scale.back(least), scale.back(most)))
}

/// One of several metrics that are compared together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compared {
    /// Difference; `None` if it cannot be computed.
    pub difference: Option<Difference>,
    /// Largest difference that does not matter, on the scale of the difference.
    pub margin: f64,
    /// Direction in which the metric improves.
    pub improves: Improves,
}

/// Returns the conclusion for each of several metrics, with its p-value after [`holm`]'s correction over all metrics
/// that were tested. All comparisons use this rule.
#[must_use]
pub fn conclude_all(compared: &[Compared]) -> Vec<(Option<f64>, Conclusion)> {
    let tested: Vec<f64> = compared.iter().filter_map(|one| one.difference?.p).collect();
    let mut adjusted = holm(&tested).into_iter();
    let conclude = |one: &Compared| {
        let Some(difference) = one.difference else { return (None, Conclusion::Inconclusive) };
        let p = difference.p.and_then(|_| adjusted.next());
        (p, difference.conclude(p, one.margin, one.improves))
    };
    compared.iter().map(conclude).collect()
}

/// A metric with its conclusion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Concluded {
    /// The comparison.
    pub compared: Compared,
    /// Conclusion of the comparison.
    pub conclusion: Conclusion,
    /// `true` if the metric is the share of operations that succeeded.
    pub is_success: bool,
}

impl Concluded {
    /// Returns whether success dropped by more than the margin and the conclusion is open.
    fn may_fail_more(&self) -> bool {
        let lost = self.compared.difference.is_some_and(|difference| difference.change < -self.compared.margin);
        self.is_success && self.conclusion == Conclusion::Inconclusive && lost
    }
}

/// Returns the conclusion over all metrics: worse if any is worse, better if any is better and none worse, equivalent
/// if all are. The conclusion is never better while success has dropped and that may not be chance.
#[must_use]
pub fn conclude_together(metrics: &[Concluded]) -> Conclusion {
    let any = |conclusion| metrics.iter().any(|metric| metric.conclusion == conclusion);
    let all = |conclusion| metrics.iter().all(|metric| metric.conclusion == conclusion);
    if any(Conclusion::Worse) {
        Conclusion::Worse
    } else if any(Conclusion::Better) && !metrics.iter().any(Concluded::may_fail_more) {
        Conclusion::Better
    } else if all(Conclusion::Equivalent) && !metrics.is_empty() {
        Conclusion::Equivalent
    } else {
        Conclusion::Inconclusive
    }
}

#[cfg(test)]
mod tests {
    use super::super::runs_needed;
    use super::*;
    use crate::values::random::Random;

    /// Returns the metrics of `runs` runs: rate, p50 and p99, which vary together from run to run by 1 %, plus a little
    /// each.
    fn runs(random: &mut Random, runs: usize, slower: f64) -> [Vec<f64>; 3] {
        let mut metrics = [const { Vec::new() }; 3];
        for _ in 0..runs {
            let mut deviation = || normal::quantile(random.unit());
            let level = 0.01 * deviation();
            metrics[0].push(1000.0 / (1.0 + slower) * (-level).exp());
            metrics[1].push(20e6 * (1.0 + slower) * (level + 0.002 * deviation()).exp());
            metrics[2].push(31e6 * (1.0 + slower) * (level + 0.01 * deviation()).exp());
        }
        metrics
    }

    fn conclusions(base: &[Vec<f64>; 3], new: &[Vec<f64>; 3], margin: f64) -> [Conclusion; 3] {
        let improves = [Improves::Upwards, Improves::Downwards, Improves::Downwards];
        let compared = [0, 1, 2].map(|index| Compared {
            difference: Difference::of_runs(&base[index], &new[index], Scale::Relative),
            margin,
            improves: improves[index],
        });
        let found = conclude_all(&compared);
        [0, 1, 2].map(|index| found[index].1)
    }

    #[test]
    fn equal_targets_are_called_different_at_most_once_in_twenty() {
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
    fn targets_slower_by_5_percent_are_found_with_the_runs_needed() {
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
    fn small_differences_are_equivalent() {
        let mut random = Random::new(53);
        let (base, new) = (runs(&mut random, 10, 0.0), runs(&mut random, 10, 0.0));
        assert_eq!(conclusions(&base, &new, 0.05), [Conclusion::Equivalent; 3], "seed 53");
        let same = Difference::of_runs(&[1.0; 4], &[1.0; 4], Scale::Relative).unwrap();
        assert_eq!(same, Difference { change: 0.0, interval: Some((0.0, 0.0)), p: None });
        assert_eq!(same.conclude(None, 0.0, Improves::Upwards), Conclusion::Equivalent);
        let few = Difference::of_runs(&[1.0; 2], &[1.0; 2], Scale::Relative).unwrap();
        assert_eq!(few.conclude(None, 0.0, Improves::Upwards), Conclusion::Inconclusive);
    }

    #[test]
    fn no_conclusion_is_better_while_success_may_have_dropped() {
        let metric = |conclusion, is_success, change| {
            let difference = Some(Difference { change, interval: None, p: None });
            let compared = Compared { difference, margin: 0.001, improves: Improves::Upwards };
            Concluded { compared, conclusion, is_success }
        };
        use Conclusion::{Better, Equivalent, Inconclusive, Worse};
        let better = metric(Better, false, 0.5);
        let together = |success| conclude_together(&[success, better]);
        assert_eq!(together(metric(Inconclusive, true, -0.05)), Inconclusive);
        assert_eq!(together(metric(Inconclusive, true, -0.0005)), Better, "within the margin");
        assert_eq!(together(metric(Inconclusive, true, 0.05)), Better);
        assert_eq!(together(metric(Inconclusive, false, -0.05)), Better, "only a drop in success prevents it");
        assert_eq!(together(metric(Worse, true, -0.05)), Worse);
        assert_eq!(conclude_together(&[metric(Equivalent, true, 0.0)]), Equivalent);
        assert_eq!(conclude_together(&[]), Inconclusive);
    }

    #[test]
    fn intervals_of_two_runs_recover_both_variances() {
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
    fn intervals_that_end_at_zero_have_the_p_value_alpha() {
        let base = Estimate { value: 100.0, low: 100.0, high: 100.0 };
        let new = Estimate { value: 105.0, low: 100.0, high: 115.0 };
        let p = Difference::of_estimates(base, new).and_then(|difference| difference.p).unwrap();
        assert!((p - ALPHA).abs() < 1e-9, "{p}");
        assert_eq!(Difference::of_estimates(base, base).unwrap().p, None);
        assert_eq!(Difference::of_estimates(Estimate { low: 0.0, ..base }, new), None);
    }

    #[test]
    fn values_not_defined_on_the_scale_are_not_compared() {
        for odd in [-1.0, f64::NAN] {
            assert_eq!(Difference::of_runs(&[1.0, odd], &[1.0, 2.0], Scale::Relative), None, "{odd}");
        }
        assert_eq!(Difference::of_runs(&[], &[1.0], Scale::Relative), None);
        assert_eq!(Difference::of_pairs(&[1.0], &[1.0, 2.0], Scale::Absolute), None);
        assert_eq!(Difference::of_pairs(&[], &[], Scale::Absolute), None);
    }

    #[test]
    fn failed_runs_have_the_last_rank() {
        let (base, dead) = ([20.0, 20.2, 20.4, 20.6, 20.8, 21.0], [f64::INFINITY; 6]);
        let of = |base: &[f64], new: &[f64]| Difference::of_runs(base, new, Scale::Relative).unwrap();
        let found = of(&base, &dead);
        assert_eq!(
            (found.change, found.conclude(found.p, 0.02, Improves::Downwards)),
            (f64::INFINITY, Conclusion::Worse)
        );
        let back = of(&dead, &base);
        assert_eq!((back.change, back.conclude(back.p, 0.02, Improves::Downwards)), (-1.0, Conclusion::Better));
        // Of a rate, nothing is 0.
        let found = of(&base, &[0.0; 6]);
        assert_eq!((found.change, found.conclude(found.p, 0.02, Improves::Upwards)), (-1.0, Conclusion::Worse));
        // One in six: no equivalence any more, though the median is the same.
        let mut one = base;
        one[2] = f64::INFINITY;
        let found = of(&base, &one);
        assert_eq!(found.conclude(found.p, 0.05, Improves::Downwards), Conclusion::Inconclusive, "{found:?}");
        assert_eq!(of(&dead, &dead), Difference { change: 0.0, interval: Some((0.0, 0.0)), p: None });
    }

    #[test]
    fn a_run_in_which_everything_failed_is_slower_than_any_other() {
        let exactly = |value: f64| Estimate { value, low: value, high: value };
        let some = Estimate { value: 100.0, low: 99.0, high: 101.0 };
        let found = Difference::of_estimates(some, exactly(f64::INFINITY)).unwrap();
        assert_eq!(found.conclude(found.p, 0.02, Improves::Downwards), Conclusion::Worse);
        let found = Difference::of_estimates(some, exactly(0.0)).unwrap();
        assert_eq!((found.change, found.conclude(found.p, 0.02, Improves::Upwards)), (-1.0, Conclusion::Worse));
        assert_eq!(Difference::of_estimates(exactly(0.0), exactly(0.0)).unwrap().change, 0.0);
        assert_eq!(Difference::of_estimates(some, Estimate { high: f64::INFINITY, ..some }), None);
    }

    #[test]
    fn pairs_cancel_changes_that_affect_both_runs() {
        let mut random = Random::new(54);
        let levels: Vec<f64> = (0..8).map(|_| 10e6 * (1.0 + 4.0 * random.unit())).collect();
        let slower: Vec<f64> = levels.iter().map(|level| level + 1e6 + 1e4 * random.unit()).collect();
        let found = Difference::of_pairs(&levels, &slower, Scale::Absolute).unwrap();
        let (low, high) = found.interval.unwrap();
        assert!(1e6 <= low && low <= found.change && found.change <= high && high <= 1.01e6, "{found:?}, seed 54");
        assert_eq!(found.conclude(found.p, 1e5, Improves::Downwards), Conclusion::Worse);
        let unpaired = Difference::of_runs(&levels, &slower, Scale::Absolute).unwrap();
        assert_eq!(unpaired.conclude(unpaired.p, 1e5, Improves::Downwards), Conclusion::Inconclusive);
        let (least, most) = range_of_pairs(&levels, &slower, Scale::Absolute).unwrap();
        assert!(least <= low && high <= most);
        assert_eq!(Difference::of_pairs(&levels[..3], &slower[..3], Scale::Relative).unwrap().interval, None);
    }

    #[test]
    fn equal_pairs_are_called_different_at_most_once_in_twenty() {
        let mut random = Random::new(55);
        let mut side = |levels: &[f64]| {
            levels.iter().map(|level| level * (0.02 * normal::quantile(random.unit())).exp()).collect::<Vec<f64>>()
        };
        let differing = (0..1000_u64).filter(|round| {
            let levels: Vec<f64> = (0..10_u64).map(|pair| (1 + (round * 7 + pair * 13) % 10) as f64).collect();
            Difference::of_pairs(&side(&levels), &side(&levels), Scale::Relative).unwrap().p.unwrap() <= ALPHA
        });
        let differing = differing.count();
        assert!((10..=60).contains(&differing), "{differing} of 1,000, seed 55");
    }
}
