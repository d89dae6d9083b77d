//! The rows of a study's table. A row contains all trials of one cell on one target.

use super::trial::Trial;
use measure::statistics::median;
use std::collections::{HashMap, HashSet};

/// The trials of a cell on a target, in the order of their runs.
pub(crate) struct Row<'t> {
    /// Name of the cell.
    pub cell: &'t str,
    /// Name of the target.
    pub target: &'t str,
    /// The trials.
    pub trials: Vec<&'t Trial>,
    /// Index of the row with the first target of the same cell; `None` if this row is the first.
    pub first: Option<usize>,
}

/// The median and the range of a value over several trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MedianRange {
    /// Median.
    pub median: f64,
    /// Smallest value.
    pub least: f64,
    /// Largest value.
    pub most: f64,
    /// Number of values.
    pub count: usize,
}

impl MedianRange {
    fn of(values: Vec<f64>) -> Option<Self> {
        let (least, most) = values
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| (least.min(*value), most.max(*value)));
        let count = values.len();
        median(values).map(|median| Self { median, least, most, count })
    }

    /// Like [`Self::of`], for ratios. If there are two middle ratios, the median is their geometric mean, as in a
    /// comparison. Swapping the two targets then gives exactly the inverse ratio. If a trial has no success, its ratio
    /// is 0 or infinite, and [`Self::of`] is used.
    fn of_ratios(ratios: Vec<f64>) -> Option<Self> {
        if !ratios.iter().all(|ratio| ratio.is_normal()) {
            return Self::of(ratios);
        }
        let Self { median, least, most, count } = Self::of(ratios.into_iter().map(f64::ln).collect())?;
        Some(Self { median: median.exp(), least: least.exp(), most: most.exp(), count })
    }
}

impl Row<'_> {
    /// Returns the median and the range of a value over the row's trials, or `None` if no trial has the value.
    pub fn spread(&self, of: impl Fn(&Trial) -> Option<f64>) -> Option<MedianRange> {
        MedianRange::of(self.trials.iter().filter_map(|trial| of(trial)).collect())
    }

    /// Returns the throughput divided by the throughput of `first`, as the median and the range over the repeats. The
    /// ratio of a repeat is infinite if nothing succeeded in `first`. A repeat without a success in either row has no
    /// ratio.
    pub fn ratio_to(&self, first: &Row<'_>) -> Option<MedianRange> {
        let pair = |trial: &&Trial| {
            let other = first.trials.iter().find(|other| other.repeat == trial.repeat)?;
            Some(trial.throughput()? / other.throughput()?).filter(|ratio| !ratio.is_nan())
        };
        MedianRange::of_ratios(self.trials.iter().filter_map(pair).collect())
    }
}

/// The order of cells and targets in tables, which is the order of the scenario. Cells and targets that are not in the
/// scenario come last, in the order of their first measurement.
#[derive(Clone, Debug, Default)]
pub struct Order<'s> {
    /// Names of cells.
    pub cells: Vec<&'s str>,
    /// Names of targets. In each cell, the other targets are compared with the first one.
    pub targets: Vec<&'s str>,
}

impl<'s> Order<'s> {
    /// Returns the order, extended by measured cells and targets that are not in the order yet.
    pub(super) fn with(&self, measured: impl Iterator<Item = (&'s str, &'s str)>) -> Self {
        let mut order = self.clone();
        let mut known: [HashSet<&str>; 2] =
            [order.cells.iter().copied().collect(), order.targets.iter().copied().collect()];
        for (cell, target) in measured {
            if known[0].insert(cell) {
                order.cells.push(cell);
            }
            if known[1].insert(target) {
                order.targets.push(target);
            }
        }
        order
    }
}

/// Returns the trials by cell and target.
pub(crate) fn rows<'t>(trials: &'t [Trial], order: &Order<'t>) -> Vec<Row<'t>> {
    let order = order.with(trials.iter().map(|trial| (trial.cell.as_str(), trial.target.as_str())));
    let mut by_key: HashMap<(&str, &str), Vec<&Trial>> = HashMap::new();
    trials.iter().for_each(|trial| by_key.entry((&trial.cell, &trial.target)).or_default().push(trial));
    let mut rows = Vec::new();
    for cell in order.cells {
        let begun = rows.len();
        for target in &order.targets {
            let Some(trials) = by_key.remove(&(cell, *target)) else { continue };
            let first = (rows.len() > begun).then_some(begun);
            rows.push(Row { cell, target, trials, first });
        }
    }
    rows
}

/// Returns the names of all targets: first those of the scenario, then others that were measured.
pub(crate) fn target_names<'s>(order: &Order<'s>, rows: &[Row<'s>]) -> Vec<&'s str> {
    let mut names = order.targets.clone();
    for row in rows {
        if !names.contains(&row.target) {
            names.push(row.target);
        }
    }
    names
}
