//! Two sets of saved runs, figure by figure: worse, better, equivalent, or inconclusive.
//!
//! Several runs a side are compared by ranks, each run as one observation. One run a side has only the seconds inside it to tell
//! chance from change, which says nothing about further runs. The statistics are `measure`'s ([`measure::statistics`]);
//! the formulas stand in docs/measurement.md.

mod alike;
mod figure;

pub use alike::{Unusable, unlike, unlike_loads, unusable};
pub use figure::Figure;

use measure::Enumerated;
use measure::statistics::difference::{Compared, Conclusion, Difference, Scale, conclude_all};
use measure::statistics::{Windows, median, runs_needed};
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
}

/// What the sets are to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sides {
    /// A base, and something new to hold against it.
    BaseAndNew,
    /// Two halves of the runs of one target, which differ by noise alone.
    Halves,
}

/// One figure of both sets.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The figure.
    pub figure: Figure,
    /// The median over the runs of the base that have it.
    pub base: Option<f64>,
    /// The same of the new runs.
    pub new: Option<f64>,
    /// The difference; `None` where it can not be computed.
    pub difference: Option<Difference>,
    /// The p-value after Holm's correction over all figures; `None` where nothing was tested.
    pub p: Option<f64>,
    /// The margin that applies, as a share.
    pub margin: f64,
    /// What it comes to.
    pub conclusion: Conclusion,
}

impl Row {
    fn compared(&self) -> Compared {
        Compared { difference: self.difference, margin: self.margin, improves: self.figure.improves() }
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
        let one_each = base.len() == 1 && new.len() == 1;
        let scope = if one_each { Scope::WithinRuns } else { Scope::AcrossRuns };
        let mut rows: Vec<Row> =
            Figure::ALL.iter().filter_map(|figure| row(*figure, base, new, scope, margin)).collect();
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

    /// What all figures come to: worse when any is, better when any is and none worse, equivalent when all are.
    #[must_use]
    pub fn conclusion(&self) -> Conclusion {
        let one_of = |conclusion| self.count(conclusion) > 0;
        if one_of(Conclusion::Worse) {
            Conclusion::Worse
        } else if one_of(Conclusion::Better) {
            Conclusion::Better
        } else if one_of(Conclusion::Equivalent) && self.count(Conclusion::Equivalent) == self.rows.len() {
            Conclusion::Equivalent
        } else {
            Conclusion::Inconclusive
        }
    }

    /// Runs a side that are needed to tell a difference in as many figures as were tested, when there are fewer.
    #[must_use]
    pub fn runs_missing(&self) -> Option<u64> {
        let tested = self.rows.iter().filter(|row| row.p.is_some()).count();
        let needed = runs_needed(tested);
        let have = self.base.len().min(self.new.len()) as u64;
        (self.scope == Scope::AcrossRuns && have < needed).then_some(needed)
    }
}

fn row(figure: Figure, base: &[ComparedRun], new: &[ComparedRun], scope: Scope, margin: f64) -> Option<Row> {
    let values = |runs: &[ComparedRun]| runs.iter().filter_map(|run| figure.of(&run.run)).collect::<Vec<f64>>();
    let (base_values, new_values) = (values(base), values(new));
    if base_values.iter().chain(&new_values).all(|value| *value == 0.0) {
        // Nothing was read, or nothing written: not a figure of such runs.
        return None;
    }
    let difference = match scope {
        // A run without the figure can not be left out: it may be the one that was too slow for it.
        Scope::AcrossRuns if base_values.len() < base.len() || new_values.len() < new.len() => None,
        Scope::AcrossRuns => Difference::of_runs(&base_values, &new_values, Scale::Relative),
        Scope::WithinRuns => within(figure, base, new),
    };
    Some(Row {
        figure,
        base: median(base_values),
        new: median(new_values),
        difference,
        p: None,
        margin: figure.margin(margin),
        conclusion: Conclusion::Inconclusive,
    })
}

fn within(figure: Figure, base: &[ComparedRun], new: &[ComparedRun]) -> Option<Difference> {
    let (base, new) = (base.first()?, new.first()?);
    // Both are drawn from the same seed, from streams of their own.
    let base = figure.estimate(&base.windows, measure::random::mix(SEED))?;
    let new = figure.estimate(&new.windows, measure::random::mix(SEED + 1))?;
    Difference::of_estimates(base, new)
}

/// What any of the runs differs by from the first: see [`unlike`].
#[must_use]
pub fn unlike_each(base: &[ComparedRun], new: &[ComparedRun]) -> Vec<String> {
    let mut runs = base.iter().chain(new);
    let Some(first) = runs.next() else { return Vec::new() };
    let mut all: Vec<String> = Vec::new();
    for other in runs {
        for difference in unlike(&first.run, &other.run) {
            if !all.contains(&difference) {
                all.push(difference);
            }
        }
    }
    all
}
