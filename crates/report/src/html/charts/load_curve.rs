//! Charts of metrics by level. The charts show one search for the load line, or compare several searches.

use super::axis;
use crate::html::script_data::{Across, Bound, Bracket, Chart, Mark, Marks, Plot, Shape, Unit};
use crate::load_line::{Level, LineUnit, LoadLine, SearchOutcome};
use measure::objective::{Metric, Timed};

/// Minimum ratio of the highest level to the lowest level for a logarithmic axis.
const WIDE: f64 = 10.0;

/// A search in a chart.
#[derive(Clone, Copy)]
pub struct Curve<'a> {
    /// Name of the search, or empty if there is only one.
    pub label: &'a str,
    /// Index of the search's color.
    pub order: usize,
    /// The search.
    pub line: &'a LoadLine,
}

/// A metric of a level, with the texts of its chart.
struct LevelMetric {
    id: &'static str,
    title: &'static str,
    about: &'static str,
    metric: Metric,
    of: fn(&Level) -> Option<f64>,
}

const P99: LevelMetric = LevelMetric {
    id: "response",
    title: "Response time, p99",
    about: "Response time of successful operations, by level.",
    metric: Metric::Time(Timed::Response, 0.99),
    of: |level| level.metrics.response_p99_nanos.map(|nanos| nanos as f64),
};

/// Metrics with the same chart for one search and for several.
const METRICS: [LevelMetric; 3] = [
    LevelMetric {
        id: "rate",
        title: "Succeeded",
        about: "Successful operations per second, by level.",
        metric: Metric::Rate,
        of: |level| level.metrics.ok_per_second,
    },
    LevelMetric {
        id: "goodput",
        title: "Goodput",
        about: "Body bytes of successful operations per second, by level.",
        metric: Metric::Goodput,
        of: |level| level.metrics.goodput_bytes_per_second,
    },
    LevelMetric {
        id: "success",
        title: "Success",
        about: "Share of operations that succeeded, by level.",
        metric: Metric::Success,
        of: |level| level.metrics.success_share,
    },
];

const MARKS: &str = " A level that was tried several times has several marks.";

/// Returns the charts of one search. There are no charts if no level was run.
pub fn of_one(line: &LoadLine) -> Vec<Chart> {
    let curve = [Curve { label: "", order: 0, line }];
    if line.levels.is_empty() {
        return Vec::new();
    }
    let mut charts = vec![response(&curve[0])];
    charts.extend(METRICS.iter().filter(|metric| any(metric, &curve)).map(|metric| chart(metric, "", &curve)));
    charts
}

/// Returns the charts that compare the same search on several targets. `prefix` makes their IDs unique in the file.
pub fn of_several(prefix: &str, curves: &[Curve]) -> Vec<Chart> {
    let metrics = [&P99].into_iter().chain(&METRICS);
    metrics.filter(|metric| any(metric, curves)).map(|metric| chart(metric, prefix, curves)).collect()
}

fn any(metric: &LevelMetric, curves: &[Curve]) -> bool {
    curves.iter().flat_map(|curve| &curve.line.levels).any(|level| (metric.of)(level).is_some_and(|value| value > 0.0))
}

/// Returns the chart of p50, p99, and all other percentiles for which there are objectives.
fn response(curve: &Curve) -> Chart {
    let nanos = |value: Option<u64>| value.map(|nanos| nanos as f64);
    let mut lines = vec![
        marks(curve.line, "p50", 0, |level| nanos(level.metrics.response_p50_nanos)),
        marks(curve.line, "p99", 1, |level| nanos(level.metrics.response_p99_nanos)),
    ];
    let (mut bounds, mut about) = (Vec::new(), P99.about.to_owned());
    for objective in objectives(curve.line) {
        // The chart shows all kinds of operations together, so bounds on one kind are only in the table.
        let (Metric::Time(timed, q), None) = (objective.metric(), objective.kind()) else { continue };
        bounds.push(Bound { label: objective.to_string(), value: objective.bound() });
        if timed == Timed::Response && (q == 0.5 || q == 0.99) {
            continue;
        }
        let measured =
            |level: &Level| level.metrics.objectives.iter().find(|measured| measured.objective == objective)?.value;
        let label = objective.metric().to_string();
        about.push_str(&format!(" The line {label} belongs to an objective, and includes failed operations."));
        lines.push(marks(curve.line, &label, lines.len(), measured));
    }
    let plot = Plot::Points {
        across: across(&[*curve]),
        unit: Unit::Time,
        log: true,
        lines,
        bounds,
        brackets: bracket(curve).into_iter().collect(),
    };
    let caption = format!("{about}{}{MARKS}", band(&[*curve]));
    Chart { id: "response".into(), title: "Response time by level".into(), caption, plot }
}

fn chart(metric: &LevelMetric, prefix: &str, curves: &[Curve]) -> Chart {
    let label = |curve: &Curve| if curve.label.is_empty() { metric.title.to_owned() } else { curve.label.to_owned() };
    let mut lines: Vec<Marks> =
        curves.iter().map(|curve| marks(curve.line, &label(curve), curve.order, metric.of)).collect();
    let is_rate = curves.iter().any(|curve| curve.line.unit == LineUnit::Rate);
    if metric.metric == Metric::Rate && is_rate {
        lines.push(offered(curves));
    }
    let mut bounds: Vec<Bound> = Vec::new();
    for objective in curves.iter().flat_map(|curve| objectives(curve.line)) {
        let bound = axis::bound(&objective, metric.metric);
        bounds.extend(bound.filter(|bound| bounds.iter().all(|known| known.label != bound.label)));
    }
    let unit = axis::unit(metric.metric);
    let plot = Plot::Points {
        across: across(curves),
        unit,
        log: axis::is_log(unit),
        lines,
        bounds,
        brackets: curves.iter().filter_map(bracket).collect(),
    };
    let id = if prefix.is_empty() { metric.id.to_owned() } else { format!("{prefix}-{}", metric.id) };
    let caption = format!("{}{}", metric.about, band(curves));
    Chart { id, title: metric.title.into(), caption, plot }
}

/// Returns a sentence that explains the band, or an empty text if there is no band.
fn band(curves: &[Curve]) -> &'static str {
    if curves.iter().any(|curve| bracket(curve).is_some_and(|bracket| bracket.failed.is_some())) {
        " The band is the load line. It reaches from the highest level that passed to the next level that did not pass."
    } else {
        ""
    }
}

fn objectives(line: &LoadLine) -> impl Iterator<Item = measure::Objective> {
    line.levels.first().into_iter().flat_map(|level| &level.metrics.objectives).map(|measured| measured.objective)
}

/// Returns the marks of all levels, from the lowest to the highest level. Marks of the same level stay in the order of
/// the runs.
fn marks(line: &LoadLine, label: &str, order: usize, of: impl Fn(&Level) -> Option<f64>) -> Marks {
    let mut levels: Vec<&Level> = line.levels.iter().collect();
    levels.sort_by(|one, other| one.level.total_cmp(&other.level));
    let mark = |level: &&Level| Mark {
        x: level.level,
        y: of(level),
        range: None,
        shape: if level.passed { Shape::Passed } else { Shape::Failed },
    };
    Marks { label: label.to_owned(), order, points: levels.iter().map(mark).collect() }
}

/// Returns the line of offered rates, for comparison with achieved rates.
fn offered(curves: &[Curve]) -> Marks {
    let mut levels: Vec<f64> = curves.iter().flat_map(|curve| &curve.line.levels).map(|level| level.level).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    let point = |level: f64| Mark { x: level, y: Some(level), range: None, shape: Shape::Plain };
    Marks { label: "offered".into(), order: curves.len(), points: levels.into_iter().map(point).collect() }
}

fn across(curves: &[Curve]) -> Across {
    let levels = curves.iter().flat_map(|curve| &curve.line.levels).map(|level| level.level.max(0.01));
    let (least, most) =
        levels.fold((f64::INFINITY, 0.0_f64), |(least, most), level| (least.min(level), most.max(level)));
    let unit = curves.first().map_or(LineUnit::Concurrency, |curve| curve.line.unit);
    let (label, unit) = match unit {
        LineUnit::Concurrency => ("operations in flight", Unit::Count),
        LineUnit::Rate => ("operations offered per second", Unit::Rate),
    };
    Across::Load { label: label.into(), unit, log: most / least > WIDE }
}

fn bracket(curve: &Curve) -> Option<Bracket> {
    let line = curve.line;
    let passed = line.passed.filter(|_| matches!(line.outcome, SearchOutcome::Found | SearchOutcome::AtLeast))?;
    let label = match curve.label {
        "" => "load line".to_owned(),
        name => format!("load line of {name}"),
    };
    Some(Bracket { label, order: curve.order, passed, failed: line.failed })
}
