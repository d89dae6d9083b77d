//! Checks that joining the old intervals of a run does not change its result or its report.

use crate::common::simulation::{Op, PLAIN, begin, ended, loaded, simulate};
use crate::common::{MS, SECOND};
use measure::recorder::Pacing;
use measure::{AttemptClass, Cause, ClientLoad, Instant, Interval, IntervalJoiner, Model, Phase, Timeline};
use proptest::prelude::*;
use report::{Style, json, text};
use serde_json::Value;
use std::time::Duration;
use store::{Begin, EndReason, RollUpRules, RunWriter, SavedRun, Step};

const RUN_SECONDS: u64 = 24;

/// The behavior of the target during a second.
#[derive(Clone, Copy, Debug)]
enum Does {
    Serve,
    Slow,
    Fail,
    Hang,
}

fn does() -> impl Strategy<Value = Does> {
    prop_oneof![4 => Just(Does::Serve), 1 => Just(Does::Slow), 2 => Just(Does::Fail), 1 => Just(Does::Hang)]
}

fn client() -> impl Strategy<Value = ClientLoad> {
    let share = || prop_oneof![3 => Just(0.0), 1 => 0.0..1.0];
    (0.0..1.0, share(), share(), share(), share()).prop_map(|(busy, unread, run_delay, throttled, frozen)| ClientLoad {
        busy,
        unread,
        run_delay,
        throttled,
        frozen: frozen * 0.6,
        cpu_nanos: 1_000_000,
        ..ClientLoad::default()
    })
}

fn ops(target: &[Does], slots: u64) -> Vec<Op> {
    let mut ops = Vec::new();
    for slot in 0..slots {
        let mut now = slot * 1000;
        while now < RUN_SECONDS * SECOND {
            let dice = now / 1000 % 97;
            let op = |length: u64| Op::ok(now, now + length, 10_000 + dice);
            let op = match target[(now / SECOND) as usize] {
                Does::Serve => op((20 + dice) * MS),
                Does::Slow => op((700 + dice * 10) * MS),
                Does::Fail => {
                    op((30 + dice) * MS).failed(AttemptClass::Reset, Cause::ResetInBody, Phase::Body, Some(200))
                }
                Does::Hang if dice.is_multiple_of(2) => Op { bytes: 0, ..op(3 * SECOND) }.failed(
                    AttemptClass::TimeoutTotal,
                    Cause::TotalTimedOut,
                    Phase::Head,
                    None,
                ),
                Does::Hang => Op { end: (RUN_SECONDS + 1) * SECOND, ..op(SECOND) }.unfinished(),
            };
            now = op.end + 1000;
            ops.push(op);
        }
    }
    ops
}

fn run(target: &[Does], clients: &[ClientLoad], model: Model, warmup: u64) -> (Begin, Vec<Interval>) {
    let window = Duration::from_secs(RUN_SECONDS) - Duration::from_millis(warmup);
    let timeline = Timeline::new(Instant::ZERO, Duration::from_millis(warmup), Some(window));
    let mut begin = begin(model, "a load", Some(window.as_nanos() as u64));
    begin.warmup_ms = warmup;
    let pacing = if model.is_open() { Pacing::Scheduled } else { Pacing::Immediate };
    let dropped = if model.is_open() { vec![9_500 * MS, 9_600 * MS] } else { Vec::new() };
    let intervals = simulate(timeline, pacing, &ops(target, 4), &dropped, &PLAIN);
    let mut intervals = loaded(intervals, ClientLoad::default());
    for (interval, client) in intervals.iter_mut().zip(clients.iter().cycle()) {
        interval.client = *client;
    }
    (begin, intervals)
}

/// Removes values that depend on the length of intervals, and rounds sums of fractions.
fn comparable(run: &SavedRun) -> Value {
    let mut value = serde_json::to_value(json(run)).unwrap();
    let object = value.as_object_mut().unwrap();
    object.remove("series").unwrap();
    object.remove("notes");
    round(&mut value);
    value
}

fn round(value: &mut Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(round),
        Value::Object(fields) => fields.values_mut().for_each(round),
        Value::Number(number) if number.is_f64() => {
            *value = Value::from(format!("{:.9e}", number.as_f64().unwrap_or_default()));
        }
        _ => {}
    }
}

/// Returns the lines of the report, without the notes on steadiness, which depend on the length of spans.
fn lines(run: &SavedRun) -> Vec<String> {
    let judged = |line: &&str| !["settle", "drift", "steady", "first seconds"].iter().any(|word| line.contains(word));
    text(run, &Style::default()).lines().filter(judged).map(str::to_owned).collect()
}

fn rules() -> RollUpRules {
    let step = |age, length| Step { age: Duration::from_secs(age), length: Duration::from_secs(length) };
    RollUpRules { file: Duration::from_secs(3), steps: [step(2, 2), step(5, 4)] }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn a_rolled_up_run_has_the_same_result(
        target in prop::collection::vec(does(), RUN_SECONDS as usize + 1),
        clients in prop::collection::vec(client(), 8),
        open in any::<bool>(),
        warmup in prop_oneof![Just(0_u64), 0..3000_u64],
        whole in any::<bool>(),
    ) {
        let model = if open { Model::Open { in_flight_max: 50 } } else { Model::Closed { concurrency: 4 } };
        let (begin, intervals) = run(&target, &clients, model, warmup);
        let end = whole.then(|| ended(EndReason::Completed, (RUN_SECONDS + 1) * SECOND));
        let single = SavedRun::of(begin.clone(), &intervals, end.clone());

        for length in [2, 5, 60] {
            let mut joiner = IntervalJoiner::new(model, Duration::from_secs(length));
            let mut joined: Vec<Interval> = intervals.iter().filter_map(|interval| joiner.add(interval.clone())).collect();
            joined.extend(joiner.rest());
            prop_assert!(joined.len() < intervals.len());
            let joined = SavedRun::of(begin.clone(), &joined, end.clone());
            prop_assert_eq!(comparable(&joined), comparable(&single));
            prop_assert_eq!(lines(&joined), lines(&single));
            prop_assert_eq!(&joined.summary().seconds, &single.summary().seconds);
        }

        let dir = tempfile::tempdir().unwrap();
        let mut writer = RunWriter::create(dir.path(), &begin).unwrap().rolling_up(rules());
        for interval in &intervals {
            writer.interval(interval).unwrap();
            writer.settle();
        }
        match &end {
            Some(end) => writer.end(end).unwrap(),
            None => drop(writer),
        }
        let saved = SavedRun::read(dir.path()).unwrap();
        prop_assert!(saved.points.len() < intervals.len() - 4, "{} points", saved.points.len());
        prop_assert_eq!(comparable(&saved), comparable(&single));
        prop_assert_eq!(lines(&saved), lines(&single));
        std::fs::remove_file(dir.path().join(store::SNAPSHOT_FILE)).unwrap();
        let without = SavedRun::read(dir.path()).unwrap();
        prop_assert_eq!(&without.points, &saved.points);
        prop_assert_eq!(comparable(&without), comparable(&single));
    }
}
