//! The charts of a run over time, with no more columns than a screen can show.
//!
//! A day has 86,400 intervals, but a screen has only about a thousand columns. Neighboring intervals are therefore
//! merged into one column. A column keeps the lowest and the highest value of its intervals, so that one bad second in
//! a day remains visible. The rate of a column is computed over its whole length. Percentiles cannot be averaged, so a
//! column shows the range over its intervals.
//!
//! Old intervals of a long run are longer than a second. In such a run, all columns have the same length, which is at
//! least the length of the longest interval.

use crate::html::script_data::{Chart, Line, Plot, Role, Times, Unit};
use crate::number::{count, seconds};
use measure::Stage;
use measure::time::INTERVAL;
use store::{Point, SavedRun};

/// Maximum number of columns.
pub const COLUMNS_MAX: usize = 1200;
/// Minimum length of an interval in seconds. A shorter interval has no meaningful rate. For example, one operation in
/// the last millisecond of a drain does not mean 1,000/s. Shorter intervals are omitted, unless all of them are short.
const SECONDS_MIN: f64 = 0.1;

/// Returns the columns and the charts that use them. There are no charts if the run has no interval.
pub fn of(run: &SavedRun) -> (Times, Vec<Chart>) {
    let (columns, width) = columns_of(&run.points);
    let merged = columns.iter().map(|column| column.len()).max().unwrap_or(1);
    let any_long = run.points.iter().any(|point| seconds_of(point) >= SECONDS_MIN);
    let shortest = if any_long { SECONDS_MIN } else { 0.0 };
    if columns.is_empty() {
        return (Times::default(), Vec::new());
    }
    let build = ChartBuilder { columns: &columns, width, shortest };
    (times(run, &columns, merged), charts(run, &build))
}

/// The width of the columns.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Width {
    /// Number of intervals in each column.
    Intervals(usize),
    /// Length of each column in seconds.
    Seconds(f64),
}

impl Width {
    /// Returns whether a column may contain several intervals.
    fn merges(self) -> bool {
        self != Self::Intervals(1)
    }
}

/// Divides a run into columns.
fn columns_of(points: &[Point]) -> (Vec<&[Point]>, Width) {
    let longest = points.iter().map(|point| point.end.nanos_since(point.start)).max().unwrap_or(0);
    if longest > INTERVAL.as_nanos() as u64 {
        let end = points.iter().map(|point| point.end.as_nanos()).max().unwrap_or(0);
        let nanos = end.div_ceil(COLUMNS_MAX as u64).div_ceil(longest).saturating_mul(longest);
        let number = |point: &Point| point.start.as_nanos() / nanos;
        let columns: Vec<&[Point]> = points.chunk_by(|a, b| number(a) == number(b)).collect();
        // In damaged records, times may decrease, so there may be too many columns.
        if columns.len() <= COLUMNS_MAX {
            return (columns, Width::Seconds(nanos as f64 / 1e9));
        }
    }
    let merged = points.len().div_ceil(COLUMNS_MAX).max(1);
    (points.chunks(merged).collect(), Width::Intervals(merged))
}

fn times(run: &SavedRun, columns: &[&[Point]], merged: usize) -> Times {
    let mut starts: Vec<f64> = Vec::with_capacity(columns.len());
    for column in columns {
        let start = column.first().map_or(0.0, |point| point.start.as_secs_f64());
        // In damaged records, times may decrease. The starts of columns must not decrease.
        starts.push(short(starts.last().copied().unwrap_or(0.0).max(start)));
    }
    let last = starts.last().copied().unwrap_or(0.0);
    let end = columns.last().and_then(|column| column.last()).map_or(0.0, |point| point.end.as_secs_f64());
    let window = run.summary().window.map(|(start, end)| (short(start.as_secs_f64()), short(end.as_secs_f64())));
    Times { starts, end: short(end.max(last)), merged, window, marks: Vec::new() }
}

/// The value of a column, and the lowest and highest value among its intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Range {
    low: f64,
    value: f64,
    high: f64,
}

struct ChartBuilder<'a> {
    columns: &'a [&'a [Point]],
    width: Width,
    /// Minimum length of an interval to be shown, in seconds.
    shortest: f64,
}

impl ChartBuilder<'_> {
    fn line(&self, label: &str, role: Role, of: impl Fn(&[Point]) -> Option<Range>) -> Line {
        let ranges: Vec<Option<Range>> = self.columns.iter().map(|column| of(column)).collect();
        let each = |pick: fn(Range) -> f64| -> Vec<Option<f64>> {
            ranges.iter().map(|range| range.map(|range| short(pick(range)))).collect()
        };
        let bounds = |pick: fn(Range) -> f64| if self.width.merges() { each(pick) } else { Vec::new() };
        Line {
            label: label.into(),
            role,
            values: each(|range| range.value),
            low: bounds(|range| range.low),
            high: bounds(|range| range.high),
        }
    }

    /// Returns a line that shows a count per second. Only intervals for which `counts` is true are included.
    fn rate(&self, label: &str, role: Role, counts: fn(&Point) -> bool, of: fn(&Point) -> u64) -> Line {
        let shown = |point: &&Point| counts(point) && self.is_shown(point);
        self.line(label, role, |column| rate_of(column.iter().filter(shown), of))
    }

    fn is_shown(&self, point: &Point) -> bool {
        seconds_of(point) >= self.shortest
    }

    /// Returns a line that shows the highest value in each column, with a band down to the lowest value.
    fn highest(&self, label: &str, role: Role, of: impl Fn(&Point) -> Option<f64>) -> Line {
        self.line(label, role, |column| {
            let range = bounds(column.iter().filter(|point| self.is_shown(point)).filter_map(&of))?;
            Some(Range { value: range.high, ..range })
        })
    }

    fn chart(&self, id: &str, title: &str, caption: &str, unit: Unit, lines: Vec<Line>) -> Chart {
        let log = unit == Unit::Time;
        let mut caption = caption.to_owned();
        if self.width.merges() {
            let line = if matches!(unit, Unit::Rate | Unit::Bytes) { "their mean" } else { "the highest of them" };
            let covered = match self.width {
                Width::Intervals(merged) => format!("{} intervals", count(merged as u64)),
                Width::Seconds(length) => format!("the intervals of {}", seconds(length)),
            };
            caption.push_str(&format!(
                " Each point stands for {covered}. The line shows {line}, and the band reaches from the lowest to the \
                highest."
            ));
        }
        Chart { id: id.into(), title: title.into(), caption, plot: Plot::Series { unit, log, lines } }
    }
}

fn charts(run: &SavedRun, build: &ChartBuilder) -> Vec<Chart> {
    let any = |of: fn(&Point) -> u64| run.points.iter().any(|point| of(point) > 0);
    let (always, measured) = (|_: &Point| true, |point: &Point| point.stage != Stage::Warmup);
    let ok = build.rate("succeeded", Role::Main, measured, |point| point.ok);
    let mut charts = vec![build.chart(
        "rate",
        "Operations",
        "Successful operations of the window, by the second in which they ended.",
        Unit::Rate,
        vec![ok],
    )];
    let mut bytes = Vec::new();
    let uploads = any(|point| point.sent_body_bytes);
    if !uploads || any(|point| point.body_bytes) {
        bytes.push(build.rate("received", Role::Main, always, |point| point.body_bytes));
    }
    if uploads {
        bytes.push(build.rate("sent", Role::Secondary, always, |point| point.sent_body_bytes));
    }
    charts.push(build.chart(
        "bytes",
        "Throughput",
        "Body bytes, by the second in which they arrived or were sent.",
        Unit::Bytes,
        bytes,
    ));
    let mut failures = Vec::new();
    for (label, role, of) in [
        ("failed", Role::Failed, (|point: &Point| point.failed) as fn(&Point) -> u64),
        ("dropped", Role::Third, |point: &Point| point.dropped),
    ] {
        if any(of) {
            failures.push(build.rate(label, role, measured, of));
        }
    }
    if !failures.is_empty() {
        let about = "Failed and dropped operations of the window, by the second in which they failed or were dropped.";
        charts.push(build.chart("failures", "Failures", about, Unit::Rate, failures));
    }
    let in_flight = build.highest("in flight", Role::Main, |point| Some(point.in_flight as f64));
    charts.push(build.chart(
        "in-flight",
        "In flight",
        "Operations in flight at the end of each interval.",
        Unit::Count,
        vec![in_flight],
    ));
    let busy = build.highest("busiest thread", Role::Main, |point| Some(point.client.busy));
    charts.push(build.chart(
        "client",
        "Client",
        "Busy share of this client's busiest thread. Near 100 %, the client is the limit.",
        Unit::Share,
        vec![busy],
    ));
    charts.extend(response(build));
    charts
}

/// Returns the chart of response time percentiles by interval, or `None` if no operation succeeded.
fn response(build: &ChartBuilder) -> Option<Chart> {
    let at = |nanos: Option<u64>| nanos.map(|nanos| nanos as f64);
    let p50 = build.highest("p50", Role::Main, |point| at(point.response_p50_nanos));
    let p99 = build.highest("p99", Role::Secondary, |point| at(point.response_p99_nanos));
    let about = "Response time of successful operations in each interval. With few samples, p99 is the largest sample.";
    let any = p50.values.iter().any(Option::is_some);
    any.then(|| build.chart("response", "Response time, p50 and p99", about, Unit::Time, vec![p99, p50]))
}

fn seconds_of(point: &Point) -> f64 {
    point.end.nanos_since(point.start) as f64 / 1e9
}

/// Returns the overall rate of several intervals, with the lowest and the highest rate of the single intervals.
fn rate_of<'a>(points: impl Iterator<Item = &'a Point>, of: fn(&Point) -> u64) -> Option<Range> {
    let mut rates = Vec::new();
    let (mut sum, mut length) = (0.0, 0.0);
    for point in points {
        let seconds = seconds_of(point);
        // An interval of length zero has no rate.
        if seconds > 0.0 {
            rates.push(of(point) as f64 / seconds);
        }
        sum += of(point) as f64;
        length += seconds;
    }
    let range = bounds(rates.into_iter())?;
    Some(Range { value: (sum / length).clamp(range.low, range.high), ..range })
}

fn bounds(values: impl Iterator<Item = f64>) -> Option<Range> {
    values.fold(None, |range, value| match range {
        None => Some(Range { low: value, value, high: value }),
        Some(Range { low, high, .. }) => Some(Range { low: low.min(value), value, high: high.max(value) }),
    })
}

/// Rounds to six significant digits. A screen shows fewer digits, and rounding halves the size of the file.
pub(super) fn short(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let scale = 10_f64.powi(5 - value.abs().log10().floor() as i32);
    let short = (value * scale).round() / scale;
    if short.is_finite() { short } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::run::tests::begin;
    use measure::{ClientLoad, Instant};

    const SECOND: u64 = 1_000_000_000;

    fn point(index: u64) -> Point {
        Point {
            stage: Stage::Measured,
            start: Instant::from_nanos(index * SECOND),
            end: Instant::from_nanos((index + 1) * SECOND),
            ok: 100,
            failed: 0,
            dropped: 0,
            body_bytes: 1_000_000,
            sent_body_bytes: 0,
            response_p50_nanos: Some(1_000_000),
            response_p99_nanos: Some(2_000_000),
            in_flight: 8,
            client: ClientLoad::default(),
        }
    }

    fn run(points: Vec<Point>) -> SavedRun {
        let mut run = SavedRun::of(begin(), &[], None);
        run.points = points;
        run
    }

    fn line<'a>(charts: &'a [Chart], id: &str, label: &str) -> &'a Line {
        let chart = charts.iter().find(|chart| chart.id == id).unwrap();
        let Plot::Series { lines, .. } = &chart.plot else { panic!("{id} is no series") };
        lines.iter().find(|line| line.label == label).unwrap()
    }

    fn most(values: &[Option<f64>]) -> f64 {
        values.iter().flatten().copied().fold(f64::MIN, f64::max)
    }

    #[test]
    fn one_bad_second_of_a_day_is_still_visible() {
        let mut points: Vec<Point> = (0..86_400).map(point).collect();
        points[54_321] = Point { ok: 0, failed: 7, response_p99_nanos: Some(9 * SECOND), ..point(54_321) };
        let run = run(points);
        let (times, charts) = of(&run);
        assert!(times.starts.len() <= COLUMNS_MAX && times.merged == 72 && times.starts.is_sorted());
        assert_eq!(times.end, 86_400.0);
        let rate = line(&charts, "rate", "succeeded");
        let column = 54_321 / times.merged;
        assert_eq!((rate.low[column], rate.high[column]), (Some(0.0), Some(100.0)));
        // The column merges 72 seconds, one of which is bad.
        assert_eq!(rate.values[column], Some(short(7_100.0 / 72.0)));
        assert_eq!(most(&line(&charts, "failures", "failed").high), 7.0);
        assert_eq!(most(&line(&charts, "response", "p99").values), 9e9);
        assert_eq!(line(&charts, "response", "p99").low[column], Some(2e6));
        let size = crate::html(&run).len();
        assert!(size < 1_000_000, "{size} bytes");
    }

    #[test]
    fn columns_of_a_long_run_have_equal_lengths_in_time() {
        // Ten days in intervals of a minute, and then an hour in intervals of a second. The rate does not change.
        let minutes = 14_400;
        let mut points: Vec<Point> = (0..minutes)
            .map(|index| Point {
                start: Instant::from_nanos(index * 60 * SECOND),
                end: Instant::from_nanos((index + 1) * 60 * SECOND),
                ok: 6000,
                ..point(0)
            })
            .collect();
        points.extend((minutes * 60..minutes * 60 + 3600).map(point));
        let run = run(points);
        let (times, charts) = of(&run);
        assert!(times.starts.len() <= COLUMNS_MAX && times.starts.len() > COLUMNS_MAX / 2, "{}", times.starts.len());
        let lengths: Vec<f64> = times.starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        // Starts are rounded to six digits.
        assert!(lengths.iter().all(|length| (length - 780.0).abs() <= 2.0), "{lengths:?}");
        let rate = line(&charts, "rate", "succeeded");
        for values in [&rate.values, &rate.low, &rate.high] {
            assert!(values.iter().all(|value| *value == Some(100.0)), "{values:?}");
        }
        let caption = &charts[0].caption;
        assert!(caption.contains("Each point stands for the intervals of 780 s"), "{caption}");
    }

    #[test]
    fn single_intervals_have_no_band() {
        let (times, charts) = of(&run((0..10).map(point).collect()));
        assert_eq!((times.merged, times.starts.len()), (1, 10));
        let rate = line(&charts, "rate", "succeeded");
        assert_eq!((rate.values.as_slice(), rate.low.len(), rate.high.len()), (&[Some(100.0); 10][..], 0, 0));
        assert!(!charts.iter().any(|chart| chart.id == "failures"), "a run without failures has no such chart");
    }

    #[test]
    fn a_short_interval_is_left_out_unless_there_are_no_others() {
        let drain = Point { stage: Stage::Drain, end: Instant::from_nanos(SECOND + 2_000_000), ok: 2, ..point(1) };
        let (_, charts) = of(&run(vec![drain]));
        assert_eq!(line(&charts, "rate", "succeeded").values, [Some(1000.0)]);
        let warmup = Point { stage: Stage::Warmup, ok: 0, ..point(0) };
        let (_, charts) = of(&run(vec![warmup, drain]));
        assert_eq!(line(&charts, "rate", "succeeded").values, [None, None]);
        assert_eq!(line(&charts, "bytes", "received").values, [Some(1e6), None]);
        assert_eq!(line(&charts, "response", "p99").values, [Some(2e6), None]);
    }

    #[test]
    fn decreasing_times_do_not_decrease_on_the_axis() {
        let (times, _) = of(&run(vec![point(7), point(3), point(9)]));
        assert_eq!(times.starts, [7.0, 7.0, 9.0]);
    }

    #[test]
    fn six_digits_are_kept() {
        assert_eq!([0.0, 123_456_789.0, 0.001_234_567_8, f64::NAN].map(short), [0.0, 123_457_000.0, 0.001_234_57, 0.0]);
    }
}
