//! Comparison of two sets of saved runs. Each metric is worse, better, equivalent or inconclusive.
//!
//! If a side has several runs, each run is one observation. The sides are then compared by ranks, or pair by pair. With
//! one run per side, each second of a run is one observation. Such a comparison shows whether these two runs differ by
//! more than chance. It does not predict how further runs would differ. Success is compared first, with a separate
//! test. A run in which everything failed counts as slower than any other run. The statistics are in
//! [`measure::statistics`], and the formulas in docs/measurement.md.

mod by_client;
mod conclusion;
mod differences;
mod metric;
mod usable;

pub use by_client::{Side, client_limited_side};
pub use conclusion::ConclusionName;
pub(crate) use conclusion::finite;
pub use differences::{all_differences, limited_of, load_differences, run_differences, shared_caveats, unusable_each};
pub use metric::ComparisonMetric;
pub(crate) use usable::no_success;
pub use usable::{counts, cut_off, is_usable, nothing_succeeded};

use measure::statistics::difference::{Compared, Concluded, Conclusion, Difference, conclude_all, conclude_together};
use measure::statistics::shares::{self, Share, Units};
use measure::statistics::{median, pairs_needed, runs_needed};
use measure::summary::Windows;
use store::SavedRun;

/// Seed of the bootstrap's random choices.
pub const SEED: u64 = 1;

/// A run in a comparison.
#[derive(Clone, Debug)]
pub struct ComparedRun {
    /// Escaped name of the run's directory.
    pub name: String,
    /// The run.
    pub run: SavedRun,
    /// Windows of the run. Used only if each side has a single run.
    pub windows: Windows,
}

/// The unit of observation in a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A second of a run, if each side has one run. The conclusion is only about these runs.
    WithinRuns,
    /// A run, if a side has several runs.
    AcrossRuns,
    /// A pair of runs that were made one after the other.
    AcrossPairs,
}

/// The relation between the two sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sides {
    /// Old and new runs.
    BaseAndNew,
    /// Old and new runs in pairs. The n-th pair consists of the n-th old run and the n-th new run, which were made one
    /// after the other. Both sides have the same number of runs.
    Pairs,
    /// Two halves of the runs of one target. Differences between the halves are noise.
    Halves,
}

/// One metric of both sets of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The metric.
    pub metric: ComparisonMetric,
    /// Median over the base runs that have the metric. The median is infinite if at least half of these runs have an
    /// infinite value. For success, the value is the share over all operations.
    pub base: Option<f64>,
    /// Median over the new runs, computed like `base`.
    pub new: Option<f64>,
    /// The difference; `None` if it cannot be computed.
    pub difference: Option<Difference>,
    /// The p-value after Holm's correction over all metrics, or `None` if nothing was tested.
    pub p: Option<f64>,
    /// The margin that applies to this metric, as a share.
    pub margin: f64,
    /// Number of base runs and number of new runs in which the value is infinite, because the operation at the
    /// percentile failed.
    pub failed: [u64; 2],
    /// Conclusion.
    pub conclusion: Conclusion,
    /// `true` if the conclusion depends on the client, because its stalls may have prolonged operations, or because it
    /// limited more runs of one side. In both cases, the conclusion is [`Conclusion::Inconclusive`].
    pub client_decides: bool,
}

impl Row {
    fn compared(&self) -> Compared {
        Compared { difference: self.difference, margin: self.margin, improves: self.metric.improves() }
    }

    fn concluded(&self) -> Concluded {
        let is_success = self.metric == ComparisonMetric::Success;
        Concluded { compared: self.compared(), conclusion: self.conclusion, is_success }
    }
}

/// A comparison of two sets of runs.
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    /// The base runs.
    pub base: &'a [ComparedRun],
    /// The new runs.
    pub new: &'a [ComparedRun],
    /// Relation between the two sets.
    pub sides: Sides,
    /// Unit of observation.
    pub scope: Scope,
    /// Largest difference that is not important, as a fraction (0.02 means 2 %).
    pub margin: f64,
    /// Metrics that both sets have.
    pub rows: Vec<Row>,
    /// The side on which the client limited more runs, if there is one (see [`client_limited_side`]).
    pub limited_side: Option<Side>,
    /// Differences between the runs, other than their targets. Empty unless the user allowed differences.
    pub differences: Vec<String>,
}

impl<'a> Comparison<'a> {
    /// Compares two sets of runs. Neither may be empty. `margin` is a share, at least 0.
    #[must_use]
    pub fn of(base: &'a [ComparedRun], new: &'a [ComparedRun], sides: Sides, margin: f64) -> Self {
        let scope = match sides {
            _ if base.len() == 1 && new.len() == 1 => Scope::WithinRuns,
            Sides::Pairs => Scope::AcrossPairs,
            Sides::BaseAndNew | Sides::Halves => Scope::AcrossRuns,
        };
        let mut rows: Vec<Row> =
            ComparisonMetric::COMPARED.into_iter().filter_map(|metric| row(metric, base, new, scope, margin)).collect();
        let compared: Vec<Compared> = rows.iter().map(Row::compared).collect();
        let least = by_client::conclusions(&rows, &compared, base, new, scope);
        let limited_side = client_limited_side(base, new);
        for ((row, (p, conclusion)), least) in rows.iter_mut().zip(conclude_all(&compared)).zip(least) {
            let is_known = conclusion != Conclusion::Inconclusive;
            let by_limit = limited_side.is_some_and(|side| by_client::may_cause(side, row.metric, conclusion));
            row.client_decides = is_known && (by_limit || least.is_some_and(|least| least != conclusion));
            row.p = p;
            row.conclusion = if row.client_decides { Conclusion::Inconclusive } else { conclusion };
        }
        Self { base, new, sides, scope, margin, rows, limited_side, differences: all_differences(base, new) }
    }

    /// Returns the number of metrics of the target with this conclusion.
    #[must_use]
    pub fn count(&self, conclusion: Conclusion) -> usize {
        self.of_target().filter(|row| row.conclusion == conclusion).count()
    }

    /// Returns the metrics of the target that got worse.
    pub fn worse(&self) -> impl Iterator<Item = &Row> {
        self.of_target().filter(|row| row.conclusion == Conclusion::Worse)
    }

    fn of_target(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| !row.metric.is_of_client())
    }

    /// Returns the conclusion over all metrics of the target together (see [`conclude_together`]).
    #[must_use]
    pub fn conclusion(&self) -> Conclusion {
        conclude_together(&self.of_target().map(Row::concluded).collect::<Vec<_>>())
    }

    /// Returns the number of runs per side, or the number of pairs, that is needed to find a difference in one of the
    /// tested metrics. Returns `None` if there are enough runs or pairs.
    #[must_use]
    pub fn runs_missing(&self) -> Option<u64> {
        let tested = self.rows.iter().filter(|row| row.p.is_some()).count();
        let needed = match self.scope {
            Scope::WithinRuns => return None,
            Scope::AcrossRuns => runs_needed(tested),
            Scope::AcrossPairs => pairs_needed(tested),
        };
        let have = self.base.len().min(self.new.len()) as u64;
        (have < needed).then_some(needed)
    }
}

fn row(metric: ComparisonMetric, base: &[ComparedRun], new: &[ComparedRun], scope: Scope, margin: f64) -> Option<Row> {
    let values = |runs: &[ComparedRun]| runs.iter().filter_map(|run| metric.of(&run.run)).collect::<Vec<f64>>();
    let (base_values, new_values) = (values(base), values(new));
    let is_nothing = |value: &f64| *value == 0.0 || value.is_infinite();
    if base_values.iter().chain(&new_values).all(is_nothing) && metric != ComparisonMetric::Success {
        // Neither side has the metric, because nothing was read or written, or nothing succeeded.
        return None;
    }
    let whole = base_values.len() == base.len() && new_values.len() == new.len();
    let difference = match scope {
        _ if metric == ComparisonMetric::Success => success(base, new, scope),
        Scope::WithinRuns => within(metric, base, new),
        // A run may lack the metric because it was too slow to collect enough samples. Comparing only the other runs
        // would hide this.
        Scope::AcrossRuns | Scope::AcrossPairs if !whole => None,
        Scope::AcrossRuns | Scope::AcrossPairs => across(metric, &base_values, &new_values, scope),
    };
    let difference = match metric {
        ComparisonMetric::Rate => difference.map(|difference| difference.in_steps(rate_step(base, new))),
        _ => difference,
    };
    let failed = |values: &[f64]| values.iter().filter(|value| value.is_infinite()).count() as u64;
    let failed = [failed(&base_values), failed(&new_values)];
    let (base, new) = match metric {
        ComparisonMetric::Success => (shares::share(&by_run(base)), shares::share(&by_run(new))),
        _ => (median(base_values), median(new_values)),
    };
    Some(Row {
        metric,
        base,
        new,
        difference,
        p: None,
        margin: metric.margin(margin),
        failed,
        conclusion: Conclusion::Inconclusive,
        client_decides: false,
    })
}

/// Returns the difference between the values of sets or pairs of runs; `None` if seconds are compared, not runs.
fn across(metric: ComparisonMetric, base: &[f64], new: &[f64], scope: Scope) -> Option<Difference> {
    match scope {
        Scope::WithinRuns => None,
        Scope::AcrossRuns => Difference::of_runs(base, new, metric.scale()),
        Scope::AcrossPairs => Difference::of_pairs(base, new, metric.scale()),
    }
}

/// Returns the size of the largest step in the rates of these runs, as a share of the rate. A closed run counts whole
/// operations, so its rate can only have certain values. An open run has the scheduled rate, which has no steps.
fn rate_step(base: &[ComparedRun], new: &[ComparedRun]) -> f64 {
    let runs = base.iter().chain(new).map(|run| &run.run).filter(|run| !run.begin.model.is_open());
    runs.filter_map(|run| run.summary().rate_step()).fold(0.0, f64::max)
}

fn by_run(runs: &[ComparedRun]) -> Vec<Share> {
    runs.iter().map(|run| counts(&run.run)).collect()
}

/// Returns the difference in success. The observations are runs, or the seconds of a single run per side.
fn success(base: &[ComparedRun], new: &[ComparedRun], scope: Scope) -> Option<Difference> {
    let by_second = |runs: &[ComparedRun]| -> Vec<Share> {
        let windows = runs.iter().flat_map(|run| run.windows.list());
        windows.map(|window| Share { ok: window.ok as f64, of: window.judged as f64 }).collect()
    };
    match scope {
        Scope::WithinRuns => shares::difference(&by_second(base), &by_second(new), Units::Consecutive),
        Scope::AcrossRuns | Scope::AcrossPairs => shares::difference(&by_run(base), &by_run(new), Units::Independent),
    }
}

fn within(metric: ComparisonMetric, base: &[ComparedRun], new: &[ComparedRun]) -> Option<Difference> {
    let (base, new) = (base.first()?, new.first()?);
    // Use a separate random stream for each side.
    let base = metric.estimate(base, measure::values::random::mix(SEED))?;
    let new = metric.estimate(new, measure::values::random::mix(SEED + 1))?;
    Difference::of_estimates(base, new)
}
