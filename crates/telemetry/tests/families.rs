//! The metrics of a hand-made run in both text formats, compared with committed files.

use measure::series::{Column, ColumnKind, ColumnUnit, Number, Poll};
use measure::{AttemptClass, Instant, Interval, Model, OpKind, Stage};
use std::path::Path;
use telemetry::text::Format;
use telemetry::{CurrentRun, Family, Fill, FillPhase, LoadLevel, Number as Value, Samples, State, Trial};

fn run() -> CurrentRun {
    CurrentRun {
        target: "http://host/".to_owned(),
        directory: "runs/one".to_owned(),
        model: Model::Open { in_flight_max: 100 },
        level: LoadLevel::PerSecond(50.0),
        objectives: vec!["success >= 99%".parse().unwrap(), "p99 <= 10ms".parse().unwrap()],
        kinds: vec![OpKind::Get, OpKind::Put],
        shares_host: false,
        path: measure::path::PathLimits::default(),
    }
}

/// Returns an interval of a second in which 40 operations took 20 ms each, and two failed.
fn interval(stage: Stage, second: u64) -> Interval {
    let at = |second: u64| Instant::from_nanos(second * 1_000_000_000);
    let mut interval = Interval::new(stage, at(second), at(second + 1));
    let stats = &mut interval.stats;
    let tally = if stage == Stage::Warmup { &mut stats.outside } else { &mut stats.measured };
    (tally.scheduled, tally.started, tally.dropped) = (45, 43, 2);
    (tally.ok, tally.failed, tally.attempts) = (40, 2, 43);
    (tally.retries, tally.resends, tally.hops) = (1, 3, 5);
    (0..40).for_each(|_| tally.classes.add(AttemptClass::Ok));
    (0..2).for_each(|_| tally.classes.add(AttemptClass::Http5xx));
    tally.statuses = serde_json::from_str("[[500, 2], [200, 40]]").unwrap();
    if stage != Stage::Warmup {
        let kind = stats.kind_mut(OpKind::Get);
        (kind.ok, kind.failed, kind.ok_bytes) = (40, 2, 40_000);
        (0..40).for_each(|_| kind.response.record(20_000_000));
        (0..40).for_each(|_| kind.service.record(19_000_000));
        (0..40).for_each(|_| kind.ttfb.record(18_000_000));
        (0..43).for_each(|_| kind.lateness.record(50_000));
    }
    (stats.traffic.body, stats.traffic.overhead) = (40_960, 8_000);
    (stats.traffic.sent, stats.traffic.sent_body) = (4_200, 200);
    (stats.connections.opened, stats.connections.failed) = (4, 1);
    interval.in_flight = 3;
    interval.client.busy = 0.25;
    interval.client.cpu_nanos = 125_000_000;
    interval
}

/// Returns the state of a study in its second run.
fn state() -> State {
    let mut state = State::default();
    state.set_trial(Trial { number: 2, of: 6, cell: "size=1KiB".to_owned(), target: "a".to_owned(), repeat: 1 });
    state.begin_run(run());
    state.add(&interval(Stage::Warmup, 0));
    state.add(&interval(Stage::Measured, 1));
    state.end_run();
    state.begin_run(run());
    let column = |name, kind, unit| Column::new(name, kind, unit).unwrap();
    state.set_columns(&[
        column("host_cpu", ColumnKind::Gauge, ColumnUnit::Share),
        column("host_eth0_received", ColumnKind::Counter, ColumnUnit::Bytes),
        column("host_gone", ColumnKind::Gauge, ColumnUnit::Count),
    ]);
    state.set_collected(&Poll {
        start: Instant::ZERO,
        end: Instant::ZERO,
        start_unix_ms: 0,
        end_unix_ms: 0,
        request_micros: 0,
        missed: 0,
        sources: Vec::new(),
        values: vec![Number::of_f64(0.5), Some(1_000_u64.into()), None],
    });
    state.add(&interval(Stage::Measured, 0));
    *state.fill() = Fill {
        phase: FillPhase::Verify,
        stored_objects: 3,
        objects: 10,
        stored_bytes: 3_000,
        bytes: 10_000,
        failed_uploads: 1,
        bandwidth: Some(1_500.5),
        spent: Some(("USD".to_owned(), 0.25)),
        unpacked_bytes: Some(40),
    };
    state
}

fn compare(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, text).unwrap();
        return;
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == golden, "{name} is stale: run with UPDATE_GOLDEN=1 and read the difference\n{text}");
}

#[test]
fn the_text_of_prometheus_is_as_committed() {
    compare("prometheus.txt", &Format::Prometheus.encode(state().families()));
}

#[test]
fn the_text_of_openmetrics_is_as_committed() {
    compare("openmetrics.txt", &Format::OpenMetrics.encode(state().families()));
}

#[test]
fn a_fill_without_prices_has_no_costs_and_ends_with_its_trial() {
    let names = |state: State| state.families().iter().map(|family| family.name).collect::<Vec<_>>();
    let mut state = state();
    *state.fill() = Fill::default();
    let with = names(state.clone());
    assert!(with.contains(&"plimsoll_fill_phase") && !with.contains(&"plimsoll_fill_spent"), "{with:?}");
    assert!(!with.contains(&"plimsoll_fill_unpacked") && !with.contains(&"plimsoll_fill_bandwidth"), "{with:?}");
    state.set_trial(Trial { number: 3, of: 6, cell: String::new(), target: "a".to_owned(), repeat: 1 });
    assert!(!names(state).iter().any(|name| name.starts_with("plimsoll_fill")));
}

/// Returns the counters of a state, with their labels.
fn counters(families: &[Family]) -> Vec<(String, u64)> {
    let mut counters = Vec::new();
    for family in families {
        match &family.samples {
            Samples::Counter(samples) => counters.extend(samples.iter().map(|sample| {
                let value = match sample.value {
                    Value::Whole(whole) => whole,
                    Value::Real(real) => real as u64,
                };
                (format!("{}{:?}", family.name, sample.labels), value)
            })),
            Samples::Histogram(samples) => counters.extend(
                samples.iter().map(|sample| (format!("{}{:?}", family.name, sample.labels), sample.value.count())),
            ),
            Samples::Gauge(_) | Samples::Info(_) => {}
        }
    }
    counters
}

#[test]
fn counters_never_decrease_and_never_disappear_in_a_command() {
    let mut state = State::default();
    let mut before: Vec<(String, u64)> = Vec::new();
    for _ in 0..3 {
        state.begin_run(run());
        for second in 0..4 {
            state.add(&interval(if second == 0 { Stage::Warmup } else { Stage::Measured }, second));
            let now = counters(&state.clone().families());
            for (name, value) in &before {
                let current = now.iter().find(|(known, _)| known == name).map(|(_, current)| *current);
                assert!(current >= Some(*value), "{name}: {value}, then {current:?}");
            }
            before = now;
        }
        state.end_run();
    }
    let operations = before.iter().find(|(name, _)| name.contains("operations") && name.contains("ok"));
    assert_eq!(operations.map(|(_, value)| *value), Some(3 * 3 * 40));
}

#[test]
fn every_set_of_states_has_one_current_state() {
    let families = state().families();
    let current = |name: &str| {
        let family = families.iter().find(|family| family.name == name).unwrap();
        let Samples::Gauge(samples) = &family.samples else { panic!("{family:?}") };
        samples.iter().filter(|sample| sample.value == Value::Whole(1)).count()
    };
    assert_eq!(current("plimsoll_limited_by"), 1);
    assert_eq!(current("plimsoll_stage"), 1);
    assert_eq!(current("plimsoll_objective_state"), 2, "one for each objective");
}

/// Returns the names of metrics in a text.
fn names(text: &str) -> Vec<&str> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| word.starts_with("plimsoll_")).collect()
}

#[test]
fn the_documentation_and_the_dashboard_name_the_metrics() {
    let encoded = Format::Prometheus.encode(state().families());
    let known: Vec<&str> = names(&encoded);
    let documentation = include_str!("../../../docs/metrics.md");
    for name in names(documentation).into_iter().chain(names(include_str!("../../../deploy/grafana/plimsoll.json"))) {
        assert!(known.contains(&name), "{name} is not a metric");
    }
    for name in encoded.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()) {
        assert!(names(documentation).contains(&name), "{name} is not documented");
    }
}
