use super::*;
use crate::series::{ColumnUnit, FailureClass, Number, PollFailure, SourcePoll};
use crate::time::Instant;

fn columns() -> Vec<Column> {
    let column = |name: &str, kind| Column::new(name, kind, ColumnUnit::Count).unwrap();
    vec![column("gauge", ColumnKind::Gauge), column("counter", ColumnKind::Counter)]
}

fn poll(second: u64, gauge: Option<u64>, counter: Option<u64>) -> Poll {
    let at = Instant::from_nanos(second * 1_000_000_000);
    Poll {
        start: at,
        end: at,
        start_unix_ms: second * 1000,
        end_unix_ms: second * 1000,
        request_micros: 0,
        missed: 0,
        sources: Vec::new(),
        values: vec![gauge.map(Number::from), counter.map(Number::from)],
    }
}

#[test]
fn gauges_have_values_and_counters_have_rates() {
    let mut series = Series::new(columns(), 10.0);
    for (second, gauge, counter) in [(10, 4, 100), (20, 8, 150), (30, 6, 250)] {
        series.add(&poll(second, Some(gauge), Some(counter)), 0.0);
    }
    let [gauge, counter] = series.summaries[..] else { panic!("two columns") };
    assert_eq!((gauge.min, gauge.max, gauge.mean(ColumnKind::Gauge), gauge.last), (4.0, 8.0, Some(6.0), Some(6.0)));
    assert_eq!((counter.min, counter.max, counter.count, counter.last), (5.0, 10.0, 2, Some(250.0)));
    assert_eq!(counter.mean(ColumnKind::Counter), Some(7.5));
    assert_eq!(series.points.len(), 3);
    assert_eq!((series.points[1].from, series.points[1].to), (10.0, 20.0));
    assert_eq!(series.points[0].values[1], None, "one value of a counter has no rate");
    assert_eq!(series.points[2].values[1].map(|value| value.mean), Some(10.0));
}

#[test]
fn a_restart_is_no_negative_rate() {
    let mut series = Series::new(columns(), 1.0);
    for (second, counter) in [(1, 1000), (2, 1010), (3, 4), (4, 14)] {
        series.add(&poll(second, None, Some(counter)), 0.0);
    }
    let counter = series.summaries[1];
    assert_eq!((counter.resets, counter.min, counter.max, counter.sum), (1, 10.0, 10.0, 20.0));
    assert_eq!(series.points[2].values[1], None);
}

#[test]
fn a_blank_cell_does_not_lose_the_increase() {
    let mut series = Series::new(columns(), 1.0);
    for (second, counter) in [(1, Some(0)), (2, None), (3, Some(30))] {
        series.add(&poll(second, None, counter), 0.0);
    }
    assert_eq!(series.summaries[1].mean(ColumnKind::Counter), Some(15.0));
}

#[test]
fn a_gap_is_not_filled() {
    let mut series = Series::new(columns(), 1.0);
    for second in [1, 2, 100] {
        series.add(&poll(second, Some(1), None), 0.0);
    }
    assert_eq!((series.points[2].from, series.points[2].to), (97.5, 100.0));
}

#[test]
fn clocks_that_go_back_give_no_rate_and_no_negative_length() {
    let mut series = Series::new(columns(), 1.0);
    for second in [5, 3, 3] {
        series.add(&poll(second, Some(1), Some(second)), 0.0);
    }
    assert!(series.points.iter().all(|point| point.seconds() >= 0.0 && point.from >= 0.0), "{:?}", series.points);
    assert_eq!(series.summaries[1].seconds, 0.0);
}

#[test]
fn a_long_series_keeps_its_extremes_in_bounded_space() {
    let mut series = Series::new(columns(), 1.0);
    let spike = 12_345;
    for second in 1..=100_000_u64 {
        let gauge = if second == spike { 1_000 } else { 10 };
        series.add(&poll(second, Some(gauge), Some(second * 3)), 0.0);
    }
    assert!(series.points.len() <= POINTS_MAX && series.points.len() > POINTS_MAX / 4, "{}", series.points.len());
    let found = series.points.iter().find(|point| point.values[0].is_some_and(|value| value.high == 1_000.0)).unwrap();
    assert!(found.from <= spike as f64 && spike as f64 <= found.to, "{found:?}");
    let rates = series.points.iter().filter_map(|point| point.values[1]);
    assert!(rates.into_iter().all(|rate| (rate.mean - 3.0).abs() < 1e-9 && rate.low <= rate.mean));
    assert!(series.points.is_sorted_by(|a, b| a.to <= b.from + 1e-9), "points do not overlap");
    assert_eq!((series.polls, series.summaries[0].max), (100_000, 1_000.0));
}

#[test]
fn failures_and_missed_polls_are_counted() {
    let mut series = Series::new(columns(), 1.0);
    let failure = Some(PollFailure::new(FailureClass::TimedOut, ""));
    let sources = vec![SourcePoll { nanos: 1, failure: failure.clone() }, SourcePoll { nanos: 1, failure }];
    series.add(&Poll { missed: 3, sources, ..poll(1, None, None) }, 0.0);
    series.add(&poll(2, None, None), 0.0);
    assert_eq!((series.polls, series.missed, series.failed), (2, 3, 1));
    assert_eq!(series.summaries[0].mean(ColumnKind::Gauge), None);
}
