//! `fill`: uploads with a journal, against the embedded S3 server, VersityGW and nginx. Whichever process is killed,
//! the target has every object that is stored according to the journal, with the right bytes, and no upload stays open.

use super::s3::serve;
use crate::support::versitygw::{ACCESS_KEY, SECRET_KEY, run};
use crate::support::{Ended, Running, TestDir, Versitygw, shared_cores, wait_for};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Starts a command with the keys of the S3 servers.
fn start(place: &TestDir, endpoint: &str, words: &[&str]) -> Running {
    let mut command: Command = place.command(words);
    command.env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
    command.env("AWS_ENDPOINT_URL", endpoint);
    Running::of(command)
}

fn make_bucket(place: &TestDir, endpoint: &str) {
    let words = ["prepare", "s3://bucket/other", "--make-bucket", "--count", "1", "--size", "1", "--print", "none"];
    run(place, endpoint, &words).expect(0);
}

fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

/// Returns the number of objects that are stored according to the journal in this directory.
fn stored(fill: &Path) -> u64 {
    store::SavedFill::read(fill).map_or(0, |fill| fill.state.totals.objects)
}

#[test]
fn every_object_is_uploaded_read_back_and_deleted_once() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, endpoint) = serve(&place, &[]);
    make_bucket(&place, &endpoint);
    let words = ["fill", "s3://bucket/f", "--count", "50", "--size", "64KiB", "-c", "4", "--out", "fill", "--json"];
    let first = json(run(&place, &endpoint, &[&words[..], &["--verify"]].concat()).expect(0));
    assert_eq!(
        (&first["result"], &first["stored"], &first["verified"]["good"]),
        (&"pass".into(), &50.into(), &50.into())
    );
    assert_eq!((&first["stored_bytes"], &first["sent_again_bytes"]), (&(50 * 65_536).into(), &0.into()));
    let again = json(run(&place, &endpoint, &words).expect(0));
    assert_eq!((&again["stored"], &again["sent_bytes"]), (&50.into(), &first["sent_bytes"]), "nothing is sent again");
    let other = run(&place, &endpoint, &[&words[..], &["--prefix", "x-"]].concat());
    assert!(other.code == Some(2) && other.stderr.contains("other settings: dataset names"), "{other:?}");
    let deleted = json(run(&place, &endpoint, &[&words[..], &["--delete"]].concat()).expect(0));
    assert_eq!(deleted["deleted"], 50);
    let text = place.run(["report", "fill"]);
    assert!(text.expect(0).stdout.starts_with("PASS · 50 objects stored · 3.28 MB"), "{}", text.stdout);
    let ledger = server.stop();
    assert!(ledger.contains("PutObject"), "{ledger}");
}

#[test]
fn faults_of_the_server_lose_nothing() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, endpoint) = serve(&place, &["--error-every", "5", "--truncate", "7:100"]);
    make_bucket(&place, &endpoint);
    let parts = ["--size", "11MiB", "--multipart", "5MiB", "--parts", "2", "-c", "3"];
    let words = ["fill", "s3://bucket/f", "--count", "12", "--out", "fill", "--verify", "--json"];
    let report = json(run(&place, &endpoint, &[&words[..], &parts].concat()).expect(0));
    assert_eq!((&report["stored"], &report["verified"]["good"]), (&12.into(), &12.into()), "{report:#}");
    assert!(report["attempts"].as_u64() > Some(12 * 5), "{report:#}");
    assert_eq!(open_uploads(&place, &endpoint), 0);
    server.stop();
}

/// Returns the number of multipart uploads that `cleanup` finds.
fn open_uploads(place: &TestDir, endpoint: &str) -> u64 {
    // The server may refuse a request, which ends `cleanup`.
    let cleaned = wait_for("cleanup", || {
        let cleaned = run(place, endpoint, &["cleanup", "s3://bucket", "--count", "1", "--json"]);
        (cleaned.code == Some(0)).then_some(cleaned)
    });
    let uploads = &json(&cleaned)["uploads"];
    uploads["aborted"].as_u64().unwrap() + uploads["others"].as_u64().unwrap()
}

#[test]
fn a_killed_fill_goes_on_where_it_was() {
    let _cores = shared_cores();
    let Some(server) = Versitygw::start() else { return };
    let place = TestDir::new();
    make_bucket(&place, &server.endpoint());
    let words = ["fill", "s3://bucket/f", "--count", "60", "--size", "12MiB", "--multipart", "5MiB", "-c", "3"];
    let words = [&words[..], &["--out", "fill", "--json"]].concat();
    let fill = place.path("fill");
    let at_server = || server.keys("bucket").into_iter().filter(|key| key.starts_with("f/")).count();
    for share in [5, 20, 35] {
        let running = start(&place, &server.endpoint(), &words);
        wait_for("stored objects", || (at_server() >= share).then_some(()));
        running.signal("KILL");
        running.end();
    }
    assert!(stored(&fill) < 60);
    let report = json(run(&place, &server.endpoint(), &[&words[..], &["--verify"]].concat()).expect(0));
    assert_eq!((&report["stored"], &report["verified"]["good"]), (&60.into(), &60.into()), "{report:#}");
    let ends: Vec<&str> = report["sessions"].as_array().unwrap().iter().filter_map(|it| it["end"].as_str()).collect();
    let killed = "killed, or still running";
    assert_eq!(ends, [killed, killed, killed, "finished"]);
    assert_eq!(open_uploads(&place, &server.endpoint()), 0);
    assert_eq!(at_server(), 60);
    server.stop();
}

#[test]
fn an_interrupted_fill_is_partial_and_goes_on() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, endpoint) = serve(&place, &["--delay", "20ms"]);
    make_bucket(&place, &endpoint);
    let words = ["fill", "s3://bucket/f", "--count", "400", "--size", "1KiB", "-c", "4", "--out", "fill"];
    let running = start(&place, &endpoint, &words);
    wait_for("stored objects", || (stored(&place.path("fill")) >= 20).then_some(()));
    running.signal("INT");
    let ended = running.end();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(ended.stdout.starts_with("PARTIAL · ") && ended.stderr.contains("the same command goes on"), "{ended:?}");
    let ended = run(&place, &endpoint, &words);
    assert!(ended.expect(0).stdout.starts_with("PASS · 400 objects stored"), "{ended:?}");
    assert!(ended.stderr.contains("resuming"), "{ended:?}");
    server.stop();
}

#[test]
fn stop_rules_end_a_fill() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, endpoint) = serve(&place, &["--delay", "50ms"]);
    make_bucket(&place, &endpoint);
    let fill = |out: &str, rule: &str| {
        let words = ["fill", "s3://bucket/f", "--count", "100000", "--size", "1KiB", "-c", "2", "--out", out];
        run(&place, &endpoint, &[&words[..], &["--stop-when", rule, "--json"]].concat())
    };
    let ended = fill("planned", "files >= 30");
    let report = json(ended.expect(0));
    assert_eq!((&report["result"], &report["sessions"][0]["end"]), (&"pass".into(), &"stopped: files >= 30".into()));
    assert!(report["stored"].as_u64() >= Some(30), "{report:#}");
    let again = fill("planned", "files >= 30");
    assert!(again.expect(0).stderr.contains("holds already"), "{again:?}");
    let slow = fill("slow", "trailing 2s bandwidth < 50Mbit/s");
    let report = json(slow.expect(1));
    assert_eq!(report["result"], "fail");
    assert!(report["reasons"][0].as_str().unwrap().contains("trailing 2s bandwidth < 50Mbit/s"), "{report:#}");
    server.stop();
}

#[test]
fn objects_that_the_server_loses_are_found_by_reading_back() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, endpoint) = serve(&place, &["--lose-every", "7"]);
    make_bucket(&place, &endpoint);
    let words = ["fill", "s3://bucket/f", "--count", "70", "--size", "1KiB", "--out", "fill", "--verify", "--json"];
    let report = json(run(&place, &endpoint, &words).expect(1));
    let verified = |name: &str| report["verified"][name].as_u64().unwrap();
    // The server had already counted two stored objects, which `prepare` wrote: its object and its record.
    assert_eq!((verified("missing"), verified("good")), (10, 60), "{report:#}");
    assert_eq!((&report["result"], &report["stored"]), (&"fail".into(), &70.into()));
    server.stop();
}

#[test]
fn a_target_that_is_not_there_fails_at_once() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, endpoint) = serve(&place, &[]);
    let words = ["fill", "s3://bucket/f", "--count", "10", "--out", "fill"];
    let ended = run(&place, &endpoint, &words);
    assert!(ended.code == Some(4) && ended.stderr.contains("NoSuchBucket"), "{ended:?}");
    server.stop();
    let ended = run(&place, &endpoint, &words);
    assert!(ended.code == Some(4) && ended.stderr.contains("no response from"), "{ended:?}");
}

#[test]
fn flags_of_measured_load_are_refused() {
    let place = TestDir::new();
    for words in [["-d", "10s"], ["-R", "100"], ["--repeat", "2"], ["--objective", "p99 < 1s"], ["-n", "5"]] {
        let ended = place.run(["fill", "http://127.0.0.1:1/x", "--count", "5"].iter().chain(&words));
        assert!(ended.code == Some(2) && ended.stderr.contains(words[0]), "{ended:?}");
    }
    let ended = place.run(["fill", "http://127.0.0.1:1/x", "--count", "5", "--no-upload"]);
    assert!(ended.code == Some(2) && ended.stderr.contains("--verify"), "{ended:?}");
}
