//! Output for CI systems: JUnit files and annotations.

use crate::support::{TestDir, shared_cores};
use server::{Config, Faults, Server};
use std::fs;
use std::num::NonZeroU64;

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
    assert!(xml.contains("<failure message=\"MISSED: measured "), "{xml}");
    let told: Vec<&str> = ended.stdout.lines().filter(|line| line.starts_with("::")).collect();
    assert_eq!(told.len(), 1, "{}", ended.stdout);
    assert!(told[0].starts_with("::error title=plimsoll%3A objective missed%3A http%3A//127.0.0.1%3A"), "{}", told[0]);
    assert!(told[0].contains("::get success >= 99%25: MISSED: measured 50"), "{}", told[0]);
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
