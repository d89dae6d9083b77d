//! Tests with damaged and hostile runs. Every report format must reject or show records with absurd numbers, without a
//! panic and without NaN or infinity.

use crate::common;
use crate::common::simulation::{Op, begin, ended, simulate};
use crate::common::{MS, SECOND};
use measure::recorder::Pacing;
use measure::summary::Windows;
use measure::{
    AttemptClass, Cause, Distribution, Flag, Instant, Interval, Model, OpKind, Phase, Stage, Timeline, stats::Tally,
};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use report::compare::{ComparedRun, Comparison, Sides};
use report::{
    JsonReport, Style, comparison, comparison_schema, html, json, json_comparison, other_tools, repeats, schema, text,
};
use serde_json::{Value, json as value};
use std::cell::Cell;
use std::sync::LazyLock;
use std::time::Duration;
use store::{EndReason, Record, SavedRun};

static SCHEMA: LazyLock<jsonschema::Validator> =
    LazyLock::new(|| jsonschema::validator_for(&schema()).expect("the schema is valid"));

static COMPARISON: LazyLock<jsonschema::Validator> =
    LazyLock::new(|| jsonschema::validator_for(&comparison_schema()).expect("the schema is valid"));

fn has_no_odd_number(shown: &str) {
    let odd = shown.split(|c: char| !c.is_alphanumeric()).find(|word| ["NaN", "inf", "Infinity"].contains(word));
    assert_eq!(odd, None, "{shown}");
}

/// Compares a run with itself.
fn show_compared(run: &SavedRun, windows: &Windows) {
    let one = ComparedRun { name: "a".into(), run: run.clone(), windows: windows.clone() };
    let all = vec![one; 5];
    for (base, new) in [(&all[..1], &all[1..2]), (&all[..], &all[..])] {
        let compared = Comparison::of(base, new, Sides::Halves, 0.02);
        has_no_odd_number(&comparison(&compared, &Style { width: 100, color: false }));
        let document = serde_json::to_value(json_comparison(&compared)).expect("a comparison can be written as JSON");
        let errors: Vec<_> = COMPARISON.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}");
    }
}

/// Shows a run in every format. JSON turns infinite numbers into null, which the schema rejects.
fn show(run: &SavedRun) {
    let style = |width| Style { width, color: false };
    let texts = [
        text(run, &style(60)),
        text(run, &style(100)),
        repeats(&[run.clone(), run.clone()], &style(100)),
        other_tools::ab(run),
        other_tools::httpbench(run),
    ];
    texts.iter().for_each(|shown| has_no_odd_number(shown));
    show_compared(run, &Windows::default());
    let page = html(run);
    let data = page
        .split_once("id=\"data\">")
        .and_then(|(_, rest)| rest.split_once("</script>"))
        .expect("the page has data")
        .0;
    let document: Value = serde_json::from_str(data).expect("the data is JSON");
    assert!(
        document["times"]["starts"].as_array().is_some_and(|starts| starts.iter().all(Value::is_f64)),
        "{document}"
    );
    let report = serde_json::to_value(json(run)).expect("a report can be written as JSON");
    let errors: Vec<_> = SCHEMA.iter_errors(&report).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    serde_json::from_value::<JsonReport>(report).expect("a report can be read back");
}

/// Returns a begin record, two intervals with all kinds of data, and an end record.
fn records() -> Vec<Value> {
    let mut begin = begin(Model::Open { in_flight_max: 4 }, "open, 4/s, 2s", Some(2 * SECOND));
    begin.levels =
        Some(store::Levels { from: 4.0, stages: vec![store::LevelStage { length_nanos: SECOND, level: 4.0 }; 2] });
    let op = |index: u64| {
        let op = Op::ok(index * 200 * MS, index * 200 * MS + 150 * MS, 5_000);
        let op = Op {
            header: Some("a"),
            connect: Some(MS),
            slot_wait: index % 2 * MS,
            flags: &[Flag::KeptAlive, Flag::LengthDiffers],
            ..op
        };
        match index % 4 {
            1 => op.failed(AttemptClass::Http5xx, Cause::Status, Phase::Head, Some(500)),
            2 => op.unfinished(),
            3 => Op { moved: Some((op.started + 50 * MS, "owner:8081")), ..op },
            _ => op,
        }
    };
    let ops: Vec<Op> = (0..9).map(op).collect();
    let timeline = Timeline::new(Instant::ZERO, Duration::from_millis(300), Some(Duration::from_millis(1500)));
    let texts = common::simulation::Texts { url: "http://h/", detail: "" };
    let intervals = simulate(timeline, Pacing::Scheduled, &ops, &[1700 * MS], &texts);
    let end = Record::End(Box::new(ended(EndReason::Completed, 2 * SECOND)));
    let intervals = intervals.into_iter().map(|interval| Record::Interval(Box::new(interval)));
    std::iter::once(Record::Begin(Box::new(begin)))
        .chain(intervals)
        .chain([end])
        .map(|record| serde_json::to_value(record).expect("a record is JSON"))
        .collect()
}

/// Collects all numbers of a record, except those of distributions, which must match their histograms.
fn numbers<'a>(value: &'a mut Value, found: &mut Vec<&'a mut Value>) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(|value| numbers(value, found)),
        Value::Object(fields) => {
            let distribution = fields.contains_key("hdr");
            for (_, value) in fields.iter_mut() {
                if !distribution {
                    numbers(value, found);
                } else if value.as_str().is_some_and(|text| text.parse::<u128>().is_ok()) {
                    found.push(value);
                }
            }
        }
        Value::Number(_) => found.push(value),
        _ => {}
    }
}

fn absurd(old: &Value, choice: usize) -> Value {
    let sums = [u128::MAX, u128::MAX - 1, u128::from(u64::MAX), 0];
    let counts = [u64::MAX, u64::MAX - 1, 1 << 63, i64::MAX as u64, 1 << 53, 1, 0];
    let floats = [1e308, 1e12, -1e12, 1e-300, 0.0, -1.0];
    match old {
        Value::String(_) => Value::from(sums[choice % sums.len()].to_string()),
        Value::Number(number) if number.is_f64() => Value::from(floats[choice % floats.len()]),
        _ => Value::from(counts[choice % counts.len()]),
    }
}

fn file(records: &[Value]) -> Vec<u8> {
    let frame = |record: &Value| zstd::bulk::compress(format!("{record}\n").as_bytes(), 1).expect("zstd compresses");
    records.iter().flat_map(frame).collect()
}

#[test]
fn absurd_numbers_in_records_are_refused_or_shown() {
    let sound = records();
    show(&SavedRun::read_from(file(&sound).as_slice()).expect("the unchanged records can be read"));
    let (shown, whole) = (Cell::new(0), Cell::new(0));
    let changes = prop::collection::vec((any::<prop::sample::Index>(), 0_usize..64), 1..40);
    let run = |changes: Vec<(prop::sample::Index, usize)>| {
        let mut records = sound.clone();
        let mut found = Vec::new();
        records.iter_mut().for_each(|record| numbers(record, &mut found));
        for (place, choice) in changes {
            let place = place.index(found.len());
            *found[place] = absurd(found[place], choice);
        }
        if let Ok(run) = SavedRun::read_from(file(&records).as_slice()) {
            show(&run);
            shown.set(shown.get() + 1);
            whole.set(whole.get() + u32::from(run.damage.is_none()));
        }
        Ok(())
    };
    TestRunner::default().run(&changes, run).unwrap();
    assert!(shown.get() > 50 && whole.get() > 10, "{} shown, {} of them whole", shown.get(), whole.get());
}

/// Returns distributions with values that no real run has.
fn distributions() -> impl Strategy<Value = Distribution> {
    let values = prop::sample::select(vec![0, 1, 63, 64, 1 << 40, u64::MAX - 1, u64::MAX]);
    let zeros = prop::sample::select(vec![0, 1, 1 << 20, (1 << 36) - 8]);
    (prop::collection::vec(values, 0..6), zeros).prop_map(|(values, zeros)| {
        let mut distribution = Distribution::default();
        distribution.record_zeros(zeros);
        values.into_iter().for_each(|value| distribution.record(value));
        distribution
    })
}

/// Returns counts that may contradict each other: 0, a small number, or the largest number.
fn tallies() -> impl Strategy<Value = Tally> {
    prop::collection::vec(prop::sample::select(vec![0, 0, 1, 30, 1 << 53, u64::MAX]), 8).prop_map(|counts| Tally {
        scheduled: counts[0],
        started: counts[1],
        dropped: counts[2],
        ok: counts[3],
        failed: counts[4],
        unfinished: counts[5],
        unanswered: counts[6],
        attempts: counts[7],
        ..Tally::default()
    })
}

fn intervals() -> impl Strategy<Value = Interval> {
    let instants = prop::sample::select(vec![0, 1, 5 * MS, SECOND, 2 * SECOND, u64::MAX]);
    let stages = prop::sample::select(vec![Stage::Warmup, Stage::Measured, Stage::Measured, Stage::Drain]);
    let counts = prop::sample::select(vec![0, 0, 1, u64::MAX]);
    (
        (stages, instants.clone(), instants, tallies()),
        prop::collection::vec(distributions(), 5),
        prop::collection::vec(counts, 6),
    )
        .prop_map(|((stage, start, end, tally), values, counts)| {
            let mut interval = Interval::new(stage, Instant::from_nanos(start), Instant::from_nanos(end));
            let kind = interval.stats.kind_mut(OpKind::Get);
            (kind.ok, kind.failed, kind.ok_bytes) = (tally.ok, tally.failed, counts[0]);
            let [response, service, speed, slot_wait, unfinished_wait] =
                <[_; 5]>::try_from(values).expect("five values were generated");
            (kind.response, kind.service, kind.speed, kind.slot_wait) = (response, service, speed, slot_wait);
            kind.unfinished_wait = unfinished_wait;
            (interval.stats.measured, interval.in_flight) = (tally, counts[1]);
            (interval.stats.traffic.body, interval.stats.traffic.wasted) = (counts[2], counts[3]);
            (interval.stats.in_flight_nanos, interval.client.cpu_nanos) = (counts[4], counts[5]);
            interval
        })
}

proptest! {
    /// No report shows the result of a division by zero. This includes runs without operations, with failures only, or
    /// with a window of length zero.
    #[test]
    fn no_report_shows_nan_or_infinity(
        intervals in prop::collection::vec(intervals(), 0..4), open in any::<bool>(), most in prop::sample::select(vec![0, 1, u64::MAX]),
    ) {
        let model = if open { Model::Open { in_flight_max: most } } else { Model::Closed { concurrency: most } };
        let end = ended(EndReason::Completed, SECOND);
        let run = SavedRun::of(begin(model, "some", None), &intervals, Some(end));
        show(&run);
        // There must be enough windows for confidence intervals.
        let mut windows = Windows::default();
        (0..24).flat_map(|_| &intervals).for_each(|interval| windows.add(interval));
        show_compared(&run, &windows);
        let written = [value!({"begin": begin(model, "some", None)})]
            .into_iter()
            .chain(intervals.iter().map(|interval| value!({"interval": interval})));
        let read = SavedRun::read_from(file(&written.collect::<Vec<_>>()).as_slice()).expect("the written records can be read");
        prop_assert_eq!(read.damage, None);
        show(&read);
    }
}
