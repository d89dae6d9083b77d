//! The difference between two sets of runs in a metric, and the conclusion from it.
//!
//! All comparisons use this module, whether they are between sets of runs, pairs of runs, or the seconds of single
//! runs. [`conclude_all`] draws the conclusion for each metric, and [`conclude_together`] the conclusion over all
//! metrics.
//!
//! Relative differences, new / base − 1, are computed as differences of logarithms. On this scale, a server that is 10
//! % slower has the same difference, whether its times are short or long. A percentile has no value if too many
//! operations of the run failed. Such a percentile counts as infinite. The run is then slower than any other run, and
//! its change is +∞.

mod conclusion;
mod estimates;
#[cfg(test)]
mod tests;

pub use conclusion::{Compared, Concluded, Conclusion, Improves, conclude_all, conclude_together};

use super::ranks::{hodges_lehmann, mann_whitney, minus, paired_shift, signed_rank};

/// Unit of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Relative: new / base − 1.
    Relative,
    /// Absolute: new − base, in the unit of the metric.
    Absolute,
}

impl Scale {
    /// Converts values to the scale on which differences are computed; `None` if a value cannot be converted.
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

/// A difference, relative or absolute according to its [`Scale`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Amount by which the new value exceeds the base; infinite if most of the new runs have no value because of
    /// failures.
    pub change: f64,
    /// Interval that contains the true change with probability [`CONFIDENCE`](super::CONFIDENCE); `None` if there are
    /// too few runs or windows.
    pub interval: Option<(f64, f64)>,
    /// p-value: the probability of a difference at least as large as this one if base and new do not differ. `None` if
    /// all values are equal, because nothing was tested.
    pub p: Option<f64>,
}

impl Difference {
    /// Returns the difference between sets of runs. Each run is one observation. Uses the Hodges-Lehmann estimate and
    /// the Mann-Whitney test. `None` if a set is empty or too large, or if a value is not defined on the scale.
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

    /// Returns the difference between pairs of runs that were made one after the other. The n-th runs of both sides are
    /// a pair. Uses the Hodges-Lehmann estimate of the differences of pairs and Wilcoxon's signed-rank test. A change
    /// that affects both runs of a pair equally does not count. `None` as in [`Self::of_runs`], or if the sides have
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

    /// Returns this difference with the uncertainty of values that are known only in steps, such as the rate of a short
    /// run. `step` is the size of a step as a share of the value, at least 0. If the difference is smaller than a step,
    /// the sides may be equal, or may differ in the other direction. A test cannot detect this if all runs have the
    /// same steps.
    #[must_use]
    pub fn in_steps(self, step: f64) -> Self {
        let (down, up) = (1.0 / (1.0 + step), 1.0 + step);
        let is_decided = self.change < down - 1.0 || self.change > up - 1.0;
        Self {
            interval: self.interval.map(|(low, high)| ((1.0 + low) * down - 1.0, (1.0 + high) * up - 1.0)),
            p: self.p.map(|p| if is_decided { p } else { 1.0 }),
            ..self
        }
    }

    /// Returns the difference; `None` if it is NaN, which damaged records can cause.
    fn checked(self) -> Option<Self> {
        let ends = self.interval.is_none_or(|(low, high)| !low.is_nan() && !high.is_nan());
        (!self.change.is_nan() && ends).then_some(self)
    }
}

/// Returns the differences of pairs on a scale; `None` if there is no pair or the sides cannot be paired.
fn pairwise(base: &[f64], new: &[f64], scale: Scale) -> Option<Vec<f64>> {
    let (base, new) = (scale.of(base)?, scale.of(new)?);
    let paired = base.len() == new.len() && !base.is_empty();
    paired.then(|| base.iter().zip(&new).map(|(base, new)| minus(*new, *base)).collect())
}

/// Returns the smallest and the largest of the differences of all pairs; `None` as in [`Difference::of_pairs`].
#[must_use]
pub fn range_of_pairs(base: &[f64], new: &[f64], scale: Scale) -> Option<(f64, f64)> {
    let differences = pairwise(base, new, scale)?;
    let (least, most) = differences
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), of| (least.min(*of), most.max(*of)));
    Some((scale.back(least), scale.back(most)))
}
