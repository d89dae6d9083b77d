//! Comparisons of simulated runs with a known true difference. The output is compared with golden files that a person
//! has read. `UPDATE_GOLDEN=1` rewrites the golden files.

use crate::common;
use crate::common::simulation::{Op, Texts, begin, ended, simulate};
use crate::common::{MS, SECOND};
use measure::recorder::Pacing;
use measure::statistics::difference::Conclusion;
use measure::statistics::normal;
use measure::summary::Windows;
use measure::values::random::Random;
use measure::{AttemptClass, Cause, Instant, Interval, Model, OpKind, Phase, Timeline};
use report::compare::{
    ComparedRun, Comparison, ComparisonMetric, Scope, Sides, all_differences, client_limited_side, is_usable,
    run_differences,
};
use report::{JsonComparison, Style, comparison, comparison_schema, json_comparison};
use std::fs;
use std::path::Path;
use std::time::Duration;
use store::{EndReason, SavedRun};

/// Returns a closed run with 4 slots. Responses take about 20 ms times `slower`, with noise in each response and in
/// each second.
fn run(name: &str, seed: u64, seconds: u64, slower: f64) -> ComparedRun {
    run_with(name, seed, seconds, slower, |_| {})
}

/// Like [`run`], but `edit` changes each interval.
fn run_with(name: &str, seed: u64, seconds: u64, slower: f64, edit: impl Fn(&mut Interval)) -> ComparedRun {
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
    made_with(name, seconds, &ops, edit)
}

/// Returns a closed run with these operations.
fn made(name: &str, seconds: u64, ops: &[Op]) -> ComparedRun {
    made_with(name, seconds, ops, |_| {})
}

/// Like [`made`], but `edit` changes each interval.
fn made_with(name: &str, seconds: u64, ops: &[Op], edit: impl Fn(&mut Interval)) -> ComparedRun {
    let mut random = Random::new(ops.len() as u64);
    let timeline = Timeline::new(Instant::ZERO, Duration::ZERO, Some(Duration::from_secs(seconds)));
    let texts = Texts { url: "http://localhost:8080/object", detail: "" };
    let mut intervals = simulate(timeline, Pacing::Immediate, ops, &[], &texts);
    for interval in &mut intervals {
        interval.client.cpu_nanos = 9000 * interval.stats.measured.ok + random.bits() % 100_000;
        edit(interval);
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
    assert_eq!(wanted, found, "{}: UPDATE_GOLDEN=1 rewrites it", path.display());
}

fn conclusion(compared: &Comparison<'_>, metric: ComparisonMetric) -> Conclusion {
    let row = compared.rows.iter().find(|row| row.metric == metric);
    row.unwrap_or_else(|| panic!("no {metric}")).conclusion
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
fn one_run_per_side_is_judged_by_its_seconds() {
    let (base, slower, same) = ([run("base", 1, 60, 1.0)], [run("slower", 2, 60, 1.05)], [run("same", 3, 60, 1.0)]);
    let compared = Comparison::of(&base, &slower, Sides::BaseAndNew, 0.02);
    assert_eq!((compared.scope, compared.conclusion()), (Scope::WithinRuns, Conclusion::Worse), "{:?}", compared.rows);
    for metric in [
        ComparisonMetric::Rate,
        ComparisonMetric::Goodput,
        ComparisonMetric::ResponseP50,
        ComparisonMetric::ResponseP90,
    ] {
        assert_eq!(conclusion(&compared, metric), Conclusion::Worse, "{metric}");
    }
    assert_eq!(conclusion(&compared, ComparisonMetric::Success), Conclusion::Equivalent);
    check("compare_within.txt", &shown(&compared));
    let compared = Comparison::of(&slower, &base, Sides::BaseAndNew, 0.02);
    assert_eq!(compared.conclusion(), Conclusion::Better);
    let compared = Comparison::of(&base, &same, Sides::BaseAndNew, 0.02);
    assert_eq!(compared.count(Conclusion::Worse) + compared.count(Conclusion::Better), 0, "{:?}", compared.rows);
    assert_eq!(conclusion(&compared, ComparisonMetric::ResponseP50), Conclusion::Equivalent);
}

#[test]
fn several_runs_per_side_count_once_each() {
    let (base, slower) = (runs("base", 11, 6, 1.0), runs("slower", 12, 6, 1.05));
    let compared = Comparison::of(&base, &slower, Sides::BaseAndNew, 0.02);
    assert_eq!((compared.scope, compared.conclusion()), (Scope::AcrossRuns, Conclusion::Worse), "{:?}", compared.rows);
    assert_eq!(
        (conclusion(&compared, ComparisonMetric::ResponseP50), compared.runs_missing()),
        (Conclusion::Worse, None)
    );
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
fn differing_and_unusable_runs_are_named() {
    let one = run("one", 31, 1, 1.0).run;
    assert_eq!((run_differences(&one, &one), is_usable(&one)), (Vec::new(), Ok(())));
    let differs = |change: fn(&mut store::Begin)| {
        let mut other = one.clone();
        change(&mut other.begin);
        run_differences(&one, &other)
    };
    let elsewhere = differs(|begin| begin.targets = vec!["http://other:1/object".into()]);
    assert!(elsewhere.is_empty(), "{elsewhere:?}");
    assert!(differs(|begin| begin.version = "9.9.9".into()).is_empty());
    assert!(differs(|begin| begin.settings.push(("proxy".into(), "http://p".into()))).is_empty());
    let path = differs(|begin| begin.targets = vec!["http://localhost:8080/other".into()]);
    assert_eq!(path, ["paths (`/object` and `/other`)"]);
    let host = differs(|begin| begin.host.name = "bench-2".into());
    assert_eq!(host, ["client's host (`bench-1` and `bench-2`)"]);
    let method = differs(|begin| begin.settings.push(("method".into(), "PUT\u{1b}[2J".into())));
    assert!(method.len() == 1 && method[0].starts_with("method (none and `PUT") && !method[0].contains('\u{1b}'));
    assert!(!differs(|begin| begin.model = Model::Open { in_flight_max: 4 }).is_empty());
    let named = |change: fn(&mut store::Begin)| differs(change).join("; ");
    assert_eq!(named(|begin| begin.seed = 7), "seed (`42` and `7`)");
    assert_eq!(
        named(|begin| begin.targets = vec!["https://localhost:8080/object".into()]),
        "protocol (`http` and `https`)"
    );
    assert_eq!(named(|begin| begin.loopback = !begin.loopback), "host of the target (`this host` and `another host`)");
    assert_eq!(named(|begin| begin.insecure = true), "certificates (`checked` and `not checked`)");
    assert_eq!(named(|begin| begin.settings.push(("url_list".into(), "x".into()))), "url_list (none and `x`)");
    assert!(is_usable(&common::counters_disagree()).unwrap_err().contains("the counters disagree"));
    assert!(is_usable(&common::begin_only()).unwrap_err().contains("before its measured window began"));
    assert_eq!(is_usable(&common::open_late()), Ok(()), "a late run is refused, although its percentiles are ranges");
    assert_eq!(is_usable(&common::client_limited()), Ok(()), "a closed run that the client limits is refused");
}

#[test]
fn comparisons_fit_on_narrow_terminals() {
    let name = "n".repeat(200);
    let (mut base, slower) = (runs(&name, 41, 6, 1.0), runs("slower", 42, 6, 1.05));
    base.push(without_success(&name, 3));
    for sides in [Sides::BaseAndNew, Sides::Halves] {
        let compared = Comparison::of(&base, &slower, sides, 0.02);
        for width in [60, 80] {
            let text = comparison(&compared, &Style { width, color: false });
            let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > width).collect();
            assert!(wide.is_empty(), "{width}: {wide:#?}");
        }
    }
    let compared = Comparison::of(&base[..6], &slower, Sides::BaseAndNew, 0.02);
    let narrow = comparison(&compared, &Style { width: 80, color: false });
    assert!(narrow.contains("left out to keep lines short: p"), "{narrow}");
    assert!(!comparison(&compared, &Style::default()).contains("left out"));
}

/// Returns a closed run of `seconds` in which all operations failed.
fn without_success(name: &str, seconds: u64) -> ComparedRun {
    let fail = |op: Op| op.failed(AttemptClass::Http5xx, Cause::Status, Phase::Head, Some(503));
    let ops: Vec<Op> = (0..seconds * 100).map(|at| fail(Op::ok(at * 10 * MS, at * 10 * MS + MS, 0))).collect();
    made(name, seconds, &ops)
}

#[test]
fn all_success_before_and_none_after_is_worse_with_any_number_of_runs() {
    for (count, seconds) in [(1, 3), (1, 30), (2, 3), (6, 3)] {
        let base: Vec<ComparedRun> = (0..count).map(|number| run("base", 40 + number, seconds, 1.0)).collect();
        let new: Vec<ComparedRun> =
            (0..count).map(|number| without_success(&format!("new/{number}"), seconds)).collect();
        let compared = Comparison::of(&base, &new, Sides::BaseAndNew, 0.02);
        assert_eq!(compared.conclusion(), Conclusion::Worse, "{count} of {seconds} s: {:?}", compared.rows);
        assert_eq!(
            (compared.rows[0].metric, compared.rows[0].conclusion),
            (ComparisonMetric::Success, Conclusion::Worse)
        );
        let text = shown(&compared);
        assert!(text.contains("nothing succeeded in") && text.contains("new/0: nothing succeeded (0 of"), "{text}");
        if seconds == 30 || count == 6 {
            assert_eq!(conclusion(&compared, ComparisonMetric::ResponseP99), Conclusion::Worse, "{text}");
            assert_eq!(conclusion(&compared, ComparisonMetric::Rate), Conclusion::Worse, "{text}");
        }
        let back = Comparison::of(&new, &base, Sides::BaseAndNew, 0.02);
        assert_eq!(back.conclusion(), Conclusion::Better, "{count} of {seconds} s: {:?}", back.rows);
        let none = Comparison::of(&new, &new, Sides::BaseAndNew, 0.02);
        assert_eq!(none.count(Conclusion::Worse) + none.count(Conclusion::Better), 0, "{:?}", none.rows);
        shown(&none);
    }
}

#[test]
fn a_run_without_success_is_named_and_counted() {
    let (base, mut new) = (runs("base", 51, 6, 1.0), runs("new", 52, 6, 1.0));
    let same = Comparison::of(&base, &new, Sides::BaseAndNew, 0.02);
    assert_eq!((same.rows[0].conclusion, same.count(Conclusion::Worse)), (Conclusion::Equivalent, 0));
    new[3] = without_success("new/4", 3);
    let compared = Comparison::of(&base, &new, Sides::BaseAndNew, 0.02);
    assert_eq!(compared.conclusion(), Conclusion::Inconclusive, "{:?}", compared.rows);
    let success = &compared.rows[0];
    assert!(success.new.is_some_and(|share| (0.8..0.95).contains(&share)), "{success:?}");
    let p99 = compared.rows.iter().find(|row| row.metric == ComparisonMetric::ResponseP99).unwrap();
    assert_eq!((p99.failed, p99.difference.unwrap().interval.unwrap().1), ([0, 1], f64::INFINITY), "{p99:?}");
    let text = shown(&compared);
    assert!(text.contains("nothing succeeded in 1 of 6 new runs"), "{text}");
    assert!(text.contains("new/4: nothing succeeded (0 of 300 operations)"), "{text}");
    check("compare_without_success.txt", &text);
    // The new runs are a fifth faster, but nothing succeeded in one of them, so the conclusion is not "better".
    let mut faster = runs("new", 53, 12, 0.8);
    assert_eq!(Comparison::of(&base, &faster, Sides::BaseAndNew, 0.02).conclusion(), Conclusion::Better);
    faster[3] = without_success("new/4", 3);
    let compared = Comparison::of(&base, &faster, Sides::BaseAndNew, 0.02);
    assert_eq!(compared.conclusion(), Conclusion::Inconclusive, "{:?}", compared.rows);
    let five: Vec<ComparedRun> =
        (0..6).map(|n| if n < 5 { without_success("new", 3) } else { run("new", n, 3, 1.0) }).collect();
    let compared = Comparison::of(&base, &five, Sides::BaseAndNew, 0.02);
    assert_eq!(compared.conclusion(), Conclusion::Worse, "{:?}", compared.rows);
}

#[test]
fn pairs_find_what_sets_of_runs_cannot() {
    let level = |n: u64| 1.0 + 0.1 * (n % 5) as f64;
    let side = |name: &str, seed: u64, slower: f64| -> Vec<ComparedRun> {
        (0..9).map(|n| run(&format!("{name}/{n}"), seed + n, 3, slower * level(n))).collect()
    };
    let (base, new) = (side("base", 60, 1.0), side("new", 80, 1.05));
    let apart = Comparison::of(&base, &new, Sides::BaseAndNew, 0.02);
    assert_eq!(conclusion(&apart, ComparisonMetric::ResponseP50), Conclusion::Inconclusive, "{:?}", apart.rows);
    let pairs = Comparison::of(&base, &new, Sides::Pairs, 0.02);
    assert_eq!(
        (pairs.scope, conclusion(&pairs, ComparisonMetric::ResponseP50)),
        (Scope::AcrossPairs, Conclusion::Worse)
    );
    assert!(shown(&pairs).starts_with("WORSE · ") && shown(&pairs).contains(" · 9 pairs"), "{}", shown(&pairs));
    let few = Comparison::of(&base[..4], &new[..4], Sides::Pairs, 0.02);
    assert!(shown(&few).contains("too few pairs"), "{}", shown(&few));
}

#[test]
fn the_same_target_differs_from_itself_at_most_once_in_twenty() {
    // The targets are equal. Operations fail at random, with a slightly different probability in each run.
    let mut random = Random::new(91);
    let mut side = |name: &str| -> Vec<ComparedRun> {
        let one = |number: u64| {
            let (level, failing) = (0.02 * normal::quantile(random.unit()), 0.03 * random.unit());
            let op = |at: u64, random: &mut Random| {
                let length = (5e6 * (level + 0.1 * normal::quantile(random.unit())).exp()) as u64;
                let op = Op::ok(at * 10 * MS, at * 10 * MS + length, 1000);
                let fails = random.unit() < failing;
                if fails { op.failed(AttemptClass::Http5xx, Cause::Status, Phase::Head, Some(503)) } else { op }
            };
            let ops: Vec<Op> = (0..100).map(|at| op(at, &mut random)).collect();
            made(&format!("{name}/{number}"), 1, &ops)
        };
        (0..6).map(one).collect()
    };
    let different = (0..100).filter(|_| {
        let (base, new) = (side("base"), side("new"));
        let compared = Comparison::of(&base, &new, Sides::BaseAndNew, 0.0);
        compared.count(Conclusion::Worse) + compared.count(Conclusion::Better) > 0
    });
    let different = different.count();
    assert!(different <= 9, "{different} of 100, seed 91");
}

#[test]
fn runs_that_were_cut_off_and_caveats_are_named() {
    let cut = |name: &str, reason: Option<EndReason>| {
        let mut one = run(name, 33, 2, 1.0);
        one.run.begin.duration_ms = Some(10_000);
        one.run.end = reason.map(|reason| ended(reason, 2 * SECOND));
        one
    };
    let base = vec![run("base/1", 31, 3, 1.0), run("base/2", 32, 3, 1.0)];
    let interrupted = EndReason::Interrupted { signal: 2 };
    let new = vec![cut("new/1", None), cut("new/2", Some(interrupted))];
    let text = shown(&Comparison::of(&base, &new, Sides::BaseAndNew, 0.02)).replace("\n    ", " ");
    assert!(text.contains("new/1: it was cut off after 2 s of 10 s"), "{text}");
    assert!(text.contains("new/2: it was interrupted after 2 s of 10 s") && !text.contains("base/1:"), "{text}");
    let caveats = text.contains("on both sides, client and target share one host");
    assert!(caveats, "{text}");
    // If the client limited most runs of both sides, this is a shared caveat. If the client limited only one side,
    // another note reports this.
    let limited =
        |name: &str| ComparedRun { name: name.into(), run: common::client_limited(), windows: Windows::default() };
    let (one, other) = (vec![limited("a")], vec![limited("b")]);
    assert!(all_differences(&one, &other).is_empty(), "{:?}", all_differences(&one, &other));
    let text = shown(&Comparison::of(&one, &other, Sides::BaseAndNew, 0.02)).replace("\n    ", " ");
    assert!(text.contains("the client limited 1 of 1 and 1 of 1 runs, whose rates are lower bounds"), "{text}");
    let unlimited = vec![run("c", 34, 3, 1.0)];
    let text = shown(&Comparison::of(&one, &unlimited, Sides::BaseAndNew, 0.02)).replace("\n    ", " ");
    let note = "this client limited 1 of 1 base and 0 of 1 new runs, so the base target may be faster";
    assert!(text.contains(note) && !text.contains("on both sides, the client limited"), "{text}");
}

/// Returns six runs. If `is_limited` is set, the client's network card limits them.
fn six_runs(seed: u64, slower: f64, is_limited: bool) -> Vec<ComparedRun> {
    let nic = if is_limited { 0.97 } else { 0.0 };
    let one = |number: u64| {
        run_with(&format!("run/{number}"), seed + number, 3, slower, |interval| interval.client.nic = nic)
    };
    (1..=6).map(one).collect()
}

/// If the client limits a run, its target may be faster than the run shows. If the client limits only the faster side,
/// the other side is still slower.
#[test]
fn a_client_that_limits_only_one_side_hides_no_slower_target() {
    let rate = |base: &[ComparedRun], new: &[ComparedRun]| {
        let compared = Comparison::of(base, new, Sides::BaseAndNew, 0.02);
        assert!(compared.differences.is_empty(), "{:?}", compared.differences);
        let row = compared.rows.iter().find(|row| row.metric == ComparisonMetric::Rate).unwrap();
        (row.conclusion, row.client_decides)
    };
    let [fast, slow] = [1.0, 1.5].map(|slower| [false, true].map(|is_limited| six_runs(500, slower, is_limited)));
    assert_eq!(rate(&fast[1], &slow[0]), (Conclusion::Worse, false));
    assert_eq!(rate(&slow[0], &fast[1]), (Conclusion::Better, false));
    assert_eq!(rate(&fast[0], &slow[1]), (Conclusion::Inconclusive, true));
    assert_eq!(rate(&slow[1], &fast[0]), (Conclusion::Inconclusive, true));
    assert_eq!(rate(&fast[1], &slow[1]), (Conclusion::Worse, false), "the client limits both sides");
    let other = six_runs(600, 1.0, true);
    assert_eq!(rate(&fast[0], &other), (Conclusion::Inconclusive, true), "the new target may be faster");
}

#[test]
fn sides_whose_client_limits_runs_by_chance_are_alike() {
    let run_of = |number: u64, is_limited: bool| {
        let mut one = run(&format!("run/{number}"), 34, 3, 1.0);
        if is_limited {
            one.run = common::client_limited();
        } else {
            one.run.begin = common::client_limited().begin;
        }
        one
    };
    let side = |limited: u64| -> Vec<ComparedRun> { (0..6).map(|number| run_of(number, number < limited)).collect() };
    let are_unlike = |base, new| client_limited_side(&side(base), &side(new)).is_some();
    let alike = [(0, 0), (3, 4), (4, 3), (2, 5), (6, 6)];
    let unlike = [(6, 0), (0, 6), (6, 1), (0, 5)];
    for (base, new) in alike {
        assert!(!are_unlike(base, new), "{base} and {new} of 6");
    }
    for (base, new) in unlike {
        assert!(are_unlike(base, new), "{base} and {new} of 6");
    }
}

#[test]
fn a_change_that_differs_from_that_of_the_medians_is_explained() {
    let side = |name: &str, seed: u64, slower: [f64; 3]| -> Vec<ComparedRun> {
        let named = |(number, slower)| run(&format!("{name}/{number}"), seed + number, 3, slower);
        (1..).zip(slower).map(named).collect()
    };
    // The medians of the runs are 5 and 4.5, and the median of the nine differences is 3.5.
    let (base, new) = (side("base", 50, [1.0, 5.0, 5.1]), side("new", 60, [4.5, 4.5, 20.0]));
    let text = shown(&Comparison::of(&base, &new, Sides::BaseAndNew, 0.02)).replace("\n    ", " ");
    assert!(text.contains("response p50") && text.contains("(Hodges–Lehmann), which can differ"), "{text}");
}

/// Returns a run in which stalls of the client prolong every 20th operation from 20 to 110 ms.
fn stalled(name: &str, seed: u64) -> ComparedRun {
    let mut random = Random::new(seed);
    let mut ops = Vec::new();
    for slot in 0..4 {
        let mut now = slot * MS;
        while now < 3 * SECOND {
            let length = if ops.len() % 20 == 0 { 110 * MS } else { 20 * MS + random.bits() % MS };
            ops.push(Op::ok(now, now + length, 10_240));
            now += length + 1000;
        }
    }
    made_with(name, 3, &ops, |interval| {
        let kind = interval.stats.kind_mut(OpKind::Get);
        (kind.affected.ok, kind.affected.added_max) = (kind.ok / 20, 100 * MS);
        (0..kind.ok / 20).for_each(|_| kind.affected.response.record(110 * MS));
    })
}

/// The target is equally fast in all runs, but the client of the new runs was stopped now and then.
#[test]
fn stalls_of_the_client_do_not_make_a_target_slower() {
    let (base, new) = (runs("base", 5, 9, 1.0), (1..=9).map(|seed| stalled(&format!("new/{seed}"), seed)));
    let new: Vec<ComparedRun> = new.collect();
    for (base, new, sides) in [
        (&base, &new, Sides::BaseAndNew),
        (&base, &new, Sides::Pairs),
        (&new, &base, Sides::BaseAndNew),
        (&base[..1].to_vec(), &new[..1].to_vec(), Sides::BaseAndNew),
    ] {
        let compared = Comparison::of(base, new, sides, 0.02);
        assert_eq!(conclusion(&compared, ComparisonMetric::ResponseP99), Conclusion::Inconclusive, "{sides:?}");
        let text = shown(&compared).replace("\n    ", " ");
        let note =
            text.lines().find(|line| line.contains("delays or limits of this client may explain the result for"));
        let is_told = note.is_some_and(|note| note.contains("response p99"));
        assert!(is_told || base.len() == 1, "{}", shown(&compared));
    }
    let slow: Vec<ComparedRun> = (1..=9).map(|seed| run(&format!("slow/{seed}"), seed, 15, 9.0)).collect();
    let compared = Comparison::of(&new, &slow, Sides::BaseAndNew, 0.02);
    assert_eq!(conclusion(&compared, ComparisonMetric::ResponseP99), Conclusion::Worse, "stalls do not explain 180 ms");
}
