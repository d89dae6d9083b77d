//! Two cells of a study subtracted, pair by pair of trials: what one target or one setting costs over another. A pair is the same
//! repeat of both, measured in turn. The rule is that of `compare` ([`measure::statistics::difference::conclude_all`]).

use crate::compare::{Figure, counts, is_usable};
use crate::json::{ConclusionWord, finite};
use crate::number::{count, plural};
use crate::study::{Row, Trial};
use crate::text::table;
use measure::Enumerated;
use measure::statistics::difference::{
    Compared, Concluded, Conclusion, Difference, Scale, conclude_all, conclude_together, range_of_pairs,
};
use measure::statistics::shares::{self, Share, Units};
use measure::statistics::{median, pairs_needed};
use schemars::JsonSchema;
use serde::Serialize;
use store::SavedRun;

/// Differences up to this share of the subtracted value do not matter.
const MARGIN: f64 = 0.02;
/// Pairs that are named because they count for nothing; of more, their number.
const NAMED_MAX: usize = 5;

/// By what two cells of a study are subtracted, in order.
pub const SUBTRACTED: [Figure; 14] = [
    Figure::Success,
    Figure::Rate,
    Figure::Goodput,
    Figure::GoodputSent,
    Figure::TtfbP50,
    Figure::TtfbP90,
    Figure::TtfbP95,
    Figure::TtfbP99,
    Figure::TtfbP999,
    Figure::ResponseP50,
    Figure::ResponseP90,
    Figure::ResponseP95,
    Figure::ResponseP99,
    Figure::ResponseP999,
];

/// A cell on a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Side {
    /// What the cell is called.
    pub cell: String,
    /// What the target is called.
    pub target: String,
}

/// One cell minus another.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Subtraction {
    /// The cell.
    pub of: Side,
    /// The cell that is subtracted from it.
    pub minus: Side,
    /// Pairs of trials.
    pub pairs: u64,
    /// Those in which nothing succeeded on one side at least. They count: their times are beyond any.
    pub dead_pairs: u64,
    /// The conclusion of all metrics together: worse when any is, better when any is, none worse, and success has not dropped,
    /// equivalent when all are.
    #[serde(with = "ConclusionWord")]
    pub conclusion: Conclusion,
    /// The metrics that the trials have.
    pub metrics: Vec<Subtracted>,
    /// Trials that are not in a pair, and why.
    pub left_out: Vec<String>,
}

/// What a difference is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DifferenceUnit {
    /// Nanoseconds.
    Nanoseconds,
    /// A share of all operations: 0.01 is one percentage point.
    Share,
    /// Relative to the value that is subtracted: 0.01 is one percent more.
    Relative,
}

/// One metric of both cells.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Subtracted {
    /// Its name, as in a comparison; TTFB and response times of all operations, those that failed beyond any.
    #[schemars(with = "String")]
    pub metric: Figure,
    /// What the difference is measured in.
    pub unit: DifferenceUnit,
    /// Median over the trials of the cell, of success the share of all operations; null where it lies among failures.
    pub of: Option<f64>,
    /// The same of the cell that is subtracted.
    pub minus: Option<f64>,
    /// The median difference of pairs (Hodges-Lehmann); null where it cannot be computed, or lies among failures.
    pub difference: Option<f64>,
    /// Lower end of its 95 % interval; null below 6 pairs, and where it is infinite.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// The smallest difference of a pair; null where it is infinite, and for success.
    pub least: Option<f64>,
    /// The largest.
    pub most: Option<f64>,
    /// p-value after Holm's correction; null where nothing was tested.
    pub p: Option<f64>,
    /// What it comes to.
    #[serde(with = "ConclusionWord")]
    pub conclusion: Conclusion,
    /// The same for people.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) shown: Shown,
}

impl Subtracted {
    /// What it comes to, in a word; nothing where so few pairs can come to nothing.
    pub(crate) fn conclusion(&self) -> &'static str {
        let untold = self.metric != Figure::Success && self.low.is_none() && self.high.is_none();
        if untold && self.conclusion == Conclusion::Inconclusive { "" } else { self.conclusion.name() }
    }
}

/// A metric as it is shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Shown {
    /// Of the cell that is subtracted.
    pub minus: String,
    /// Of the cell.
    pub of: String,
    /// The difference.
    pub difference: String,
    /// Its interval, or the range of the pairs in brackets.
    pub interval: String,
}

/// What a trial is subtracted by.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values {
    /// The metrics in the order of [`SUBTRACTED`]; infinite where a time lies among failures.
    pub metrics: Vec<Option<f64>>,
    /// Operations that succeeded and that are judged.
    pub share: Share,
    /// Why the trial cannot be used.
    pub unusable: Option<String>,
}

impl Values {
    /// Those of the saved run of a trial.
    #[must_use]
    pub fn of(run: &SavedRun) -> Self {
        let metrics = SUBTRACTED.iter().map(|figure| figure.of(run)).collect();
        Self { metrics, share: counts(run), unusable: is_usable(run).err().map(|reason| reason.to_string()) }
    }

    fn is_dead(&self) -> bool {
        self.share.ok == 0.0 && self.share.of > 0.0
    }
}

/// A pair of trials: the one, and the one that is subtracted.
type Pair<'t> = (&'t Trial, &'t Trial);

impl Subtraction {
    /// `of` minus `minus`; `None` when they have no repeat in common.
    pub(crate) fn between(of: &Row<'_>, minus: &Row<'_>) -> Option<Self> {
        let (pairs, left_out) = pairs(of, minus);
        let dead = |(one, other): &&Pair<'_>| one.values.is_dead() || other.values.is_dead();
        let dead_pairs = pairs.iter().filter(dead).count() as u64;
        let rows: Vec<Metric> = (0..SUBTRACTED.len()).filter_map(|index| Metric::of(index, &pairs)).collect();
        let compared: Vec<Compared> = rows.iter().map(Metric::compared).collect();
        let concluded = conclude_all(&compared);
        let metric = |(row, (_, conclusion)): (&Metric, &(_, Conclusion))| row.concluded(*conclusion);
        let all: Vec<Concluded> = rows.iter().zip(&concluded).map(metric).collect();
        let metrics: Vec<Subtracted> =
            rows.into_iter().zip(concluded).map(|(row, (p, conclusion))| row.subtracted(p, conclusion)).collect();
        let side = |row: &Row| Side { cell: row.cell.to_owned(), target: row.target.to_owned() };
        (!pairs.is_empty()).then(|| Self {
            of: side(of),
            minus: side(minus),
            pairs: pairs.len() as u64,
            dead_pairs,
            conclusion: conclude_together(&all),
            metrics,
            left_out,
        })
    }

    /// What is subtracted from what.
    pub(crate) fn title(&self) -> String {
        let (of, minus) = (&self.of, &self.minus);
        if of.cell == minus.cell {
            format!("{}: {} − {}", of.cell, of.target, minus.target)
        } else if of.target == minus.target {
            format!("{}: ({}) − ({})", of.target, of.cell, minus.cell)
        } else {
            format!("({}, {}) − ({}, {})", of.cell, of.target, minus.cell, minus.target)
        }
    }

    /// What must be known about it, as phrases.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let mut remarks = vec![plural(self.pairs, "pair")];
        if self.dead_pairs > 0 {
            remarks.push(format!("nothing succeeded on a side of {}", plural(self.dead_pairs, "pair")));
        }
        remarks.extend(self.left_out.iter().take(NAMED_MAX).cloned());
        if self.left_out.len() > NAMED_MAX {
            remarks.push(format!("{} more are left out", count((self.left_out.len() - NAMED_MAX) as u64)));
        }
        remarks
    }
}

/// The pairs of two rows, and the trials that are in none.
fn pairs<'t>(of: &Row<'t>, minus: &Row<'t>) -> (Vec<Pair<'t>>, Vec<String>) {
    let (mut pairs, mut left_out) = (Vec::new(), Vec::new());
    let mut leave_out = |trial: &Trial, why: &str| {
        left_out.push(format!("left out: {}, {}, run {}: {why}", trial.cell, trial.target, trial.repeat));
    };
    for trial in &of.trials {
        let other = minus.trials.iter().find(|other| other.repeat == trial.repeat);
        match (other, other.and_then(|other| other.values.unusable.as_ref()), &trial.values.unusable) {
            (None, ..) => leave_out(trial, "it has no counterpart"),
            (Some(_), _, Some(why)) => leave_out(trial, &format!("UNUSABLE: {why}")),
            (Some(other), Some(why), _) => leave_out(other, &format!("UNUSABLE: {why}")),
            (Some(other), None, None) => pairs.push((*trial, *other)),
        }
    }
    for other in &minus.trials {
        if of.trials.iter().all(|trial| trial.repeat != other.repeat) {
            leave_out(other, "it has no counterpart");
        }
    }
    (pairs, left_out)
}

/// A metric of all pairs.
struct Metric {
    figure: Figure,
    of: Option<f64>,
    minus: Option<f64>,
    difference: Option<Difference>,
    range: Option<(f64, f64)>,
    margin: f64,
}

impl Metric {
    /// The metric with that index; `None` when no trial has it, or nothing succeeded in any.
    fn of(index: usize, pairs: &[Pair<'_>]) -> Option<Self> {
        let figure = *SUBTRACTED.get(index)?;
        let value = |trial: &Trial| trial.values.metrics.get(index).copied().flatten();
        let all: Vec<f64> = pairs.iter().filter_map(|(of, _)| value(of)).collect();
        let others: Vec<f64> = pairs.iter().filter_map(|(_, minus)| value(minus)).collect();
        if figure == Figure::Success {
            return Self::success(pairs);
        }
        let is_nothing = |value: &f64| *value == 0.0 || value.is_infinite();
        if all.iter().chain(&others).all(is_nothing) {
            return None;
        }
        let scale = figure.scale_of_pairs();
        // A trial without the metric cannot be left out: it may be the one that was too slow for it.
        let whole = all.len() == pairs.len() && others.len() == pairs.len();
        let difference = if whole { Difference::of_pairs(&others, &all, scale) } else { None };
        let range = if whole { range_of_pairs(&others, &all, scale) } else { None };
        let (of, minus) = (median(all), median(others));
        let margin = match scale {
            Scale::Relative => MARGIN,
            Scale::Absolute => finite(minus).unwrap_or(0.0) * MARGIN,
        };
        Some(Self { figure, of, minus, difference, range, margin })
    }

    /// Shares are pooled: their rule decides with fewer pairs than ranks could.
    fn success(pairs: &[Pair<'_>]) -> Option<Self> {
        let of: Vec<Share> = pairs.iter().map(|pair| pair.0.values.share).collect();
        let minus: Vec<Share> = pairs.iter().map(|pair| pair.1.values.share).collect();
        let difference = shares::difference(&minus, &of, Units::Independent);
        let (of, minus) = (shares::share(&of), shares::share(&minus));
        let figure = Figure::Success;
        Some(Self { figure, of, minus, difference, range: None, margin: figure.margin(MARGIN) })
    }

    fn compared(&self) -> Compared {
        Compared { difference: self.difference, margin: self.margin, improves: self.figure.improves() }
    }

    fn concluded(&self, conclusion: Conclusion) -> Concluded {
        Concluded { compared: self.compared(), conclusion, is_success: self.figure == Figure::Success }
    }

    fn subtracted(self, p: Option<f64>, conclusion: Conclusion) -> Subtracted {
        let (figure, scale) = (self.figure, self.figure.scale_of_pairs());
        let interval = self.difference.and_then(|difference| difference.interval);
        let value = |value: Option<f64>| value.map_or_else(|| "n/a".to_owned(), |value| figure.show(value));
        let change = |value: f64| figure.show_difference(value, scale);
        let shown = Shown {
            minus: value(self.minus),
            of: value(self.of),
            difference: self.difference.map_or_else(|| "n/a".to_owned(), |difference| change(difference.change)),
            interval: match (interval, self.range) {
                (Some((low, high)), _) => format!("{} to {}", change(low), change(high)),
                (None, Some((least, most))) => format!("({} … {})", change(least), change(most)),
                (None, None) => "n/a".to_owned(),
            },
        };
        Subtracted {
            metric: figure,
            unit: match (scale, figure) {
                (Scale::Relative, _) => DifferenceUnit::Relative,
                (Scale::Absolute, Figure::Success) => DifferenceUnit::Share,
                (Scale::Absolute, _) => DifferenceUnit::Nanoseconds,
            },
            of: finite(self.of),
            minus: finite(self.minus),
            difference: finite(self.difference.map(|difference| difference.change)),
            low: finite(interval.map(|(low, _)| low)),
            high: finite(interval.map(|(_, high)| high)),
            least: finite(self.range.map(|(least, _)| least)),
            most: finite(self.range.map(|(_, most)| most)),
            p,
            conclusion,
            shown,
        }
    }
}

/// What is said of all subtractions.
pub(crate) fn about(list: &[Subtraction]) -> String {
    let few = list.iter().any(|one| one.pairs < pairs_needed(1));
    let range = if few {
        format!("; in brackets the range of the pairs, below {} pairs there is no interval", pairs_needed(1))
    } else {
        String::new()
    };
    format!(
        "difference: median of the pairs (Hodges-Lehmann), of success that of all operations (pp: percentage points), with its \
         95 % interval{range}; conclusions by Wilcoxon's signed ranks, corrected for all metrics (Holm), margin {} %; times of all \
         operations, those that failed beyond any",
        count((MARGIN * 100.0) as u64)
    )
}

/// The differences for people; nothing where there are none.
#[must_use]
pub fn text(list: &[Subtraction]) -> String {
    let mut text = String::new();
    for one in list {
        text.push_str(&format!("\n{} · {}\n", one.title(), one.remarks().join(" · ")));
        let [minus, of] = if one.of.cell == one.minus.cell {
            [one.minus.target.as_str(), one.of.target.as_str()]
        } else {
            ["subtracted", "from"]
        };
        let head = ["", minus, of, "difference", "interval", ""].map(str::to_owned);
        let row = |metric: &Subtracted| {
            let shown = &metric.shown;
            [
                metric.metric.title().to_owned(),
                shown.minus.clone(),
                shown.of.clone(),
                shown.difference.clone(),
                shown.interval.clone(),
                metric.conclusion().to_owned(),
            ]
        };
        let rows: Vec<[String; 6]> = std::iter::once(head).chain(one.metrics.iter().map(row)).collect();
        text.push_str(&table(&rows));
    }
    if !text.is_empty() {
        text.push_str(&crate::text::paragraph(&about(list)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::{Order, rows, tests::trial};

    /// Nine pairs: the second target is faster by half, and one of its trials succeeded in that share only.
    fn faster(success: f64) -> Subtraction {
        let values = |rate: f64, ok: f64| {
            let metrics = SUBTRACTED.iter().map(|figure| (*figure == Figure::Rate).then_some(rate));
            Values { metrics: metrics.collect(), share: Share { ok, of: 1000.0 }, unusable: None }
        };
        let pair = |repeat: u32| {
            let (base, ok) = (100.0 + f64::from(repeat), if repeat == 5 { 1000.0 * success } else { 1000.0 });
            let new = Trial { values: values(1.5 * base, ok), ..trial("new", repeat, 1.0) };
            [Trial { values: values(base, 1000.0), ..trial("base", repeat, 1.0) }, new]
        };
        let trials: Vec<Trial> = (1..=9).flat_map(pair).collect();
        let order = Order { cells: Vec::new(), targets: vec!["base", "new"] };
        let rows = rows(&trials, &order);
        Subtraction::between(&rows[1], &rows[0]).unwrap()
    }

    #[test]
    fn nothing_is_better_while_success_may_have_dropped() {
        let conclusions = |found: &Subtraction| {
            let of = |figure| found.metrics.iter().find(|metric| metric.metric == figure).unwrap().conclusion;
            [of(Figure::Success), of(Figure::Rate), found.conclusion]
        };
        let (same, dropped) = (faster(1.0), faster(0.4));
        assert_eq!(conclusions(&same), [Conclusion::Equivalent, Conclusion::Better, Conclusion::Better], "{same:?}");
        let wanted = [Conclusion::Inconclusive, Conclusion::Better, Conclusion::Inconclusive];
        assert_eq!(conclusions(&dropped), wanted, "{dropped:?}");
    }
}
