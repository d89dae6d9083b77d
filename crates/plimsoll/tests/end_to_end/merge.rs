//! Merged runs of two machines: the sums, the parts that are left out, and the runs that are refused.

use crate::support::{Running, TestDir, all_cores, shared_cores};
use server::{Config, Server};
use std::fs;

fn serve() -> (Server, String) {
    let server = Server::start(&Config::default()).expect("the server starts");
    let url = format!("http://{}/blackhole/1KiB", server.addresses()[0]);
    (server, url)
}

/// Makes two runs at the same time.
fn two(place: &TestDir, first: &[&str], second: &[&str]) {
    let start = |words: &[&str]| -> Running { place.start(["get", "--print", "none"].iter().chain(words)) };
    let runs = [start(first), start(second)];
    for run in runs {
        run.end().expect_no_panic();
    }
}

#[test]
fn a_merged_run_has_the_operations_of_both_runs() {
    let _cores = all_cores();
    let (_server, url) = serve();
    let place = TestDir::new();
    two(
        &place,
        &[&url, "-R", "200", "-d", "4s", "--log-ops", "--out", "a"],
        &[&url, "-R", "200", "-d", "4s", "--log-ops", "--out", "b"],
    );
    let merged = place.run(["merge", "a", "b", "--out", "both"]);
    merged.expect_no_panic();
    assert!(merged.stdout.contains("merged from 2 runs, for the time that all of them measured"), "{}", merged.stdout);
    let (_, report) = place.report(&place.path("both"));
    let seconds = report.at("/operations/window_seconds").as_f64().unwrap();
    assert!((3.0..=4.0).contains(&seconds), "{seconds}");
    assert_eq!(report.text("/result/word"), "partial");
    let rate = report.at("/operations/ok_per_second").as_f64().unwrap();
    assert!((rate - 400.0).abs() < 8.0, "the offered rates must be added: {rate}");
    assert_eq!(report.text("/setup/model"), "open");
    // In the operation logs, count only operations that ended in the common time or in a drain.
    let text = |form: &str, directory: &str| place.run(["export", directory, "--as", form]).expect(0).stdout.clone();
    let column = |csv: &str, name: &str| -> Vec<String> {
        let index = csv.lines().next().unwrap().split(',').position(|title| title == name).unwrap();
        csv.lines().skip(1).map(|line| line.split(',').nth(index).unwrap().to_owned()).collect()
    };
    let ok: u64 = column(&text("csv", "both"), "ok").iter().map(|ok| ok.parse::<u64>().unwrap()).sum();
    assert_eq!(ok, report.number("/operations/ok"));
    let mut of_both = 0;
    for directory in ["a", "b"] {
        let csv = text("csv", directory);
        let counts: Vec<u64> = column(&csv, "ok").iter().map(|ok| ok.parse().unwrap()).collect();
        of_both += counts.iter().sum::<u64>();
    }
    assert!(ok <= of_both && ok >= of_both * 3 / 4 - 40, "{ok} of {of_both}");
    // A merged run can be read like any other run.
    place.run(["compare", "--base", "both", "--new", "both/../both"]).expect(2);
    place.run(["report", "both", "--html"]).expect_no_panic();
    assert!(text("markdown", "both").starts_with("**PARTIAL**"));
    let again = place.run(["merge", "a", "b", "--out", "both"]);
    again.expect(4);
    assert!(again.stderr.contains("already contains a run"), "{}", again.stderr);
}

#[test]
fn runs_that_cannot_be_merged_are_refused_with_a_one_line_message() {
    let _cores = shared_cores();
    let (_server, url) = serve();
    let place = TestDir::new();
    two(
        &place,
        &[&url, "-R", "50", "-d", "1200ms", "--out", "a"],
        &[&url, "-R", "60", "-d", "1200ms", "--out", "other"],
    );
    place.run(["get", &url, "-R", "50", "-d", "1200ms", "--print", "none", "--out", "later"]).expect_no_panic();
    fs::create_dir(place.path("cut")).unwrap();
    let bytes = fs::read(place.path("a/records.jsonl.zst")).unwrap();
    fs::write(place.path("cut/records.jsonl.zst"), &bytes[..bytes.len() - 10]).unwrap();
    for (runs, told) in [
        (["a", "other"], "other has another load, load ("),
        (["a", "later"], "do not overlap by a full second: a measured from "),
        (["a", "a"], "a is named twice"),
        (["a", "cut"], "cut is incomplete"),
        (["a", "none"], "none"),
    ] {
        let ended = place.run(["merge", runs[0], runs[1], "--out", "x"]);
        ended.expect(2);
        assert!(ended.stderr.contains(told) && ended.stderr.lines().count() == 1, "{runs:?}: {}", ended.stderr);
    }
    assert!(!place.path("x").exists(), "a run was saved");
    place.run(["merge", "a", "--out", "x"]).expect(2);
    let partial = place.run(["merge", "a", "cut", "--partial", "--out", "x"]);
    partial.expect_no_panic();
    assert!(partial.stdout.starts_with("PARTIAL"), "{}", partial.stdout);
}
