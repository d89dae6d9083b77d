//! The matrix of a study as small charts: the setting with most values from left to right, a line for each target, and a chart
//! for each combination of the other settings.

use super::data::{Across, Bound, Chart, Choice, Group, Mark, Marks, Plot, Shape, Unit};
use super::figure;
use super::study::{Cell, SavedStudy};
use crate::number::plural;
use crate::study::{Row, Spread, Trial, rows};
use measure::objective::{Metric, Timed};
use std::collections::HashMap;

/// Charts of one part and figure, at most: the tables have the others.
const CHARTS_MAX: usize = 48;

/// A figure of the cells.
struct Figure {
    label: &'static str,
    about: &'static str,
    metric: Metric,
    of: fn(&Trial) -> Option<f64>,
}

const FIGURES: [Figure; 5] = [
    Figure {
        label: "goodput",
        about: "Body bytes in a second that served something.",
        metric: Metric::Goodput,
        of: |trial| trial.measured.goodput,
    },
    Figure {
        label: "ended well",
        about: "Operations that ended well in a second.",
        metric: Metric::Rate,
        of: |trial| trial.measured.ok_per_second,
    },
    Figure {
        label: "TTFB p95",
        about: "95th percentile of the time to the first byte, of operations that ended well.",
        metric: Metric::Time(Timed::Ttfb, 0.95),
        of: |trial| trial.ttfb_p95_nanos.map(|nanos| nanos as f64),
    },
    Figure {
        label: "response p99",
        about: "99th percentile of the response time, of operations that ended well.",
        metric: Metric::Time(Timed::Response, 0.99),
        of: |trial| trial.measured.response_p99_nanos.map(|nanos| nanos as f64),
    },
    Figure {
        label: "success",
        about: "Share of operations that ended well.",
        metric: Metric::Success,
        of: |trial| trial.measured.success,
    },
];

/// What is told of repeats below the charts.
const REPEATS: &str =
    " A line joins the medians of the repeats; a whisker reaches from the lowest to the highest of them.";

/// The rows of a study, and where to find each.
struct Table<'s> {
    rows: Vec<Row<'s>>,
    targets: Vec<&'s str>,
    by_key: HashMap<(&'s str, &'s str), usize>,
}

/// A chart that is to be drawn: its title, and its cells with their places from left to right.
struct Frame<'s> {
    title: String,
    across: Across,
    cells: Vec<&'s str>,
}

/// The groups, one for each part of the scenario that was measured.
pub fn groups(study: &SavedStudy) -> Vec<Group> {
    let order = study.order();
    let rows = rows(&study.measured.trials, &order);
    let by_key = rows.iter().enumerate().map(|(index, row)| ((row.cell, row.target), index)).collect();
    let mut targets = order.targets;
    rows.iter().for_each(|row| {
        if !targets.contains(&row.target) {
            targets.push(row.target);
        }
    });
    let table = Table { rows, targets, by_key };
    let mut parts: Vec<&str> = Vec::new();
    for cell in &study.cells {
        if !parts.contains(&cell.part.as_str()) && table.has(&cell.label) {
            parts.push(&cell.part);
        }
    }
    let mut groups: Vec<Group> = Vec::new();
    for part in parts {
        // A load line is no value among others, and has charts of its own.
        let measured = |cell: &&Cell| cell.part == part && table.has(&cell.label);
        let cells: Vec<&Cell> = study.cells.iter().filter(measured).collect();
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

    /// Cells that the scenario does not name: it can not be read any more.
    fn unknown(&self, known: &[Cell]) -> Vec<&'s str> {
        let mut cells: Vec<&str> = Vec::new();
        for row in &self.rows {
            if !cells.contains(&row.cell) && known.iter().all(|cell| cell.label != row.cell) {
                cells.push(row.cell);
            }
        }
        cells
    }
}

/// The charts of a part: the axis with most values lies from left to right, the last one of several.
fn frames<'s>(cells: &[&'s Cell]) -> Vec<Frame<'s>> {
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
        more => format!(" {} more stand in the table of cells alone.", plural(more as u64, "chart")),
    };
    let shown = &frames[..frames.len().min(CHARTS_MAX)];
    let choice = |figure: &Figure| {
        let charts: Vec<Chart> = shown.iter().map(|frame| chart(table, &id, frame, figure)).collect();
        let caption = format!("{}{}{more}", figure.about, if repeated { REPEATS } else { "" });
        Choice { label: figure.label.into(), caption, charts }
    };
    let mut choices: Vec<Choice> = FIGURES.iter().filter(|figure| any(table, shown, figure)).map(choice).collect();
    choices.extend(beside(table, &id, shown));
    let title = if part.is_empty() { "Matrix".to_owned() } else { format!("Matrix: {part}") };
    let caption = "One figure at a time: choose it below. All its charts have the same vertical axis.".to_owned();
    Group { id, title, caption, lines: table.targets.iter().map(|target| (*target).to_owned()).collect(), choices }
}

fn any(table: &Table, frames: &[Frame], figure: &Figure) -> bool {
    let trials = || frames.iter().flat_map(|frame| &frame.cells).flat_map(|cell| of_cell(table, cell));
    trials().any(|trial| (figure.of)(trial).is_some_and(|value| value > 0.0))
}

/// All trials of a cell.
fn of_cell<'t>(table: &'t Table, cell: &str) -> impl Iterator<Item = &'t Trial> {
    let rows: Vec<&Row> = table.targets.iter().filter_map(|target| table.row(cell, target)).collect();
    rows.into_iter().flat_map(|row| row.trials.iter().copied())
}

fn chart(table: &Table, id: &str, frame: &Frame, figure: &Figure) -> Chart {
    let lines = lines(table, frame, |row| row.spread(figure.of));
    let unit = figure::unit(figure.metric);
    let plot = Plot::Points {
        across: frame.across.clone(),
        unit,
        log: figure::is_log(unit),
        lines,
        bounds: bounds(table, frame, figure),
        brackets: Vec::new(),
    };
    of_frame(id, frame, figure.label, plot)
}

fn of_frame(id: &str, frame: &Frame, figure: &str, plot: Plot) -> Chart {
    let by = match &frame.across {
        Across::Values { label, .. } if !label.is_empty() => format!("{figure} by {label}"),
        _ => figure.to_owned(),
    };
    let name: String = frame.title.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(60).collect();
    Chart { id: format!("{id}-{name}"), title: frame.title.clone(), caption: by, plot }
}

fn lines(table: &Table, frame: &Frame, of: impl Fn(&Row) -> Option<Spread>) -> Vec<Marks> {
    let line = |(order, target): (usize, &&str)| {
        let mark = |(place, cell): (usize, &&str)| {
            let spread = of(table.row(cell, target)?)?;
            let range = (spread.count > 1).then_some((spread.least, spread.most));
            Some(Mark { x: place as f64, y: Some(spread.middle), range, shape: Shape::Plain })
        };
        let points: Vec<Mark> = frame.cells.iter().enumerate().filter_map(mark).collect();
        (!points.is_empty()).then(|| Marks { label: (*target).to_owned(), order, points })
    };
    table.targets.iter().enumerate().filter_map(line).collect()
}

/// Objectives on a figure that all trials of a chart were held to.
fn bounds(table: &Table, frame: &Frame, figure: &Figure) -> Vec<Bound> {
    let trials: Vec<&Trial> = frame.cells.iter().flat_map(|cell| of_cell(table, cell)).collect();
    let held = trials.first().map(|trial| trial.measured.objectives.as_slice()).unwrap_or_default();
    let by_all = |objective: &measure::Objective| {
        trials.iter().all(|trial| trial.measured.objectives.iter().any(|held| held.objective == *objective))
    };
    let objectives = held.iter().map(|held| held.objective).filter(by_all);
    objectives.filter_map(|objective| figure::bound(&objective, figure.metric)).collect()
}

/// How much each target carried beside the first one; `None` where there is only one.
fn beside(table: &Table, id: &str, frames: &[Frame]) -> Option<Choice> {
    let first = table.targets.first().filter(|_| table.targets.len() > 1)?;
    let label = format!("beside {first}");
    // A pair whose other side is dead has no place in the chart; the tables name it.
    let ratio = |row: &Row| row.beside(table.rows.get(row.first?)?).filter(|ratio| ratio.most.is_finite());
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
        "Goodput, or operations where there are no bodies, as so many times that of {first} in the same cell and repeat. The \
         mark is the median of the pairs, a whisker reaches from the lowest to the highest of them."
    );
    Some(Choice { label, caption, charts })
}
