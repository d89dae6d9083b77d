//! `fill --as renterd` and `--as siad`, against the stand-ins: uploads, snapshots, and the target's ledger in reports.

use crate::support::{Ended, Running, TestDir, shared_cores, wait_for};
use serde_json::Value;
use std::path::Path;

/// Bytes that hosts store for a slab: three shards of 4 MiB.
const SLAB_ON_HOSTS: u64 = 3 << 22;
/// Bytes that siad stores for a file of up to one chunk: 30 sectors of 4 MiB.
const CHUNK_ON_HOSTS: u64 = 30 << 22;

/// Starts a stand-in. Returns the process and the URL of its root.
fn serve(place: &TestDir, words: &[&str]) -> (Running, String) {
    let (server, url) = place.serve(words);
    let root: Vec<&str> = url.splitn(4, '/').take(3).collect();
    (server, root.join("/"))
}

fn serve_renterd(place: &TestDir, words: &[&str]) -> (Running, String) {
    serve(place, &[&["--as", "renterd", "--bucket", "photos"], words].concat())
}

/// Starts a siad with the files in `tree`, and sets its allowance.
fn serve_siad(place: &TestDir, words: &[&str]) -> (Running, String) {
    std::fs::create_dir_all(place.path("tree/sub")).unwrap();
    for number in 0..6 {
        place.write(&format!("tree/sub/{number}.bin"), vec![number; 300_000 + usize::from(number)]);
    }
    let (server, root) = serve(place, &[&["--as", "siad", "tree"], words].concat());
    place.write("allowance", "funds=4000000000000000000000000000&period=12960");
    let out = format!("allowing-{}", server.id());
    let set = ["get", &format!("{root}/renter"), "--body-file", "allowance", "-n", "1", "--out", &out];
    let more = ["-H", "User-Agent: Sia-Agent", "-u", ":secret", "--print", "none"];
    place.run(set.iter().chain(&more)).expect(0);
    (server, root)
}

fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

/// Returns the number of objects that are stored according to the journal in this directory.
fn stored(fill: &Path) -> u64 {
    store::SavedFill::read(fill).map_or(0, |fill| fill.state.totals.objects)
}

/// Returns the names of the snapshots in this directory.
fn snapshots(fill: &Path) -> Vec<String> {
    store::fill_directory::snapshots(fill).unwrap().into_iter().map(|snapshot| snapshot.name).collect()
}

/// Returns a value of the study's table.
fn study<'r>(report: &'r Value, name: &str) -> &'r str {
    let rows = report["ledger"]["study"].as_array().unwrap();
    rows.iter().find(|row| row["name"] == name).and_then(|row| row["value"].as_str()).unwrap()
}

#[test]
fn renterd_stores_gives_back_and_deletes_every_object_and_shows_its_ledger() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, root) = serve_renterd(&place, &["--no-packing"]);
    let url = format!("{root}/photos/a%20set");
    let words = ["fill", &url, "--as", "renterd", "-u", ":plimsoll", "--count", "20", "--size", "256KiB", "-c", "4"];
    let words = [&words[..], &["--out", "fill", "--json"]].concat();
    let report = json(place.run([&words[..], &["--verify"]].concat()).expect(0));
    let facts = (&report["result"], &report["stored"], &report["verified"]["good"]);
    assert_eq!(facts, (&"pass".into(), &20.into(), &20.into()), "{report:#}");
    let ledger = &report["ledger"];
    assert_eq!((&ledger["system"], &ledger["contracts"]), (&"renterd".into(), &3.into()));
    assert_eq!(ledger["absolute_bytes"], 20 * SLAB_ON_HOSTS, "{ledger:#}");
    // 90 SC per TB of uploads, and 25 SC per TB of the downloads that compare the objects.
    let hastings = |bytes: u64, price: u128| (u128::from(bytes) * price * 1_000_000_000_000).to_string();
    let spent = &ledger["spending"]["components"];
    assert_eq!(spent["upload"]["hastings"], hastings(20 * SLAB_ON_HOSTS, 90), "{ledger:#}");
    assert_eq!(spent["other"]["hastings"], hastings(20 << 18, 25), "{ledger:#}");
    assert_eq!(ledger["restarts"], 0);
    assert_eq!(study(&report, "Storage efficiency"), "2.1 %");
    assert!(study(&report, "Files above target redundancy").starts_with("n/a (not known: "));
    assert!(study(&report, "Average download bandwidth (file data)").ends_with(" Mbit/s"), "{report:#}");
    let objects = ["--count", "20", "--size", "256KiB", "-n", "40", "--verify"];
    let words_of_get = [&[&url, "--as", "renterd", "-u", ":plimsoll"][..], &objects].concat();
    let (_, read) = place.get(words_of_get);
    assert_eq!(read.number("/operations/ok"), 40);
    let deleted = json(place.run([&words[..], &["--no-upload", "--delete"]].concat()).expect(0));
    assert_eq!((&deleted["deleted"], &deleted["result"]), (&20.into(), &"pass".into()));
    assert_eq!(deleted["ledger"]["absolute_bytes"], 20 * SLAB_ON_HOSTS, "measured before the deletion");
    assert_eq!(
        snapshots(&place.path("fill")),
        ["after-0001", "after-0002", "before-0001", "before-0002", "uploaded-0002"]
    );
    let table = std::fs::read_to_string(place.path("fill/ledger.csv")).unwrap();
    assert!(table.starts_with("timestamp,contract_count,") && table.lines().count() >= 3, "{table}");
    let text = place.run(["report", "fill"]);
    for part in ["Ledger of renterd", "upload", "hastings", "Results as in the Sia study", "Total spent"] {
        assert!(text.expect(0).stdout.contains(part), "{part}: {}", text.stdout);
    }
    place.run(["report", "fill", "--html", "fill.html"]).expect(0);
    assert!(std::fs::read_to_string(place.path("fill.html")).unwrap().contains("Ledger of renterd"));
    let log = server.stop();
    assert!(log.contains("worker PUT object"), "{log}");
}

#[test]
fn a_killed_fill_goes_on_at_renterd_and_adds_to_its_snapshots() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, root) = serve_renterd(&place, &["--delay", "10ms"]);
    let url = format!("{root}/photos");
    let words = ["fill", &url, "--as", "renterd", "--count", "300", "--size", "16KiB", "-c", "2", "--out", "fill"];
    let words = [&words[..], &["--verify", "--json"]].concat();
    let start = || {
        let mut command = place.command(&words);
        command.env("RENTERD_API_PASSWORD", "plimsoll");
        Running::of(command)
    };
    let running = start();
    wait_for("stored objects", || (stored(&place.path("fill")) >= 20).then_some(()));
    running.signal("KILL");
    running.end();
    assert_eq!(snapshots(&place.path("fill")), ["before-0001"]);
    let ended = start().end();
    let report = json(ended.expect(0));
    assert_eq!((&report["stored"], &report["verified"]["good"]), (&300.into(), &300.into()), "{report:#}");
    assert_eq!(snapshots(&place.path("fill")), ["after-0002", "before-0001", "before-0002"]);
    assert_eq!(report["ledger"]["snapshots"], 3);
    // 4.9 MB do not fill a slab of 8 MiB, so all data is still to be packed.
    assert_eq!(report["ledger"]["absolute_bytes"], 0, "{report:#}");
    assert_eq!(report["ledger"]["waiting_bytes"], 300 * (16 << 10), "{report:#}");
    assert!(place.run(["report", "fill"]).expect(0).stdout.contains("4.92 MB wait to be packed"));
    assert_eq!(study(&report, "Storage efficiency"), "n/a (absolute bytes: 0)");
    server.stop();
}

#[test]
fn a_renterd_that_accepts_no_uploads_is_waited_for_and_then_refused() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, root) = serve_renterd(&place, &["--sync-after", "1h"]);
    let url = format!("{root}/photos");
    let words = ["fill", &url, "--as", "renterd", "--count", "5", "--size", "1KiB", "--ready-timeout", "300ms"];
    let fill = |out: &str, password: &str| place.run(words.iter().chain(&["--out", out, "-u", password]));
    let ended = fill("fill", ":plimsoll");
    assert_eq!(ended.code, Some(4), "{ended:?}");
    for part in ["waiting for renterd, up to 300ms: the daemon", "renterd accepts no uploads after 300ms: the daemon"] {
        assert!(ended.stderr.contains(part), "{ended:?}");
    }
    assert_eq!((stored(&place.path("fill")), snapshots(&place.path("fill")).len()), (0, 2));
    let ended = fill("other", ":wrong");
    assert!(ended.code == Some(4) && ended.stderr.contains("check the password of its API"), "{ended:?}");
    assert_eq!(ended.stderr.lines().count(), 1, "one clear line: {ended:?}");
    let missing = format!("{root}/no-bucket/a");
    let ended = place.run(["fill", &missing, "--as", "renterd", "--count", "5", "-u", ":plimsoll", "--out", "missing"]);
    assert!(ended.code == Some(4) && ended.stderr.contains("renterd has no bucket `no-bucket`"), "{ended:?}");
    let ended = place.run(["fill", &root, "--as", "renterd", "--count", "5"]);
    assert!(ended.code == Some(2) && ended.stderr.contains("the URL needs the bucket"), "{ended:?}");
    server.stop();
    let (server, root) = serve_renterd(&place, &["--sync-after", "2s"]);
    let url = format!("{root}/photos");
    let words =
        ["fill", &url, "--as", "renterd", "--count", "5", "--size", "1KiB", "-u", ":plimsoll", "--out", "waits"];
    assert!(place.run(words).expect(0).stdout.starts_with("PASS · 5 objects stored"));
    let words = ["put", &url, "--as", "renterd", "--count", "5", "--size", "1KiB", "-u", ":plimsoll", "--json"];
    let put = json(place.run(words).expect(0));
    let settings = put["setup"]["settings"].as_array().unwrap();
    let is_long = |name: &str| settings.iter().any(|setting| setting["name"] == name && setting["value"] == "30m");
    assert!(is_long("timeout_head") && is_long("timeout_idle"), "renterd may respond late: {settings:?}");
    server.stop();
}

#[test]
fn a_fill_that_is_stopped_or_interrupted_has_its_last_snapshot() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, root) = serve_renterd(&place, &["--delay", "20ms", "--no-packing"]);
    let words = ["--as", "renterd", "-u", ":plimsoll", "--count", "100000", "--size", "1KiB", "-c", "2"];
    let words = [&words[..], &["--ledger-every", "100ms", "--json", "--out"]].concat();
    let fill = |out: &str, more: &[&str]| {
        let url = format!("{root}/photos/{out}");
        place.start(["fill", &url].iter().chain(&words).chain(&[out]).chain(more))
    };
    let report = json(fill("rule", &["--stop-when", "files >= 10"]).end().expect(0));
    assert_eq!(report["sessions"][0]["end"], "stopped: files >= 10", "{report:#}");
    assert_eq!(snapshots(&place.path("rule")), ["after-0001", "before-0001"]);
    // Each object uses a slab, which costs 0.0011 SC.
    let report = json(fill("cap", &["--cap", "0.02SC"]).end().expect(0));
    assert_eq!(report["sessions"][0]["end"], "stopped: spending >= 0.02SC", "{report:#}");
    let sum: f64 = report["ledger"]["spending"]["sum"]["siacoins"].as_str().unwrap().parse().unwrap();
    assert!((0.02..1.0).contains(&sum), "{report:#}");
    let running = fill("interrupted", &[]);
    wait_for("stored objects", || (stored(&place.path("interrupted")) >= 5).then_some(()));
    running.signal("INT");
    let ended = running.end();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert_eq!(snapshots(&place.path("interrupted")), ["after-0001", "before-0001"]);
    let report = json(&ended);
    assert!(report["ledger"]["absolute_bytes"].as_u64() >= Some(5 * SLAB_ON_HOSTS), "{report:#}");
    server.stop();
}

#[test]
fn siad_counts_an_object_once_its_upload_is_complete() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, root) = serve_siad(&place, &["--bandwidth", "4GB", "--api-password", "secret"]);
    let url = format!("{root}/my%20files");
    let words = ["fill", &url, "--as", "siad", "--from", "tree", "--copies", "2", "-c", "3", "--poll-every", "100ms"];
    let words = [&words[..], &["-u", ":${SIAD}", "--out", "fill", "--json"]].concat();
    let fill = |more: &[&str]| {
        let mut command = place.command(words.iter().chain(more));
        command.env("SIAD", "secret");
        Running::of(command).end()
    };
    let report = json(fill(&["--verify", "--collect", "host"]).expect(0));
    let facts = (&report["result"], &report["stored"], &report["verified"]["good"]);
    assert_eq!(facts, (&"pass".into(), &12.into(), &12.into()), "{report:#}");
    let ledger = &report["ledger"];
    assert_eq!((&ledger["system"], &ledger["contracts"]), (&"siad".into(), &50.into()));
    assert_eq!(ledger["absolute_bytes"], 12 * CHUNK_ON_HOSTS, "{ledger:#}");
    let redundancy = &ledger["redundancy"];
    assert_eq!(
        (&redundancy["files"], &redundancy["min"], &redundancy["above_target"]),
        (&12.into(), &3.0.into(), &0.into())
    );
    for component in ["storage", "upload", "download"] {
        assert_ne!(ledger["spending"]["components"][component]["hastings"], "0", "{component}: {ledger:#}");
    }
    assert_eq!(study(&report, "Total files uploaded"), "12");
    assert!(study(&report, "Cost per TB and month").ends_with(" SC"), "{report:#}");
    assert_eq!(study(&report, "Unplanned restarts of the target"), "n/a (not known: restarts of the target)");
    let table = std::fs::read_to_string(place.path("fill/ledger.csv")).unwrap();
    let header = table.lines().next().unwrap();
    assert_eq!((header, header.split(',').count()), (sia::siad::COLUMNS.join(",").as_str(), 17));
    let collected = store::Collected::read(&place.path("fill/sessions/0001/upload"));
    assert!(collected.is_ok_and(|found| found.is_some()), "--collect polls during the uploads");
    let again = json(fill(&["--delete"]).expect(0));
    assert_eq!((&again["stored"], &again["deleted"]), (&12.into(), &12.into()), "{again:#}");
    assert_eq!(again["ledger"]["absolute_bytes"], 12 * CHUNK_ON_HOSTS, "{again:#}");
    server.stop();
}

#[test]
fn a_killed_fill_goes_on_at_siad() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, root) = serve_siad(&place, &["--bandwidth", "400MB"]);
    let words = ["fill", &root, "--as", "siad", "--from", "tree", "--copies", "2", "-c", "3", "--poll-every", "100ms"];
    let words = [&words[..], &["--out", "fill", "--json"]].concat();
    let running = place.start(&words);
    wait_for("stored objects", || (stored(&place.path("fill")) >= 2).then_some(()));
    running.signal("KILL");
    running.end();
    assert!(stored(&place.path("fill")) < 12);
    let report = json(place.run([&words[..], &["--verify"]].concat()).expect(0));
    assert_eq!((&report["stored"], &report["verified"]["good"]), (&12.into(), &12.into()), "{report:#}");
    // No file was uploaded twice.
    assert_eq!(report["ledger"]["absolute_bytes"], 12 * CHUNK_ON_HOSTS, "{report:#}");
    assert_eq!(snapshots(&place.path("fill")), ["after-0002", "before-0001", "before-0002"]);
    let words = ["put", &format!("{root}/put"), "--as", "siad", "--from", "tree", "--poll-every", "100ms", "--json"];
    let put = json(place.run(words).expect(0));
    assert_eq!(put["operations"]["ok"], 6, "{put:#}");
    server.stop();
}

#[test]
fn a_siad_that_cannot_upload_is_refused() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, root) = serve_siad(&place, &["--locked"]);
    let words = ["fill", &root, "--as", "siad", "--from", "tree", "--out", "fill"];
    let ended = place.run(words);
    assert!(
        ended.code == Some(4) && ended.stderr.contains("siad accepts no uploads yet: the wallet is locked"),
        "{ended:?}"
    );
    let ended = place.run(["fill", &root, "--as", "siad", "--count", "5"]);
    assert!(ended.code == Some(2) && ended.stderr.contains("--from DIR"), "{ended:?}");
    server.stop();
    let (server, root) = serve_siad(&place, &["--forming", "1h"]);
    let words = ["fill", &root, "--as", "siad", "--from", "tree", "--out", "other", "--ready-timeout", "300ms"];
    let ended = place.run(words);
    let expected = "siad accepts no uploads after 300ms: 0 of 30 contracts are formed";
    assert!(ended.code == Some(4) && ended.stderr.contains(expected), "{ended:?}");
    server.stop();
}
