//! Two sets of saved runs, metric by metric: worse, better, equivalent, or inconclusive.
//!
//! Several runs a side are compared by ranks, each run as one observation, or pair by pair. One run a side has only the seconds
//! inside it to tell chance from change, which says nothing about further runs. Success comes first and has a test of its own,
//! and runs in which everything failed count as slower than any other. The statistics are `measure`'s
//! ([`measure::statistics`]); the formulas are in docs/measurement.md.

mod alike;
mod figure;
mod usable;

pub use alike::{marks, unlike, unlike_each, unlike_loads, unusable_each};
pub use figure::{Figure, counts};
pub(crate) use usable::dead;
pub use usable::{cut_off, is_dead, is_usable};

use measure::statistics::difference::{Compared, Concluded, Conclusion, Difference, conclude_all, conclude_together};
use measure::statistics::shares::{self, Share, Units};
use measure::statistics::{median, pairs_needed, runs_needed};
use measure::summary::Windows;
use store::SavedRun;

/// Seed of what is drawn again, unless told otherwise.
pub const SEED: u64 = 1;

/// A run to be compared.
#[derive(Clone, Debug)]
pub struct ComparedRun {
    /// Where it is saved; escaped.
    pub name: String,
    /// The run.
    pub run: SavedRun,
    /// Its windows. Only looked at when there is one run a side.
    pub windows: Windows,
}

/// What the runs are observations of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One run a side: its seconds. What is said holds within these runs only.
    WithinRuns,
    /// Several runs, each of which counts once.
    AcrossRuns,
    /// Pairs of runs made in turn, each of which counts once.
    AcrossPairs,
}

/// What the sets are to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sides {
    /// A base, and something new to compare with it.
    BaseAndNew,
    /// The same, as pairs: the n-th run of one side was made next to the n-th of the other. Both have as many.
    Pairs,
    /// Two halves of the runs of one target, which differ by noise alone.
    Halves,
}

/// One metric of both sets.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The metric.
    pub figure: Figure,
    /// The median over the runs of the base that have it, infinite where it lies among failures; of success, the share of all
    /// operations.
    pub base: Option<f64>,
    /// The same of the new runs.
    pub new: Option<f64>,
    /// The difference; `None` where it cannot be computed.
    pub difference: Option<Difference>,
    /// The p-value after Holm's correction over all metrics; `None` where nothing was tested.
    pub p: Option<f64>,
    /// The margin that applies, as a share.
    pub margin: f64,
    /// Runs of both sides whose time lies among failures.
    pub failed: [u64; 2],
    /// What it comes to.
    pub conclusion: Conclusion,
}

impl Row {
    fn compared(&self) -> Compared {
        Compared { difference: self.difference, margin: self.margin, improves: self.figure.improves() }
    }

    fn concluded(&self) -> Concluded {
        let is_success = self.figure == Figure::Success;
        Concluded { compared: self.compared(), conclusion: self.conclusion, is_success }
    }
}

/// What a comparison came to.
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    /// The base.
    pub base: &'a [ComparedRun],
    /// The new runs.
    pub new: &'a [ComparedRun],
    /// What they are to each other.
    pub sides: Sides,
    /// What was compared.
    pub scope: Scope,
    /// Differences up to this share do not matter.
    pub margin: f64,
    /// The figures that both sets have.
    pub rows: Vec<Row>,
    /// What the runs differ by though they should not, when that was allowed.
    pub unlike: Vec<String>,
}

impl<'a> Comparison<'a> {
    /// Compares them. `margin` is a share, at least 0; neither set is empty.
    #[must_use]
    pub fn of(base: &'a [ComparedRun], new: &'a [ComparedRun], sides: Sides, margin: f64) -> Self {
        let scope = match sides {
            _ if base.len() == 1 && new.len() == 1 => Scope::WithinRuns,
            Sides::Pairs => Scope::AcrossPairs,
            Sides::BaseAndNew | Sides::Halves => Scope::AcrossRuns,
        };
        let mut rows: Vec<Row> =
            Figure::COMPARED.into_iter().filter_map(|figure| row(figure, base, new, scope, margin)).collect();
        let compared: Vec<Compared> = rows.iter().map(Row::compared).collect();
        for (row, (p, conclusion)) in rows.iter_mut().zip(conclude_all(&compared)) {
            (row.p, row.conclusion) = (p, conclusion);
        }
        Self { base, new, sides, scope, margin, rows, unlike: unlike_each(base, new) }
    }

    /// How many figures came to that.
    #[must_use]
    pub fn count(&self, conclusion: Conclusion) -> usize {
        self.rows.iter().filter(|row| row.conclusion == conclusion).count()
    }

    /// The conclusion of all metrics together: see [`conclude_together`].
    #[must_use]
    pub fn conclusion(&self) -> Conclusion {
        conclude_together(&self.rows.iter().map(Row::concluded).collect::<Vec<_>>())
    }

    /// Runs a side that are needed to tell a difference in as many figures as were tested, when there are fewer.
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

fn row(figure: Figure, base: &[ComparedRun], new: &[ComparedRun], scope: Scope, margin: f64) -> Option<Row> {
    let values = |runs: &[ComparedRun]| runs.iter().filter_map(|run| figure.of(&run.run)).collect::<Vec<f64>>();
    let (base_values, new_values) = (values(base), values(new));
    let is_nothing = |value: &f64| *value == 0.0 || value.is_infinite();
    if base_values.iter().chain(&new_values).all(is_nothing) && figure != Figure::Success {
        // Nothing was read, nothing written, or nothing succeeded on either side: not a metric of such runs.
        return None;
    }
    let whole = base_values.len() == base.len() && new_values.len() == new.len();
    let difference = match scope {
        _ if figure == Figure::Success => success(base, new, scope),
        Scope::WithinRuns => within(figure, base, new),
        // A run without the metric cannot be left out: it may be the one that was too slow for it.
        Scope::AcrossRuns | Scope::AcrossPairs if !whole => None,
        Scope::AcrossRuns => Difference::of_runs(&base_values, &new_values, figure.scale()),
        Scope::AcrossPairs => Difference::of_pairs(&base_values, &new_values, figure.scale()),
    };
    let failed = |values: &[f64]| values.iter().filter(|value| value.is_infinite()).count() as u64;
    let failed = [failed(&base_values), failed(&new_values)];
    let (base, new) = match figure {
        Figure::Success => (shares::share(&by_run(base)), shares::share(&by_run(new))),
        _ => (median(base_values), median(new_values)),
    };
    Some(Row {
        figure,
        base,
        new,
        difference,
        p: None,
        margin: figure.margin(margin),
        failed,
        conclusion: Conclusion::Inconclusive,
    })
}

fn by_run(runs: &[ComparedRun]) -> Vec<Share> {
    runs.iter().map(|run| counts(&run.run)).collect()
}

/// The difference in success: runs are the observations, or the seconds of single runs.
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

fn within(figure: Figure, base: &[ComparedRun], new: &[ComparedRun]) -> Option<Difference> {
    let (base, new) = (base.first()?, new.first()?);
    // Both are drawn from the same seed, from streams of their own.
    let base = figure.estimate(base, measure::values::random::mix(SEED))?;
    let new = figure.estimate(new, measure::values::random::mix(SEED + 1))?;
    Difference::of_estimates(base, new)
}
