//! Two sets of runs beside each other.

use super::Style;
use super::page::{Page, Paint, Table};
use crate::compare::{ComparedRun, Comparison, Row, Scope, Sides};
use crate::number::{count, decimal, plural};
use crate::result;
use measure::ResultWord;
use measure::statistics::batch_means::BATCHES_MIN;
use measure::statistics::difference::Conclusion;

/// A comparison for people. Ends with a line end.
#[must_use]
pub fn comparison(comparison: &Comparison<'_>, style: &Style) -> String {
    let mut page = Page::new(*style);
    headline(&mut page, comparison);
    notes(&mut page, comparison);
    page.gap();
    page.table(table(comparison));
    page.gap();
    page.line(&format!(
        "interval: of the change, 95 %; p: chance of such a difference without one, corrected for all figures (Holm); margin ±{}",
        percent(comparison.margin)
    ));
    page.finish()
}

fn headline(page: &mut Page, comparison: &Comparison<'_>) {
    let conclusion = comparison.conclusion();
    let runs = [comparison.base.len(), comparison.new.len()].map(|runs| runs as u64);
    let mut pieces: Vec<String> = match comparison.sides {
        Sides::BaseAndNew => vec![conclusion.to_string().to_uppercase()],
        Sides::Halves => vec!["NOISE".to_owned()],
    };
    let named = [Conclusion::Worse, Conclusion::Better, Conclusion::Equivalent, Conclusion::Inconclusive];
    let counted = named.map(|named| (comparison.count(named) as u64, named));
    pieces
        .extend(counted.iter().filter(|(figures, _)| *figures > 0).map(|(n, named)| format!("{} {named}", count(*n))));
    pieces.push(format!("{} against {}", plural(runs[0], "run"), count(runs[1])));
    let paint = match conclusion {
        Conclusion::Worse => Paint::Red,
        Conclusion::Better | Conclusion::Equivalent => Paint::Green,
        Conclusion::Inconclusive => Paint::Yellow,
    };
    page.verdict(paint, pieces);
}

fn notes(page: &mut Page, comparison: &Comparison<'_>) {
    for note in comparison_notes(comparison) {
        page.line(&format!("note: {note}"));
    }
}

/// What must be known beside the figures of a comparison, as sentences.
pub fn comparison_notes(comparison: &Comparison<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    if comparison.sides == Sides::Halves {
        notes.push(
            "the same runs in two halves: a change smaller than the noise floor is noise with so many runs".to_owned(),
        );
        if comparison.count(Conclusion::Worse) + comparison.count(Conclusion::Better) > 0 {
            notes
                .push("the halves differ: something changed between these runs that was not to be measured".to_owned());
        }
    }
    if comparison.scope == Scope::WithinRuns {
        notes.push(
            "one run a side: this holds within these runs only, further runs may differ by more; `--repeat 6` makes several"
                .to_owned(),
        );
        if comparison.rows.iter().any(|row| row.difference.is_none()) {
            notes.push(format!(
                "n/a: an interval needs {BATCHES_MIN} s of the window at least, and more where seconds hang together"
            ));
        }
    }
    if let Some(needed) = comparison.runs_missing() {
        notes
            .push(format!("too few runs to tell a difference in so many figures: {} a side are needed", count(needed)));
    }
    notes.extend(comparison.unlike.iter().map(|unlike| format!("the runs are unlike: {unlike}")));
    notes.extend(comparison.base.iter().chain(comparison.new).filter_map(cut_short));
    let versions = |run: &ComparedRun| run.run.begin.version.clone();
    let mut known: Vec<String> = comparison.base.iter().chain(comparison.new).map(versions).collect();
    known.sort();
    known.dedup();
    if known.len() > 1 {
        let known: Vec<String> = known.iter().map(|version| crate::escape::escape(version)).collect();
        notes.push(format!("made by versions {}", known.join(", ")));
    }
    notes
}

fn cut_short(run: &ComparedRun) -> Option<String> {
    let word = result::of(&run.run).word;
    (word != ResultWord::Pass).then(|| format!("{} is {}", run.name, word.text()))
}

fn table(comparison: &Comparison<'_>) -> Table {
    let halves = comparison.sides == Sides::Halves;
    let mut table = Table::with_text_from(6);
    let names = if halves { ["half 1", "half 2"] } else { ["base", "new"] };
    let last = if halves { "noise floor" } else { "" };
    table.head(["", names[0], names[1], "change", "interval", "p", last]);
    for row in &comparison.rows {
        let shown = |value: Option<f64>| value.map_or_else(|| "n/a".to_owned(), |value| row.figure.show(value));
        let interval = row.difference.and_then(|difference| difference.interval);
        table.row([
            row.figure.title().to_owned(),
            shown(row.base),
            shown(row.new),
            row.difference.map_or_else(|| "n/a".to_owned(), |difference| signed(difference.change)),
            interval.map_or_else(|| "n/a".to_owned(), |(low, high)| format!("{} to {}", signed(low), signed(high))),
            row.p.map_or_else(|| "–".to_owned(), p_value),
            if halves {
                noise_floor(row).map_or_else(|| "n/a".to_owned(), |floor| format!("±{}", percent(floor)))
            } else {
                row.conclusion.to_string()
            },
        ]);
    }
    table
}

/// The largest change that the interval of two halves leaves possible.
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

fn signed(share: f64) -> String {
    let text = percent(share);
    if share > 0.0 { format!("+{text}") } else { text }
}
