//! `fill`: uploads with a journal, against the embedded S3 server, VersityGW and nginx. Clients and servers are killed.
//! Afterwards, the target must have the right bytes of every object that the journal records as stored, and no upload
//! may be open.

use super::s3::serve;
use crate::support::versitygw::{ACCESS_KEY, SECRET_KEY, run};
use crate::support::{Ended, Nginx, Running, Setup, TestDir, Versitygw, shared_cores, wait_for};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use store::fill_directory::FillDirectory;
use store::journal::{AckedObject, Evidence, JournalWriter, Record};

/// Starts a command with the keys of the S3 servers.
pub fn start(place: &TestDir, endpoint: &str, words: &[&str]) -> Running {
    let mut command: Command = place.command(words);
    command.env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
    command.env("AWS_ENDPOINT_URL", endpoint);
    Running::of(command)
}

/// Creates the bucket of the fills.
pub fn make_bucket(place: &TestDir, endpoint: &str) {
    let words = ["prepare", "s3://bucket/other", "--make-bucket", "--count", "1", "--size", "1", "--print", "none"];
    run(place, endpoint, &words).expect(0);
}

/// Returns the JSON that a command printed.
pub fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

/// Returns the number of objects that are stored according to the journal in this directory.
pub fn stored(fill: &Path) -> u64 {
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
    assert!(
        other.code == Some(2) && other.stderr.contains("the fill in this directory has other settings (dataset names"),
        "{other:?}"
    );
    let deleted = json(run(&place, &endpoint, &[&words[..], &["--delete"]].concat()).expect(0));
    assert_eq!(deleted["deleted"], 50);
    let text = place.run(["report", "fill"]);
    let begin = "PASS · 50 objects stored, 50 deleted again · 3.28 MB";
    assert!(text.expect(0).stdout.starts_with(begin), "{}", text.stdout);
    place.run(["report", "fill", "--html", "fill.html"]).expect(0);
    let page = std::fs::read_to_string(place.path("fill.html")).unwrap();
    assert!(page.contains("50 objects stored, 50 deleted again") && page.contains("\"id\":\"bandwidth\""), "{page}");
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

#[test]
fn objects_that_are_lost_after_they_were_read_back_are_found() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, endpoint) = serve(&place, &[]);
    make_bucket(&place, &endpoint);
    let words = ["fill", "s3://bucket/f", "--count", "12", "--size", "1KiB", "--out", "fill", "--verify", "--json"];
    let report = json(run(&place, &endpoint, &words).expect(0));
    assert_eq!(report["verified"]["good"], 12, "{report:#}");
    // The server loses the first object.
    run(&place, &endpoint, &["cleanup", "s3://bucket/f", "--count", "1", "--size", "1KiB"]).expect(0);
    let report = json(run(&place, &endpoint, &[&words[..], &["--no-upload"]].concat()).expect(1));
    assert_eq!((&report["verified"]["good"], &report["verified"]["missing"]), (&11.into(), &1.into()), "{report:#}");
    server.stop();
}

/// Returns the number of multipart uploads that `cleanup` finds.
pub fn open_uploads(place: &TestDir, endpoint: &str) -> u64 {
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
    assert!(ended.stdout.starts_with("PARTIAL · ") && ended.stderr.contains("run the same command again"), "{ended:?}");
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
    // The server had already counted two objects that `prepare` stored: an object, and the record of the dataset.
    assert_eq!((verified("missing"), verified("good")), (10, 60), "{report:#}");
    assert_eq!((&report["result"], &report["stored"]), (&"fail".into(), &70.into()));
    server.stop();
}

/// A server that accepts uploads, but refuses to return or delete the objects.
const WRITE_ONLY: &str =
    "location /up/ { root .; dav_methods PUT; create_full_put_path on; limit_except PUT { deny all; } }";

#[test]
fn objects_that_the_target_does_not_give_back_fail_a_fill() {
    let _cores = shared_cores();
    let Some(nginx) = Nginx::start(Setup { server: WRITE_ONLY, ..Setup::default() }) else { return };
    let place = TestDir::new();
    let url = nginx.url("/up/f");
    let words = ["fill", &url, "--count", "20", "--size", "1KiB", "--out", "fill", "--json"];
    let report = json(place.run(words.iter().chain(&["--verify"])).expect(1));
    let facts = (&report["result"], &report["stored"], &report["verified"]["unknown"], &report["verified"]["good"]);
    assert_eq!(facts, (&"fail".into(), &20.into(), &20.into(), &0.into()), "{report:#}");
    assert_eq!(report["reasons"][0], "20 objects could not be read back");
    let report = json(place.run(words.iter().chain(&["--no-upload", "--delete"])).expect(1));
    assert_eq!((&report["deleted"], &report["not_deleted"]), (&0.into(), &20.into()), "{report:#}");
    nginx.quit();
}

#[test]
fn a_fill_goes_on_although_the_target_does_not_give_objects_back() {
    let _cores = shared_cores();
    let Some(nginx) = Nginx::start(Setup { server: WRITE_ONLY, ..Setup::default() }) else { return };
    let place = TestDir::new();
    let url = nginx.url("/up/f");
    let words = ["fill", &url, "--count", "3000", "--size", "4KiB", "-c", "2", "--out", "fill", "--json"];
    let running = place.start(words);
    let at_server = || std::fs::read_dir(nginx.path("up/f")).map_or(0, Iterator::count);
    wait_for("stored objects", || (at_server() >= 20).then_some(()));
    running.signal("KILL");
    running.end();
    assert!(stored(&place.path("fill")) < 3000);
    let report = json(place.run(words).expect(0));
    assert_eq!((&report["stored"], &report["found_on_resume"]), (&3000.into(), &0.into()), "{report:#}");
    let log = nginx.quit();
    assert!(log.iter().any(|request| request.method == "GET" && request.status == 403));
}

#[test]
fn a_target_that_refuses_everything_ends_a_fill() {
    let _cores = shared_cores();
    let refusing = "location /up/ { limit_except GET { deny all; } return 404; }";
    let Some(nginx) = Nginx::start(Setup { server: refusing, ..Setup::default() }) else { return };
    let place = TestDir::new();
    let url = nginx.url("/up/f");
    let words = ["fill", &url, "--count", "100000", "--size", "1KiB", "-c", "64", "--out", "fill", "--json"];
    let ended = place.run(words);
    let report = json(ended.expect(1));
    assert_eq!(report["sessions"][0]["end"], "refused by the target", "{report:#}");
    assert!(ended.stderr.contains("check keys and permissions"), "{ended:?}");
    assert!(report["failed"].as_u64().is_some_and(|failed| (100..1000).contains(&failed)), "{report:#}");
    nginx.quit();
}

#[test]
fn reading_back_ends_if_the_target_is_gone() {
    let _cores = shared_cores();
    let Some(nginx) = Nginx::start(Setup {
        server: "location /up/ { root .; dav_methods PUT DELETE; create_full_put_path on; limit_rate 20k; }",
        ..Setup::default()
    }) else {
        return;
    };
    let place = TestDir::new();
    let url = nginx.url("/up/f");
    let words = ["fill", &url, "--count", "8", "--size", "40KiB", "-c", "1", "--out", "fill", "--json"];
    let words = [&words[..], &["--stop-when", "gone > 2s", "--verify", "--drain", "1s"]].concat();
    let running = place.start(&words);
    wait_for("all objects", || (stored(&place.path("fill")) == 8).then_some(()));
    nginx.quit();
    let ended = running.end();
    let report = json(ended.expect(1));
    assert_eq!((&report["sessions"][0]["end"], &report["stored"]), (&"target gone".into(), &8.into()), "{report:#}");
}

/// Creates files in two levels of directories: an empty file, a large file, a link and a broken link.
fn make_tree(place: &TestDir) {
    let at = |name: &str| place.path("tree").join(name);
    std::fs::create_dir_all(at("a/b")).unwrap();
    std::fs::write(at("a/b/empty"), "").unwrap();
    std::fs::write(at("a/one.txt"), "one").unwrap();
    std::fs::write(at("large.bin"), vec![7; 6 << 20]).unwrap();
    std::os::unix::fs::symlink("a/one.txt", at("link.txt")).unwrap();
    std::os::unix::fs::symlink("nowhere", at("broken")).unwrap();
}

#[test]
fn a_tree_of_files_is_uploaded_with_copies_and_compared() {
    let _cores = shared_cores();
    let Some(server) = Versitygw::start() else { return };
    let place = TestDir::new();
    let endpoint = server.endpoint();
    make_bucket(&place, &endpoint);
    make_tree(&place);
    let words = ["fill", "s3://bucket/f", "--from", "tree", "--copies", "2", "--multipart", "5MiB", "--out", "fill"];
    let words = [&words[..], &["--json"]].concat();
    let first = run(&place, &endpoint, &[&words[..], &["--verify"]].concat());
    assert!(first.stderr.contains("1 broken link"), "{first:?}");
    let report = json(first.expect(0));
    assert_eq!((&report["stored"], &report["verified"]["good"]), (&8.into(), &8.into()), "{report:#}");
    let mut keys = server.keys("bucket");
    keys.retain(|key| key.starts_with("f/"));
    keys.sort();
    let copies = |copy: &str| {
        let name = |name: &str| format!("f/{}", name.replace('#', copy));
        ["a/b/empty-#", "a/one-#.txt", "large-#.bin", "link-#.txt"].map(name)
    };
    let mut expected = [copies("00000000"), copies("00000001")].concat();
    expected.sort();
    assert_eq!(keys, expected);
    // Files that are added later do not belong to the fill.
    place.write("tree/added", "new");
    let again = json(run(&place, &endpoint, &words).expect(0));
    assert_eq!((&again["stored"], &again["sent_bytes"]), (&8.into(), &report["sent_bytes"]), "{again:#}");
    let other = run(&place, &endpoint, &[&words[..], &["--copies", "3"]].concat());
    assert!(other.code == Some(2), "{other:?}");
    server.stop();
}

#[test]
fn files_that_change_are_neither_uploaded_nor_compared() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, endpoint) = serve(&place, &[]);
    make_tree(&place);
    let words = ["fill", "s3://bucket/f", "--from", "tree", "--out", "fill", "--json"];
    // The bucket does not exist, so the first session lists the files and uploads nothing.
    assert_eq!(run(&place, &endpoint, &words).code, Some(4));
    make_bucket(&place, &endpoint);
    let was = std::fs::read(place.path("tree/large.bin")).unwrap();
    let modified = std::fs::metadata(place.path("tree/large.bin")).unwrap().modified().unwrap();
    place.write("tree/large.bin", "other");
    let report = json(run(&place, &endpoint, &words).expect(1));
    assert_eq!((&report["stored"], &report["failed"]), (&3.into(), &1.into()), "{report:#}");
    assert_eq!(report["failures"][0]["cause"], "source_changed", "{report:#}");
    // With its old content and modification time, the file counts as unchanged.
    place.write("tree/large.bin", was);
    std::fs::File::options().append(true).open(place.path("tree/large.bin")).unwrap().set_modified(modified).unwrap();
    let report = json(run(&place, &endpoint, &words).expect(0));
    assert_eq!((&report["stored"], &report["failed"]), (&4.into(), &0.into()), "{report:#}");
    place.write("tree/a/one.txt", "two");
    let report = json(run(&place, &endpoint, &[&words[..], &["--no-upload", "--verify"]].concat()).expect(1));
    // The link points to the changed file.
    let verified = (&report["verified"]["good"], &report["verified"]["changed_source"]);
    assert_eq!(verified, (&2.into(), &2.into()), "{report:#}");
    assert_eq!(report["reasons"][0], "2 objects could not be compared, because their files have changed");
    server.stop();
}

/// The disk with the files is no longer mounted, so another directory has the path of the files.
#[test]
fn a_fill_ends_if_the_directory_of_its_files_is_gone() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, endpoint) = serve(&place, &["--delay", "50ms"]);
    make_bucket(&place, &endpoint);
    std::fs::create_dir(place.path("tree")).unwrap();
    place.write("tree/a", "content");
    let words = ["fill", "s3://bucket/f", "--from", "tree", "--copies", "200", "-c", "2", "--out", "fill", "--json"];
    let running = start(&place, &endpoint, &words);
    wait_for("the first objects", || (stored(&place.path("fill")) > 0).then_some(()));
    std::fs::rename(place.path("tree"), place.path("elsewhere")).unwrap();
    std::fs::create_dir(place.path("tree")).unwrap();
    let ended = running.end();
    assert!(ended.stderr.contains("is gone; check that its disk is mounted"), "{ended:?}");
    let report = json(ended.expect(4));
    assert_eq!((&report["failed"], &report["sessions"][0]["end"]), (&0.into(), &"failed".into()), "{report:#}");
    let other = run(&place, &endpoint, &words.map(|word| if word == "tree" { "elsewhere" } else { word }));
    assert!(other.code == Some(2) && other.stderr.contains("dataset directory"), "{other:?}");
    std::fs::remove_dir(place.path("tree")).unwrap();
    std::fs::rename(place.path("elsewhere"), place.path("tree")).unwrap();
    let report = json(run(&place, &endpoint, &words).expect(0));
    assert_eq!((&report["stored"], &report["failed"]), (&200.into(), &0.into()), "{report:#}");
    server.stop();
}

/// nginx inserts bytes, so responses are chunked and longer than their files.
#[test]
fn objects_that_have_become_longer_are_damaged() {
    let _cores = shared_cores();
    let Some(nginx) = Nginx::start(Setup {
        server: "location /up/ { root .; dav_methods PUT; create_full_put_path on; \
                 sub_filter_types *; sub_filter one 'one and more'; }",
        ..Setup::default()
    }) else {
        return;
    };
    let place = TestDir::new();
    make_tree(&place);
    let words = ["fill", &nginx.url("/up/f"), "--from", "tree", "--out", "fill", "--json", "--verify"];
    let report = json(place.run(words).expect(1));
    let verified = ["good", "damaged", "unknown"].map(|result| report["verified"][result].as_u64());
    assert_eq!(verified, [Some(2), Some(2), Some(0)], "{report:#}");
}

#[test]
fn an_estimate_sends_nothing_and_a_cap_ends_the_fill() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, endpoint) = serve(&place, &["--delay", "5ms"]);
    make_bucket(&place, &endpoint);
    let sheet = "name: mine\ncurrency: USD\ndate: 2026-01-31\nstorage: {price: 0, per: GB}\nupload: {price: 0, per: GB}\nrequests: {put: 1000}\n";
    place.write("mine.yaml", sheet);
    let words = ["fill", "s3://bucket/f", "--count", "1000", "--size", "1KiB", "-c", "2", "--prices", "mine.yaml"];
    let estimate = run(&place, &endpoint, &[&words[..], &["--dry-run", "--out", "planned"]].concat());
    assert!(estimate.expect(0).stdout.contains("000.00 USD"), "{estimate:?}");
    assert!(!place.path("planned").exists());
    let capped = [&words[..], &["--cap", "100USD", "--out", "fill", "--json"]].concat();
    let ended = run(&place, &endpoint, &capped);
    let report = json(ended.expect(0));
    let stored = report["stored"].as_u64().unwrap();
    assert!((100..1000).contains(&stored), "{report:#}");
    assert_eq!(report["sessions"][0]["end"], "stopped: spending >= 100USD", "{report:#}");
    let events = report["events"].as_array().unwrap();
    assert!(events.iter().any(|event| event["kind"] == "rules" && event["text"].to_string().contains("spending")));
    let again = run(&place, &endpoint, &capped);
    assert!(again.expect(0).stderr.contains("raise --cap"), "{again:?}");
    let ledger = server.stop();
    assert!(ledger.contains("PutObject"), "{ledger}");
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

/// `cargo xtask bench resume` measures the same with ten million objects.
#[test]
fn a_fill_with_a_long_journal_resumes() {
    const OBJECTS: u64 = 200_000;
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, endpoint) = serve(&place, &[]);
    make_bucket(&place, &endpoint);
    let count = OBJECTS.to_string();
    let words = ["fill", "s3://bucket/f", "--count", &count, "--size", "1KiB", "--out", "fill", "--json"];
    run(&place, &endpoint, &[&words[..], &["-c", "1", "--stop-when", "files >= 1"]].concat()).expect(0);
    let directory = FillDirectory::open(&place.path("fill")).unwrap();
    let (mut journal, replay) = JournalWriter::open(&directory, &[]).unwrap();
    journal.append(&Record::Intend { first: 0, end: OBJECTS }).unwrap();
    let evidence = Evidence::Response;
    let acked = |number| AckedObject { number, attempts: 1, sent_bytes: 1024, file_bytes: 1024, evidence };
    let missing: Vec<u64> = replay.state.completed.absent_below(OBJECTS - 10).collect();
    for batch in missing.chunks(500) {
        journal.append(&Record::Acked(batch.iter().copied().map(acked).collect())).unwrap();
        journal.sync(1_795_228_200_000).unwrap();
    }
    journal.close(1_795_228_200_000).unwrap();
    drop(directory);
    let report = json(run(&place, &endpoint, &words).expect(0));
    assert_eq!((&report["stored"], &report["result"]), (&OBJECTS.into(), &"pass".into()), "{report:#}");
    assert_eq!(report["sent_bytes"], OBJECTS * 1024, "only the objects in doubt are sent: {report:#}");
    server.stop();
}

#[test]
fn a_resumed_fill_waits_for_its_target() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, endpoint) = serve(&place, &["--store", "store", "--delay", "20ms"]);
    make_bucket(&place, &endpoint);
    let words = ["fill", "s3://bucket/f", "--count", "300", "--size", "1KiB", "-c", "2", "--out", "fill", "--json"];
    let running = start(&place, &endpoint, &words);
    wait_for("stored objects", || (stored(&place.path("fill")) >= 20).then_some(()));
    running.signal("KILL");
    running.end();
    server.stop();
    let gone = run(&place, &endpoint, &[&words[..], &["--stop-when", "gone > 1s"]].concat());
    let report = json(gone.expect(1));
    assert_eq!(report["sessions"][1]["end"], "target gone", "{report:#}");
    let running = start(&place, &endpoint, &words);
    wait_for("a third session", || {
        let fill = store::SavedFill::read(&place.path("fill")).ok()?;
        (fill.state.sessions.len() == 3).then_some(())
    });
    let address = endpoint.trim_start_matches("http://");
    let server = place.start(["serve", "--s3", "--listen", address, "--store", "store", "--stop-after", "300s"]);
    let report = json(running.end().expect(0));
    assert_eq!((&report["stored"], &report["result"]), (&300.into(), &"pass".into()), "{report:#}");
    server.stop();
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
