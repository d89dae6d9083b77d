//! Tests of all formats with runs of every kind. The output is compared with golden files that a person has read.
//! `UPDATE_GOLDEN=1` rewrites the golden files.

use crate::common;
use crate::common::{HOSTILE, cases};
use measure::ResultWord;
use measure::result::load_line::Outcome;
use measure::stats::Dimension;
use measure::{Label, LimitedBy};
use report::ci::{Suite, annotations, junit};
use report::json::{LabelKind, QuantileState};
use report::load_line::Level;
use report::{
    JsonRepeats, JsonReport, SHORT_LINES_MAX, Style, comparison_schema, json, json_repeats, other_tools,
    repeats_schema, schema, short_text, text,
};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn check(path: &Path, found: &str) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, found).unwrap();
        return;
    }
    let wanted = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let differing = wanted.lines().zip(found.lines()).position(|(wanted, found)| wanted != found);
    let line = differing.unwrap_or_else(|| wanted.lines().count().min(found.lines().count()));
    let at = |text: &str| text.lines().nth(line).unwrap_or("(end)").to_owned();
    assert!(
        wanted == found,
        "{} line {}:\n  kept:  {}\n  found: {}\nUPDATE_GOLDEN=1 rewrites it",
        path.display(),
        line + 1,
        at(&wanted),
        at(found)
    );
}

#[test]
fn texts_match_the_golden_files() {
    for (name, run) in cases() {
        check(&golden(&format!("{name}.txt")), &text(&run, &Style::default()));
    }
}

#[test]
fn short_texts_match_the_golden_files_and_fit_on_a_screen() {
    for (name, run) in cases() {
        let found = short_text(&run, &Style::default());
        check(&golden(&format!("{name}.short.txt")), &found);
        assert!(found.lines().count() <= SHORT_LINES_MAX, "{name} has {} lines", found.lines().count());
        assert!(found.lines().all(|line| line.chars().count() <= 80), "{name} is too wide:\n{found}");
    }
}

#[test]
fn output_of_other_tools_matches_the_golden_files() {
    for (name, run) in cases() {
        check(&golden(&format!("{name}.ab.txt")), &other_tools::ab(&run));
        check(&golden(&format!("{name}.httpbench.txt")), &other_tools::httpbench(&run));
    }
}

#[test]
fn the_published_schema_is_the_one_in_use() {
    for (name, schema) in [
        ("report", schema()),
        ("repeats", repeats_schema()),
        ("comparison", comparison_schema()),
        ("line", report::load_line::schema()),
        ("study", report::study::schema()),
        ("prepare", report::prepared_schema()),
        ("cleanup", report::cleaned_schema()),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/schema/{name}.schema.json"));
        check(&path, &(serde_json::to_string_pretty(&schema).unwrap() + "\n"));
    }
}

#[test]
fn runs_of_the_same_load_make_one_document() {
    let validator = jsonschema::validator_for(&repeats_schema()).unwrap();
    let runs: Vec<_> = cases().into_iter().map(|(_, run)| run).collect();
    for runs in [&runs[..], &runs[..1], &[]] {
        let document = serde_json::to_value(json_repeats(runs)).unwrap();
        let errors: Vec<_> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}");
        assert_eq!(document["runs"].as_array().map(Vec::len), Some(runs.len()));
        let back: JsonRepeats = serde_json::from_value(document.clone()).unwrap();
        assert_eq!(serde_json::to_value(back).unwrap(), document);
    }
    let one = json_repeats(&runs[..1]);
    assert_eq!(one.repeats.ok_per_second.median, runs[0].summary().ok_rate());
}

#[test]
fn every_report_fits_the_schema_and_can_be_read_back() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for (name, run) in cases() {
        let report = serde_json::to_value(json(&run)).unwrap();
        let errors: Vec<_> = validator.iter_errors(&report).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
        let back: JsonReport = serde_json::from_value(report.clone()).unwrap();
        assert_eq!(serde_json::to_value(back).unwrap(), report, "{name}");
        if name == "one_sample" {
            check(&golden("one_sample.json"), &(serde_json::to_string_pretty(&report).unwrap() + "\n"));
        }
    }
    let mut wrong = serde_json::to_value(json(&common::one_sample())).unwrap();
    wrong["operations"]["ok"] = Value::from("many");
    assert!(!validator.is_valid(&wrong), "the schema accepts a wrong document");
}

#[test]
fn no_line_is_wider_than_asked() {
    for (name, run) in cases() {
        for width in [80, 100, 140] {
            let shown = text(&run, &Style { width, color: false });
            let wide: Vec<_> =
                shown.lines().filter(|line| line.chars().count() > width && !line.contains("://")).collect();
            assert!(wide.is_empty(), "{name} at {width}: {wide:#?}");
            assert!(shown.lines().all(|line| line.trim_end() == line), "{name}: trailing spaces");
        }
    }
}

#[test]
fn color_adds_nothing_but_color() {
    let run = common::closed();
    let plain = text(&run, &Style::default());
    let colored = text(&run, &Style { color: true, ..Style::default() });
    assert!(colored.starts_with("\u{1b}[1;32mPASS\u{1b}[0m · "), "{colored}");
    let mut stripped = colored;
    for code in ["\u{1b}[1;32m", "\u{1b}[1m", "\u{1b}[0m"] {
        stripped = stripped.replace(code, "");
    }
    assert_eq!(stripped, plain);
}

#[test]
fn hostile_text_reaches_no_terminal() {
    for run in [common::hostile(), common::agents_lost(), common::part_of_fleet()] {
        let report = serde_json::to_string(&json(&run)).unwrap();
        for shown in [text(&run, &Style::default()), short_text(&run, &Style::default()), other_tools::ab(&run), report]
        {
            let bad: Vec<char> = shown
                .chars()
                .filter(|c| (c.is_control() && *c != '\n') || HOSTILE.contains(*c) && !c.is_ascii())
                .collect();
            assert!(bad.is_empty(), "{bad:?}");
            assert!(!shown.contains(&"A".repeat(257)), "bounded");
        }
        assert!(text(&run, &Style::default()).contains("evil\\u{1b}]0;owned\\u{7}"));
    }
}

#[test]
fn results_are_those_of_the_cases() {
    let mut wrong = Vec::new();
    for (name, run) in cases() {
        let wanted = match name {
            "counters_disagree" | "other_path" => "UNUSABLE",
            "partial" | "begin_only" | "interrupted" | "agents_lost" => "PARTIAL",
            "all_failed" | "open_stall" | "nothing_ended" | "hostile" => "FAIL",
            _ => "PASS",
        };
        let result = report::result::of(&run);
        let shown = text(&run, &Style::default());
        if result.word.text() != wanted || !shown.starts_with(&format!("{wanted} · ")) {
            wrong.push(format!("{name} should be {wanted}: {shown:.300}"));
        }
        assert_eq!(json(&run).result.exit_code, result.exit.code());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Every format of the report, and the exit code, show the same result.
#[test]
fn every_form_shows_the_same_result() {
    for (name, run) in cases() {
        let result = report::result::of(&run);
        let (word, code) = (result.word.text(), result.exit.code());
        assert!(text(&run, &Style::default()).starts_with(&format!("{word} ·")), "{name}");
        assert_eq!(serde_json::to_value(json(&run)).unwrap()["result"]["word"], word.to_lowercase(), "{name}");
        assert!(report::html(&run).contains(&format!("\"word\":\"{word}\"")), "{name}");
        let mut suite = Suite::default();
        suite.add_run(None, None, &run);
        let junit = junit(&suite);
        assert_eq!(junit.contains("<failure") || junit.contains("<error"), code != 0, "{name}: exit {code}, {junit}");
        assert_eq!(annotations(&suite).contains("::error"), code != 0, "{name}");
    }
}

#[test]
fn every_limit_is_shown_with_its_reason() {
    let wanted = [
        ("closed", LimitedBy::NotDetermined),
        ("not_determined", LimitedBy::NotDetermined),
        ("emulated_path", LimitedBy::Link),
        ("other_path", LimitedBy::Emulator),
        ("probed", LimitedBy::Target),
        ("open_stall", LimitedBy::Target),
        ("client_limited", LimitedBy::ClientCpu),
        ("open_late", LimitedBy::ClientCpu),
        ("client_nic", LimitedBy::ClientNic),
        ("link_full", LimitedBy::Link),
        ("shared_host", LimitedBy::SharedHost),
        ("concurrency", LimitedBy::Concurrency),
        ("rate", LimitedBy::Rate),
        ("one_sample", LimitedBy::Unknown),
    ];
    let cases = cases();
    for (name, limit) in wanted {
        let (_, run) = cases.iter().find(|(case, _)| *case == name).unwrap();
        assert_eq!(report::limit::limited_by(run), limit, "{name}");
        let report = json(run);
        assert_eq!(report.limited_by, limit, "{name}");
        // Lines may be wrapped, so compare words.
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let shown = words(&text(run, &Style::default()));
        assert!(shown.contains("limited by: ") && shown.contains(&words(&report.limit_reason)), "{name}: {shown}");
    }
}

#[test]
fn the_limit_of_operations_in_flight_is_named() {
    let run = common::open_stall();
    let shown = text(&run, &Style::default());
    assert!(shown.contains("limited by: target (in-flight limit of 400 reached)"), "{shown}");
    let because = json(&run).limit_reason;
    for part in ["in-flight limit 400", "600 operations waited", "100 were never started", "too slow for"] {
        assert!(because.contains(part), "{because}");
    }
    assert!(
        !text(&common::rate(), &Style::default()).contains("in-flight limit of"),
        "names a limit that was not reached"
    );
}

#[test]
fn the_line_of_the_load_shows_stages_and_warm_up_once() {
    let shown = text(&common::rate(), &Style::default());
    let line = "  stages          from 100/s: 4s:100 → 0s:200 → 6s:200 (time:level at its end)\n";
    assert!(shown.contains(line), "{shown}");
    let levels = json(&common::rate()).setup.levels.unwrap();
    let stages: Vec<_> = levels.stages.iter().map(|stage| (stage.length_nanos / common::SECOND, stage.level)).collect();
    assert_eq!((levels.from, stages), (100.0, vec![(4, 100.0), (0, 200.0), (6, 200.0)]));
    let shown = text(&common::closed(), &Style::default());
    let load = shown.lines().find(|line| line.starts_with("  load ")).unwrap();
    assert_eq!(load.matches("warm-up").count(), 1, "{load}");
    assert!(json(&common::closed()).setup.levels.is_none());
}

#[test]
fn labels_without_a_row_are_noted() {
    let names = |run: &store::SavedRun| json(run).notes.into_iter().map(|note| note.name).collect::<Vec<_>>();
    let mut run = common::many_labels();
    assert!(names(&run).contains(&"other_labels".to_owned()));
    assert!(text(&run, &Style::default()).contains("each thread lists at most 64 values"));
    run.summary.stats.groups.retain(|group| group.label != Label::Other);
    assert!(!names(&run).contains(&"other_labels".to_owned()));
}

#[test]
fn values_of_a_server_differ_from_absent_values() {
    let mut run = common::many_labels();
    let groups = &mut run.summary.stats.groups;
    groups.retain(|group| group.dimension == Dimension::Header);
    let values = ["(absent)", "other", "(other)", "\"(absent)\""].map(|text| Label::Value(text.into()));
    let labels: Vec<Label> = values.into_iter().chain([Label::Absent, Label::Other]).collect();
    groups.truncate(labels.len());
    groups.iter_mut().zip(&labels).for_each(|(group, label)| group.label = label.clone());
    let shown = text(&run, &Style::default());
    let rows = ["\"(absent)\"", "other", "\"(other)\"", "\"\"(absent)\"\"", "(absent)", "(other)"];
    let firsts: Vec<_> = shown.lines().filter_map(|line| line.split_whitespace().next()).collect();
    for row in rows {
        assert_eq!(firsts.iter().filter(|first| **first == row).count(), 1, "{row}: {shown}");
    }
    let kinds: Vec<_> = json(&run).groups.into_iter().map(|group| (group.label, group.kind)).collect();
    assert_eq!(kinds.iter().filter(|(label, _)| label == "(absent)").count(), 2);
    assert!(
        kinds.contains(&("(absent)".into(), LabelKind::Value))
            && kinds.contains(&("(absent)".into(), LabelKind::Absent))
    );
    assert!(kinds.contains(&("other".into(), LabelKind::Value)) && kinds.contains(&("other".into(), LabelKind::Other)));
}

#[test]
fn a_limited_client_makes_a_closed_rate_a_lower_bound() {
    let run = common::client_limited();
    assert_eq!(report::limit::limited_by(&run), LimitedBy::ClientCpu);
    let shown = text(&run, &Style::default());
    let first = shown.lines().next().unwrap();
    assert!(first.starts_with("PASS · at least ") && first.contains(" requests/s"), "{first}");
    assert!(shown.contains("limited by: client CPU"), "{shown}");
    assert!(!text(&common::closed(), &Style::default()).contains("at least"));
}

#[test]
fn failed_and_unfinished_operations_stay_in_the_percentiles_with_failures() {
    let report = json(&common::open_stall());
    let states: Vec<_> =
        report.times.response_with_failures.iter().map(|quantile| (quantile.q, quantile.state)).collect();
    let state = |q: f64| states.iter().find(|(at, _)| *at == q).unwrap().1;
    // 9,500 operations ended, 400 were unfinished, and 100 were dropped.
    assert_eq!(state(0.95), QuantileState::Value);
    assert_eq!(state(0.98), QuantileState::LongerThan);
    assert_eq!(state(0.999), QuantileState::Failed);
    assert_eq!((report.operations.dropped, report.operations.unfinished), (100, 400));
    assert_eq!(json(&common::all_failed()).times.response_with_failures[0].state, QuantileState::Failed);
    assert_eq!(json(&common::counters_disagree()).result.word, ResultWord::Unusable);
}

#[test]
fn too_few_samples_show_no_percentile() {
    let shown = text(&common::one_sample(), &Style::default());
    for needed in ["n/a (needs 5)", "n/a (needs 299)", "n/a (needs 2,995)", "n/a (needs 29,956)"] {
        assert!(shown.contains(needed), "{needed} is missing in\n{shown}");
    }
}

#[test]
fn a_host_whose_client_limited_a_level_is_named() {
    let level = |limit: LimitedBy| {
        let mut run = common::fleet();
        let fleet = run.end.as_mut().and_then(|end| end.fleet.as_mut()).unwrap();
        fleet.agents[1].limited_by = limit;
        Level::of(8.0, "levels/01-8", &run, Some(Outcome::Passed), true)
    };
    let limited = level(LimitedBy::ClientCpu);
    assert_eq!((limited.limited_by_client, &*limited.metrics.limited_by), (true, "client CPU (host client-2)"));
    let by_target = level(LimitedBy::Target);
    assert!(!by_target.limited_by_client && !by_target.metrics.limited_by.contains("client-2"));
}
