//! Differences that the client may have caused.
//!
//! Stalls of the client prolong operations, so a percentile of a run is known only as a range. A run may therefore seem
//! slower than another one although their targets are equally fast.
//!
//! If the client was the bottleneck of a run, the target may be faster than the run shows. The side with more such runs
//! may therefore look worse than it is, but never better.

use super::{ComparedRun, ComparisonMetric, Row, Scope, across};
use crate::limit::rates_are_lower_bounds;
use measure::statistics::ALPHA;
use measure::statistics::difference::{Compared, Conclusion, Difference, Improves, conclude_all};
use measure::statistics::shares::{self, Share, Units};

/// A side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The base runs.
    Base,
    /// The new runs.
    New,
}

/// Returns the side on which the client limited more runs, or `None` if the sides do not differ enough. They differ
/// enough if the client limited all runs of one side and none of the other, or significantly more runs of one side. A
/// small difference is not enough: if client and target share the cores of a host, chance decides which of them limits
/// a run.
#[must_use]
pub fn client_limited_side(base: &[ComparedRun], new: &[ComparedRun]) -> Option<Side> {
    let unit = |run: &ComparedRun| Share { ok: f64::from(u8::from(rates_are_lower_bounds(&run.run))), of: 1.0 };
    let side = |runs: &[ComparedRun]| runs.iter().map(unit).collect::<Vec<Share>>();
    let difference = shares::difference(&side(base), &side(new), Units::Independent)?;
    let is_certain = difference.change.abs() == 1.0 || difference.p.is_some_and(|p| p < ALPHA);
    is_certain.then_some(if difference.change > 0.0 { Side::New } else { Side::Base })
}

/// Returns whether a conclusion about a metric may be wrong because the client limited more runs of the side `limited`.
pub(super) fn may_cause(limited: Side, metric: ComparisonMetric, conclusion: Conclusion) -> bool {
    // The share of success and the client's own CPU time are neither times nor rates of the target, so the client's
    // limit does not change them.
    if matches!(metric, ComparisonMetric::Success | ComparisonMetric::CpuPerOp) {
        return false;
    }
    match conclusion {
        Conclusion::Worse => limited == Side::New,
        Conclusion::Better => limited == Side::Base,
        Conclusion::Equivalent => true,
        Conclusion::Inconclusive => false,
    }
}

/// One end of the range of a percentile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Without the operations that stalls may have prolonged.
    Low,
    /// With these operations.
    High,
}

/// Returns a conclusion for each row whose values are ranges, and `None` for all other rows. The row is inconclusive if
/// the lower and the upper ends of its ranges lead to different conclusions.
pub(super) fn conclusions(
    rows: &[Row],
    compared: &[Compared],
    base: &[ComparedRun],
    new: &[ComparedRun],
    scope: Scope,
) -> Vec<Option<Conclusion>> {
    let has_range = |row: &Row| base.iter().chain(new).any(|run| is_range(row.metric, run));
    let have_range: Vec<bool> = rows.iter().map(has_range).collect();
    let with_range = || rows.iter().zip(&have_range);
    if !have_range.contains(&true) {
        return vec![None; rows.len()];
    }
    if scope == Scope::WithinRuns {
        return with_range().map(|(row, has)| has.then(|| within(row.metric, base, new))).collect();
    }
    let with = |base_end, new_end| {
        let replaced = with_range().zip(compared).map(|((row, has), compared)| match has {
            true => {
                Compared { difference: difference(row.metric, (base, base_end), (new, new_end), scope), ..*compared }
            }
            false => *compared,
        });
        conclude_all(&replaced.collect::<Vec<_>>())
    };
    let (highest, lowest) = (with(End::Low, End::High), with(End::High, End::Low));
    let agreed = highest.into_iter().zip(lowest).map(|((_, one), (_, other))| match one == other {
        true => one,
        false => Conclusion::Inconclusive,
    });
    have_range.iter().zip(agreed).map(|(has, agreed)| has.then_some(agreed)).collect()
}

fn is_range(metric: ComparisonMetric, run: &ComparedRun) -> bool {
    metric.range(&run.run).is_some_and(|(low, high)| low < high)
}

fn value(metric: ComparisonMetric, run: &ComparedRun, end: End) -> Option<f64> {
    let (low, high) = metric.range(&run.run)?;
    Some(if end == End::Low { low } else { high })
}

fn difference(
    metric: ComparisonMetric,
    base: (&[ComparedRun], End),
    new: (&[ComparedRun], End),
    scope: Scope,
) -> Option<Difference> {
    let values = |(runs, end): (&[ComparedRun], End)| {
        runs.iter().map(|run| value(metric, run, end)).collect::<Option<Vec<f64>>>()
    };
    across(metric, &values(base)?, &values(new)?, scope)
}

/// Returns the direction in which one run differs from another one, if their ranges do not overlap.
fn within(metric: ComparisonMetric, base: &[ComparedRun], new: &[ComparedRun]) -> Conclusion {
    let range = |runs: &[ComparedRun]| metric.range(&runs.first()?.run);
    let (Some(base), Some(new)) = (range(base), range(new)) else { return Conclusion::Inconclusive };
    let improves = metric.improves() == Improves::Upwards;
    if new.0 > base.1 {
        if improves { Conclusion::Better } else { Conclusion::Worse }
    } else if new.1 < base.0 {
        if improves { Conclusion::Worse } else { Conclusion::Better }
    } else {
        Conclusion::Inconclusive
    }
}
