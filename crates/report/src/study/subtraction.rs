//! The difference between two cells of a study, computed from pairs of trials. The difference shows the cost of one
//! target or setting compared with another. A pair consists of one trial of each cell in the same repeat. The two
//! trials run one after the other. The rule for conclusions is the same as in `compare`
//! ([`measure::statistics::difference::conclude_all`]).

use super::rows::Row;
use super::subtracted_metrics::SUBTRACTED;
use super::trial::Trial;
use crate::compare::{ComparisonMetric, ConclusionName, finite};
use crate::number::{count, plural};
use crate::text::{Style, Table, left_out_remark, paragraph, short_table, short_width, table, title};
use measure::Enumerated;
use measure::statistics::difference::{
    Compared, Concluded, Conclusion, Difference, Scale, conclude_all, conclude_together, range_of_pairs,
};
use measure::statistics::shares::{self, Share, Units};
use measure::statistics::{median, pairs_needed};
use schemars::JsonSchema;
use serde::Serialize;

/// Largest difference that does not matter, as a share of the subtracted value.
const MARGIN: f64 = 0.02;
/// Titles of the columns with values, if the names of the cells are too long.
const SHORT_COLUMNS: [&str; 2] = ["subtracted", "from"];
/// Columns that may be left out of a table, the least important one first: the interval, which the conclusion sums up,
/// and the values of both cells.
const OPTIONAL: [usize; 3] = [4, 1, 2];
/// Maximum number of trials without a pair to list. Further trials are only counted.
const NAMED_MAX: usize = 5;

/// A cell on a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Side {
    /// Name of the cell.
    pub cell: String,
    /// Name of the target.
    pub target: String,
}

/// The difference between two cells.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Subtraction {
    /// Cell from which the other cell is subtracted.
    pub of: Side,
    /// Cell that is subtracted.
    pub minus: Side,
    /// Number of pairs of trials.
    pub pairs: u64,
    /// Number of pairs in which one of the two trials had no success. The times of such a trial count as infinite.
    pub pairs_without_success: u64,
    /// Conclusion over all metrics together. The conclusion is "worse" if any metric is worse. The conclusion is
    /// "better" if any metric is better, none is worse, and success has not dropped. The conclusion is "equivalent" if
    /// all metrics are equivalent.
    #[serde(with = "ConclusionName")]
    pub conclusion: Conclusion,
    /// The metrics that the trials have.
    pub metrics: Vec<Subtracted>,
    /// Trials that belong to no pair, with the reasons.
    pub left_out: Vec<String>,
}

/// Unit of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DifferenceUnit {
    /// Nanoseconds.
    Nanoseconds,
    /// Share of all operations. 0.01 is one percentage point.
    Share,
    /// Share of the subtracted value. 0.01 is one percent more.
    Relative,
}

/// One metric of both cells.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Subtracted {
    /// Name, as in a comparison. TTFB and response times cover all operations, and failures count as infinitely long.
    #[schemars(with = "String")]
    pub metric: ComparisonMetric,
    /// Unit of the difference.
    pub unit: DifferenceUnit,
    /// Median over the trials of the cell `of`; for success, the share over all operations. Null if failures make the
    /// median infinite.
    pub of: Option<f64>,
    /// Median over the trials of the cell `minus`, computed like `of`.
    pub minus: Option<f64>,
    /// Median difference of the pairs (Hodges-Lehmann); null if it cannot be computed, or if failures make it infinite.
    pub difference: Option<f64>,
    /// Lower end of the 95 % interval of the difference; null with fewer than 6 pairs, or if the end is infinite.
    pub low: Option<f64>,
    /// Upper end of the 95 % interval of the difference; null with fewer than 6 pairs, or if the end is infinite.
    pub high: Option<f64>,
    /// Smallest difference among the pairs; null for success, or if the difference is infinite.
    pub least: Option<f64>,
    /// Largest difference among the pairs; null for success, or if the difference is infinite.
    pub most: Option<f64>,
    /// p-value after Holm's correction; null if nothing was tested.
    pub p_value: Option<f64>,
    /// Conclusion for this metric.
    #[serde(with = "ConclusionName")]
    pub conclusion: Conclusion,
    /// The values, formatted for people.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) shown: Shown,
}

impl Subtracted {
    /// Returns the name of the conclusion. The text is empty if there were too few pairs for a conclusion.
    pub(crate) fn conclusion(&self) -> &'static str {
        let not_tested = self.metric != ComparisonMetric::Success && self.low.is_none() && self.high.is_none();
        if not_tested && self.conclusion == Conclusion::Inconclusive { "" } else { self.conclusion.name() }
    }
}

/// The values of a metric, formatted for people.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Shown {
    /// Value of the subtracted cell.
    pub minus: String,
    /// Value of the other cell.
    pub of: String,
    /// The difference.
    pub difference: String,
    /// Interval of the difference, or the range of the pairs in parentheses.
    pub interval: String,
}

/// A trial, and the trial that is subtracted from it.
type Pair<'t> = (&'t Trial, &'t Trial);

impl Subtraction {
    /// Returns `of` minus `minus`, or `None` if the two rows have no repeat in common.
    pub(crate) fn between(of: &Row<'_>, minus: &Row<'_>) -> Option<Self> {
        let (pairs, left_out) = pairs(of, minus);
        let failed = |(one, other): &&Pair<'_>| one.values.nothing_succeeded() || other.values.nothing_succeeded();
        let pairs_without_success = pairs.iter().filter(failed).count() as u64;
        let rows: Vec<PairedMetric> =
            (0..SUBTRACTED.len()).filter_map(|index| PairedMetric::of(index, &pairs)).collect();
        let compared: Vec<Compared> = rows.iter().map(PairedMetric::compared).collect();
        let concluded = conclude_all(&compared);
        let metric = |(row, (_, conclusion)): (&PairedMetric, &(_, Conclusion))| row.concluded(*conclusion);
        let all: Vec<Concluded> = rows.iter().zip(&concluded).map(metric).collect();
        let metrics: Vec<Subtracted> =
            rows.into_iter().zip(concluded).map(|(row, (p, conclusion))| row.subtracted(p, conclusion)).collect();
        let side = |row: &Row| Side { cell: row.cell.to_owned(), target: row.target.to_owned() };
        (!pairs.is_empty()).then(|| Self {
            of: side(of),
            minus: side(minus),
            pairs: pairs.len() as u64,
            pairs_without_success,
            conclusion: conclude_together(&all),
            metrics,
            left_out,
        })
    }

    /// Returns the names of both cells.
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

    /// Returns the titles of the two columns with values. The first column is for the subtracted cell, and the second
    /// column is for the other cell.
    pub(crate) fn columns(&self) -> [&str; 2] {
        let (of, minus) = (&self.of, &self.minus);
        if of.cell == minus.cell { [&minus.target, &of.target] } else { SHORT_COLUMNS }
    }

    /// Returns notes for interpreting the difference, as phrases.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let mut remarks = vec![plural(self.pairs, "pair")];
        let with_p_value = self.metrics.iter().filter(|metric| metric.p_value.is_some()).count();
        // With very few pairs, no metric is tested.
        let tested = if with_p_value > 0 { with_p_value } else { self.metrics.len() };
        let needed = pairs_needed(tested);
        if self.pairs < needed {
            remarks.push(format!("conclusions about {} need {needed} pairs", plural(tested as u64, "metric")));
        }
        if self.pairs_without_success > 0 {
            remarks.push(format!("nothing succeeded on a side of {}", plural(self.pairs_without_success, "pair")));
        }
        remarks.extend(self.left_out.iter().take(NAMED_MAX).cloned());
        if self.left_out.len() > NAMED_MAX {
            remarks.push(format!("{} more left out", count((self.left_out.len() - NAMED_MAX) as u64)));
        }
        remarks
    }
}

/// Returns the pairs of trials in two rows, and descriptions of the trials without a pair.
fn pairs<'t>(of: &Row<'t>, minus: &Row<'t>) -> (Vec<Pair<'t>>, Vec<String>) {
    let (mut pairs, mut left_out) = (Vec::new(), Vec::new());
    let mut leave_out = |trial: &Trial, why: &str| {
        left_out.push(format!("left out {}, {}, run {} ({why})", trial.cell, trial.target, trial.repeat));
    };
    for trial in &of.trials {
        let other = minus.trials.iter().find(|other| other.repeat == trial.repeat);
        match (other, other.and_then(|other| other.values.unusable.as_ref()), &trial.values.unusable) {
            (None, ..) => leave_out(trial, "no counterpart"),
            (Some(_), _, Some(why)) => leave_out(trial, &format!("UNUSABLE: {why}")),
            (Some(other), Some(why), _) => leave_out(other, &format!("UNUSABLE: {why}")),
            (Some(other), None, None) => pairs.push((*trial, *other)),
        }
    }
    for other in &minus.trials {
        if of.trials.iter().all(|trial| trial.repeat != other.repeat) {
            leave_out(other, "no counterpart");
        }
    }
    (pairs, left_out)
}

/// A metric over all pairs.
struct PairedMetric {
    metric: ComparisonMetric,
    of: Option<f64>,
    minus: Option<f64>,
    difference: Option<Difference>,
    range: Option<(f64, f64)>,
    margin: f64,
}

impl PairedMetric {
    /// Returns the metric with this index in [`SUBTRACTED`]. Returns `None` if no trial has the metric, or if nothing
    /// succeeded in any trial.
    fn of(index: usize, pairs: &[Pair<'_>]) -> Option<Self> {
        let metric = *SUBTRACTED.get(index)?;
        let value = |trial: &Trial| trial.values.metrics.get(index).copied().flatten();
        let all: Vec<f64> = pairs.iter().filter_map(|(of, _)| value(of)).collect();
        let others: Vec<f64> = pairs.iter().filter_map(|(_, minus)| value(minus)).collect();
        if metric == ComparisonMetric::Success {
            return Self::success(pairs);
        }
        let is_nothing = |value: &f64| *value == 0.0 || value.is_infinite();
        if all.iter().chain(&others).all(is_nothing) {
            return None;
        }
        let scale = metric.scale_of_pairs();
        // A trial may lack the metric because it was too slow to collect enough samples. Comparing only the other
        // trials would hide this.
        let whole = all.len() == pairs.len() && others.len() == pairs.len();
        let difference = if whole { Difference::of_pairs(&others, &all, scale) } else { None };
        let range = if whole { range_of_pairs(&others, &all, scale) } else { None };
        let (of, minus) = (median(all), median(others));
        let margin = match scale {
            Scale::Relative => MARGIN,
            Scale::Absolute => finite(minus).unwrap_or(0.0) * MARGIN,
        };
        Some(Self { metric, of, minus, difference, range, margin })
    }

    /// Returns the metric for success. The shares of all pairs are pooled, because a rank test would need more pairs
    /// for a conclusion.
    fn success(pairs: &[Pair<'_>]) -> Option<Self> {
        let of: Vec<Share> = pairs.iter().map(|pair| pair.0.values.share).collect();
        let minus: Vec<Share> = pairs.iter().map(|pair| pair.1.values.share).collect();
        let difference = shares::difference(&minus, &of, Units::Independent);
        let (of, minus) = (shares::share(&of), shares::share(&minus));
        let metric = ComparisonMetric::Success;
        Some(Self { metric, of, minus, difference, range: None, margin: metric.margin(MARGIN) })
    }

    fn compared(&self) -> Compared {
        Compared { difference: self.difference, margin: self.margin, improves: self.metric.improves() }
    }

    fn concluded(&self, conclusion: Conclusion) -> Concluded {
        Concluded { compared: self.compared(), conclusion, is_success: self.metric == ComparisonMetric::Success }
    }

    fn subtracted(self, p: Option<f64>, conclusion: Conclusion) -> Subtracted {
        let (metric, scale) = (self.metric, self.metric.scale_of_pairs());
        let interval = self.difference.and_then(|difference| difference.interval);
        let value = |value: Option<f64>| value.map_or_else(|| "n/a".to_owned(), |value| metric.show(value));
        let change = |value: f64| metric.show_difference(value, scale);
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
            metric,
            unit: match (scale, metric) {
                (Scale::Relative, _) => DifferenceUnit::Relative,
                (Scale::Absolute, ComparisonMetric::Success) => DifferenceUnit::Share,
                (Scale::Absolute, _) => DifferenceUnit::Nanoseconds,
            },
            of: finite(self.of),
            minus: finite(self.minus),
            difference: finite(self.difference.map(|difference| difference.change)),
            low: finite(interval.map(|(low, _)| low)),
            high: finite(interval.map(|(_, high)| high)),
            least: finite(self.range.map(|(least, _)| least)),
            most: finite(self.range.map(|(_, most)| most)),
            p_value: p,
            conclusion,
            shown,
        }
    }
}

/// Returns an explanation of the tables of all differences.
pub(crate) fn about<'s>(list: impl IntoIterator<Item = &'s Subtraction>) -> String {
    let few = list.into_iter().any(|one| one.pairs < pairs_needed(1));
    let range = if few {
        format!(", or the range of the pairs in parentheses if there are fewer than {}", pairs_needed(1))
    } else {
        String::new()
    };
    format!(
        "The difference is the median of the pairs (Hodges-Lehmann). For success, all operations are pooled (pp means \
         percentage points). The interval is the 95 % interval{range}. Conclusions are by Wilcoxon's signed ranks, \
         corrected for all metrics (Holm), with a margin of {} %. Times count failed operations as infinite.",
        count((MARGIN * 100.0) as u64)
    )
}

/// Maximum number of differences of a single pair in a short report.
const SINGLE_MAX: usize = 3;

/// Like [`fitting_text`], but shorter: if many differences consist of a single pair, only their number is printed, because a
/// single pair allows no conclusion.
#[must_use]
pub fn short_text(list: &[Subtraction], style: &Style) -> String {
    let (single, several): (Vec<&Subtraction>, Vec<&Subtraction>) = list.iter().partition(|one| one.pairs < 2);
    if single.len() <= SINGLE_MAX {
        return fitting_text(list, style);
    }
    let note = format!(
        "{} of a single pair are not shown (see --full): conclusions need several `repeats`",
        plural(single.len() as u64, "difference")
    );
    tables(&several, Some(style)) + "\n" + &title(&note, style)
}

/// Like [`text`], but at most 80 characters wide.
#[must_use]
pub fn fitting_text(list: &[Subtraction], style: &Style) -> String {
    tables(&list.iter().collect::<Vec<_>>(), Some(style))
}

/// Formats the differences for people, with all columns. The text is empty if there are none.
#[must_use]
pub fn text(list: &[Subtraction]) -> String {
    tables(&list.iter().collect::<Vec<_>>(), None)
}

/// Formats differences as tables. If there is a style, the tables fit into its width.
fn tables(list: &[&Subtraction], fit: Option<&Style>) -> String {
    let mut text = String::new();
    for one in list {
        let about = format!("{} · {}", one.title(), one.remarks().join(" · "));
        text.push('\n');
        text.push_str(&fit.map_or_else(|| format!("{about}\n"), |style| title(&about, style)));
        let [minus, of] = one.columns();
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
        text.push_str(&match fit {
            Some(style) => fitting_table(rows, style),
            None => table(&rows),
        });
    }
    if !text.is_empty() {
        text.push_str(&paragraph(&about(list.iter().copied()), fit.unwrap_or(&Style::default())));
    }
    text
}

/// Formats the table of a difference so that it fits. If it is too wide, the names of the cells become short, because the
/// line above the table has them too. If that is not enough, columns are left out.
fn fitting_table(mut rows: Vec<[String; 6]>, style: &Style) -> String {
    let of = |rows: &[[String; 6]]| Table::of(rows[0].len(), rows);
    let whole = of(&rows);
    if whole.width() <= short_width(style) {
        return short_table(&whole);
    }
    rows[0][1..3].clone_from_slice(&SHORT_COLUMNS.map(str::to_owned));
    let (table, left_out) = of(&rows).fitted(&OPTIONAL, short_width(style));
    short_table(&table) + &left_out_remark(&left_out, style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::tests::{fits, long_name, trial};
    use crate::study::{Order, TrialValues, rows};
    use crate::text::columns;

    /// Returns the difference between two targets, from nine pairs. The rate of the second target is 1.5 times the rate
    /// of the first target. In one trial of the second target, only the share `success` of the operations succeeds.
    fn faster(success: f64) -> Subtraction {
        let values = |rate: f64, ok: f64| {
            let metrics = SUBTRACTED.iter().map(|metric| (*metric == ComparisonMetric::Rate).then_some(rate));
            TrialValues { metrics: metrics.collect(), share: Share { ok, of: 1000.0 }, unusable: None }
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
    fn tables_of_differences_fit_on_a_terminal() {
        let narrow = Style { width: 80, color: false };
        let fitting = |one: &Subtraction| fitting_text(std::slice::from_ref(one), &narrow);
        let whole = |one: &Subtraction| text(std::slice::from_ref(one));
        let mut one = faster(1.0);
        assert_eq!(fitting(&one).lines().nth(2), whole(&one).lines().nth(2));
        one.of.target = "n".repeat(40);
        for shown in ["subtracted", "left out to keep lines short: interval, subtracted"] {
            let fitting = fitting(&one);
            assert!(fitting.lines().all(|line| columns(line) <= 80) && fitting.contains(shown), "{fitting}");
            assert!(whole(&one).lines().any(|line| columns(line) > 80));
            one.metrics[0].shown.minus = "100.000 % of all operations, and more".to_owned();
        }
    }

    #[test]
    fn differences_fit_with_long_names() {
        let mut one = faster(1.0);
        (one.of.target, one.minus.cell) = (long_name("n"), long_name("c"));
        fits("difference", |style| fitting_text(std::slice::from_ref(&one), style));
        let mut single = one.clone();
        single.pairs = 1;
        let many = vec![single; SINGLE_MAX + 1];
        fits("single pairs", |style| short_text(&many, style));
    }

    #[test]
    fn nothing_is_better_while_success_may_have_dropped() {
        let conclusions = |found: &Subtraction| {
            let of = |wanted| found.metrics.iter().find(|metric| metric.metric == wanted).unwrap().conclusion;
            [of(ComparisonMetric::Success), of(ComparisonMetric::Rate), found.conclusion]
        };
        let (same, dropped) = (faster(1.0), faster(0.4));
        assert_eq!(conclusions(&same), [Conclusion::Equivalent, Conclusion::Better, Conclusion::Better], "{same:?}");
        let wanted = [Conclusion::Inconclusive, Conclusion::Better, Conclusion::Inconclusive];
        assert_eq!(conclusions(&dropped), wanted, "{dropped:?}");
    }
}
