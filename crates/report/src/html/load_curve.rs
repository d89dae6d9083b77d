//! What a search for the load line has measured, as charts over the level: of one search, or of several beside each other.

use super::data::{Across, Bound, Bracket, Chart, Mark, Marks, Plot, Shape, Unit};
use super::figure;
use crate::load_line::{FoundWord, Level, LoadLine, UnitWord};
use measure::objective::{Metric, Timed};

/// How far apart levels lie, from the lowest to the highest, where the axis becomes logarithmic.
const WIDE: f64 = 10.0;

/// A search in a chart.
#[derive(Clone, Copy)]
pub struct Curve<'a> {
    /// Whose it is; empty where there is only one.
    pub label: &'a str,
    /// Its colour.
    pub order: usize,
    /// The search.
    pub line: &'a LoadLine,
}

/// A figure of levels.
struct Figure {
    id: &'static str,
    title: &'static str,
    about: &'static str,
    metric: Metric,
    of: fn(&Level) -> Option<f64>,
}

const P99: Figure = Figure {
    id: "response",
    title: "Response time, p99",
    about: "Response time of operations that ended well, by level.",
    metric: Metric::Time(Timed::Response, 0.99),
    of: |level| level.measured.response_p99_nanos.map(|nanos| nanos as f64),
};

/// The figures that are drawn alike for one search and for several.
const FIGURES: [Figure; 3] = [
    Figure {
        id: "rate",
        title: "Ended well",
        about: "Operations that ended well in a second, by level.",
        metric: Metric::Rate,
        of: |level| level.measured.ok_per_second,
    },
    Figure {
        id: "goodput",
        title: "Goodput",
        about: "Body bytes in a second that served something, by level.",
        metric: Metric::Goodput,
        of: |level| level.measured.goodput,
    },
    Figure {
        id: "success",
        title: "Success",
        about: "Share of operations that ended well, by level.",
        metric: Metric::Success,
        of: |level| level.measured.success,
    },
];

const MARKS: &str = " A level that was tried several times has several marks.";

/// The charts of one search; none without a level.
pub fn of_one(line: &LoadLine) -> Vec<Chart> {
    let curve = [Curve { label: "", order: 0, line }];
    if line.levels.is_empty() {
        return Vec::new();
    }
    let mut charts = vec![response(&curve[0])];
    charts.extend(FIGURES.iter().filter(|figure| any(figure, &curve)).map(|figure| chart(figure, "", &curve)));
    charts
}

/// The charts of the same search on several targets. `prefix` tells them from others in the file.
pub fn of_several(prefix: &str, curves: &[Curve]) -> Vec<Chart> {
    let figures = [&P99].into_iter().chain(&FIGURES);
    figures.filter(|figure| any(figure, curves)).map(|figure| chart(figure, prefix, curves)).collect()
}

fn any(figure: &Figure, curves: &[Curve]) -> bool {
    curves.iter().flat_map(|curve| &curve.line.levels).any(|level| (figure.of)(level).is_some_and(|value| value > 0.0))
}

/// p50 and p99, and what else the objectives bound among times.
fn response(curve: &Curve) -> Chart {
    let nanos = |value: Option<u64>| value.map(|nanos| nanos as f64);
    let mut lines = vec![
        marks(curve.line, "p50", 0, |level| nanos(level.measured.response_p50_nanos)),
        marks(curve.line, "p99", 1, |level| nanos(level.measured.response_p99_nanos)),
    ];
    let (mut bounds, mut about) = (Vec::new(), P99.about.to_owned());
    for objective in objectives(curve.line) {
        // What is drawn is of all operations, so bounds on those of one kind stand in the table alone.
        let (Metric::Time(timed, q), None) = (objective.metric(), objective.kind()) else { continue };
        bounds.push(Bound { label: objective.to_string(), value: objective.bound() });
        if timed == Timed::Response && (q == 0.5 || q == 0.99) {
            continue;
        }
        let held = |level: &Level| level.measured.objectives.iter().find(|held| held.objective == objective)?.value;
        let label = objective.metric().to_string();
        about.push_str(&format!(" An objective bounds {label}, which is that of all operations."));
        lines.push(marks(curve.line, &label, lines.len(), held));
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

fn chart(figure: &Figure, prefix: &str, curves: &[Curve]) -> Chart {
    let label = |curve: &Curve| if curve.label.is_empty() { figure.title.to_owned() } else { curve.label.to_owned() };
    let mut lines: Vec<Marks> =
        curves.iter().map(|curve| marks(curve.line, &label(curve), curve.order, figure.of)).collect();
    let is_rate = curves.iter().any(|curve| curve.line.unit == UnitWord::Rate);
    if figure.metric == Metric::Rate && is_rate {
        lines.push(offered(curves));
    }
    let mut bounds: Vec<Bound> = Vec::new();
    for objective in curves.iter().flat_map(|curve| objectives(curve.line)) {
        let bound = figure::bound(&objective, figure.metric);
        bounds.extend(bound.filter(|bound| bounds.iter().all(|known| known.label != bound.label)));
    }
    let unit = figure::unit(figure.metric);
    let plot = Plot::Points {
        across: across(curves),
        unit,
        log: figure::is_log(unit),
        lines,
        bounds,
        brackets: curves.iter().filter_map(bracket).collect(),
    };
    let id = if prefix.is_empty() { figure.id.to_owned() } else { format!("{prefix}-{}", figure.id) };
    let caption = format!("{}{}", figure.about, band(curves));
    Chart { id, title: figure.title.into(), caption, plot }
}

/// What the band is, where there is one.
fn band(curves: &[Curve]) -> &'static str {
    if curves.iter().any(|curve| bracket(curve).is_some_and(|bracket| bracket.failed.is_some())) {
        " The band is the load line: it lies between the highest level that passed and the lowest above it that did not."
    } else {
        ""
    }
}

fn objectives(line: &LoadLine) -> impl Iterator<Item = measure::Objective> {
    line.levels.first().into_iter().flat_map(|level| &level.measured.objectives).map(|held| held.objective)
}

/// A figure of all levels, the lowest first; those of one level in the order in which they were tried.
fn marks(line: &LoadLine, label: &str, order: usize, of: impl Fn(&Level) -> Option<f64>) -> Marks {
    let mut levels: Vec<&Level> = line.levels.iter().collect();
    levels.sort_by(|one, other| one.level.total_cmp(&other.level));
    let mark = |level: &&Level| Mark {
        x: level.level,
        y: of(level),
        range: None,
        shape: if level.passed { Shape::Held } else { Shape::Failed },
    };
    Marks { label: label.to_owned(), order, points: levels.iter().map(mark).collect() }
}

/// What the levels of rates ask for.
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
    let unit = curves.first().map_or(UnitWord::Concurrency, |curve| curve.line.unit);
    let (label, unit) = match unit {
        UnitWord::Concurrency => ("operations in flight", Unit::Count),
        UnitWord::Rate => ("operations offered in a second", Unit::Rate),
    };
    Across::Load { label: label.into(), unit, log: most / least > WIDE }
}

fn bracket(curve: &Curve) -> Option<Bracket> {
    let line = curve.line;
    let held = line.passed.filter(|_| matches!(line.found, FoundWord::Line | FoundWord::AtLeast))?;
    let label = match curve.label {
        "" => "load line".to_owned(),
        whose => format!("load line of {whose}"),
    };
    Some(Bracket { label, order: curve.order, held, failed: line.failed })
}
