//! Output for CI systems: JUnit files and annotations.

use crate::support::{TestDir, shared_cores};
use server::{Config, Faults, Server};
use std::fs;
use std::net::TcpListener;
use std::num::NonZeroU64;
use std::path::Path;
use std::process::Command;

fn serve() -> (Server, String) {
    serve_with(Faults::default())
}

fn serve_with(faults: Faults) -> (Server, String) {
    let server = Server::start(&Config { faults, ..Config::default() }).expect("the server starts");
    let url = format!("http://{}/blackhole/1KiB", server.addresses()[0]);
    (server, url)
}

#[test]
fn objectives_are_test_cases_and_missed_ones_are_annotated() {
    let _cores = shared_cores();
    let (_server, url) = serve_with(Faults { error_every: NonZeroU64::new(2), ..Faults::default() });
    let place = TestDir::new();
    let objectives = ["--objective", "success >= 10%", "--objective", "get success >= 99%"];
    let made = place.run(["get", &url, "-n", "100", "--print", "none", "--out", "out"].iter().chain(&objectives));
    made.expect(1);
    let ended = place.run(["report", "out", "--junit", "junit.xml", "--annotations"]);
    ended.expect(1);
    let xml = fs::read_to_string(place.path("junit.xml")).unwrap();
    assert!(xml.contains("tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\""), "{xml}");
    assert!(xml.contains("<testcase name=\"success &gt;= 10%\" classname=\"http://127.0.0.1:"), "{xml}");
    assert!(xml.contains("<failure message=\"MISSED, measured "), "{xml}");
    let told: Vec<&str> = ended.stdout.lines().filter(|line| line.starts_with("::")).collect();
    assert_eq!(told.len(), 1, "{}", ended.stdout);
    assert!(told[0].starts_with("::error title=plimsoll%3A objective missed%3A http%3A//127.0.0.1%3A"), "{}", told[0]);
    assert!(told[0].contains("::get success >= 99%25: MISSED, measured 50"), "{}", told[0]);
    let refused = place.run(["report", "out", "--print", "none", "--junit", "/dev/full"]);
    refused.expect(4);
    assert!(refused.stderr.contains("/dev/full") && refused.stderr.contains("--junit"), "{}", refused.stderr);
}

#[test]
fn every_trial_of_a_study_is_a_test_case_and_a_search_is_one() {
    let _cores = shared_cores();
    let (_server, url) = serve();
    let place = TestDir::new();
    place.write(
        "pair.yaml",
        "name: pair\ntargets: {one: {url: '${url}'}, two: {url: '${url}'}}\nvars: {url: x}\nsettings: {duration: 100ms}\n\
         matrix: {concurrency: [1, 2]}\n",
    );
    place.run(["run", "pair.yaml", "--set", &format!("url={url}"), "--out", "study", "--json"]).expect(0);
    let ended = place.run(["report", "study", "--print", "none", "--junit", "junit.xml", "--annotations"]);
    ended.expect(0);
    assert!(ended.stdout.is_empty(), "annotations were printed although no objective was missed: {}", ended.stdout);
    let xml = fs::read_to_string(place.path("junit.xml")).unwrap();
    assert!(xml.contains("name=\"study\" tests=\"4\" failures=\"0\" errors=\"0\""), "{xml}");
    let case = "<testcase name=\"two, run 1: success &gt;= 99%\" classname=\"concurrency 2\" time=\"0.100\"/>";
    assert!(xml.contains(case), "{xml}");
    place
        .run(["line", &url, "-d", "200ms", "--from", "1", "--to", "2", "--out", "line", "--print", "none"])
        .expect_no_panic();
    place.run(["report", "line", "--print", "none", "--junit", "junit.xml"]).expect_no_panic();
    let xml = fs::read_to_string(place.path("junit.xml")).unwrap();
    assert_eq!(xml.matches("<testcase ").count(), 1, "{xml}");
    assert!(xml.contains("load line, success &gt;= 99%"), "{xml}");
}

#[test]
fn a_measuring_command_writes_all_files_for_ci() {
    let _cores = shared_cores();
    let (_server, url) = serve_with(Faults { error_every: NonZeroU64::new(2), ..Faults::default() });
    let place = TestDir::new();
    place.write("summary.md", "earlier\n");
    let flags = ["--junit", "junit.xml", "--summary", "summary.md", "--annotations", "--print", "none"];
    let made = place.run(["get", &url, "-n", "100", "--out", "out"].iter().chain(&flags));
    made.expect(1);
    assert_eq!(made.stdout.lines().count(), 1, "{}", made.stdout);
    assert!(made.stdout.starts_with("::error title=plimsoll%3A objective missed"), "{}", made.stdout);
    assert!(made.stderr.contains("plimsoll: FAIL: success >= 99% missed, measured 50"), "{}", made.stderr);
    assert!(fs::read_to_string(place.path("junit.xml")).unwrap().contains("failures=\"1\""));
    let summary = fs::read_to_string(place.path("summary.md")).unwrap();
    assert!(summary.starts_with("earlier\n### out\n") && summary.contains("| succeeded | 50 |"), "{summary}");
    let refused = place.run(["get", &url, "-n", "1", "--out", "full", "--summary", "/dev/full", "--print", "none"]);
    refused.expect(4);
    assert!(refused.stderr.contains("/dev/full") && refused.stderr.contains("--summary"), "{}", refused.stderr);
}

#[test]
fn an_unreachable_target_is_a_failure_in_junit() {
    let place = TestDir::new();
    let closed = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).unwrap();
    let ended = place.run(["get", &format!("http://{closed}/"), "--junit", "junit.xml", "--out", "out"]);
    ended.expect(4);
    let xml = fs::read_to_string(place.path("junit.xml")).unwrap();
    assert!(xml.contains("<failure message=\"the target could not be reached: connection refused\""), "{xml}");
    let inside = place.run(["get", &format!("http://{closed}/"), "--junit", "inside/junit.xml", "--out", "inside"]);
    inside.expect(4);
    assert!(place.path("inside/junit.xml").exists());
}

#[test]
fn a_load_that_never_reached_its_target_leaves_no_directory() {
    let place = TestDir::new();
    let closed = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).unwrap();
    let url = format!("http://{closed}/");
    fs::create_dir(place.path("empty")).unwrap();
    for command in [
        &["get", "--out", "out"][..],
        &["get", "--out", "empty"],
        &["get"],
        &["get", "--repeat", "2", "--out", "repeated"],
        &["put", "--count", "1", "--size", "1", "--out", "put"],
        &["line", "--out", "line"],
    ] {
        let ended = place.run(command.iter().copied().chain([url.as_str()]));
        ended.expect(4);
        assert!(ended.stderr.contains("cannot reach"), "{command:?}: {}", ended.stderr);
    }
    let left: Vec<_> = fs::read_dir(place.path("")).unwrap().flatten().map(|entry| entry.file_name()).collect();
    let in_runs = fs::read_dir(place.path("runs")).map_or(0, Iterator::count);
    assert!(left.iter().all(|name| name == "runs") && in_runs == 0, "{left:?}");
    // Files of others are not touched.
    fs::create_dir(place.path("theirs")).unwrap();
    place.write("theirs/notes", "mine");
    place.run(["get", "--out", "theirs", &url]).expect(4);
    assert_eq!(fs::read_to_string(place.path("theirs/notes")).unwrap(), "mine");
}

#[test]
fn each_bad_result_is_one_line_on_standard_error_whatever_is_printed() {
    let _cores = shared_cores();
    let (_server, url) = serve();
    let place = TestDir::new();
    let search =
        ["line", &url, "-d", "200ms", "--objective", "p50 <= 1us", "--from", "1", "--to", "2", "--out", "line"];
    let found = place.run(search.iter().chain(&["--print", "none"]));
    let again = place.run(["report", "line", "--json"]);
    for ended in [&found, &again] {
        ended.expect(1);
        let lines: Vec<&str> = ended.stderr.lines().filter(|line| line.starts_with("plimsoll: FAIL: ")).collect();
        assert!(lines.len() == 1 && lines[0].ends_with(" (exit code 1)"), "{}", ended.stderr);
    }
}

#[test]
fn a_fill_writes_all_files_for_ci() {
    let _cores = shared_cores();
    let place = TestDir::new();
    // `prepare` stores two objects, and the fills five each.
    let (server, endpoint) = super::s3::serve(&place, &["--lose-every", "12"]);
    super::fill::make_bucket(&place, &endpoint);
    let files = ["--junit", "junit.xml", "--summary", "summary.md", "--html", "page.html", "--annotations"];
    let fill = |name: &str, more: &[&str]| {
        let target = format!("s3://bucket/{name}");
        let words = ["fill", &target, "--count", "5", "--size", "1KiB", "--print", "none", "--out", name];
        super::fill::start(&place, &endpoint, &[&words[..], &files, more].concat()).end()
    };
    assert_eq!(fill("good", &[]).expect(0).stdout, "");
    let xml = fs::read_to_string(place.path("junit.xml")).unwrap();
    assert!(xml.contains("name=\"good\" tests=\"1\" failures=\"0\"") && xml.contains("name=\"fill\""), "{xml}");
    assert!(fs::read_to_string(place.path("summary.md")).unwrap().contains("5 objects stored"));
    assert!(fs::read_to_string(place.path("page.html")).unwrap().contains("</html>"));
    let lossy = fill("lossy", &["--verify"]);
    lossy.expect(1);
    assert!(lossy.stderr.lines().any(|line| line.starts_with("plimsoll: FAIL: 1 object ")), "{}", lossy.stderr);
    assert!(lossy.stdout.lines().any(|line| line.starts_with("::error ")), "{}", lossy.stdout);
    let again = place.run(["report", "lossy", "--junit", "again.xml", "--print", "none"]);
    again.expect(1);
    assert!(fs::read_to_string(place.path("again.xml")).unwrap().contains("failures=\"1\""));
    server.stop();
}

#[test]
fn files_that_cannot_be_written_are_refused_before_the_load() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, url) = place.serve(&[]);
    for (flag, file, why) in [
        ("--junit", "nodir/junit.xml", "the directory nodir does not exist"),
        ("--html", "nodir/page.html", "the directory nodir does not exist"),
        ("--html", url.as_str(), "is a URL, not a file name"),
        ("--html", ".", "is a directory, not a file name"),
    ] {
        let refused = place.run(["get", flag, file, "-n", "1", &url]);
        refused.expect(2);
        assert!(refused.stderr.contains(why) && refused.stderr.lines().count() == 1, "{}", refused.stderr);
    }
    place.run(["get", &url, "-n", "1", "--out", "out", "--junit", "out/junit.xml"]).expect_no_panic();
    assert!(place.path("out/junit.xml").exists());
    place.write("study.yaml", format!("name: s\nsettings: {{requests: 5}}\ntargets:\n  a: {{url: \"{url}\"}}\n"));
    for command in [
        vec!["run", "study.yaml", "--out", "study"],
        vec!["report", "out"],
        vec!["compare", "--base", "out", "--new", "out2"],
    ] {
        let refused = place.run(command.iter().chain(&["--junit", "nodir/junit.xml"]));
        refused.expect(2);
        assert_eq!(refused.stderr.trim_end().lines().count(), 1, "{}", refused.stderr);
        assert!(refused.stderr.contains("--junit nodir/junit.xml: the directory nodir does not"), "{}", refused.stderr);
        assert!(refused.stdout.is_empty() && !place.path("study").exists(), "{}", refused.stdout);
    }
    let ledger = server.stop();
    assert!(ledger.contains("\nrequests     1 "), "{ledger}");
}

#[test]
fn a_metric_that_got_worse_is_a_failed_test_case() {
    let _cores = shared_cores();
    let (_good, good) = serve();
    let (_bad, bad) = serve_with(Faults { error_every: NonZeroU64::new(2), ..Faults::default() });
    let place = TestDir::new();
    for (url, side) in [(&good, "base"), (&bad, "new")] {
        place.run(["get", url, "-n", "200", "--repeat", "2", "--out", side, "--print", "none"]).expect_no_panic();
    }
    let files = ["--junit", "junit.xml", "--summary", "summary.md", "--annotations"];
    let ended = place.run(["compare", "--unlike", "--base", "base", "--new", "new"].iter().chain(&files));
    ended.expect(1);
    assert!(
        ended.stderr.starts_with("plimsoll: WORSE: success") && ended.stderr.contains("(exit code 1)"),
        "{ended:?}"
    );
    assert!(ended.stdout.lines().any(|line| line.starts_with("::error ")), "{}", ended.stdout);
    let xml = fs::read_to_string(place.path("junit.xml")).unwrap();
    assert!(
        xml.contains("<testcase name=\"success\"") && xml.contains("<failure message=\"worse: success: 100"),
        "{xml}"
    );
    assert!(fs::read_to_string(place.path("summary.md")).unwrap().contains("| success | 100"), "no table");
}

/// Runs the last step of the GitHub action as GitHub does.
#[test]
fn the_github_action_runs_the_command_and_fails_with_it() {
    let _cores = shared_cores();
    let (_server, url) = serve();
    let place = TestDir::new();
    let action = include_str!("../../../../action.yml");
    let (_, step) = action.rsplit_once("      run: |\n").expect("the last step has a script");
    let program = Path::new(env!("CARGO_BIN_EXE_plimsoll")).parent().expect("the program is in a directory");
    let run = |command: &str| {
        let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
        let ended = Command::new("bash")
            .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", step])
            .current_dir(place.path(""))
            .env("PATH", path)
            .env("PLIMSOLL_COMMAND", command)
            .env("PLIMSOLL_JUNIT", "junit.xml")
            .env("GITHUB_STEP_SUMMARY", place.path("summary.md"))
            .output()
            .expect("bash starts");
        (ended.status.code(), String::from_utf8_lossy(&ended.stderr).into_owned())
    };
    let (code, told) = run(&format!("get {url} -n 20 --out 'a run' --objective 'success >= 99%'"));
    assert_eq!(code, Some(0), "{told}");
    assert!(
        place.path("a run").is_dir() && fs::read_to_string(place.path("junit.xml")).unwrap().contains("failures=\"0\"")
    );
    assert!(fs::read_to_string(place.path("summary.md")).unwrap().contains("| succeeded | 20 |"));
    let (code, told) = run(&format!("get {url} -n 20 --out b --objective 'success >= 99%' --objective 'p50 < 1ns'"));
    assert_eq!(code, Some(1), "{told}");
    // A shell would run this command.
    let (code, told) = run(&format!("get {url} -n 20 $(touch bad) --out c"));
    assert_eq!(code, Some(2), "{told}");
    assert!(!place.path("bad").exists(), "the action runs a command inside its input");
}
