//! Tests of studies with made-up trials.

use super::*;
use crate::run_metrics::RunMetrics;
use crate::text::{Style, columns};
use measure::{AttemptClass, ExitStatus, ResultWord};

/// Returns a trial of one cell. The trial misses its objective in every second repeat.
pub(crate) fn trial(target: &str, repeat: u32, goodput: f64) -> Trial {
    Trial {
        cell: "range 1MiB".to_owned(),
        target: target.to_owned(),
        repeat,
        ttfb_p95_nanos: Some(500_000),
        ttfb_p95_low_nanos: Some(500_000),
        metrics: RunMetrics {
            ok_per_second: Some(10.0),
            goodput_bytes_per_second: Some(goodput),
            success_share: Some(1.0),
            response_p50_nanos: Some(1_000_000),
            response_p50_low_nanos: Some(1_000_000),
            response_p99_nanos: Some(2_000_000),
            response_p99_low_nanos: Some(2_000_000),
            objectives: Vec::new(),
            first_missed: (repeat == 2).then(|| "success >= 99%".to_owned()),
            limited_by: "target".to_owned(),
            pace_set_by: None,
            directory: String::new(),
        },
        result: ResultWord::Pass,
        exit: ExitStatus::Good,
        attempts: 100,
        failures: vec![FailedAttempts { class: AttemptClass::Http5xx, attempts: u64::from(repeat - 1) }],
        notes: Vec::new(),
        fleet: None,
        values: TrialValues::default(),
    }
}

#[test]
fn targets_are_compared_with_the_first_one_repeat_by_repeat() {
    let trials = [trial("a", 1, 100.0), trial("b", 1, 50.0), trial("b", 2, 180.0), trial("a", 2, 200.0)];
    let text = text(&trials, &Order::default());
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines[1].contains("range 1MiB") && lines[1].contains("150 B/s"), "{text}");
    assert!(lines[2].contains("0.67 × (0.50 … 0.90)") && lines[2].contains("1 of 2 not met: success >= 99%"), "{text}");
}

#[test]
fn the_first_target_is_that_of_the_scenario_whichever_was_measured_first() {
    let trials = [trial("b", 1, 50.0), trial("a", 1, 100.0)];
    let text = text(&trials, &Order { cells: Vec::new(), targets: vec!["a", "b"] });
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[1].contains(" a ") && lines[2].contains("0.50 ×"), "{text}");
}

#[test]
fn a_median_of_ranges_is_a_range() {
    let mut stalled = trial("a", 2, 100.0);
    (stalled.metrics.response_p99_low_nanos, stalled.metrics.response_p99_nanos) = (Some(4_000_000), Some(8_000_000));
    let trials = [trial("a", 1, 100.0), stalled];
    let text = text(&trials, &Order::default());
    assert!(text.contains("3.00 … 5.00 ms") && text.contains("\n  a … b: delays of this client "), "{text}");
    assert!(!super::text(&trials[..1], &Order::default()).contains('…'));
}

#[test]
fn the_document_begins_with_the_result_of_all_trials() {
    let failed = Trial { result: ResultWord::Fail, exit: ExitStatus::Failed, ..trial("a", 2, 100.0) };
    let mut study = Study { planned: 2, trials: vec![trial("a", 1, 100.0), failed], ..Study::default() };
    let document = |study: &Study| serde_json::to_value(study).unwrap()["result"].clone();
    let texts = |reasons: &[(&str, &str)]| -> Vec<_> {
        reasons.iter().map(|(name, text)| serde_json::json!({ "name": name, "text": text })).collect()
    };
    let fail = ("fail", "FAIL in 1 of 2 trials");
    let wanted = serde_json::json!({ "word": "fail", "exit_code": 1, "reasons": texts(&[fail]) });
    assert_eq!(document(&study), wanted);
    study.planned = 3;
    let missing = ("missing", "1 of 3 trials missing");
    let wanted = serde_json::json!({ "word": "fail", "exit_code": 1, "reasons": texts(&[fail, missing]) });
    assert_eq!(document(&study), wanted);
    assert!(study.headline().starts_with("FAIL · "));
    let interrupted = Study { broken_off: Some(ExitStatus::Interrupted(15)), ..study.clone() };
    assert_eq!(document(&interrupted)["exit_code"], 143);
    study.trials.truncate(1);
    assert_eq!((document(&study)["word"].as_str(), study.result()), (Some("partial"), ResultWord::Partial));
    let validator = jsonschema::validator_for(&schema()).unwrap();
    assert!(validator.is_valid(&serde_json::to_value(&study).unwrap()));
}

#[test]
fn a_trial_without_success_stays_in_its_pair() {
    let mut failed = trial("b", 2, 0.0);
    (failed.metrics.goodput_bytes_per_second, failed.metrics.ok_per_second) = (Some(0.0), Some(0.0));
    let trials = [trial("a", 1, 100.0), trial("b", 1, 50.0), failed.clone(), trial("a", 2, 200.0)];
    assert!(text(&trials, &Order::default()).contains("0.25 × (0.00 … 0.50)"), "{}", text(&trials, &Order::default()));
    let order = Order { cells: Vec::new(), targets: vec!["b", "a"] };
    assert!(text(&trials, &order).contains("∞ × (2.00 … ∞)"), "{}", text(&trials, &order));
}

/// Returns a name without spaces, which is wider than any terminal.
pub(crate) fn long_name(letter: &str) -> String {
    letter.repeat(200)
}

/// Checks that all lines of a short report fit on narrow terminals.
pub(crate) fn fits(what: &str, short_text: impl Fn(&Style) -> String) {
    for width in [60, 80] {
        let text = short_text(&Style { width, color: false });
        let wide: Vec<&str> = text.lines().filter(|line| columns(line) > width).collect();
        assert!(!text.is_empty() && wide.is_empty(), "{what} at {width}: {wide:#?}");
    }
}

#[test]
fn tables_of_trials_fit_with_long_names() {
    let named = |target: &str, repeat| Trial { cell: long_name("c"), ..trial(&long_name(target), repeat, 50.0) };
    let mut trials = [named("a", 1), named("b", 1), named("b", 2), trial("b", 1, 1e9), trial("a", 1, 1e9)];
    for trial in &mut trials {
        (trial.metrics.response_p99_low_nanos, trial.ttfb_p95_low_nanos) = (Some(1_234_000), Some(123_000));
        trial.metrics.limited_by = long_name("l");
    }
    let order = Order::default();
    fits("trials", |style| short_text(&trials, &order, style));
    let text = short_text(&trials[3..], &order, &Style { width: 60, color: false });
    assert!(text.contains("vs. first") && text.contains("1.00 ×"), "{text}");
    let joined = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let one_line = joined(text.clone());
    assert!(text.contains("left out to keep lines short: p50") && one_line.contains("(see --full)"), "{text}");
    let study = Study { planned: 100_000, trials: trials.to_vec(), ..Study::default() };
    fits("headline", |style| study.fitting_headline(style));
    let wide = Style { width: 1000, color: false };
    assert_eq!(joined(study.fitting_headline(&wide)), joined(study.headline()));
}
