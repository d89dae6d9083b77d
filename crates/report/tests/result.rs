//! Checks that all formats show the same result of a random run. The formats are text, HTML, JSON, JUnit, annotations
//! and Markdown.

use crate::common;
use crate::common::simulation::{Op, Texts, begin, ended, simulate};
use crate::common::{MS, SECOND};
use measure::evidence::{Probe, Probes};
use measure::recorder::Pacing;
use measure::result::load_line::{Found, Lack, LoadUnit, Outcome};
use measure::{AttemptClass, Cause, Instant, LimitedBy, Model, Objective, Phase, ResultWord, Timeline};
use proptest::prelude::*;
use report::ci::{Suite, annotations, junit};
use report::export::markdown;
use report::load_line::{self, Level, LoadLine};
use report::run_metrics::RunMetrics;
use report::study::{Study, Trial};
use report::{SavedStudy, Style, html_line, html_study, json, json_repeats, repeats, text};
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

/// A random run, given by the number of operations, the percentages that fail, hang or have wrong content, and the
/// delay of the starts.
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
        1 => Just(Some(EndReason::AgentsLost { lost: vec!["client-2".into()], agents: 3 })),
        1 => Just(Some(EndReason::StartsApart { spread_nanos: 9_000_000, limit_nanos: 5_000_000 })),
        1 => Just(Some(EndReason::DiskFull)),
        1 => Just(Some(EndReason::Unreachable { detail: "connection refused".into() })),
        1 => Just(Some(EndReason::StoppedEarly { first_missed: None })),
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

    #[test]
    fn several_runs_have_one_result_in_all_forms(planted in prop::collection::vec(planted(), 0..4)) {
        let runs: Vec<SavedRun> = planted.iter().map(run).collect();
        let word = ResultWord::of_all(runs.iter().map(|run| report::result::of(run).word));
        let document = json_repeats(&runs);
        prop_assert_eq!(document.result.word, word);
        let shown = repeats(&runs, &Style::default());
        let starts = format!("{word} · ", word = word.text());
        prop_assert!(shown.starts_with(&starts), "{}", shown);
        let mut suite = Suite::default();
        runs.iter().for_each(|run| suite.add_run(None, None, run));
        let broken = annotations(&suite).contains("::error");
        prop_assert_eq!(broken, document.result.exit_code != 0, "exit {}", document.result.exit_code);
        let trial = |(repeat, run): (u32, &SavedRun)| Trial::of(("cell", "target", repeat), "", run);
        let trials: Vec<Trial> = (1..).zip(&runs).map(trial).collect();
        let measured = Study { planned: runs.len() as u64, trials, ..Study::default() };
        let result = serde_json::to_value(&measured).unwrap()["result"].clone();
        let all = if runs.is_empty() { ResultWord::Partial } else { word };
        prop_assert_eq!(&result["word"], &all.text().to_lowercase());
        prop_assert_eq!(result["exit_code"].as_u64(), Some(u64::from(document.result.exit_code)));
        let starts = format!("{} · ", all.text());
        prop_assert!(measured.headline().starts_with(&starts) || runs.is_empty());
        let html = html_study(&SavedStudy { study: measured, ..SavedStudy::default() });
        let needle = format!("\"word\":\"{}\"", all.text());
        prop_assert!(html.contains(&needle), "HTML has no {}", needle);
    }
}

fn begun(run: SavedRun, objectives: &[&str], accept: bool) -> SavedRun {
    let mut run = run;
    run.begin.objectives = objectives.iter().map(|text| text.parse().unwrap()).collect();
    run.begin.accept_not_enough_data = accept;
    run
}

/// Returns a search with one level.
fn search(found: Option<Found>, run: &SavedRun, outcome: Outcome) -> LoadLine {
    let level = Level::of(64.0, "levels/01-64", run, Some(outcome), true);
    LoadLine::of((LoadUnit::Concurrency, 1), Some(&run.begin), found, vec![level])
}

/// Returns the data embedded in an HTML report.
fn data(html: &str) -> serde_json::Value {
    let data = html.split_once("id=\"data\">").and_then(|(_, rest)| rest.split_once("</script>")).unwrap().0;
    serde_json::from_str(data).unwrap()
}

#[test]
fn a_search_has_one_result_in_all_forms() {
    let limited = common::client_limited();
    let missed = || Outcome::Failed { why: "response p99 <= 1ms".into() };
    let by_client = || Outcome::ClientLimited { why: "the backlog grows".into() };
    let (below, line) = (Found::Below { failed: 64 }, Found::Line { passed: 32, failed: 64 });
    for (found, outcome, word, code, tone) in [
        (Some(Found::AtLeast { passed: 64 }), Outcome::Passed, "PASS", 0, "good"),
        (Some(line), missed(), "PASS", 0, "good"),
        (Some(line), by_client(), "UNUSABLE", 3, "bad"),
        (Some(below), missed(), "FAIL", 1, "bad"),
        (Some(below), by_client(), "UNUSABLE", 3, "bad"),
        (Some(Found::Unsteady { failed: 64 }), missed(), "FAIL", 1, "bad"),
        (Some(Found::NotRecovered { passed: None, failed: 64 }), missed(), "FAIL", 1, "bad"),
        (Some(Found::Gone { passed: Some(32), failed: 64 }), missed(), "FAIL", 1, "bad"),
        (Some(Found::Interrupted { passed: None, signal: 2 }), Outcome::Passed, "PARTIAL", 130, "caution"),
        (None, Outcome::Passed, "PARTIAL", 0, "caution"),
    ] {
        let line = search(found, &limited, outcome);
        assert_eq!(line.result.word.text(), word, "{found:?}");
        let document = serde_json::to_value(&line).unwrap();
        assert_eq!(document["result"]["word"], word.to_lowercase(), "{found:?}");
        assert_eq!(document["result"]["exit_code"], code, "{found:?}");
        assert_eq!(document["result"]["reasons"].as_array().unwrap().is_empty(), word == "PASS", "{found:?}");
        let errors: Vec<_> = jsonschema::validator_for(&load_line::schema())
            .unwrap()
            .iter_errors(&document)
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{errors:?}");
        let shown = load_line::text(&line, &Style::default());
        assert_eq!(shown.lines().next(), Some(format!("{word} · {}", line.sentence()).as_str()));
        let overview = data(&html_line(&line, None))["overview"].clone();
        assert_eq!((&overview["word"], &overview["tone"]), (&word.into(), &tone.into()), "{found:?}");
        assert_eq!(overview["pieces"][0], line.sentence());
        let mut suite = Suite::default();
        suite.add_line(None, None, &line);
        let junit = junit(&suite);
        assert_eq!(junit.contains("<failure") || junit.contains("<error"), code != 0, "{found:?}: {junit}");
    }
}

/// If a level did not pass, but not because of the target, the sentence must not name the target as the reason.
#[test]
fn the_sentence_of_a_search_has_the_reason_for_its_upper_end() {
    let run = common::client_limited();
    let of = |outcome| search(Some(Found::Line { passed: 32, failed: 64 }), &run, outcome).sentence();
    let client = of(Outcome::ClientLimited { why: "the backlog grows".into() });
    assert_eq!(
        client,
        "LOAD LINE at least 32 in flight; at 64 in flight this client was the limit (the backlog grows)"
    );
    let open = of(Outcome::NotDecided { lack: Lack::Other, why: "the backlog may grow".into() });
    assert!(open.contains("64 in flight was not decided (the backlog may grow)"), "{open}");
    let few = Outcome::NotDecided { lack: Lack::Operations, why: "60 of 299 operations needed".into() };
    let none = search(Some(Found::Below { failed: 64 }), &run, few);
    assert_eq!((none.result.word, none.exit.code()), (ResultWord::Unusable, 3));
    assert_eq!(
        none.sentence(),
        "NO LOAD LINE: 64 in flight was not decided (60 of 299 operations needed); use a longer --level-max"
    );
    let failed = of(Outcome::Failed { why: "the backlog grows".into() });
    assert!(failed.starts_with("LOAD LINE 32 in flight passed; 64 in flight failed (the backlog grows)"), "{failed}");
}

#[test]
fn a_level_that_failed_by_its_backlog_has_no_first_missed_objective() {
    let run = begun(common::closed(), &["response p99.99 <= 1s", "response p50 <= 1us"], false);
    let why = |why: &str| {
        let line = search(Some(Found::Below { failed: 64 }), &run, Outcome::Failed { why: why.into() });
        data(&html_line(&line, None))["headline"][0].clone()
    };
    let grows = why("the backlog grows");
    assert_eq!((&grows["label"], &grows["detail"]), (&"failed".into(), &"the backlog grows".into()), "{grows}");
    let missed = why("response p50 <= 1us");
    assert_eq!(missed["label"], "first objective missed");
    assert_eq!(missed["value"], "response p50");
}

#[test]
fn an_accepted_lack_of_data_is_no_failure_even_if_an_objective_is_missed() {
    let objectives = ["response p50 <= 1us", "response p99.99 <= 1s"];
    let cases = |accept: bool| {
        let run = begun(common::concurrency(), &objectives, accept);
        assert_eq!(report::result::of(&run).word, ResultWord::Fail);
        let mut suite = Suite::default();
        suite.add_run(None, None, &run);
        suite.cases.into_iter().map(|case| case.outcome).collect::<Vec<_>>()
    };
    use report::ci::Outcome::{Failed, Skipped};
    assert!(matches!(cases(true).as_slice(), [Failed(_), Skipped(_)]), "{:?}", cases(true));
    assert!(matches!(cases(false).as_slice(), [Failed(_), Failed(_)]), "{:?}", cases(false));
}

#[test]
fn percentiles_that_stalls_lengthened_are_ranges_in_tables_of_runs() {
    let run = begun(common::open_late(), &["response p99 <= 1s", "success >= 1%"], true);
    let (low, high) = report::percentile::ends(&run.summary().all, measure::objective::Timed::Response, 0.99).unwrap();
    assert!(low < high, "the range has no length, so the test would check nothing");
    let range = report::percentile::between(Some(low as f64), high as f64);
    let measured = RunMetrics::of("", &run);
    assert_eq!((measured.response_p99_low_nanos, measured.response_p99_nanos), (Some(low), Some(high)));
    assert_eq!((measured.objectives[0].low, measured.objectives[0].value), (Some(low as f64), Some(high as f64)));
    assert_eq!(measured.objectives[1].low, measured.objectives[1].value);
    let runs = [run.clone(), run.clone()];
    let p99 = json_repeats(&runs).repeats.response_p99_nanos;
    assert_eq!((p99.median_low, p99.median), (Some(low as f64), Some(high as f64)));
    let level = search(Some(Found::AtLeast { passed: 64 }), &run, Outcome::Passed);
    let mut suite = Suite::default();
    suite.add_run(None, None, &run);
    let metrics = suite.cases[0].metrics.clone();
    let tables = [repeats(&runs, &Style::default()), load_line::text(&level, &Style::default())];
    for shown in tables.iter().chain([&metrics]) {
        assert!(shown.contains(&range), "no {range} in {shown}");
    }
    assert!(tables.iter().all(|shown| shown.contains("  a … b: delays of this client ")), "{tables:?}");
    let calm = [common::closed(), common::closed()];
    assert!(!repeats(&calm, &Style::default()).contains('…'));
}

#[test]
fn a_probe_without_result_is_not_suggested_again() {
    let because = |higher: Option<Probe>, lower: Option<Probe>| {
        let mut run = common::not_determined();
        run.summary.probes = Some(Probes { lower, higher });
        assert_eq!(report::limit::limited_by(&run), LimitedBy::NotDetermined);
        report::limit::reason_text(&report::limit::of(&run).reason)
    };
    let probe =
        |slots, operations, client_limited| Some(Probe { slots, operations, per_second: 100.0, client_limited });
    let limited = because(probe(16, 1000, true), probe(4, 1000, false));
    assert!(limited.ends_with("in the probe with 16 slots, this client was the limit"), "{limited}");
    let few = because(probe(16, 7, false), probe(4, 9, false));
    assert!(few.contains("too few operations succeeded in the probe with 16 slots (7)"), "{few}");
    assert!(because(None, None).ends_with("no level of the probe could be measured"));
    for because in [limited, few] {
        assert!(!because.contains("run again"), "{because}");
    }
    assert!(
        report::limit::reason_text(&report::limit::of(&common::not_determined()).reason).contains("or with `--probe`")
    );
}

#[test]
fn a_late_emulator_matters_only_if_it_changes_the_response_times() {
    // The responses take 95 ms.
    let late = |millis| common::late_path(Duration::from_millis(millis));
    let word = |run: &SavedRun| report::result::of(run).word;
    assert_eq!(word(&late(3)), ResultWord::Pass);
    assert_eq!(word(&late(6)), ResultWord::Unusable);
    let overloaded =
        |run| serde_json::to_value(json(&run)).unwrap()["path"]["carried_down"]["emulator_overloaded"].clone();
    assert_eq!((overloaded(late(3)), overloaded(late(6))), (false.into(), true.into()));
}
