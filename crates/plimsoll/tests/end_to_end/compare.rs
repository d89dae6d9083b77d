//! Comparisons of sets of runs. A comparison must detect a server that is 5 % slower, and must find no difference
//! between identical servers.

use crate::support::{Ended, Report, TestDir, all_cores, shared_cores, skip};
use serde_json::Value;
use server::{Config, Delay, Faults, Server};
use std::num::NonZeroU64;
use std::path::Path;
use std::time::Duration;

/// Starts a server that delays each response.
fn delayed(delay: Duration) -> Server {
    let faults = Faults { delay: Delay::Constant(delay), ..Faults::default() };
    Server::start(&Config { faults, ..Config::default() }).expect("the server starts")
}

/// Makes runs of one second each on all servers in turn, so that changes over time affect all servers. Repeats a run if
/// other processes took the cores. Returns `None` if a run had to be repeated too often.
fn in_turn(place: &TestDir, servers: &[(&str, &Server)], runs: usize) -> Option<()> {
    for number in 1..=runs {
        for (name, server) in servers {
            let url = format!("http://{}/blackhole/1KiB", server.addresses()[0]);
            let out = format!("{name}/{number}");
            let words = ["get", &url, "-c", "8", "-d", "1s", "--json", "--out", &out];
            let good = (0..5).any(|_| {
                let _ = std::fs::remove_dir_all(place.path(&out));
                let ended = place.run(words);
                ended.expect(0);
                Report::read(&ended).text("/limited_by") == "concurrency"
            });
            if !good {
                skip("other processes took the cores in every run");
                return None;
            }
        }
    }
    Some(())
}

fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}{}", ended.stdout, ended.stderr))
}

fn figure<'a>(comparison: &'a Value, name: &str) -> &'a Value {
    let metrics = comparison["metrics"].as_array().expect("there are metrics");
    metrics.iter().find(|metric| metric["metric"] == name).unwrap_or_else(|| panic!("no {name} in {comparison}"))
}

#[test]
fn one_millisecond_in_twenty_is_a_significant_difference() {
    let _cores = all_cores();
    let place = TestDir::new();
    for name in ["a", "b", "again"] {
        std::fs::create_dir(place.path(name)).expect("can create a directory");
    }
    let (fast, slow) = (delayed(Duration::from_millis(20)), delayed(Duration::from_millis(21)));
    let Some(()) = in_turn(&place, &[("a", &fast), ("b", &slow), ("again", &fast)], 6) else { return };

    let ended = place.run(["compare", "--base", "a", "--new", "b", "--json"]);
    ended.expect(1);
    let worse = json(&ended);
    let schema: Value = json(place.run(["schema", "comparison"]).expect(0));
    let validator = jsonschema::validator_for(&schema).expect("it is a schema");
    let errors: Vec<String> = validator.iter_errors(&worse).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!((&worse["conclusion"], &worse["scope"]), (&Value::from("worse"), &Value::from("across_runs")));
    for name in ["rate", "response_p50"] {
        let found = figure(&worse, name);
        assert_eq!(found["conclusion"], "worse", "{found}");
        let change = found["change_share"].as_f64().expect("there is a change").abs();
        assert!((0.03..0.07).contains(&change), "{found}");
    }
    let text = place.run(["compare", "--base", "a", "--new", "b"]);
    text.expect(1);
    assert!(text.stdout.starts_with("WORSE · ") && text.stdout.contains("6 runs vs. 6"), "{}", text.stdout);

    let back = place.run(["compare", "--base", "b", "--new", "a", "--json"]);
    back.expect(0);
    assert_eq!(figure(&json(&back), "response_p50")["conclusion"], "better");
    let same = json(&place.run(["compare", "--base", "a", "--new", "again", "--json"]));
    let p50 = figure(&same, "response_p50");
    assert!(p50["change_share"].as_f64().is_some_and(|change| change.abs() < 0.02), "{p50}");

    let noise = place.run(["compare", "--aa", "a", "again", "--json"]);
    noise.expect(0);
    let noise = json(&noise);
    let floor = figure(&noise, "response_p50")["noise_floor_share"].as_f64().expect("there is a noise floor");
    assert!(noise["halves"] == true && floor < 0.04, "{noise}");
}

#[test]
fn runs_that_cannot_be_compared_are_refused_with_a_one_line_message() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let server = Server::start(&Config::default()).expect("the server starts");
    let run = |path: &str, words: &[&str], out: &str| {
        let url = format!("http://{}/blackhole/{path}", server.addresses()[0]);
        let all: Vec<&str> = ["get", &url, "--out", out, "--print", "none"].iter().chain(words).copied().collect();
        place.run(all).expect(0);
    };
    run("1KiB", &["-n", "50", "-c", "2"], "one");
    run("1KiB", &["-n", "50", "-c", "2"], "two");
    run("2KiB", &["-n", "50", "-c", "2"], "larger");
    run("1KiB", &["-n", "50", "-c", "3"], "wider");
    let refused = |words: &[&str], code: i32, told: &[&str]| {
        let ended = place.run(std::iter::once("compare").chain(words.iter().copied()));
        ended.expect(code);
        assert!(ended.stdout.is_empty() && ended.stderr.lines().count() == 1, "{words:?}: {}", ended.stderr);
        assert!(told.iter().all(|told| ended.stderr.contains(told)), "{words:?}: {}", ended.stderr);
    };
    refused(&["--base", "one", "--new", "larger"], 2, &["/blackhole/1KiB", "/blackhole/2KiB", "--unlike"]);
    refused(&["--base", "one", "--new", "wider"], 2, &["2 slots", "3 slots", "--unlike"]);
    refused(&["--base", "one", "--new", "one"], 2, &["one is named twice"]);
    refused(&["--base", "one", "--new", "nowhere"], 2, &["nowhere", "directory of a run"]);
    refused(&["--base", "one"], 2, &["--new"]);
    refused(&["--aa", "one"], 2, &["--aa", "--repeat"]);
    refused(&["--aa", "one", "--base", "two"], 2, &["--aa", "--base"]);
    refused(&["--base", "one", "--new", "two", "--margin", "much"], 2, &["--margin", "`much`"]);
    let within = place.run(["compare", "--base", "one", "--new", "larger", "--unlike"]);
    within.expect(0);
    assert!(
        within.stdout.contains("INCONCLUSIVE") && within.stdout.contains("the runs differ in paths"),
        "{}",
        within.stdout
    );

    invalid(&place.path("one"));
    refused(&["--base", "one", "--new", "two"], 3, &["one is UNUSABLE: the counters disagree", "--unusable"]);
    // Other processes may take the cores during one of the runs, so allow different conditions (`--unlike`).
    let forced = place.run(["compare", "--base", "one", "--new", "two", "--unusable", "--unlike"]);
    assert!(forced.code != Some(3) && forced.stdout.contains("one is UNUSABLE"), "{}{}", forced.stdout, forced.stderr);
}

#[test]
fn a_target_that_always_fails_is_worse_and_a_single_failed_run_is_named() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let faults = Faults { error_every: NonZeroU64::new(1), ..Faults::default() };
    let failing = Server::start(&Config { faults, ..Config::default() }).expect("the server starts");
    let well = Server::start(&Config::default()).expect("the server starts");
    for side in ["before", "after", "mixed"] {
        std::fs::create_dir(place.path(side)).expect("can create a directory");
    }
    let run = |server: &Server, code: i32, out: &str| {
        let url = format!("http://{}/blackhole/1KiB", server.addresses()[0]);
        place.run(["get", &url, "-n", "60", "-c", "2", "--out", out, "--print", "none"]).expect(code);
    };
    for number in 1..=6 {
        run(&well, 0, &format!("before/{number}"));
        let (server, code) = if number == 4 { (&failing, 1) } else { (&well, 0) };
        run(server, code, &format!("mixed/{number}"));
        run(&failing, 1, &format!("after/{number}"));
    }
    // Other processes may take the cores during some runs, so allow runs under different conditions.
    for (base, new) in [("before", "after"), ("before/1", "after/1")] {
        let ended = place.run(["compare", "--base", base, "--new", new, "--unlike"]);
        ended.expect(1);
        assert!(ended.stdout.starts_with("WORSE · "), "{}", ended.stdout);
        assert!(ended.stdout.contains("after/1: nothing succeeded (0 of 60 operations)"), "{}", ended.stdout);
        let found = json(&place.run(["compare", "--base", base, "--new", new, "--unlike", "--json"]));
        assert_eq!(figure(&found, "success")["conclusion"], "worse", "{found}");
    }
    let two = ["compare", "--base", "before/1", "before/2", "--new", "after/1", "after/2", "--unlike"];
    place.run(two).expect(1);
    place.run(["compare", "--base", "after", "--new", "before", "--unlike"]).expect(0);
    let mixed = place.run(["compare", "--base", "before", "--new", "mixed", "--unlike"]);
    mixed.expect(0);
    assert!(!mixed.stdout.starts_with("EQUIVALENT") && !mixed.stdout.starts_with("BETTER"), "{}", mixed.stdout);
    assert!(mixed.stdout.contains("nothing succeeded in 1 of 6 new runs"), "{}", mixed.stdout);
    assert!(mixed.stdout.contains("mixed/4: nothing succeeded"), "{}", mixed.stdout);
    let found = json(&place.run(["compare", "--base", "before", "--new", "mixed", "--unlike", "--json"]));
    assert_eq!(found["without_success"], serde_json::json!(["mixed/4"]), "{found}");
    assert_eq!(figure(&found, "response_p50")["new_failed_runs"], 1, "{found}");
    let success = figure(&found, "success")["new"].as_f64().expect("there is a share");
    assert!((success - 5.0 / 6.0).abs() < 1e-9, "{found}");
    let pairs = place.run(["compare", "--base", "before", "--new", "after", "--paired", "--unlike"]);
    pairs.expect(1);
    assert!(pairs.stdout.contains(" · 6 pairs"), "{}", pairs.stdout);
    place.run(["compare", "--base", "before", "--new", "after/1", "after/2", "--paired"]).expect(2);
}

#[test]
fn the_digest_of_a_list_covers_every_url() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let server = Server::start(&Config::default()).expect("the server starts");
    let run = |last: u64, out: &str| {
        let url = |number: u64| format!("http://{}/blackhole/1KiB?n={number}\n", server.addresses()[0]);
        place.write("list.txt", (0..14).chain([last]).map(url).collect::<String>());
        place.run(["get", "--url-file", "list.txt", "-n", "40", "--out", out, "--print", "none"]).expect(0);
    };
    run(20, "one");
    run(20, "same");
    run(21, "other");
    let alike = place.run(["compare", "--base", "one", "--new", "same"]);
    assert!(!alike.stderr.contains("url_list"), "{}", alike.stderr);
    let refused = place.run(["compare", "--base", "one", "--new", "other"]);
    refused.expect(2);
    assert!(refused.stderr.contains("url_list (`15 paths on 1 server, sha256 "), "{}", refused.stderr);
}

/// Breaks the accounting of a saved run. Afterwards, the records count one operation that started but did not end.
fn invalid(directory: &Path) {
    let path = directory.join("records.jsonl.zst");
    let frames = std::fs::read(&path).expect("can read the run");
    let text = zstd::stream::decode_all(frames.as_slice()).expect("the file is zstd");
    let text = String::from_utf8(text).expect("it is UTF-8");
    let changed = text.replacen("\"started\":5", "\"started\":6", 1);
    assert_ne!(changed, text, "no interval has operations");
    let frame = zstd::bulk::compress(changed.as_bytes(), 1).expect("can compress the file");
    std::fs::write(path, frame).expect("can write the run");
}
