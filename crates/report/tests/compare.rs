//! Comparisons of simulated runs, of which the truth is known, against files that were read by a person. `UPDATE_GOLDEN=1` writes
//! them anew.

#[expect(dead_code, reason = "the cases are the golden files' own")]
mod common;

use common::{MS, Op, SECOND, Texts, begin, ended, simulate};
use measure::random::Random;
use measure::recorder::Pacing;
use measure::statistics::difference::Conclusion;
use measure::statistics::{Windows, normal};
use measure::{Instant, Model, Timeline};
use report::compare::{ComparedRun, Comparison, Figure, Scope, Sides, Unusable, unlike, unusable};
use report::{JsonComparison, Style, comparison, comparison_schema, json_comparison};
use std::fs;
use std::path::Path;
use std::time::Duration;
use store::{EndReason, SavedRun};

/// A closed run of 4 slots: answers take about 20 ms, times `slower`, with noise from answer to answer and from second to second.
fn run(name: &str, seed: u64, seconds: u64, slower: f64) -> ComparedRun {
    let mut random = Random::new(seed);
    let levels: Vec<f64> = (0..=seconds).map(|_| 0.01 * normal::quantile(random.unit())).collect();
    let mut ops = Vec::new();
    for slot in 0..4 {
        let mut now = slot * MS;
        while now < seconds * SECOND {
            let noise = levels[(now / SECOND) as usize] + 0.05 * normal::quantile(random.unit());
            let length = (20e6 * slower * noise.exp()) as u64;
            ops.push(Op::ok(now, now + length, 10_240));
            now += length + 1000;
        }
    }
    let timeline = Timeline::new(Instant::ZERO, Duration::ZERO, Some(Duration::from_secs(seconds)));
    let texts = Texts { url: "http://localhost:8080/object", detail: "" };
    let mut intervals = simulate(timeline, Pacing::Immediate, &ops, &[], &texts);
    for interval in &mut intervals {
        interval.client.cpu_nanos = 9000 * interval.stats.measured.ok + random.bits() % 100_000;
    }
    let begin =
        begin(Model::Closed { concurrency: 4 }, &format!("closed, 4 slots, {seconds}s"), Some(seconds * SECOND));
    let saved = SavedRun::of(begin, &intervals, Some(ended(EndReason::Completed, seconds * SECOND + 30 * MS)));
    let mut windows = Windows::default();
    intervals.iter().for_each(|interval| windows.add(interval));
    ComparedRun { name: name.to_owned(), run: saved, windows }
}

fn runs(name: &str, seed: u64, count: u64, slower: f64) -> Vec<ComparedRun> {
    let mut random = Random::new(seed);
    let one = |number| {
        let level = (0.003 * normal::quantile(random.unit())).exp();
        run(&format!("{name}/{number}"), seed * 100 + number, 3, slower * level)
    };
    (1..=count).map(one).collect()
}

fn check(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, found).unwrap();
        return;
    }
    let wanted = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(wanted, found, "{}: UPDATE_GOLDEN=1 writes it anew", path.display());
}

fn conclusion(compared: &Comparison<'_>, figure: Figure) -> Conclusion {
    let row = compared.rows.iter().find(|row| row.figure == figure);
    row.unwrap_or_else(|| panic!("no {figure}")).conclusion
}

fn shown(compared: &Comparison<'_>) -> String {
    let document = serde_json::to_value(json_comparison(compared)).unwrap();
    let validator = jsonschema::validator_for(&comparison_schema()).unwrap();
    let errors: Vec<_> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let back: JsonComparison = serde_json::from_value(document.clone()).unwrap();
    assert_eq!(serde_json::to_value(back).unwrap(), document);
    let text = comparison(compared, &Style::default());
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    text
}

#[test]
fn one_run_a_side_is_judged_by_its_seconds() {
    let (base, slower, same) = ([run("base", 1, 60, 1.0)], [run("slower", 2, 60, 1.05)], [run("same", 3, 60, 1.0)]);
    let compared = Comparison::of(&base, &slower, Sides::BaseAndNew, 0.02);
    assert_eq!((compared.scope, compared.conclusion()), (Scope::WithinRuns, Conclusion::Worse), "{:?}", compared.rows);
    for figure in [Figure::Rate, Figure::Goodput, Figure::ResponseP50, Figure::ResponseP90] {
        assert_eq!(conclusion(&compared, figure), Conclusion::Worse, "{figure}");
    }
    assert_eq!(conclusion(&compared, Figure::Success), Conclusion::Equivalent);
    check("compare_within.txt", &shown(&compared));
    let compared = Comparison::of(&slower, &base, Sides::BaseAndNew, 0.02);
    assert_eq!(compared.conclusion(), Conclusion::Better);
    let compared = Comparison::of(&base, &same, Sides::BaseAndNew, 0.02);
    assert_eq!(compared.count(Conclusion::Worse) + compared.count(Conclusion::Better), 0, "{:?}", compared.rows);
    assert_eq!(conclusion(&compared, Figure::ResponseP50), Conclusion::Equivalent);
}

#[test]
fn several_runs_a_side_count_once_each() {
    let (base, slower) = (runs("base", 11, 6, 1.0), runs("slower", 12, 6, 1.05));
    let compared = Comparison::of(&base, &slower, Sides::BaseAndNew, 0.02);
    assert_eq!((compared.scope, compared.conclusion()), (Scope::AcrossRuns, Conclusion::Worse), "{:?}", compared.rows);
    assert_eq!((conclusion(&compared, Figure::ResponseP50), compared.runs_missing()), (Conclusion::Worse, None));
    check("compare_across.txt", &shown(&compared));
    let few = Comparison::of(&base[..4], &slower[..4], Sides::BaseAndNew, 0.02);
    assert_eq!((few.conclusion(), few.runs_missing().is_some()), (Conclusion::Inconclusive, true), "{:?}", few.rows);
    assert!(shown(&few).contains("too few runs"), "{}", shown(&few));
    let halves = Comparison::of(&base[..3], &base[3..], Sides::Halves, 0.02);
    assert!(shown(&halves).starts_with("NOISE · "), "{}", shown(&halves));
}

#[test]
fn short_runs_have_no_interval() {
    let (base, new) = ([run("base", 21, 10, 1.0)], [run("new", 22, 10, 2.0)]);
    let compared = Comparison::of(&base, &new, Sides::BaseAndNew, 0.02);
    assert_eq!(compared.conclusion(), Conclusion::Inconclusive);
    assert!(shown(&compared).contains("an interval needs 20 s"), "{}", shown(&compared));
}

#[test]
fn unlike_and_unusable_runs_are_told() {
    let one = run("one", 31, 1, 1.0).run;
    assert_eq!((unlike(&one, &one), unusable(&one)), (Vec::new(), None));
    let differs = |change: fn(&mut store::Begin)| {
        let mut other = one.clone();
        change(&mut other.begin);
        unlike(&one, &other)
    };
    let elsewhere = differs(|begin| begin.targets = vec!["https://other:1/object".into()]);
    assert!(elsewhere.is_empty(), "{elsewhere:?}");
    assert!(differs(|begin| begin.version = "9.9.9".into()).is_empty());
    assert!(differs(|begin| begin.settings.push(("proxy".into(), "http://p".into()))).is_empty());
    let path = differs(|begin| begin.targets = vec!["http://localhost:8080/other".into()]);
    assert_eq!(path, ["paths: `/object` and `/other`"]);
    let host = differs(|begin| begin.host.name = "bench-2".into());
    assert_eq!(host, ["client's host: `bench-1` and `bench-2`"]);
    let method = differs(|begin| begin.settings.push(("method".into(), "PUT\u{1b}[2J".into())));
    assert!(method.len() == 1 && method[0].starts_with("method: none and `PUT") && !method[0].contains('\u{1b}'));
    assert!(!differs(|begin| begin.model = Model::Open { in_flight_max: 4 }).is_empty());
    assert_eq!(unusable(&common::invalid()), Some(Unusable::Invalid));
    assert!(matches!(unusable(&common::client_limited()), Some(Unusable::Limited(_))));
    assert_eq!(unusable(&common::begin_only()), Some(Unusable::NoWindow));
}
