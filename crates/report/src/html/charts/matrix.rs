//! The matrix of a study as small charts. There is one chart for each combination of settings, with one line for each
//! target. The setting with the most values is on the horizontal axis.

use super::axis;
use crate::html::script_data::{Across, Bound, Chart, Choice, Group, Mark, Marks, Plot, Shape, Unit};
use crate::number::plural;
use crate::study::{MedianRange, Row, SavedStudy, StudyCell, Trial, rows, target_names};
use measure::objective::{Metric, Timed};
use std::collections::HashMap;

/// Maximum number of charts for one part of the scenario and one metric. Further combinations are only in the tables.
const CHARTS_MAX: usize = 48;

/// A metric of a cell, with the texts of its charts.
struct CellMetric {
    label: &'static str,
    about: &'static str,
    metric: Metric,
    of: fn(&Trial) -> Option<f64>,
}

const METRICS: [CellMetric; 5] = [
    CellMetric {
        label: "goodput",
        about: "Body bytes of successful operations per second.",
        metric: Metric::Goodput,
        of: |trial| trial.metrics.goodput_bytes_per_second,
    },
    CellMetric {
        label: "succeeded",
        about: "Successful operations per second.",
        metric: Metric::Rate,
        of: |trial| trial.metrics.ok_per_second,
    },
    CellMetric {
        label: "TTFB p95",
        about: "95th percentile of the time to first byte of successful operations.",
        metric: Metric::Time(Timed::Ttfb, 0.95),
        of: |trial| trial.ttfb_p95_nanos.map(|nanos| nanos as f64),
    },
    CellMetric {
        label: "response p99",
        about: "99th percentile of the response time of successful operations.",
        metric: Metric::Time(Timed::Response, 0.99),
        of: |trial| trial.metrics.response_p99_nanos.map(|nanos| nanos as f64),
    },
    CellMetric {
        label: "success",
        about: "Share of successful operations.",
        metric: Metric::Success,
        of: |trial| trial.metrics.success_share,
    },
];

/// Sentence below the charts that explains how repeats are shown.
const REPEATS: &str = " A line joins the medians of the repeats; whiskers show the lowest and the highest repeat.";

/// The rows of a study, indexed by cell and target.
struct Table<'s> {
    rows: Vec<Row<'s>>,
    targets: Vec<&'s str>,
    by_key: HashMap<(&'s str, &'s str), usize>,
}

/// A chart without its data. Only the title and the cells, from left to right, are set.
struct Frame<'s> {
    title: String,
    across: Across,
    cells: Vec<&'s str>,
}

/// Returns one group of charts for each measured part of the scenario.
pub fn groups(study: &SavedStudy) -> Vec<Group> {
    let order = study.order();
    let rows = rows(&study.study.trials, &order);
    let by_key = rows.iter().enumerate().map(|(index, row)| ((row.cell, row.target), index)).collect();
    let targets = target_names(&order, &rows);
    let table = Table { rows, targets, by_key };
    let mut parts: Vec<&str> = Vec::new();
    for cell in &study.cells {
        if !parts.contains(&cell.part.as_str()) && table.has(&cell.label) {
            parts.push(&cell.part);
        }
    }
    let mut groups: Vec<Group> = Vec::new();
    for part in parts {
        // Cells that search for the load line have separate charts.
        let measured = |cell: &&StudyCell| cell.part == part && table.has(&cell.label);
        let cells: Vec<&StudyCell> = study.cells.iter().filter(measured).collect();
        groups.push(group(&table, groups.len(), part, &frames(&cells)));
    }
    let unknown: Vec<&str> = table.unknown(&study.cells);
    if !unknown.is_empty() {
        let names = unknown.iter().map(|cell| (*cell).to_owned()).collect();
        let across = Across::Values { label: "cell".into(), names };
        let title = "all cells".to_owned();
        groups.push(group(&table, groups.len(), "", &[Frame { title, across, cells: unknown }]));
    }
    groups
}

impl<'s> Table<'s> {
    fn row(&self, cell: &str, target: &str) -> Option<&Row<'s>> {
        self.rows.get(*self.by_key.get(&(cell, target))?)
    }

    fn has(&self, cell: &str) -> bool {
        self.targets.iter().any(|target| self.row(cell, target).is_some())
    }

    /// Returns the measured cells that are not in the scenario. There are such cells only if the scenario can no longer
    /// be read.
    fn unknown(&self, known: &[StudyCell]) -> Vec<&'s str> {
        let mut cells: Vec<&str> = Vec::new();
        for row in &self.rows {
            if !cells.contains(&row.cell) && known.iter().all(|cell| cell.label != row.cell) {
                cells.push(row.cell);
            }
        }
        cells
    }
}

/// Returns the charts of a part. The setting with the most values is on the horizontal axis. If several settings have
/// equally many values, the last of these settings is used.
fn frames<'s>(cells: &[&'s StudyCell]) -> Vec<Frame<'s>> {
    let axes = cells.first().map_or(0, |cell| cell.values.len());
    let values = |axis: usize| {
        let mut values: Vec<&str> = Vec::new();
        for cell in cells {
            if let Some((_, value)) = cell.values.get(axis).filter(|(_, value)| !values.contains(&value.as_str())) {
                values.push(value);
            }
        }
        values
    };
    let Some(axis) = (0..axes).max_by_key(|axis| values(*axis).len()) else {
        let cells = cells.iter().map(|cell| cell.label.as_str()).collect();
        let across = Across::Values { label: String::new(), names: vec![String::new()] };
        return vec![Frame { title: "the only cell".into(), across, cells }];
    };
    let names: Vec<String> = values(axis).iter().map(|value| (*value).to_owned()).collect();
    let label = cells.first().and_then(|cell| cell.values.get(axis)).map_or(String::new(), |(name, _)| name.clone());
    let across = Across::Values { label: label.clone(), names: names.clone() };
    let mut frames: Vec<Frame> = Vec::new();
    for cell in cells {
        let others = cell.values.iter().enumerate().filter(|(index, _)| *index != axis);
        let title = others.map(|(_, (name, value))| format!("{name} {value}")).collect::<Vec<_>>().join(", ");
        let title = if title.is_empty() { format!("by {label}") } else { title };
        let place = cell.values.get(axis).and_then(|(_, value)| names.iter().position(|name| name == value));
        if frames.iter().all(|frame| frame.title != title) {
            frames.push(Frame { title: title.clone(), across: across.clone(), cells: vec![""; names.len()] });
        }
        let frame = frames.iter_mut().find(|frame| frame.title == title);
        if let Some(slot) = frame.zip(place).and_then(|(frame, place)| frame.cells.get_mut(place)) {
            *slot = &cell.label;
        }
    }
    frames
}

fn group(table: &Table, number: usize, part: &str, frames: &[Frame]) -> Group {
    let id = format!("matrix-{}", number + 1);
    let repeated = table.rows.iter().any(|row| row.trials.len() > 1);
    let more = match frames.len().saturating_sub(CHARTS_MAX) {
        0 => String::new(),
        more => format!(" {} more are only in the table of cells.", plural(more as u64, "chart")),
    };
    let shown = &frames[..frames.len().min(CHARTS_MAX)];
    let choice = |metric: &CellMetric| {
        let charts: Vec<Chart> = shown.iter().map(|frame| chart(table, &id, frame, metric)).collect();
        let caption = format!("{}{}{more}", metric.about, if repeated { REPEATS } else { "" });
        Choice { label: metric.label.into(), caption, charts }
    };
    let mut choices: Vec<Choice> = METRICS.iter().filter(|metric| any(table, shown, metric)).map(choice).collect();
    choices.extend(versus_first(table, &id, shown));
    let title = if part.is_empty() { "Matrix".to_owned() } else { format!("Matrix: {part}") };
    let caption = "Choose a metric below. All its charts have the same vertical axis.".to_owned();
    Group { id, title, caption, lines: table.targets.iter().map(|target| (*target).to_owned()).collect(), choices }
}

fn any(table: &Table, frames: &[Frame], metric: &CellMetric) -> bool {
    let trials = || frames.iter().flat_map(|frame| &frame.cells).flat_map(|cell| of_cell(table, cell));
    trials().any(|trial| (metric.of)(trial).is_some_and(|value| value > 0.0))
}

/// Returns all trials of a cell.
fn of_cell<'t>(table: &'t Table, cell: &str) -> impl Iterator<Item = &'t Trial> {
    let rows: Vec<&Row> = table.targets.iter().filter_map(|target| table.row(cell, target)).collect();
    rows.into_iter().flat_map(|row| row.trials.iter().copied())
}

fn chart(table: &Table, id: &str, frame: &Frame, metric: &CellMetric) -> Chart {
    let lines = lines(table, frame, |row| row.spread(metric.of));
    let unit = axis::unit(metric.metric);
    let plot = Plot::Points {
        across: frame.across.clone(),
        unit,
        log: axis::is_log(unit),
        lines,
        bounds: bounds(table, frame, metric),
        brackets: Vec::new(),
    };
    of_frame(id, frame, metric.label, plot)
}

fn of_frame(id: &str, frame: &Frame, metric: &str, plot: Plot) -> Chart {
    let by = match &frame.across {
        Across::Values { label, .. } if !label.is_empty() => format!("{metric} by {label}"),
        _ => metric.to_owned(),
    };
    let name: String = frame.title.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(60).collect();
    Chart { id: format!("{id}-{name}"), title: frame.title.clone(), caption: by, plot }
}

fn lines(table: &Table, frame: &Frame, of: impl Fn(&Row) -> Option<MedianRange>) -> Vec<Marks> {
    let line = |(order, target): (usize, &&str)| {
        let mark = |(place, cell): (usize, &&str)| {
            let spread = of(table.row(cell, target)?)?;
            let range = (spread.count > 1).then_some((spread.least, spread.most));
            Some(Mark { x: place as f64, y: Some(spread.median), range, shape: Shape::Plain })
        };
        let points: Vec<Mark> = frame.cells.iter().enumerate().filter_map(mark).collect();
        (!points.is_empty()).then(|| Marks { label: (*target).to_owned(), order, points })
    };
    table.targets.iter().enumerate().filter_map(line).collect()
}

/// Returns the bounds that objectives set on a metric. A bound is drawn only if all trials in the chart have its
/// objective.
fn bounds(table: &Table, frame: &Frame, metric: &CellMetric) -> Vec<Bound> {
    let trials: Vec<&Trial> = frame.cells.iter().flat_map(|cell| of_cell(table, cell)).collect();
    let first = trials.first().map(|trial| trial.metrics.objectives.as_slice()).unwrap_or_default();
    let by_all = |objective: &measure::Objective| {
        trials.iter().all(|trial| trial.metrics.objectives.iter().any(|measured| measured.objective == *objective))
    };
    let objectives = first.iter().map(|measured| measured.objective).filter(by_all);
    objectives.filter_map(|objective| axis::bound(&objective, metric.metric)).collect()
}

/// Returns charts of each target's throughput divided by the throughput of the first target. Returns `None` if there is
/// only one target.
fn versus_first(table: &Table, id: &str, frames: &[Frame]) -> Option<Choice> {
    let first = table.targets.first().filter(|_| table.targets.len() > 1)?;
    let label = format!("vs. {first}");
    // If nothing succeeded on the first target, the ratio is infinite. Only the tables can show such a ratio.
    let ratio = |row: &Row| row.ratio_to(table.rows.get(row.first?)?).filter(|ratio| ratio.most.is_finite());
    let chart = |frame: &Frame| {
        let plot = Plot::Points {
            across: frame.across.clone(),
            unit: Unit::Ratio,
            log: false,
            lines: lines(table, frame, ratio),
            bounds: vec![Bound { label: format!("as much as {first}"), value: 1.0 }],
            brackets: Vec::new(),
        };
        of_frame(id, frame, &label, plot)
    };
    let charts: Vec<Chart> = frames.iter().map(chart).collect();
    let caption = format!(
        "Goodput (operations per second if there are no bodies) as a multiple of the goodput of {first} in the same \
         cell and repeat. The mark is the median of the pairs. Whiskers show the lowest and the highest pair."
    );
    Some(Choice { label, caption, charts })
}
