//! A comparison of two sets of runs as text, metric by metric.

use super::blocks::{Paint, Table};
use super::page::Page;
use super::style::Style;
use crate::compare::{
    ComparedRun, Comparison, ComparisonMetric, Row, Scope, Side, Sides, cut_off, limited_of, no_success,
    nothing_succeeded, shared_caveats, unusable_each,
};
use crate::number::{count, decimal, plural, seconds};
use measure::statistics::batch_means::BATCHES_MIN;
use measure::statistics::difference::Conclusion;

/// Columns that may be left out, the least important one first: p, interval, base, new.
const OPTIONAL: [usize; 4] = [5, 4, 1, 2];

/// Formats a comparison for people. The text ends with a line break.
#[must_use]
pub fn comparison(comparison: &Comparison<'_>, style: &Style) -> String {
    let mut page = Page::new(*style);
    headline(&mut page, comparison);
    notes(&mut page, comparison);
    page.gap();
    page.fitted_table(table(comparison), &OPTIONAL);
    page.gap();
    if let Some(values) = about_values(comparison.scope) {
        page.line(values);
    }
    page.line(&format!(
        "The interval is the 95 % interval of the change. p is the probability of such a difference by chance, \
         corrected for all metrics (Holm). The margin is ±{}. pp means percentage points. Response times count \
         failed operations as infinite.",
        percent(comparison.margin)
    ));
    page.finish()
}

/// Returns how base, new and change are computed, if they are not the values of single runs.
fn about_values(scope: Scope) -> Option<&'static str> {
    match scope {
        Scope::WithinRuns => None,
        Scope::AcrossRuns => Some(
            "base and new are medians over the runs of a side. The change is the median of the differences between each \
             new run and each base run (Hodges–Lehmann), which can differ from that of the medians.",
        ),
        Scope::AcrossPairs => Some(
            "base and new are medians over the runs of a side. The change is estimated from the differences within the \
             pairs (Hodges–Lehmann), which can differ from that of the medians.",
        ),
    }
}

/// Returns the texts of the first line. The texts are the conclusion, the number of metrics with each conclusion, and
/// the number of runs.
pub(crate) fn comparison_pieces(comparison: &Comparison<'_>) -> Vec<String> {
    let conclusion = comparison.conclusion();
    let runs = [comparison.base.len(), comparison.new.len()].map(|runs| runs as u64);
    let mut pieces: Vec<String> = match comparison.sides {
        Sides::BaseAndNew | Sides::Pairs => vec![conclusion.to_string().to_uppercase()],
        Sides::Halves => vec!["NOISE".to_owned()],
    };
    let named = [Conclusion::Worse, Conclusion::Better, Conclusion::Equivalent, Conclusion::Inconclusive];
    let counted = named.map(|named| (comparison.count(named) as u64, named));
    pieces
        .extend(counted.iter().filter(|(metrics, _)| *metrics > 0).map(|(n, named)| format!("{} {named}", count(*n))));
    pieces.push(match comparison.scope {
        Scope::AcrossPairs => plural(runs[0], "pair"),
        Scope::WithinRuns | Scope::AcrossRuns => format!("{} vs. {}", plural(runs[0], "run"), count(runs[1])),
    });
    pieces.extend(too_short(comparison));
    let failed = |runs: &[ComparedRun]| runs.iter().filter(|run| nothing_succeeded(&run.run)).count() as u64;
    for (runs, side) in [(comparison.base, "base"), (comparison.new, "new")] {
        let (failed, of) = (failed(runs), runs.len());
        if failed == 0 {
            continue;
        }
        let runs = plural(of as u64, &format!("{side} run"));
        pieces.push(format!("nothing succeeded in {} of {runs}", count(failed)));
    }
    pieces
}

fn headline(page: &mut Page, comparison: &Comparison<'_>) {
    let paint = match comparison.conclusion() {
        Conclusion::Worse => Paint::Red,
        Conclusion::Better | Conclusion::Equivalent => Paint::Green,
        Conclusion::Inconclusive => Paint::Yellow,
    };
    page.first_line(paint, comparison_pieces(comparison));
}

fn notes(page: &mut Page, comparison: &Comparison<'_>) {
    for note in comparison_notes(comparison) {
        page.line(&format!("note: {note}"));
    }
}

/// Maximum number of runs to list in one note. Further runs are only counted.
const NAMED_MAX: usize = 10;

/// Returns notes for interpreting a comparison, as sentences.
pub fn comparison_notes(comparison: &Comparison<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(about_runs(comparison, |run| {
        no_success(run).map(|why| format!("{why}; the run counts as slower than any other"))
    }));
    notes.extend(about_runs(comparison, cut_off));
    notes.extend(bounded(unusable_each(comparison.base).into_iter().chain(unusable_each(comparison.new)).collect()));
    if comparison.sides == Sides::Halves {
        notes.push(
            "with this number of runs, a change below the noise floor cannot be distinguished from noise".to_owned(),
        );
        if comparison.count(Conclusion::Worse) + comparison.count(Conclusion::Better) > 0 {
            notes.push("the halves differ, so the conditions were not the same in all runs".to_owned());
        }
    }
    notes.extend(limited_side_note(comparison));
    notes.extend(client_note(comparison));
    notes.extend(scope_notes(comparison));
    let caveats = shared_caveats(comparison);
    if !caveats.is_empty() {
        notes.push(format!("on both sides, {}", caveats.join("; ")));
    }
    notes.extend(bounded(
        comparison.differences.iter().map(|difference| format!("the runs differ in {difference}")).collect(),
    ));
    let versions = |run: &ComparedRun| run.run.begin.version.clone();
    let mut known: Vec<String> = comparison.base.iter().chain(comparison.new).map(versions).collect();
    known.sort();
    known.dedup();
    if known.len() > 1 {
        let known: Vec<String> = known.iter().map(|version| crate::escape::escape(version)).collect();
        notes.push(format!("the runs were made by different versions ({})", known.join(", ")));
    }
    notes
}

/// Returns the note about metrics whose conclusion depends on delays of the client.
fn client_note(comparison: &Comparison<'_>) -> Option<String> {
    let decided = comparison.rows.iter().filter(|row| row.client_decides).map(|row| row.metric.title());
    let titles: Vec<&str> = decided.collect();
    (!titles.is_empty()).then(|| {
        format!(
            "delays or limits of this client may explain the result for {}, so it is inconclusive",
            titles.join(", ")
        )
    })
}

/// Returns the note about the side on which the client limited more runs.
fn limited_side_note(comparison: &Comparison<'_>) -> Option<String> {
    let side = match comparison.limited_side? {
        Side::Base => "base",
        Side::New => "new",
    };
    Some(format!(
        "this client limited {} base and {} new runs, so the {side} target may be faster than its runs show; to compare \
         both targets at the same load, use a rate that both sustain (-R)",
        limited_of(comparison.base),
        limited_of(comparison.new)
    ))
}

/// Returns the lengths of single runs that are too short to be compared, as a phrase.
fn too_short(comparison: &Comparison<'_>) -> Option<String> {
    let others = || comparison.rows.iter().filter(|row| row.metric != ComparisonMetric::Success);
    let is_short = comparison.scope == Scope::WithinRuns && others().count() > 0;
    if !is_short || others().any(|row| row.difference.is_some()) {
        return None;
    }
    let runs = comparison.base.iter().chain(comparison.new);
    let shortest = runs.map(|run| run.run.summary().measured.seconds).fold(f64::INFINITY, f64::min);
    (shortest < BATCHES_MIN as f64)
        .then(|| format!("single runs of {} are too short to compare (need {BATCHES_MIN} s)", seconds(shortest)))
}

/// Returns the notes about the number of runs.
fn scope_notes(comparison: &Comparison<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    if comparison.scope == Scope::WithinRuns {
        notes.push(
            "with one run per side, the conclusion holds for these two runs only; `--repeat 6` makes several runs, \
             which show how much runs differ"
                .to_owned(),
        );
        if comparison.rows.iter().any(|row| row.difference.is_none()) {
            notes.push(format!(
                "n/a means that the window is too short; an interval needs {BATCHES_MIN} s, and more if neighboring \
                 seconds are alike"
            ));
        }
    }
    if let Some(needed) = comparison.runs_missing() {
        let what = if comparison.scope == Scope::AcrossPairs { "pairs" } else { "runs" };
        let needed = match what {
            "pairs" => format!("{} are needed", count(needed)),
            _ => format!("{} per side are needed", count(needed)),
        };
        notes.push(format!("too few {what} to find a difference in so many metrics (except success); {needed}"));
    }
    notes
}

/// Returns one sentence for each run for which `remark` returns a text.
fn about_runs(comparison: &Comparison<'_>, remark: impl Fn(&store::SavedRun) -> Option<String>) -> Vec<String> {
    let runs = comparison.base.iter().chain(comparison.new);
    bounded(runs.filter_map(|run| Some(format!("{}: {}", run.name, remark(&run.run)?))).collect())
}

fn bounded(mut sentences: Vec<String>) -> Vec<String> {
    if sentences.len() > NAMED_MAX {
        let more = sentences.len() - NAMED_MAX;
        sentences.truncate(NAMED_MAX);
        sentences.push(format!("and {} more like these", count(more as u64)));
    }
    sentences
}

fn table(comparison: &Comparison<'_>) -> Table {
    Table::of(6, &comparison_rows(comparison))
}

/// Returns the titles, and a row for each metric. A row has both values, the change with its interval, p, and the
/// conclusion.
pub(crate) fn comparison_rows(comparison: &Comparison<'_>) -> Vec<[String; 7]> {
    let halves = comparison.sides == Sides::Halves;
    let names = if halves { ["half 1", "half 2"] } else { ["base", "new"] };
    let last = if halves { "noise floor" } else { "" };
    let titles = ["", names[0], names[1], "change", "interval", "p", last].map(str::to_owned);
    let row = |row: &Row| {
        let shown = |value: Option<f64>| value.map_or_else(|| "n/a".to_owned(), |value| row.metric.show(value));
        let signed = |change: f64| row.metric.show_difference(change, row.metric.scale());
        let interval = row.difference.and_then(|difference| difference.interval);
        [
            row.metric.title().to_owned(),
            shown(row.base),
            shown(row.new),
            row.difference.map_or_else(|| "n/a".to_owned(), |difference| signed(difference.change)),
            interval.map_or_else(|| "n/a".to_owned(), |(low, high)| format!("{} to {}", signed(low), signed(high))),
            row.p.map_or_else(|| "–".to_owned(), p_value),
            if halves {
                noise_floor(row).map_or_else(|| "n/a".to_owned(), |floor| format!("±{}", unsigned(row.metric, floor)))
            } else {
                row.conclusion.to_string()
            },
        ]
    };
    std::iter::once(titles).chain(comparison.rows.iter().map(row)).collect()
}

/// Returns the largest change inside the interval of the difference. Returns `None` unless the two sides are halves of
/// the same runs.
pub fn noise_floor(row: &Row) -> Option<f64> {
    let (low, high) = row.difference?.interval?;
    Some(low.abs().max(high.abs()))
}

fn p_value(p: f64) -> String {
    if p < 0.0001 { "< 0.0001".to_owned() } else { decimal(p, 4) }
}

fn percent(share: f64) -> String {
    format!("{} %", decimal(share * 100.0, 2))
}

fn unsigned(metric: ComparisonMetric, change: f64) -> String {
    metric.show_difference(change, metric.scale()).trim_start_matches('+').to_owned()
}
