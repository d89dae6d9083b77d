//! The conclusion from the differences of all metrics that are compared together.

use super::super::ALPHA;
use super::super::ranks::holm;
use super::Difference;
use crate::enumerated;

enumerated! {
    /// Conclusion of a comparison.
    pub enum Conclusion {
        Worse => "worse", "significantly worse, by more than the margin";
        Better => "better", "significantly better, by more than the margin";
        Equivalent => "equivalent", "any difference lies within the margin";
        Inconclusive => "inconclusive", "these runs do not show it";
    }
}

/// Direction in which a metric improves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Improves {
    /// Higher is better, as for rates and shares of success.
    Upwards,
    /// Lower is better, as for times and costs.
    Downwards,
}

impl Difference {
    /// Returns the conclusion. `p` is the p-value after [`holm`]'s correction. Differences of up to `margin` (in the
    /// unit of the difference, at least 0) are not important. The conclusion is *equivalent* only if the interval
    /// excludes larger differences. The conclusion is *worse* or *better* only if the test rules out chance, and the
    /// estimated difference is larger than the margin.
    pub(super) fn conclude(&self, p: Option<f64>, margin: f64, improves: Improves) -> Conclusion {
        let inside = self.interval.is_some_and(|(low, high)| -margin <= low && high <= margin);
        if inside {
            Conclusion::Equivalent
        } else if p.is_none_or(|p| p > ALPHA) || self.change.abs() <= margin {
            Conclusion::Inconclusive
        } else if (self.change > 0.0) == (improves == Improves::Upwards) {
            Conclusion::Better
        } else {
            Conclusion::Worse
        }
    }
}

/// Metric that is compared together with others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compared {
    /// Difference; `None` if it cannot be computed.
    pub difference: Option<Difference>,
    /// Maximum difference that is not important, in the unit of the difference.
    pub margin: f64,
    /// Direction in which the metric improves.
    pub improves: Improves,
}

/// Returns the conclusion for each of several metrics, with its p-value. The p-values are corrected by [`holm`] over
/// all metrics that were tested. All comparisons use this rule.
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
    /// Returns whether success may have dropped. Success may have dropped if the share of success is lower by more than
    /// the margin, even if the difference may be due to chance.
    fn may_fail_more(&self) -> bool {
        let lost = self.compared.difference.is_some_and(|difference| difference.change < -self.compared.margin);
        self.is_success && self.conclusion == Conclusion::Inconclusive && lost
    }
}

/// Returns the conclusion over all metrics. The conclusion is "worse" if any metric is worse. The conclusion is
/// "better" if any metric is better, no metric is worse, and success cannot have dropped. The conclusion is
/// "equivalent" if all metrics are equivalent. In all other cases, the conclusion is "inconclusive".
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
