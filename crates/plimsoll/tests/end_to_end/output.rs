//! Output and its formats.

use crate::support::{Nginx, Running, Setup, TestDir, all_cores, peer, shared_cores};
use std::fs::OpenOptions;
use std::process::{Command, Stdio};

fn validator(place: &TestDir) -> jsonschema::Validator {
    let schema = place.run(["schema"]);
    schema.expect(0);
    let schema = serde_json::from_str(&schema.stdout).expect("the schema is JSON");
    jsonschema::validator_for(&schema).expect("the schema is one")
}

#[test]
fn json_follows_the_schema_and_is_all_of_standard_output() {
    let _cores = shared_cores();
    let Some(nginx) = Nginx::start(Setup::default()) else { return };
    let place = TestDir::new();
    let validator = validator(&place);
    for words in [
        &["-n", "100"] as &[&str],
        &["-n", "100", "-I"],
        &["-R", "200", "-d", "1200ms", "--warmup", "300ms"],
        &["-n", "50", "--range", "10", "--group-by", "Content-Type"],
        &["-n", "50", "--expect-status", "404"],
        &["-n", "50", "--expect-size", "3", "--log-ops"],
    ] {
        let ended = place.run(["get", "--json", &nginx.url("/f/1k")].iter().chain(words));
        ended.expect_no_panic();
        let report = serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.stdout));
        let errors: Vec<String> = validator.iter_errors(&report).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{words:?}: {errors:?}");
    }
}

#[test]
fn the_json_of_a_saved_run_equals_that_of_the_run() {
    let _cores = shared_cores();
    let Some(nginx) = Nginx::start(Setup::default()) else { return };
    let place = TestDir::new();
    let (ended, report) = place.get([&nginx.url("/f/1k"), "-n", "500"]);
    ended.expect(0);
    let (again, saved) = place.report(&place.path("out"));
    again.expect(0);
    assert_eq!(report.0, saved.0);
}

#[test]
fn text_starts_with_the_result() {
    let _cores = shared_cores();
    let Some(nginx) = Nginx::start(Setup::default()) else { return };
    let place = TestDir::new();
    let ended = place.run(["get", &nginx.url("/f/1k"), "-n", "1000", "--out", "out"]);
    ended.expect(0);
    assert!(ended.stdout.starts_with("PASS · "), "{}", ended.stdout);
    assert!(ended.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ended.stdout);
    assert!(ended.stdout.lines().count() <= 22, "{}", ended.stdout);
    assert!(!ended.stdout.contains('\u{1b}') && !ended.stderr.contains('\u{1b}'), "colors in a pipe");
    let saved = "saved in out; `plimsoll report out` with --full or --html shows more\n";
    assert_eq!(ended.stderr, saved, "a live line was printed to a pipe");
    let full = place.run(["report", "out", "--full"]);
    full.expect(0);
    assert!(full.stdout.contains("\nTimes of operations\n"), "{}", full.stdout);
    assert!(full.stdout.lines().all(|line| line.chars().count() <= 100), "{}", full.stdout);
    let short = place.run(["report", "out"]);
    assert_eq!(short.stdout, ended.stdout, "the report of a saved run differs");
}

#[test]
fn the_load_is_described_as_requested() {
    let _cores = shared_cores();
    let Some(nginx) = Nginx::start(Setup::default()) else { return };
    let place = TestDir::new();
    let url = nginx.url("/f/1k");
    let stages = ["-R", "100", "--stages", "500ms:200,1s:200", "--warmup", "300ms"];
    let ended = place.run(["get", &url, "--out", "out", "--full"].iter().chain(&stages));
    ended.expect_no_panic();
    let line = |label: &str| {
        let line = ended.stdout.lines().find(|line| line.starts_with(label));
        line.unwrap_or_else(|| panic!("no `{label}` in {}", ended.stdout))
    };
    let asked = ended.stdout.split("Operations").next().unwrap_or_default();
    assert_eq!(asked.matches("of warm-up").count(), 1, "{asked}");
    assert!(line("  stages ").contains("from 100/s: 500ms:200 → 1s:200"), "{}", line("  stages "));
    let (_, report) = place.report(&place.path("out"));
    assert_eq!(report.number("/setup/levels/stages/1/length_nanos"), 1_000_000_000);
}

#[test]
fn output_as_ab_has_the_same_lines_as_abs() {
    let _cores = shared_cores();
    let Some(nginx) = Nginx::start(Setup::default()) else { return };
    let place = TestDir::new();
    let ours = place.run(["get", "--print", "ab", "--http1.0", "-n", "500", "-c", "5", &nginx.url("/f/1k")]);
    ours.expect(0);
    let value = |text: &str, label: &str| {
        let line = text.lines().find(|line| line.starts_with(label)).unwrap_or_else(|| panic!("no {label} in {text}"));
        line[label.len()..].trim().to_owned()
    };
    assert_eq!(value(&ours.stdout, "Complete requests:"), "500");
    assert_eq!(value(&ours.stdout, "Failed requests:"), "0");
    assert_eq!(value(&ours.stdout, "Concurrency Level:"), "5");
    let Ok(theirs) = Command::new("ab").args(["-k", "-n", "500", "-c", "5", &nginx.url("/f/1k")]).output() else {
        eprintln!("skipped in part: ab is not installed");
        assert!(
            std::env::var_os("REQUIRE_PEERS").is_none_or(|value| value != "1"),
            "ab is not installed, and REQUIRE_PEERS=1"
        );
        return;
    };
    let theirs = String::from_utf8_lossy(&theirs.stdout).into_owned();
    let labels = |text: &str| -> Vec<String> {
        let start = text.find("Server Software").unwrap_or_else(|| panic!("no report in {text}"));
        let lines = text[start..].lines().filter(|line| !line.starts_with("WARNING") && !line.starts_with("ERROR"));
        let lines = lines.filter(|line| !line.starts_with("      ") || line.contains("mean"));
        lines.map(|line| line.split([':', '%']).next().unwrap_or_default().trim_end().to_owned()).collect()
    };
    assert_eq!(labels(&ours.stdout), labels(&theirs), "ours:\n{}\nab's:\n{theirs}", ours.stdout);
    for label in [
        "Server Software:",
        "Server Hostname:",
        "Server Port:",
        "Document Path:",
        "Document Length:",
        "HTML transferred:",
    ] {
        assert_eq!(value(&ours.stdout, label), value(&theirs, label), "{label}");
    }
}

#[test]
fn lengths_that_differ_are_counted_as_by_ab() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let server = place.start(["serve", "--listen", "127.0.0.1:0", "--error-every", "5", "--stop-after", "120s"]);
    let line = server.wait_for_line("serving http://");
    let base = line.split_whitespace().nth(1).and_then(|url| url.split("/blackhole").next()).expect("an address");
    let url = format!("{base}/blackhole/1KiB");
    let of = |text: &str, label: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(label));
        line.map(|line| line.split([':', ',']).map(str::trim).map(str::to_owned).collect::<Vec<_>>())
    };
    let ours = place.run(["get", &url, "-c", "1", "-n", "100", "--print", "ab", "--out", "out"]);
    ours.expect_no_panic();
    let wanted = |text: &str| {
        assert_eq!(of(text, "Failed requests").expect(text), ["Failed requests", "20"], "{text}");
        assert_eq!(of(text, "Non-2xx responses").expect(text), ["Non-2xx responses", "20"], "{text}");
        let kinds = of(text, "(Connect").expect(text);
        let length = kinds.iter().position(|kind| kind == "Length").and_then(|at| kinds.get(at + 1));
        assert_eq!(length.map(String::as_str), Some("20"), "{text}");
    };
    wanted(&ours.stdout);
    // Lengths must not count as failures if HEAD responses have no body, or if two objects differ in length.
    let other = format!("{base}/blackhole/2KiB");
    for words in [&[&url, "-I"] as &[&str], &[&url, &other]] {
        let ended = place.run(["get", "--print", "ab", "-c", "1", "-n", "100"].iter().chain(words));
        assert_eq!(of(&ended.stdout, "Failed requests").expect("a line"), ["Failed requests", "0"], "{words:?}");
    }
    let mut errors = 60;
    if let Some(theirs) = peer("ab", Command::new("ab").args(["-k", "-n", "100", "-c", "1", &url]).output().ok()) {
        wanted(&String::from_utf8_lossy(&theirs.stdout));
        errors += 20;
    }
    let ledger = server.stop();
    assert!(ledger.contains(&format!("\nfaults       {errors} errors\n")), "{ledger}");
}

#[test]
fn output_as_httpbench_has_its_metrics() {
    let _cores = shared_cores();
    let Some(nginx) = Nginx::start(Setup::default()) else { return };
    let place = TestDir::new();
    let ended = place.run(["get", "--print", "httpbench", "-n", "400", &nginx.url("/f/1m")]);
    ended.expect(0);
    assert!(ended.stdout.starts_with("Reqs: 400  Bytes: 0.42 GB  Time: "), "{}", ended.stdout);
    assert!(ended.stdout.lines().nth(1).is_some_and(|line| line.ends_with(" Gbps)")), "{}", ended.stdout);
    let nothing = place.run(["get", "--print", "none", "-n", "4", &nginx.url("/f/1k")]);
    nothing.expect(0);
    assert_eq!(nothing.stdout, "");
}

#[test]
fn the_demo_succeeds_with_a_report() {
    let _cores = all_cores();
    let place = TestDir::new();
    let ended = place.run(["demo", "--out", "out"]);
    ended.expect(0);
    assert!(ended.stdout.starts_with("PASS · LOAD LINE ") && ended.stdout.contains("\nPASS · "), "{}", ended.stdout);
    let again = place.run(["report", "out", "--json"]);
    again.expect(0);
    let found: serde_json::Value = serde_json::from_str(&again.stdout).expect("it is JSON");
    let (passed, failed) = (found["passed"].as_u64().expect("a level"), found["failed"].as_u64().expect("a level"));
    // A level slightly above 100 may pass, because the objective is a p95 and few requests are slow.
    assert!((90..=110).contains(&passed) && failed > 100, "{passed} and {failed}");
}

#[test]
fn a_reader_that_has_gone_away_is_not_an_error() {
    let _cores = shared_cores();
    let Some(nginx) = Nginx::start(Setup::default()) else { return };
    let place = TestDir::new();
    for form in [&["--print", "text"] as &[&str], &["--json"], &["--print", "ab"]] {
        // The reader of the output is `true`, which reads nothing and exits long before the report.
        let mut reader = Command::new("true").stdin(Stdio::piped()).spawn().expect("can start `true`");
        let pipe = reader.stdin.take().expect("the process has a standard input");
        let mut command = place.command(["get", "-n", "20000", &nginx.url("/f/1k")].iter().chain(form));
        assert!(reader.wait().is_ok_and(|status| status.success()));
        let child = command.stdout(pipe).stderr(Stdio::piped()).spawn().expect("can start the program");
        let left = child.wait_with_output().expect("can wait for the program");
        let stderr = String::from_utf8_lossy(&left.stderr);
        assert_eq!(left.status.code(), Some(0), "{form:?}: {stderr}");
        assert!(!stderr.contains("defect") && !stderr.contains("panicked"), "{stderr}");
    }
    let mut shell = Command::new("sh");
    shell.args(["-c", "\"$0\" \"$@\" | head -1", env!("CARGO_BIN_EXE_plimsoll")]);
    shell.args(["get", "-n", "100", &nginx.url("/f/1k")]).current_dir(place.path(""));
    let ended = Running::of(shell).end();
    ended.expect(0);
    assert_eq!(ended.stdout.lines().count(), 1);
}

/// Runs the program with standard output on a device that is always full.
fn run_onto_a_full_disk(place: &TestDir, words: &[&str]) -> (Option<i32>, String) {
    let full = OpenOptions::new().write(true).open("/dev/full").expect("Linux has /dev/full");
    let mut command = place.command(words);
    let child = command.stdout(full).stderr(Stdio::piped()).spawn().expect("can start the program");
    let left = child.wait_with_output().expect("can wait for the program");
    (left.status.code(), String::from_utf8_lossy(&left.stderr).into_owned())
}

#[test]
fn a_report_that_cannot_be_written_is_reported() {
    let _cores = shared_cores();
    let Some(nginx) = Nginx::start(Setup::default()) else { return };
    let place = TestDir::new();
    // A user who redirects a report to a file must get an error if the file is incomplete.
    let (code, stderr) = run_onto_a_full_disk(&place, &["get", "--json", "-n", "20", &nginx.url("/f/1k")]);
    assert_eq!(code, Some(4), "{stderr}");
    assert!(stderr.contains("standard output"), "{stderr}");
}

#[test]
fn commands_report_that_standard_output_is_full() {
    let place = TestDir::new();
    for words in [
        &["--help"] as &[&str],
        &["--version"],
        &["get", "--help-all"],
        &["schema"],
        &["schema", "repeats"],
        &["completions", "bash"],
        &["serve", "--liar", "list"],
        &["serve", "--listen", "127.0.0.1:0", "--stop-after", "1s"],
        &["doctor", "--quick"],
    ] {
        let (code, stderr) = run_onto_a_full_disk(&place, words);
        assert_eq!(code, Some(4), "{words:?}: {stderr}");
        assert!(
            stderr.starts_with("plimsoll: cannot write to standard output") && stderr.lines().count() == 1,
            "{words:?}: {stderr}"
        );
    }
}
