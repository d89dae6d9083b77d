//! From a saved study to what its HTML report holds.

use super::data::{Block, Document, Figure, Section, Times, Verdict};
use super::document::tone;
use super::{load_curve, matrix, sections};
use crate::discrepancy::Discrepancy;
use crate::escape::{bounded, escape};
use crate::lines::{self, LineTrial};
use crate::measured::shown;
use crate::number::{byte_rate, count, plural, rate, share};
use crate::study::Study;
use crate::study::{self, Order, Row, Trial, rows, times};
use crate::subtraction::{self, Subtraction};
use crate::text;
use measure::statistics::median;
use measure::{AttemptClass, Enumerated};
use store::SavedRun;

/// Characters of a line of a scenario that are shown. The user wrote it.
const LINE_MAX: usize = 4096;
/// Targets that have a figure of their own at the top.
const TARGETS_SHOWN: usize = 8;

/// A study as it was saved. Names are escaped.
#[derive(Debug, Default)]
pub struct SavedStudy {
    /// Its name; empty when its scenario can not be read any more.
    pub name: String,
    /// What people should know about it.
    pub notes: Option<String>,
    /// Version of the program that began it.
    pub version: String,
    /// Its scenario, without secrets.
    pub text: String,
    /// The variables that were set for it, without secrets.
    pub set: Vec<(String, String)>,
    /// Its targets in the order of the scenario.
    pub targets: Vec<String>,
    /// Its cells in the order of the scenario.
    pub cells: Vec<Cell>,
    /// How often each cell was to be measured.
    pub repeats: u32,
    /// Its trials in the order in which they were run.
    pub measured: Study,
    /// The run that was made last.
    pub last: Option<SavedRun>,
}

/// A cell, and where it lies in the matrix.
#[derive(Debug)]
pub struct Cell {
    /// What it is called.
    pub label: String,
    /// Which part of the scenario it belongs to; empty where there is only one.
    pub part: String,
    /// The value of each axis.
    pub values: Vec<(String, String)>,
}

impl SavedStudy {
    /// In which order cells and targets stand in tables.
    #[must_use]
    pub fn order(&self) -> Order<'_> {
        let cells = self.cells.iter().map(|cell| cell.label.as_str()).collect();
        Order { cells, targets: self.targets.iter().map(String::as_str).collect() }
    }

    fn rows(&self) -> Vec<Row<'_>> {
        rows(&self.measured.trials, &self.order())
    }
}

/// The report of a study.
pub fn document(study: &SavedStudy) -> Document {
    let rows = study.rows();
    let mut all = Vec::new();
    if !rows.is_empty() {
        all.extend([targets(study, &rows), cells(study, &rows)]);
        all.extend(differences(&study.measured.differences));
    }
    all.extend(load_lines(study));
    all.extend(failures(study));
    all.extend(differing(study));
    if !study.measured.trials.is_empty() {
        all.push(trials(study));
    }
    all.push(scenario(study));
    if let Some(run) = &study.last {
        all.extend(sections::of(text::asked_for_targets(run)));
    }
    let name = if study.name.is_empty() { "a study".to_owned() } else { escape(&study.name) };
    Document {
        title: format!("Study {name}"),
        verdict: verdict(study),
        headline: headline(study, &rows),
        charts: curves(study),
        groups: matrix::groups(study),
        times: Times::default(),
        sections: all,
    }
}

fn verdict(study: &SavedStudy) -> Verdict {
    let measured = &study.measured;
    let result = measured.result();
    let mut pieces = vec![format!(
        "{} on {}, {}",
        plural(measured.count(), "trial"),
        plural(study.targets.len() as u64, "target"),
        plural(u64::from(study.repeats), "repeat")
    )];
    pieces.extend(measured.standing());
    let mut lines: Vec<String> = study.notes.iter().map(|notes| bounded(notes, LINE_MAX)).collect();
    if measured.missing() > 0 {
        let (missing, planned) = (count(measured.missing()), count(measured.planned));
        lines.push(format!("{missing} of {planned} are not there: the study goes on, or was stopped"));
    }
    lines.extend(notes(&measured.trials));
    Verdict { word: result.text().into(), tone: tone(text::paint(result)), pieces, lines }
}

/// What must be known beside the figures of trials, each once.
fn notes(trials: &[Trial]) -> Vec<String> {
    let mut notes: Vec<(&str, usize)> = Vec::new();
    for note in trials.iter().flat_map(|trial| &trial.notes) {
        match notes.iter_mut().find(|(known, _)| known == note) {
            Some((_, times)) => *times += 1,
            None => notes.push((note, 1)),
        }
    }
    let shown = |(note, times): (&str, usize)| match times {
        all if all == trials.len() => note.to_owned(),
        some => format!("{} of {}: {note}", count(some as u64), plural(trials.len() as u64, "trial")),
    };
    notes.into_iter().map(shown).collect()
}

/// How a target stands in all cells together.
struct Standing<'s> {
    target: &'s str,
    trials: Vec<&'s Trial>,
    /// Medians beside the first target, cell by cell.
    beside: Vec<f64>,
}

fn standings<'s>(study: &'s SavedStudy, rows: &[Row<'s>]) -> Vec<Standing<'s>> {
    let mut found: Vec<Standing> = Vec::new();
    for target in &study.targets {
        found.push(Standing { target, trials: Vec::new(), beside: Vec::new() });
    }
    for row in rows {
        let index = found.iter().position(|known| known.target == row.target).unwrap_or_else(|| {
            found.push(Standing { target: row.target, trials: Vec::new(), beside: Vec::new() });
            found.len() - 1
        });
        let Some(standing) = found.get_mut(index) else { continue };
        standing.trials.extend(&row.trials);
        let ratio = row.first.and_then(|first| row.beside(rows.get(first)?));
        standing.beside.extend(ratio.map(|ratio| ratio.middle));
    }
    found.retain(|standing| !standing.trials.is_empty());
    found
}

impl Standing<'_> {
    fn met(&self) -> String {
        let held = self.trials.iter().filter(|trial| trial.measured.broke.is_none()).count();
        format!("{} of {}", count(held as u64), plural(self.trials.len() as u64, "trial"))
    }

    /// The median of its cells beside the first target, and their range.
    fn ratio(&self) -> Option<(f64, String)> {
        let least = self.beside.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self.beside.iter().copied().fold(0.0, f64::max);
        median(self.beside.clone()).map(|middle| (middle, format!("{} … {}", times(least), times(most))))
    }
}

fn headline(study: &SavedStudy, rows: &[Row<'_>]) -> Vec<Figure> {
    let standings = standings(study, rows);
    let first = standings.first().map_or("", |standing| standing.target);
    let figure = |standing: &Standing| {
        let met = format!("objectives met in {}", standing.met());
        let (value, detail) = match standing.ratio() {
            Some((ratio, range)) => {
                let cells = plural(standing.beside.len() as u64, "cell");
                (format!("{} × {first}", times(ratio)), format!("median of {cells} ({range}); {met}"))
            }
            None => (standing.met(), "met the objectives".to_owned()),
        };
        Figure { label: standing.target.to_owned(), value, detail }
    };
    standings.iter().take(TARGETS_SHOWN).map(figure).collect()
}

fn table(title: &str, head: &[&str], texts: &[usize], rows: Vec<Vec<String>>) -> Section {
    let left = (0..head.len()).map(|column| texts.contains(&column)).collect();
    let head = head.iter().map(|title| (*title).to_owned()).collect();
    Section { title: title.into(), blocks: vec![Block::Table { head, left, rows }] }
}

fn targets(study: &SavedStudy, rows: &[Row<'_>]) -> Section {
    let standings = standings(study, rows);
    let first = standings.first().map_or("", |standing| standing.target);
    let row = |standing: &Standing| {
        let attempts = measure::values::sum(standing.trials.iter().map(|trial| trial.attempts));
        let failed =
            measure::values::sum(standing.trials.iter().flat_map(|trial| &trial.failures).map(|one| one.attempts));
        let (ratio, range) = match standing.ratio() {
            Some((ratio, range)) => (format!("{} ×", times(ratio)), range),
            None if standing.target == first => ("1".to_owned(), String::new()),
            None => ("–".to_owned(), String::new()),
        };
        vec![
            standing.target.to_owned(),
            count(standing.trials.len() as u64),
            standing.met(),
            count(attempts),
            count(failed),
            ratio,
            range,
        ]
    };
    let rows: Vec<Vec<String>> = standings.iter().map(row).collect();
    let beside = format!("beside {first}");
    let head = ["target", "trials", "objectives met", "attempts", "of them failed", &beside, "its range over cells"];
    table("Targets", &head, &[0], rows)
}

fn cells(study: &SavedStudy, rows: &[Row<'_>]) -> Section {
    let row = |row: &Row| study::cells(row, row.first.and_then(|first| rows.get(first))).to_vec();
    let mut section = table("Cells", &study::COLUMNS, &[0, 1, 9], rows.iter().map(row).collect());
    let about = "Medians of the repeats. “beside” is the goodput, or operations where there are no bodies, as so many times that \
                 of the first target, repeat by repeat: the median, and in brackets the lowest and the highest.";
    section.blocks.insert(0, Block::Line { text: about.into() });
    section.blocks.extend(study::about_ranges(&study.measured.trials).map(|text| Block::Line { text: text.into() }));
    section
}

/// The differences of cells, pair by pair.
fn differences(list: &[Subtraction]) -> Option<Section> {
    let head = ["metric", "subtracted", "from", "difference", "interval", "conclusion"];
    let mut blocks = vec![Block::Line { text: subtraction::about(list) }];
    for one in list {
        blocks.push(Block::Line { text: format!("{} · {}", one.title(), one.remarks().join(" · ")) });
        let row = |metric: &subtraction::Subtracted| {
            let shown = &metric.shown;
            let title = metric.metric.title().to_owned();
            let texts = [&shown.minus, &shown.of, &shown.difference, &shown.interval].map(Clone::clone);
            std::iter::once(title).chain(texts).chain([metric.conclusion().to_owned()]).collect()
        };
        let rows = one.metrics.iter().map(row).collect();
        blocks.extend(table("", &head, &[0, 5], rows).blocks);
    }
    (!list.is_empty()).then(|| Section { title: "Differences".into(), blocks })
}

/// What a search is called beside others of its cell.
fn searched(study: &SavedStudy, search: &LineTrial) -> String {
    let more = study.measured.lines.iter().any(|other| other.cell == search.cell && other.repeat > 1);
    if more { format!("{}, repeat {}", search.target, search.repeat) } else { search.target.clone() }
}

fn load_lines(study: &SavedStudy) -> Option<Section> {
    let sorted = lines::sorted(&study.measured.lines, &study.order());
    let row = |(search, cells): (&&LineTrial, [String; 6])| {
        let mut row = cells.to_vec();
        row[0].clone_from(&search.cell);
        row[1] = searched(study, search);
        row.push(search.line.sentence());
        row.push(escape(&search.directory));
        row
    };
    let rows: Vec<Vec<String>> = sorted.iter().zip(lines::rows(&sorted)).map(row).collect();
    let head: Vec<&str> = lines::COLUMNS.into_iter().chain(["in words", "directory"]).collect();
    (!rows.is_empty()).then(|| table("Load lines", &head, &[0, 1, 5, 6, 7], rows))
}

/// The load curves of all targets, cell by cell.
fn curves(study: &SavedStudy) -> Vec<super::data::Chart> {
    let sorted = lines::sorted(&study.measured.lines, &study.order());
    let mut charts = Vec::new();
    for (number, searches) in sorted.chunk_by(|one, next| one.cell == next.cell).enumerate() {
        let cell = searches.first().map_or("", |search| search.cell.as_str());
        let labels: Vec<String> = searches.iter().map(|search| searched(study, search)).collect();
        let order = |search: &LineTrial| study.targets.iter().position(|target| *target == search.target).unwrap_or(0);
        let curves: Vec<load_curve::Curve> = searches
            .iter()
            .zip(&labels)
            .map(|(search, label)| load_curve::Curve { label, order: order(search), line: &search.line })
            .collect();
        for mut chart in load_curve::of_several(&format!("line-{}", number + 1), &curves) {
            chart.title = format!("{}: {cell}", chart.title);
            charts.push(chart);
        }
    }
    charts
}

/// Attempts that failed, by class and target.
fn failures(study: &SavedStudy) -> Option<Section> {
    let mut rows = Vec::new();
    for standing in standings(study, &study.rows()) {
        let attempts = measure::values::sum(standing.trials.iter().map(|trial| trial.attempts));
        for class in AttemptClass::ALL {
            let of_class = standing.trials.iter().flat_map(|trial| &trial.failures).filter(|one| one.class == *class);
            let failed = measure::values::sum(of_class.map(|one| one.attempts));
            if failed > 0 {
                let part = share(failed as f64 / attempts.max(1) as f64);
                rows.push(vec![
                    standing.target.to_owned(),
                    class.name().into(),
                    count(failed),
                    part,
                    class.about().into(),
                ]);
            }
        }
    }
    let head = ["target", "class", "attempts", "share", ""];
    (!rows.is_empty()).then(|| table("Failures of attempts", &head, &[0, 1, 4], rows))
}

/// Objects that end well on one target and fail on another.
fn differing(study: &SavedStudy) -> Option<Section> {
    let line = |one: &Discrepancy| Block::Line { text: one.sentence() };
    let blocks: Vec<Block> = study.measured.discrepancies.iter().map(line).collect();
    (!blocks.is_empty()).then(|| Section { title: "Differing objects".into(), blocks })
}

fn trials(study: &SavedStudy) -> Section {
    let dash = || "–".to_owned();
    let row = |trial: &Trial| {
        let measured = &trial.measured;
        let limit = measured
            .broke
            .as_ref()
            .map_or_else(|| measured.limited_by.clone(), |broke| format!("{} · {broke}", measured.limited_by));
        vec![
            trial.cell.clone(),
            trial.target.clone(),
            count(u64::from(trial.repeat)),
            measured.ok_per_second.map_or_else(dash, rate),
            measured.goodput.map_or_else(dash, byte_rate),
            shown(trial.ttfb_p95_low_nanos, trial.ttfb_p95_nanos),
            measured.p50(),
            measured.p99(),
            measured.success.map_or_else(dash, share),
            limit,
            escape(&measured.directory),
        ]
    };
    let head =
        ["cell", "target", "repeat", "ok", "goodput", "TTFB p95", "p50", "p99", "success", "limited by", "directory"];
    table("Trials in the order run", &head, &[0, 1, 9, 10], study.measured.trials.iter().map(row).collect())
}

fn scenario(study: &SavedStudy) -> Section {
    let item = |label: &str, text: String| Block::Item { label: label.into(), texts: vec![text] };
    let mut blocks = vec![item("begun by", format!("plimsoll {}", escape(&study.version)))];
    for (name, value) in &study.set {
        blocks.push(item(&format!("--set {}", escape(name)), bounded(value, LINE_MAX)));
    }
    let lines: Vec<String> = study.text.lines().map(|line| bounded(line, LINE_MAX)).collect();
    blocks.push(Block::Verbatim { label: "The scenario".into(), text: lines.join("\n") });
    Section { title: "Scenario".into(), blocks }
}
