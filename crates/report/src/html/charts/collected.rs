//! The charts of collected values. These charts have the same time axis as the charts of the load.

use super::time_series::short;
use crate::collected::{self, Shown};
use crate::escape::escape;
use crate::html::script_data::{Chart, Line, Plot, Role, Times, Unit};
use measure::series::{Column, ColumnKind, ColumnSummary, ColumnUnit, PointValue, Series};
use store::SavedRun;

/// The roles of the lines of a chart, which determine their colors. A chart has at most one line per role.
const ROLES: [Role; 6] = [Role::Line0, Role::Line1, Role::Line2, Role::Line3, Role::Line4, Role::Line5];
/// Maximum number of charts of collected values.
const CHARTS_MAX: usize = 24;

/// The charts. A chart shows all columns that have its kind and its unit.
const GROUPS: [(ColumnKind, ColumnUnit, &str); 11] = [
    (ColumnKind::Gauge, ColumnUnit::Share, "shares"),
    (ColumnKind::Gauge, ColumnUnit::Bytes, "bytes"),
    (ColumnKind::Counter, ColumnUnit::Bytes, "bytes per second"),
    (ColumnKind::Counter, ColumnUnit::Seconds, "seconds per second"),
    (ColumnKind::Gauge, ColumnUnit::Milliseconds, "times"),
    (ColumnKind::Gauge, ColumnUnit::Seconds, "times"),
    (ColumnKind::Gauge, ColumnUnit::Count, "counts"),
    (ColumnKind::Counter, ColumnUnit::Count, "counts per second"),
    (ColumnKind::Gauge, ColumnUnit::Hastings, "siacoins"),
    (ColumnKind::Counter, ColumnUnit::Hastings, "siacoins per second"),
    (ColumnKind::Counter, ColumnUnit::Milliseconds, "times per second"),
];

/// Returns the charts of a run's collected values. `times` are the columns that all charts over time share.
pub fn of(run: &SavedRun, times: &Times) -> Vec<Chart> {
    let Some(collected) = run.collected.as_ref().filter(|_| !times.starts.is_empty()) else { return Vec::new() };
    let series = &collected.series;
    let mut charts = Vec::new();
    for (kind, unit, title) in GROUPS {
        let columns = series.columns.iter().enumerate();
        let lines: Vec<(usize, &Column)> = columns
            .filter(|(index, column)| (column.kind, column.unit) == (kind, unit) && is_drawn(&series.summaries[*index]))
            .collect();
        for (number, lines) in lines.chunks(ROLES.len()).enumerate() {
            let id = format!("collected-{kind}-{unit}-{number}");
            charts.push(chart(series, times, &id, (title, axis(kind, unit)), lines));
        }
    }
    charts.truncate(CHARTS_MAX);
    charts
}

/// Returns whether a column has values other than zero. A host has many counters that never change, for example those
/// of unused network cards.
fn is_drawn(summary: &ColumnSummary) -> bool {
    summary.count > 0 && (summary.min != 0.0 || summary.max != 0.0)
}

fn chart(series: &Series, times: &Times, id: &str, (title, unit): (&str, Unit), lines: &[(usize, &Column)]) -> Chart {
    let lines: Vec<Line> =
        lines.iter().zip(ROLES).map(|((index, column), role)| line(series, times, *index, column, role)).collect();
    let caption = "Values that were polled during the run. Each value is drawn over the time since the previous poll.";
    Chart {
        id: id.to_owned(),
        title: format!("Collected: {title}"),
        caption: caption.to_owned(),
        plot: Plot::Series { unit, log: false, lines },
    }
}

/// Returns the unit of a chart's axis.
fn axis(kind: ColumnKind, unit: ColumnUnit) -> Unit {
    match (kind, unit) {
        (ColumnKind::Counter, ColumnUnit::Bytes) => Unit::Bytes,
        (ColumnKind::Counter, _) => Unit::Rate,
        (ColumnKind::Gauge, ColumnUnit::Bytes) => Unit::Size,
        (ColumnKind::Gauge, ColumnUnit::Share) => Unit::Share,
        (ColumnKind::Gauge, ColumnUnit::Seconds | ColumnUnit::Milliseconds) => Unit::Time,
        (ColumnKind::Gauge, ColumnUnit::Count | ColumnUnit::Hastings) => Unit::Count,
    }
}

fn line(series: &Series, times: &Times, index: usize, column: &Column, role: Role) -> Line {
    // A gauge of time is shown in nanoseconds. The rate of a counter of time is in seconds per second.
    let factor = match (column.kind, collected::shown(column.unit)) {
        (ColumnKind::Gauge, Shown::Nanoseconds(factor)) => factor,
        (ColumnKind::Counter, Shown::Nanoseconds(factor)) => factor / 1e9,
        (_, Shown::Times(factor)) => factor,
    };
    let ends = times.starts.iter().skip(1).copied().chain([times.end]);
    let ranges: Vec<Option<PointValue>> =
        times.starts.iter().zip(ends).map(|(start, end)| within(series, index, *start, end)).collect();
    let each = |pick: fn(PointValue) -> f64| -> Vec<Option<f64>> {
        ranges.iter().map(|range| range.map(|range| short(pick(range) * factor))).collect()
    };
    let bounds = |pick: fn(PointValue) -> f64| if times.merged > 1 { each(pick) } else { Vec::new() };
    Line {
        label: escape(&column.name),
        role,
        values: each(|range| range.mean),
        low: bounds(|range| range.low),
        high: bounds(|range| range.high),
    }
}

/// Returns the value of a column from `start` to `end`, with the lowest and the highest value. The value is the mean,
/// weighted by time.
fn within(series: &Series, index: usize, start: f64, end: f64) -> Option<PointValue> {
    let first = series.points.partition_point(|point| point.to <= start);
    let (mut found, mut seconds): (Option<PointValue>, f64) = (None, 0.0);
    for point in series.points[first..].iter().take_while(|point| point.from < end) {
        let Some(value) = point.values.get(index).copied().flatten() else { continue };
        let overlap = (point.to.min(end) - point.from.max(start)).max(0.0);
        let Some(so_far) = &mut found else {
            (found, seconds) = (Some(value), overlap);
            continue;
        };
        seconds += overlap;
        let share = if seconds > 0.0 { overlap / seconds } else { 0.5 };
        let (low, high) = (so_far.low.min(value.low), so_far.high.max(value.high));
        *so_far = PointValue { low, mean: (so_far.mean + (value.mean - so_far.mean) * share).clamp(low, high), high };
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::run::tests::begin;
    use measure::Instant;
    use measure::series::{Number, Poll};
    use store::Collected;

    fn run(columns: &[(&str, ColumnKind, ColumnUnit)], polls: &[(u64, &[u64])]) -> SavedRun {
        let columns = columns.iter().map(|(name, kind, unit)| Column::new(name, *kind, *unit).unwrap()).collect();
        let mut series = Series::new(columns, 1.0);
        for (second, values) in polls {
            let at = Instant::from_nanos(second * 1_000_000_000);
            let poll = Poll {
                start: at,
                end: at,
                start_unix_ms: 0,
                end_unix_ms: 0,
                request_micros: 0,
                missed: 0,
                sources: Vec::new(),
                values: values.iter().map(|value| Some(Number::from(*value))).collect(),
            };
            series.add(&poll, 0.0);
        }
        let collected = Collected { sources: vec!["a".into()], series, damage: None };
        SavedRun { collected: Some(collected), ..SavedRun::of(begin(), &[], None) }
    }

    fn seconds(count: u32) -> Times {
        Times { starts: (0..count).map(f64::from).collect(), end: count.into(), merged: 1, ..Times::default() }
    }

    fn lines(chart: &Chart) -> (&Unit, &[Line]) {
        let Plot::Series { unit, lines, .. } = &chart.plot else { panic!("{chart:?} is no series") };
        (unit, lines)
    }

    #[test]
    fn values_are_under_the_axis_of_the_load() {
        let columns = [
            ("memory", ColumnKind::Gauge, ColumnUnit::Bytes),
            ("sent", ColumnKind::Counter, ColumnUnit::Bytes),
            ("time", ColumnKind::Gauge, ColumnUnit::Milliseconds),
        ];
        let run = run(&columns, &[(1, &[10, 0, 5]), (2, &[30, 500, 6]), (4, &[20, 700, 7])]);
        let charts = of(&run, &seconds(6));
        assert_eq!(charts.len(), 3);
        let (unit, memory) = lines(&charts[0]);
        assert_eq!((*unit, memory[0].label.as_str()), (Unit::Size, "memory"));
        assert_eq!(memory[0].values, [Some(10.0), Some(30.0), Some(20.0), Some(20.0), None, None]);
        let (unit, sent) = lines(&charts[1]);
        assert_eq!(*unit, Unit::Bytes);
        assert_eq!(sent[0].values, [None, Some(500.0), Some(100.0), Some(100.0), None, None]);
        let (unit, time) = lines(&charts[2]);
        assert_eq!((*unit, time[0].values[0]), (Unit::Time, Some(5e6)));
    }

    #[test]
    fn wide_columns_keep_the_extremes_of_their_polls() {
        let run =
            run(&[("a", ColumnKind::Gauge, ColumnUnit::Count)], &[(1, &[10]), (2, &[90]), (3, &[20]), (4, &[20])]);
        let times = Times { starts: vec![0.0, 4.0], end: 8.0, merged: 4, ..Times::default() };
        let charts = of(&run, &times);
        let (_, lines) = lines(&charts[0]);
        assert_eq!((lines[0].values[0], lines[0].low[0], lines[0].high[0]), (Some(35.0), Some(10.0), Some(90.0)));
        assert_eq!(lines[0].values[1], None);
    }

    #[test]
    fn many_columns_are_spread_over_charts() {
        let names: Vec<String> = (0..14).map(|index| format!("c{index}")).collect();
        let columns: Vec<_> = names.iter().map(|name| (name.as_str(), ColumnKind::Gauge, ColumnUnit::Count)).collect();
        let charts = of(&run(&columns, &[(1, &[1; 14])]), &seconds(2));
        let counts: Vec<usize> = charts.iter().map(|chart| lines(chart).1.len()).collect();
        assert_eq!(counts, [6, 6, 2]);
        let ids: std::collections::HashSet<&str> = charts.iter().map(|chart| chart.id.as_str()).collect();
        assert_eq!(ids.len(), 3);
    }

    #[test]
    fn a_run_without_collectors_has_no_chart() {
        assert!(of(&SavedRun::of(begin(), &[], None), &seconds(3)).is_empty());
    }
}
