//! Exports of saved runs in the formats of other programs, and their error messages.

use crate::support::{Ended, TestDir, peer, shared_cores};
use serde_json::Value;
use server::{Config, Server};
use std::fs;
use std::process::{Command, Stdio};

const FORMS: [&str; 12] = [
    "csv",
    "ops-csv",
    "parquet",
    "ops-parquet",
    "retrieval-csv",
    "ab-e",
    "ab-g",
    "hgrm",
    "hgrm-service",
    "hlog",
    "json",
    "markdown",
];

fn serve() -> (Server, String) {
    let server = Server::start(&Config::default()).expect("the server starts");
    let url = format!("http://{}/blackhole/1KiB", server.addresses()[0]);
    (server, url)
}

fn export(place: &TestDir, directory: &str, form: &str, more: &[&str]) -> Ended {
    place.run(["export", directory, "--as", form].iter().chain(more))
}

/// Returns the sum of a column. The function works only if the cells to the left of the column contain no commas.
fn sum(csv: &str, name: &str) -> u64 {
    let mut lines = csv.lines();
    let index = lines.next().unwrap().split(',').position(|title| title == name).unwrap();
    lines.map(|line| line.split(',').nth(index).unwrap().parse::<u64>().unwrap()).sum()
}

#[test]
fn a_run_is_exported_in_every_format_and_the_counts_agree() {
    let _cores = shared_cores();
    let (server, url) = serve();
    let place = TestDir::new();
    place.run(["get", &url, "-n", "500", "--log-ops", "--out", "out"]).expect(0);
    for form in FORMS {
        let file = format!("{form}.out");
        let ended = export(&place, "out", form, &["--to", &file]);
        ended.expect(0);
        assert!(ended.stdout.is_empty() && ended.stderr.is_empty(), "{form}: {}", ended.stderr);
        let bytes = fs::read(place.path(&file)).unwrap();
        match form {
            "parquet" | "ops-parquet" => assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"), "{form}"),
            _ => assert_eq!(export(&place, "out", form, &[]).expect(0).stdout.as_bytes(), bytes, "{form}"),
        }
    }
    assert_eq!(fs::read_dir(place.path("")).unwrap().count(), FORMS.len() + 1, "other files were left");
    let read = |form: &str| fs::read_to_string(place.path(&format!("{form}.out"))).unwrap();
    assert_eq!((sum(&read("csv"), "ok"), sum(&read("csv"), "body_bytes")), (500, 500 * 1024));
    assert_eq!((read("ops-csv").lines().count(), sum(&read("ops-csv"), "body_bytes")), (501, 500 * 1024));
    assert!(read("hgrm").contains("Total count    =          500]"), "{}", read("hgrm"));
    let report = place.run(["report", "out", "--json"]);
    assert_eq!(report.stdout, read("json"));
    assert!(read("markdown").contains("| succeeded | 500 |"), "{}", read("markdown"));
    assert_eq!(server.stop().requests(), 500);
    let (ours, percentages) = (read("ab-g"), read("ab-e"));
    assert_eq!((ours.lines().count(), percentages.lines().count()), (501, 102));
}

#[test]
fn the_files_of_ab_have_the_same_format() {
    let _cores = shared_cores();
    if peer("ab", Command::new("ab").arg("-V").output().ok()).is_none() {
        return;
    }
    let (_server, url) = serve();
    let place = TestDir::new();
    place.run(["get", &url, "-n", "200", "--log-ops", "--out", "out"]).expect(0);
    let made = Command::new("ab")
        .args(["-n", "200", "-e", "theirs.csv", "-g", "theirs.tsv", &url])
        .current_dir(place.path(""))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(made.is_ok_and(|status| status.success()));
    // Replace every digit with a 9, to compare only the formats.
    let shape = |text: &str, line: usize| {
        let line = text.lines().nth(line).unwrap().replace(|c: char| c.is_ascii_digit(), "9");
        let words: Vec<String> = line.split('\t').map(|cell| cell.trim_matches('9').to_owned()).collect();
        words.join("\t")
    };
    for (form, theirs) in [("ab-e", "theirs.csv"), ("ab-g", "theirs.tsv")] {
        let (ours, theirs) = (export(&place, "out", form, &[]).stdout, fs::read_to_string(place.path(theirs)).unwrap());
        assert_eq!(ours.lines().next(), theirs.lines().next(), "{form}");
        assert_eq!(ours.lines().count(), theirs.lines().count(), "{form}");
        let weekday = |text: String| text.chars().skip(4).collect::<String>();
        match form {
            // The number of digits before the point varies, so ignore the leading digits.
            "ab-e" => assert_eq!(
                shape(&ours, 50).trim_start_matches(['9', ',']),
                shape(&theirs, 50).trim_start_matches(['9', ','])
            ),
            _ => assert_eq!(weekday(shape(&ours, 1)), weekday(shape(&theirs, 1)), "{ours}"),
        }
    }
}

#[test]
fn several_runs_are_exported_as_a_table() {
    let _cores = shared_cores();
    let (_server, url) = serve();
    let place = TestDir::new();
    place.run(["get", &url, "-n", "100", "--repeat", "3", "--out", "three"]).expect(0);
    let csv = export(&place, "three", "csv", &[]).expect(0).stdout.clone();
    assert_eq!((csv.lines().count(), csv.matches(",PASS,").count()), (4, 3), "{csv}");
    assert!(csv.contains("\n1,,,1,") && csv.contains("\n3,,,3,"), "{csv}");
    assert_eq!(export(&place, "three", "markdown", &[]).expect(0).stdout.matches("PASS").count(), 3);
    let document: Value = serde_json::from_str(&export(&place, "three", "json", &[]).expect(0).stdout).unwrap();
    assert_eq!(document["runs"].as_array().unwrap().len(), 3);
    let refused = export(&place, "three", "hgrm", &[]);
    refused.expect(2);
    assert!(
        refused.stderr.contains("--as hgrm exports a single run") && refused.stderr.contains("three/1"),
        "{}",
        refused.stderr
    );
    place.write(
        "pair.yaml",
        "name: pair\ntargets: {one: {url: '${url}'}, two: {url: '${url}'}}\nvars: {url: x}\nsettings: {duration: 100ms, range: 1KiB}\n\
         matrix: {concurrency: [1, 2]}\n",
    );
    place.run(["run", "pair.yaml", "--set", &format!("url={url}"), "--out", "study", "--json"]).expect(0);
    let csv = export(&place, "study", "retrieval-csv", &[]).expect(0).stdout.clone();
    let starts: Vec<String> =
        csv.lines().skip(1).map(|line| line.split(',').take(3).collect::<Vec<_>>().join(",")).collect();
    let rows = [("one", 1), ("two", 1), ("one", 2), ("two", 2)]
        .map(|(target, slots)| format!("{target},range-requests 0 MiB,{slots}"));
    assert_eq!(starts, rows, "{csv}");
    let csv = export(&place, "study", "csv", &[]).expect(0).stdout.clone();
    assert!(csv.contains("\n001-concurrency-1/one-1,concurrency 1,one,1,"), "repeats must count from 1: {csv}");
    let table = export(&place, "study", "markdown", &[]).expect(0).stdout.clone();
    assert!(table.contains("| concurrency 1 | one |") && table.contains("| two |"), "{table}");
    place
        .run(["line", &url, "-d", "200ms", "--from", "1", "--to", "2", "--out", "line", "--print", "none"])
        .expect_no_panic();
    let table = export(&place, "line", "markdown", &[]).expect(0).stdout.clone();
    assert!(table.starts_with("**LOAD LINE") && table.contains("| level |"), "{table}");
    let csv = export(&place, "line", "csv", &[]).expect(0).stdout.clone();
    assert!(csv.contains("levels/01-1,,,,1,"), "{csv}");
}

#[test]
fn an_export_that_cannot_be_written_gets_a_one_line_message() {
    let _cores = shared_cores();
    let (_server, url) = serve();
    let place = TestDir::new();
    place.run(["get", &url, "-n", "50", "--out", "out"]).expect(0);
    for (form, more, code, told) in [
        ("ops-csv", &[][..], 2, "out has no operation log: make the run with --log-ops"),
        ("ab-g", &["--to", "x.tsv"], 2, "--log-ops"),
        ("csv", &["--to", "/dev/full"], 4, "cannot write /dev/full: No space left on device"),
        ("parquet", &["--to", "/dev/full"], 4, "No space left on device"),
        ("hlog", &["--to", "/dev/full"], 4, "No space left on device"),
        ("csv", &["--to", "none/x.csv"], 4, "cannot write none/x.csv"),
        ("csv", &["--to", "out/records.jsonl.zst"], 2, "this name is reserved for saved runs"),
        ("xml", &[], 2, "csv"),
    ] {
        let ended = export(&place, "out", form, more);
        ended.expect(code);
        assert!(ended.stderr.contains(told) && ended.stderr.lines().count() == 1, "{form}: {}", ended.stderr);
    }
    assert!(!place.path("x.tsv").exists() && !place.path("x.tsv.part").exists(), "an incomplete file was left");
    export(&place, "nowhere", "csv", &[]).expect(2);
    place.run(["report", "out"]).expect(0);
}

#[test]
fn a_reader_that_goes_away_is_not_an_error() {
    let _cores = shared_cores();
    let (_server, url) = serve();
    let place = TestDir::new();
    place.run(["get", &url, "-n", "20000", "--log-ops", "--print", "none", "--out", "out"]).expect(0);
    let mut command = place.command(["export", "out", "--as", "ops-csv"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(ended.status.success() && said.lines().count() == 1 && said.contains("closed early"), "{said}");
}
