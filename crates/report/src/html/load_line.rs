//! The HTML report of a search for the load line.

use super::charts::load_curve;
use super::script_data::{Block, Document, Headline, OverviewData, Section, Times};
use super::{run as saved_run, sections};
use crate::escape::escape;
use crate::load_line::{ESTIMATED, Level, LevelOutcome, LoadLine};
use crate::number::{bit_rate, byte_rate, count, plural, rate, share};
use crate::run_metrics::MeasuredObjective;
use crate::text;
use store::SavedRun;

/// Returns the report of a search. `run` is its last run.
pub fn document(line: &LoadLine, run: Option<&SavedRun>) -> Document {
    let mut all = vec![levels(line), search(line)];
    if let Some(run) = run {
        all.extend(sections::of(text::setup_without_load(run)));
        all.extend(sections::settings(run, "Settings of the last run"));
    }
    let notes = run.map(saved_run::notes).unwrap_or_default();
    Document {
        title: format!("Load line of {}", escape(&line.target)),
        overview: OverviewData::of(line.result.word, vec![line.sentence()], notes),
        headline: headline(line),
        charts: load_curve::of_one(line),
        groups: Vec::new(),
        times: Times::default(),
        sections: all,
    }
}

/// Returns the headline: the load line, the first objective missed, and the metrics at the load line.
fn headline(line: &LoadLine) -> Vec<Headline> {
    let metric = |label: &str, value: String, detail: String| Headline { label: label.into(), value, detail };
    let mut metrics = Vec::new();
    if let Some(passed) = line.passed {
        let detail = line.failed.map_or("no level failed".to_owned(), |failed| format!("not {}", line.shown(failed)));
        metrics.push(metric("passed", line.shown(passed), detail));
    }
    let end = line.levels.iter().rev().find(|level| Some(level.level) == line.failed && !level.passed);
    metrics.extend(end.and_then(|level| why(line, level)));
    let at =
        line.passed.and_then(|passed| line.levels.iter().rev().find(|level| level.level == passed && level.passed));
    metrics.extend(at.map(at_the_line).unwrap_or_default());
    metrics
}

/// Returns the reason why a level did not pass: the first objective missed, or another cause.
fn why(line: &LoadLine, level: &Level) -> Option<Headline> {
    let (why, at) = (level.reason.as_ref()?, line.shown(level.level));
    let is_reason = |measured: &&MeasuredObjective| measured.objective.to_string() == *why;
    if let Some(objective) = level.metrics.objectives.iter().find(is_reason).map(|measured| measured.objective) {
        let (value, detail) = (objective.metric().to_string(), format!("{objective}, at {at}"));
        return Some(Headline { label: "first objective missed".into(), value, detail });
    }
    let label = match level.outcome {
        LevelOutcome::Passed | LevelOutcome::Failed => "failed",
        LevelOutcome::NotDecided => "not decided",
        LevelOutcome::ClientLimited => "this client was the limit",
    };
    Some(Headline { label: label.into(), value: at, detail: why.clone() })
}

fn at_the_line(level: &Level) -> Vec<Headline> {
    let metrics = &level.metrics;
    let metric = |label: &str, value: String, detail: String| Headline { label: label.into(), value, detail };
    let p50 = metrics.response_p50_nanos.map_or_else(String::new, |_| format!("p50 {}", metrics.p50()));
    [
        metrics.ok_per_second.map(|ok| metric("succeeded at the line", rate(ok), String::new())),
        metrics
            .goodput_bytes_per_second
            .map(|goodput| metric("goodput at the line", byte_rate(goodput), bit_rate(goodput))),
        metrics.response_p99_nanos.map(|_| metric("response p99 at the line", metrics.p99(), p50)),
        metrics.success_share.map(|success| metric("success at the line", share(success), String::new())),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns a table of all levels, in the order of their runs.
fn levels(line: &LoadLine) -> Section {
    let mut head = line.columns().to_vec();
    let texts = head.len() - 1;
    head[0] = "tried".into();
    head.push("directory".into());
    let row = |(number, level): (u64, &Level)| {
        let mut row = line.row(level).to_vec();
        row[0] = format!("{} {}", count(number), row[0]).trim_end().to_owned();
        row.push(escape(&level.metrics.directory));
        row
    };
    let rows: Vec<Vec<String>> = (1..).zip(&line.levels).map(row).collect();
    let left = (0..head.len()).map(|column| column == 0 || column == 2 || column >= texts).collect();
    let mut blocks = vec![Block::Table { head, left, rows }];
    if line.levels.iter().any(|level| !level.certain) {
        blocks.push(Block::Line { text: ESTIMATED.trim_end().into() });
    }
    blocks.extend(line.about_ranges().map(|text| Block::Line { text: text.into() }));
    Section { title: "Levels in the order tried".into(), blocks }
}

fn search(line: &LoadLine) -> Section {
    let item = |label: &str, texts: Vec<String>| Block::Item { label: label.into(), texts };
    let tried = plural(line.levels.len() as u64, "level");
    let blocks = vec![
        item("target", vec![escape(&line.target)]),
        item("objectives", line.objectives.iter().map(|objective| escape(objective)).collect()),
        item("levels", vec![format!("{tried} tried; each is a run below the directory of the search")]),
    ];
    Section { title: "Search".into(), blocks }
}
