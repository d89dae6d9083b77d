//! From a search for the load line to what its HTML report holds.

use super::data::{Block, Document, Figure, Section, Times, Verdict};
use super::{document, load_curve, sections};
use crate::escape::escape;
use crate::load_line::{ESTIMATED, Level, LoadLine, OutcomeWord};
use crate::measured::Held;
use crate::number::{bit_rate, byte_rate, count, plural, rate, share};
use crate::text;
use store::SavedRun;

/// The report of a search; `run` is the last of its runs.
pub fn document(line: &LoadLine, run: Option<&SavedRun>) -> Document {
    let mut all = vec![levels(line), held_to(line)];
    if let Some(run) = run {
        all.extend(sections::of(text::asked_for_all(run)));
        all.extend(sections::settings(run, "Settings of the last run"));
    }
    let lines = run.map(document::notes).unwrap_or_default();
    let (word, tone) = (line.result.word.text(), document::tone(text::paint(line.result.word)));
    Document {
        title: format!("Load line of {}", escape(&line.target)),
        verdict: Verdict { word: word.into(), tone, pieces: vec![line.sentence()], lines },
        headline: headline(line),
        charts: load_curve::of_one(line),
        groups: Vec::new(),
        times: Times::default(),
        sections: all,
    }
}

/// The line, what broke first, and what was carried there.
fn headline(line: &LoadLine) -> Vec<Figure> {
    let figure = |label: &str, value: String, detail: String| Figure { label: label.into(), value, detail };
    let mut figures = Vec::new();
    if let Some(passed) = line.passed {
        let detail = line.failed.map_or("no level failed".to_owned(), |failed| format!("not {}", line.shown(failed)));
        figures.push(figure("passed", line.shown(passed), detail));
    }
    let edge = line.levels.iter().rev().find(|level| Some(level.level) == line.failed && !level.passed);
    figures.extend(edge.and_then(|level| why(line, level)));
    let at =
        line.passed.and_then(|passed| line.levels.iter().rev().find(|level| level.level == passed && level.passed));
    figures.extend(at.map(at_the_line).unwrap_or_default());
    figures
}

/// Why a level did not pass: the objective that was seen first to be missed, or else what was seen.
fn why(line: &LoadLine, level: &Level) -> Option<Figure> {
    let (why, at) = (level.why.as_ref()?, line.shown(level.level));
    let is_reason = |held: &&Held| held.objective.to_string() == *why;
    if let Some(objective) = level.measured.objectives.iter().find(is_reason).map(|held| held.objective) {
        let (value, detail) = (objective.metric().to_string(), format!("{objective}, at {at}"));
        return Some(Figure { label: "first objective missed".into(), value, detail });
    }
    let label = match level.outcome {
        OutcomeWord::Passed | OutcomeWord::Failed => "failed",
        OutcomeWord::NotDecided => "not decided",
        OutcomeWord::ClientLimited => "this client was the limit",
    };
    Some(Figure { label: label.into(), value: at, detail: why.clone() })
}

fn at_the_line(level: &Level) -> Vec<Figure> {
    let measured = &level.measured;
    let figure = |label: &str, value: String, detail: String| Figure { label: label.into(), value, detail };
    let p50 = measured.response_p50_nanos.map_or_else(String::new, |_| format!("p50 {}", measured.p50()));
    [
        measured.ok_per_second.map(|ok| figure("ended well there", rate(ok), String::new())),
        measured.goodput.map(|goodput| figure("goodput there", byte_rate(goodput), bit_rate(goodput))),
        measured.response_p99_nanos.map(|_| figure("response p99 there", measured.p99(), p50)),
        measured.success.map(|success| figure("success there", share(success), String::new())),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// All levels in the order in which they were tried.
fn levels(line: &LoadLine) -> Section {
    let mut head = line.columns().to_vec();
    let texts = head.len() - 1;
    head[0] = "tried".into();
    head.push("directory".into());
    let row = |(number, level): (u64, &Level)| {
        let mut row = line.row(level).to_vec();
        row[0] = format!("{} {}", count(number), row[0]).trim_end().to_owned();
        row.push(escape(&level.measured.directory));
        row
    };
    let rows: Vec<Vec<String>> = (1..).zip(&line.levels).map(row).collect();
    let left = (0..head.len()).map(|column| column == 0 || column == 2 || column >= texts).collect();
    let mut blocks = vec![Block::Table { head, left, rows }];
    if line.levels.iter().any(|level| !level.decided) {
        blocks.push(Block::Line { text: ESTIMATED.trim_end().into() });
    }
    blocks.extend(line.about_ranges().map(|text| Block::Line { text: text.into() }));
    Section { title: "Levels in the order tried".into(), blocks }
}

fn held_to(line: &LoadLine) -> Section {
    let item = |label: &str, texts: Vec<String>| Block::Item { label: label.into(), texts };
    let tried = plural(line.levels.len() as u64, "level");
    let blocks = vec![
        item("target", vec![escape(&line.target)]),
        item("objectives", line.objectives.iter().map(|objective| escape(objective)).collect()),
        item("levels", vec![format!("{tried} tried; every one is a run of its own below the directory of the search")]),
    ];
    Section { title: "Search".into(), blocks }
}
