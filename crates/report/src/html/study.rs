//! The HTML report of a saved study.

use super::charts::{load_curve, matrix};
use super::script_data::{Block, Chart, Document, Headline, OverviewData, Section, Times};
use super::sections;
use crate::escape::{bounded, escape};
use crate::number::{byte_rate, count, plural, rate, share};
use crate::run_metrics::shown;
use crate::study::discrepancy::Discrepancy;
use crate::study::subtraction::{self, Subtraction};
use crate::study::{self, FillTrial, LineTrial, Row, SavedStudy, Trial, fills, load_lines, target_names, times};
use crate::text;
use measure::values::sum;
use measure::{AttemptClass, Enumerated};

/// Maximum length of a line of the scenario, in characters. A line may be long, because the user wrote it.
const LINE_MAX: usize = 4096;
/// Maximum number of targets with a main metric at the top.
const TARGETS_SHOWN: usize = 8;

/// Returns the report of a study.
pub fn document(study: &SavedStudy) -> Document {
    let rows = study.rows();
    let mut all = Vec::new();
    if !rows.is_empty() {
        all.extend([targets(study, &rows), cells(study, &rows)]);
        all.extend(differences(&study.study.differences));
    }
    all.extend(load_lines(study));
    all.extend(fills(study));
    all.extend(failures(study));
    all.extend(differing(study));
    if !study.study.trials.is_empty() {
        all.push(trials(study));
    }
    all.push(scenario(study));
    if let Some(run) = &study.last {
        all.extend(sections::of(text::setup_without_target(run)));
    }
    let name = if study.name.is_empty() { "a study".to_owned() } else { escape(&study.name) };
    Document {
        title: format!("Study {name}"),
        overview: overview(study),
        headline: headline(study, &rows),
        charts: curves(study),
        groups: matrix::groups(study),
        times: Times::default(),
        sections: all,
    }
}

fn overview(study: &SavedStudy) -> OverviewData {
    let trials = &study.study;
    let mut pieces = vec![format!(
        "{} on {}, {}",
        plural(trials.count(), "trial"),
        plural(study.targets.len() as u64, "target"),
        plural(u64::from(study.repeats), "repeat")
    )];
    pieces.extend(trials.progress());
    let mut all: Vec<String> = study.notes.iter().map(|notes| bounded(notes, LINE_MAX)).collect();
    if trials.missing() > 0 {
        let (missing, planned) = (count(trials.missing()), count(trials.planned));
        all.push(format!("{missing} of {planned} missing: the study is still running, or was stopped"));
    }
    all.extend(notes(&trials.trials));
    OverviewData::of(trials.result(), pieces, all)
}

/// A note of several trials. The notes may differ in their numbers.
struct SharedNote<'t> {
    first: &'t str,
    trials: usize,
    /// Number of the last trial with the note.
    last: usize,
    differ: bool,
}

/// Returns the words of a note that contain no number.
fn words(note: &str) -> impl Iterator<Item = &str> {
    note.split_whitespace().filter(|word| !word.contains(|letter: char| letter.is_ascii_digit()))
}

/// Returns the notes of all trials. Notes that differ only in their numbers are shown once, with the number of trials.
fn notes(trials: &[Trial]) -> Vec<String> {
    let mut notes: Vec<SharedNote<'_>> = Vec::new();
    for (number, note) in
        trials.iter().enumerate().flat_map(|(number, trial)| trial.notes.iter().map(move |note| (number, note)))
    {
        match notes.iter_mut().find(|known| words(known.first).eq(words(note))) {
            Some(known) => {
                // A trial may have several such notes.
                known.trials += usize::from(known.last != number);
                known.last = number;
                known.differ |= known.first != note;
            }
            None => notes.push(SharedNote { first: note, trials: 1, last: number, differ: false }),
        }
    }
    let shown = |note: SharedNote<'_>| {
        let (some, all) = (count(note.trials as u64), plural(trials.len() as u64, "trial"));
        match (note.differ, note.trials == trials.len()) {
            (true, _) => format!("{some} of {all}, for example: {}", note.first),
            (false, true) => note.first.to_owned(),
            (false, false) => format!("{some} of {all}: {}", note.first),
        }
    };
    notes.into_iter().map(shown).collect()
}

/// The totals of all trials of a target.
struct TargetTotals<'s> {
    target: &'s str,
    trials: Vec<&'s Trial>,
    /// Throughput in each cell, divided by the throughput of the first target. Each ratio is a median over the repeats.
    ratios: Vec<f64>,
}

fn totals<'s>(study: &'s SavedStudy, rows: &[Row<'s>]) -> Vec<TargetTotals<'s>> {
    let of_target = |target: &'s str| {
        let of_target = rows.iter().filter(|row| row.target == target);
        let trials: Vec<&Trial> = of_target.clone().flat_map(|row| row.trials.iter().copied()).collect();
        let ratio = |row: &Row<'s>| row.ratio_to(rows.get(row.first?)?).map(|ratio| ratio.median);
        let ratios = of_target.filter_map(ratio).collect();
        (!trials.is_empty()).then_some(TargetTotals { target, trials, ratios })
    };
    target_names(&study.order(), rows).into_iter().filter_map(of_target).collect()
}

impl TargetTotals<'_> {
    fn met(&self) -> String {
        let met = self.trials.iter().filter(|trial| trial.metrics.first_missed.is_none()).count();
        format!("{} of {}", count(met as u64), plural(self.trials.len() as u64, "trial"))
    }

    /// Returns the lowest and the highest ratio over all cells. There is no median over the cells, because their loads
    /// differ.
    fn ratio(&self) -> Option<String> {
        let (first, rest) = self.ratios.split_first()?;
        let least = rest.iter().copied().fold(*first, f64::min);
        let most = rest.iter().copied().fold(*first, f64::max);
        Some(if rest.is_empty() { times(least) } else { format!("{} … {}", times(least), times(most)) })
    }
}

fn headline(study: &SavedStudy, rows: &[Row<'_>]) -> Vec<Headline> {
    let all_totals = totals(study, rows);
    let first = all_totals.first().map_or("", |totals| totals.target);
    let headline = |totals: &TargetTotals| {
        let met = format!("objectives met in {}", totals.met());
        let (value, detail) = match totals.ratio() {
            Some(ratio) => {
                let cells = plural(totals.ratios.len() as u64, "cell");
                (format!("{ratio} × {first}"), format!("goodput in {cells}; {met}"))
            }
            None => (totals.met(), "met the objectives".to_owned()),
        };
        Headline { label: totals.target.to_owned(), value, detail }
    };
    all_totals.iter().take(TARGETS_SHOWN).map(headline).collect()
}

fn table(title: &str, head: &[&str], texts: &[usize], rows: Vec<Vec<String>>) -> Section {
    let left = (0..head.len()).map(|column| texts.contains(&column)).collect();
    let head = head.iter().map(|title| (*title).to_owned()).collect();
    Section { title: title.into(), blocks: vec![Block::Table { head, left, rows }] }
}

fn targets(study: &SavedStudy, rows: &[Row<'_>]) -> Section {
    let all_totals = totals(study, rows);
    let first = all_totals.first().map_or("", |totals| totals.target);
    let row = |totals: &TargetTotals| {
        let attempts = sum(totals.trials.iter().map(|trial| trial.attempts));
        let failed = sum(totals.trials.iter().flat_map(|trial| &trial.failures).map(|one| one.attempts));
        let ratio = match totals.ratio() {
            Some(ratio) => format!("{ratio} ×"),
            None if totals.target == first => "1".to_owned(),
            None => "–".to_owned(),
        };
        vec![
            totals.target.to_owned(),
            count(totals.trials.len() as u64),
            totals.met(),
            count(attempts),
            count(failed),
            ratio,
        ]
    };
    let rows: Vec<Vec<String>> = all_totals.iter().map(row).collect();
    let versus = format!("vs. {first}");
    let head = ["target", "trials", "objectives met", "attempts", "failed attempts", &versus];
    table("Targets", &head, &[0], rows)
}

fn cells(study: &SavedStudy, rows: &[Row<'_>]) -> Section {
    let row = |row: &Row| study::cells(row, row.first.and_then(|first| rows.get(first))).to_vec();
    let mut section = table("Cells", &study::COLUMNS, &[0, 1, 9], rows.iter().map(row).collect());
    let about = "All values are medians of the repeats. “vs. first” is the goodput divided by the goodput of the first \
                 target in the same repeat. If there is no goodput, “vs. first” compares operations per second. The range over the \
                 repeats is in parentheses.";
    section.blocks.insert(0, Block::Line { text: about.into() });
    section.blocks.extend(study::about_ranges(&study.study.trials).map(|text| Block::Line { text: text.into() }));
    section
}

/// Returns the section with the differences between cells, computed from pairs of trials.
fn differences(list: &[Subtraction]) -> Option<Section> {
    let mut blocks = vec![Block::Line { text: subtraction::about(list) }];
    for one in list {
        blocks.push(Block::Line { text: format!("{} · {}", one.title(), one.remarks().join(" · ")) });
        let row = |metric: &subtraction::Subtracted| {
            let shown = &metric.shown;
            let title = metric.metric.title().to_owned();
            let texts = [&shown.minus, &shown.of, &shown.difference, &shown.interval].map(Clone::clone);
            std::iter::once(title).chain(texts).chain([metric.conclusion().to_owned()]).collect()
        };
        let [minus, of] = one.columns().map(escape);
        let head = ["metric", &minus, &of, "difference", "interval", "conclusion"];
        let rows = one.metrics.iter().map(row).collect();
        blocks.extend(table("", &head, &[0, 5], rows).blocks);
    }
    (!list.is_empty()).then(|| Section { title: "Differences".into(), blocks })
}

fn load_lines(study: &SavedStudy) -> Option<Section> {
    let sorted = study::sorted(&study.study.load_lines, &study.order());
    let row = |(search, cells): (&&LineTrial, [String; 6])| {
        let mut row = cells.to_vec();
        row[0].clone_from(&search.cell);
        row[1] = study::name_in_cell(*search, &study.study.load_lines);
        row.push(search.load_line.sentence());
        row.push(escape(&search.directory));
        row
    };
    let rows: Vec<Vec<String>> = sorted.iter().zip(load_lines::rows(&sorted)).map(row).collect();
    let head: Vec<&str> = load_lines::COLUMNS.into_iter().chain(["result", "directory"]).collect();
    (!rows.is_empty()).then(|| table("Load lines", &head, &[0, 1, 5, 6, 7], rows))
}

/// Returns the section with the fills.
fn fills(study: &SavedStudy) -> Option<Section> {
    let all = &study.study.fills;
    let row = |trial: &FillTrial| fills::row(trial, all).into_iter().chain([escape(&trial.directory)]).collect();
    let rows: Vec<Vec<String>> = study::sorted(all, &study.order()).into_iter().map(row).collect();
    let head: Vec<&str> = fills::COLUMNS.into_iter().chain(["directory"]).collect();
    let mut section = (!rows.is_empty()).then(|| table("Fills", &head, &[0, 1, 2, 8, 9, 10], rows))?;
    let about = "Costs cover all attempts and the storage of the objects. `plimsoll report` with the directory of a \
                 fill shows its sessions and events, and with --html also its charts.";
    section.blocks.push(Block::Line { text: about.into() });
    Some(section)
}

/// Returns the charts of metrics by level for all targets, cell by cell.
fn curves(study: &SavedStudy) -> Vec<Chart> {
    let sorted = study::sorted(&study.study.load_lines, &study.order());
    let mut charts = Vec::new();
    for (number, searches) in sorted.chunk_by(|one, next| one.cell == next.cell).enumerate() {
        let cell = searches.first().map_or("", |search| search.cell.as_str());
        let labels: Vec<String> =
            searches.iter().map(|search| study::name_in_cell(*search, &study.study.load_lines)).collect();
        let order = |search: &LineTrial| study.targets.iter().position(|target| *target == search.target).unwrap_or(0);
        let curves: Vec<load_curve::Curve> = searches
            .iter()
            .zip(&labels)
            .map(|(search, label)| load_curve::Curve { label, order: order(search), line: &search.load_line })
            .collect();
        for mut chart in load_curve::of_several(&format!("line-{}", number + 1), &curves) {
            chart.title = format!("{}: {cell}", chart.title);
            charts.push(chart);
        }
    }
    charts
}

/// Returns the section with failed attempts by class and target.
fn failures(study: &SavedStudy) -> Option<Section> {
    let mut rows = Vec::new();
    for totals in totals(study, &study.rows()) {
        let attempts = sum(totals.trials.iter().map(|trial| trial.attempts));
        for class in AttemptClass::ALL {
            let of_class = totals.trials.iter().flat_map(|trial| &trial.failures).filter(|one| one.class == *class);
            let failed = sum(of_class.map(|one| one.attempts));
            if failed > 0 {
                let part = share(failed as f64 / attempts.max(1) as f64);
                rows.push(vec![
                    totals.target.to_owned(),
                    class.name().into(),
                    count(failed),
                    part,
                    class.about().into(),
                ]);
            }
        }
    }
    let head = ["target", "class", "attempts", "share", ""];
    (!rows.is_empty()).then(|| table("Failed attempts", &head, &[0, 1, 4], rows))
}

/// Returns the section with the objects that succeed on one target and fail on another.
fn differing(study: &SavedStudy) -> Option<Section> {
    let line = |one: &Discrepancy| Block::Line { text: one.sentence() };
    let blocks: Vec<Block> = study.study.discrepancies.iter().map(line).collect();
    (!blocks.is_empty()).then(|| Section { title: "Differing objects".into(), blocks })
}

fn trials(study: &SavedStudy) -> Section {
    let dash = || "–".to_owned();
    let row = |trial: &Trial| {
        let metrics = &trial.metrics;
        let limit = metrics
            .first_missed
            .as_ref()
            .map_or_else(|| metrics.limit_and_pace(), |missed| format!("{} · {missed}", metrics.limit_and_pace()));
        vec![
            trial.cell.clone(),
            trial.target.clone(),
            count(u64::from(trial.repeat)),
            metrics.ok_per_second.map_or_else(dash, rate),
            metrics.goodput_bytes_per_second.map_or_else(dash, byte_rate),
            shown(trial.ttfb_p95_low_nanos, trial.ttfb_p95_nanos),
            metrics.p50(),
            metrics.p99(),
            metrics.success_share.map_or_else(dash, share),
            limit,
            escape(&metrics.directory),
        ]
    };
    let head =
        ["cell", "target", "repeat", "ok", "goodput", "TTFB p95", "p50", "p99", "success", "limited by", "directory"];
    table("Trials in the order run", &head, &[0, 1, 9, 10], study.study.trials.iter().map(row).collect())
}

fn scenario(study: &SavedStudy) -> Section {
    let item = |label: &str, text: String| Block::Item { label: label.into(), texts: vec![text] };
    let mut blocks = vec![item("started by", format!("plimsoll {}", escape(&study.version)))];
    for (name, value) in &study.set {
        blocks.push(item(&format!("--set {}", escape(name)), bounded(value, LINE_MAX)));
    }
    let lines: Vec<String> = study.text.lines().map(|line| bounded(line, LINE_MAX)).collect();
    blocks.push(Block::Verbatim { label: "The scenario".into(), text: lines.join("\n") });
    Section { title: "Scenario".into(), blocks }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::tests::trial;

    #[test]
    fn notes_that_differ_in_their_numbers_are_shown_once() {
        let with = |repeat, notes: &[&str]| {
            let notes = notes.iter().map(|note| (*note).to_owned()).collect();
            Trial { notes, ..trial("a", repeat, 100.0) }
        };
        let trials = [
            with(1, &["a window of 0.5 s is too short", "same host", "p99 of 1 s", "p99 of 2 s"]),
            with(2, &["a window of 0.7 s is too short", "same host"]),
            with(3, &["same host"]),
        ];
        let expected = [
            "2 of 3 trials, for example: a window of 0.5 s is too short",
            "same host",
            "1 of 3 trials, for example: p99 of 1 s",
        ];
        assert_eq!(notes(&trials), expected);
        assert_eq!(notes(&trials[..2])[2], "1 of 2 trials, for example: p99 of 1 s");
    }
}
