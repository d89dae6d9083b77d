//! One result in every form: random runs, shown as text, HTML, JSON, JUnit, annotations and Markdown.

#[expect(dead_code, reason = "the cases are the golden files' own")]
mod common;

use common::{MS, Op, SECOND, Texts, begin, ended, simulate};
use measure::recorder::Pacing;
use measure::{AttemptClass, Cause, Instant, Model, Objective, Phase, Timeline};
use proptest::prelude::*;
use report::ci::{Suite, annotations, junit};
use report::export::markdown;
use report::{Style, json, text};
use std::time::Duration;
use store::{EndReason, SavedRun};

const OBJECTIVES: [&str; 9] = [
    "success >= 99%",
    "success >= 0%",
    "p50 <= 3ms",
    "p99 <= 20ms",
    "p99.99 <= 20ms",
    "max <= 60ms",
    "ttfb p90 <= 2ms",
    "rate >= 100",
    "goodput >= 1MB/s",
];

/// How many operations, how many of a hundred fail, hang, have wrong content, and are late by how much.
#[derive(Clone, Debug)]
struct Planted {
    operations: u64,
    failing: u64,
    unfinished: u64,
    wrong: u64,
    late: u64,
    dropped: usize,
    open: bool,
    objectives: Vec<Objective>,
    end: Option<EndReason>,
    accept: bool,
}

fn planted() -> impl Strategy<Value = Planted> {
    let ends = prop_oneof![
        4 => Just(Some(EndReason::Completed)),
        1 => Just(Some(EndReason::Interrupted { signal: 2 })),
        1 => Just(Some(EndReason::Aborted { condition: "success < 50%".into() })),
        1 => Just(Some(EndReason::Merged { runs: 2 })),
        1 => Just(Some(EndReason::DiskFull)),
        1 => Just(Some(EndReason::Unreachable { detail: "connection refused".into() })),
        1 => Just(Some(EndReason::Decided { broke: None })),
        1 => Just(None),
    ];
    let objectives = prop::sample::subsequence(OBJECTIVES.to_vec(), 0..5);
    let shares =
        (prop_oneof![Just(0_u64), Just(1), Just(40), Just(100)], 0_u64..3, prop_oneof![3 => Just(0_u64), 1 => Just(1)]);
    let load = (0_u64..700, prop_oneof![Just(0_u64), Just(MS / 2), Just(30 * MS)], 0_usize..30, any::<bool>());
    (load, shares, objectives, ends, any::<bool>()).prop_map(
        |((operations, late, dropped, open), (failing, unfinished, wrong), objectives, end, accept)| Planted {
            operations,
            failing,
            unfinished,
            wrong,
            late,
            dropped: if open { dropped } else { 0 },
            open,
            objectives: objectives.into_iter().map(|text| text.parse().unwrap()).collect(),
            end,
            accept,
        },
    )
}

fn run(planted: &Planted) -> SavedRun {
    let op = |index: u64| {
        let intended = index * 3 * MS;
        let late = if planted.open && index.is_multiple_of(7) { planted.late } else { 0 };
        let started = intended + late;
        let op = Op { intended, ..Op::ok(started, started + MS + (index * 37 % 50) * MS / 10, 2000) };
        match index % 100 {
            share if share < planted.failing => {
                op.failed(AttemptClass::Reset, Cause::ResetInBody, Phase::Body, Some(200))
            }
            share if share < planted.failing + planted.unfinished => op.unfinished(),
            99 if planted.wrong > 0 => {
                op.failed(AttemptClass::Integrity, Cause::ContentDiffers, Phase::Body, Some(200))
            }
            _ => op,
        }
    };
    let ops: Vec<Op> = (0..planted.operations).map(op).collect();
    let dropped: Vec<u64> = (0..planted.dropped as u64).map(|index| index * MS).collect();
    let window = 2 * SECOND + SECOND / 2;
    let timeline = Timeline::new(Instant::ZERO, Duration::ZERO, Some(Duration::from_nanos(window)));
    let pacing = if planted.open { Pacing::Scheduled } else { Pacing::Immediate };
    let texts = Texts { url: "http://localhost:8080/object", detail: "" };
    let intervals = simulate(timeline, pacing, &ops, &dropped, &texts);
    let model = if planted.open { Model::Open { in_flight_max: 64 } } else { Model::Closed { concurrency: 64 } };
    let mut begin = begin(model, "as planted", Some(window));
    begin.objectives = planted.objectives.clone();
    begin.accept_not_enough_data = planted.accept;
    SavedRun::of(begin, &intervals, planted.end.clone().map(|end| ended(end, window)))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]
    #[test]
    fn all_forms_and_the_exit_code_agree(planted in planted()) {
        let run = run(&planted);
        let result = report::result::of(&run);
        let (word, code) = (result.word.text(), result.exit.code());
        let shown = text(&run, &Style::default());
        prop_assert!(shown.starts_with(&format!("{word} · ")), "{}", shown);
        let first = result.reasons.first().map(report::result::text);
        if let Some(first) = &first {
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            prop_assert!(words(&shown).contains(&words(first)), "{}: {}", first, shown);
        }
        let report = json(&run);
        prop_assert_eq!((report.result.word, report.result.exit_code), (result.word, code));
        prop_assert_eq!(report.result.reasons.first().map(|reason| &reason.text), first.as_ref());
        let html = report::html(&run);
        let needle = format!("\"word\":\"{word}\"");
        prop_assert!(html.contains(&needle), "HTML has no {}", needle);
        let markdown_starts = format!("**{word}** · ");
        prop_assert!(markdown::run(&run).starts_with(&markdown_starts));
        let mut suite = Suite::default();
        suite.add_run(None, None, &run);
        let junit = junit(&suite);
        prop_assert_eq!(junit.contains("<failure") || junit.contains("<error"), code != 0, "exit {}: {}", code, junit);
        prop_assert_eq!(annotations(&suite).contains("::error"), code != 0, "exit {}", code);
        prop_assert_eq!(result.is_usable(), report::result::usable(&run).is_ok());
    }
}
