//! Fills as cells of a scenario, against the embedded S3 server: results, costs, exit codes, and resuming after a kill.

use super::fill::{json, make_bucket, start, stored};
use super::s3::serve;
use crate::support::versitygw::run;
use crate::support::{TestDir, shared_cores, wait_for};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// A price sheet with 1 USD for each upload. Everything else is free.
const SHEET: &str = "name: mine\ncurrency: USD\ndate: 2026-01-31\nstorage: {price: 0, per: GB}\n\
                     upload: {price: 0, per: GB}\nrequests: {put: 1000}\n";

/// Writes a scenario whose target is a bucket.
fn write_scenario(place: &TestDir, rest: &str) {
    place.write("mine.yaml", SHEET);
    place.write("study.yaml", format!("name: fills\ntargets: {{bucket: {{url: s3://bucket/set}}}}\n{rest}"));
}

#[test]
fn a_cell_can_be_a_fill_that_is_read_back_and_deleted() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, endpoint) = serve(&place, &[]);
    make_bucket(&place, &endpoint);
    write_scenario(
        &place,
        "settings: {command: fill, count: 40, concurrency: 4, verify: true, delete: true, prices: mine.yaml}\n\
         matrix: {size: [1KiB, 64KiB]}\n",
    );
    let ended = run(&place, &endpoint, &["run", "study.yaml", "--out", "study", "--json", "--html"]);
    let study = json(ended.expect(0));
    assert_eq!((&study["result"]["word"], &study["planned"]), (&"pass".into(), &2.into()), "{study:#}");
    let fills = study["fills"].as_array().unwrap();
    for (trial, (cell, size)) in fills.iter().zip([("size 1KiB", 1024), ("size 64KiB", 65_536)]) {
        let fill = &trial["fill"];
        assert_eq!((&trial["cell"], &trial["target"], &trial["repeat"]), (&cell.into(), &"bucket".into(), &1.into()));
        assert_eq!((&fill["stored"], &fill["stored_bytes"]), (&40.into(), &(40 * size).into()), "{fill:#}");
        assert_eq!((&fill["verified"]["good"], &fill["deleted"]), (&40.into(), &40.into()), "{fill:#}");
        assert_eq!(
            (&fill["costs"][0]["sheet"], &fill["costs"][0]["sum"]),
            (&"mine".into(), &"40.000000".into()),
            "{fill:#}"
        );
    }
    assert_eq!(fills.len(), 2);
    let text = place.run(["report", "study"]);
    text.expect(0);
    for part in ["PASS · 2 of 2 fills passed", "size 64KiB", "40 of 40", "40 good", "40.00 USD (mine)"] {
        assert!(text.stdout.contains(part), "{part}: {}", text.stdout);
    }
    assert!(fs::read_to_string(place.path("study/report.html")).unwrap().contains("\"title\":\"Fills\""));
    // Each fill has its own directory with all its reports.
    let one = place.run(["report", "study/001-size-1KiB/bucket-1"]);
    assert!(one.expect(0).stdout.starts_with("PASS · 40 objects stored, 40 deleted again"), "{one:?}");
    let ledger = server.stop();
    for line in ["PutObject", "GetObject", "DeleteObject"] {
        assert!(ledger.contains(line), "{line}: {ledger}");
    }
}

#[test]
fn the_scenario_for_s3_fills_any_bucket() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, endpoint) = serve(&place, &[]);
    make_bucket(&place, &endpoint);
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/s3-fill.yaml");
    let scenario = scenario.to_str().unwrap();
    let at = format!("endpoint={endpoint}");
    let words = ["run", scenario, "--set", "target=s3://bucket/fill", "--set", &at, "--set", "total=32MiB"];
    let ended = run(&place, &endpoint, &[&words[..], &["--out", "study", "--json"]].concat());
    let study = json(ended.expect(0));
    let fills = study["fills"].as_array().unwrap();
    for (trial, (cell, objects)) in fills.iter().zip([("small objects", 512), ("large objects", 2)]) {
        let fill = &trial["fill"];
        let numbers = ["stored", "deleted"].map(|number| fill[number].as_u64());
        assert_eq!((&trial["cell"], numbers), (&cell.into(), [Some(objects); 2]), "{trial:#}");
        assert_eq!(fill["verified"]["good"], objects, "{trial:#}");
        assert_eq!(fill["costs"][0]["currency"], "USD", "{trial:#}");
    }
    assert_eq!(fills.len(), 2);
    assert!(server.stop().contains("PutObject"));
    // Without any variable, the study starts and fills its own server. The environment has no keys.
    let own = place.run(["run", scenario, "--set", "total=16MiB", "--out", "own"]);
    assert!(own.expect(0).stdout.starts_with("PASS · 2 of 2 fills passed"), "{}", own.stdout);
}

#[test]
fn reports_and_exports_of_a_study_contain_its_fills() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, endpoint) = serve(&place, &[]);
    make_bucket(&place, &endpoint);
    write_scenario(&place, "settings: {command: fill, count: 10, size: 1KiB, verify: true}\nrepeats: 2\n");
    let study = run(&place, &endpoint, &["run", "study.yaml", "--out", "study", "--json"]);
    study.expect(0);
    server.stop();
    let schema: Value = serde_json::from_str(&place.run(["schema", "study"]).stdout).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&json(&study)).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let text = place.run(["report", "study", "--junit", "study.xml"]);
    assert!(text.expect(0).stdout.contains("bucket, repeat 2"), "{}", text.stdout);
    let junit = fs::read_to_string(place.path("study.xml")).unwrap();
    assert!(junit.contains("tests=\"2\" failures=\"0\"") && junit.contains("bucket, run 2: fill"), "{junit}");
    let table = place.run(["export", "study", "--as", "markdown"]);
    assert!(table.expect(0).stdout.contains("10 of 10"), "{}", table.stdout);
    let rows = place.run(["export", "study", "--as", "csv"]);
    let directories =
        ["bucket-1/sessions/0001/upload", "bucket-1/sessions/0001/verify", "bucket-2/sessions/0001/upload"];
    for directory in directories {
        assert!(rows.expect(0).stdout.contains(directory), "{directory}: {}", rows.stdout);
    }
    assert_eq!(rows.stdout.lines().count(), 1 + 4, "{}", rows.stdout);
}

#[test]
fn a_killed_fill_of_a_study_goes_on_where_it_was() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, endpoint) = serve(&place, &["--delay", "20ms"]);
    make_bucket(&place, &endpoint);
    write_scenario(&place, "settings: {command: fill, count: 1600, size: 1KiB, concurrency: 8, verify: true}\n");
    let fill = place.path("study/001-all/bucket-1");
    let running = start(&place, &endpoint, &["run", "study.yaml", "--out", "study"]);
    wait_for("stored objects", || (stored(&fill) >= 20).then_some(()));
    running.signal("KILL");
    running.end();
    let before = stored(&fill);
    assert!((20..1600).contains(&before), "{before}");
    let shown = place.run(["report", "study"]);
    assert!(
        shown.expect(0).stdout.contains("1 of 1 missing: `plimsoll run SCENARIO --resume DIR` runs them"),
        "{}",
        shown.stdout
    );
    let again = run(&place, &endpoint, &["run", "study.yaml", "--out", "study"]);
    assert!(again.expect(4).stderr.contains("`--resume study` instead of --out continues the study"), "{again:?}");
    let running = start(&place, &endpoint, &["run", "study.yaml", "--resume", "study"]);
    wait_for("more stored objects", || (stored(&fill) >= before + 20).then_some(()));
    running.signal("INT");
    let ended = running.end();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    let ended = run(&place, &endpoint, &["run", "study.yaml", "--resume", "study", "--json"]);
    assert!(ended.expect(0).stderr.contains("session 3"), "{ended:?}");
    let study = json(&ended);
    let filled = &study["fills"][0]["fill"];
    assert_eq!((&filled["stored"], &filled["verified"]["good"]), (&1600.into(), &1600.into()), "{filled:#}");
    let ends: Vec<&str> = filled["sessions"].as_array().unwrap().iter().filter_map(|it| it["end"].as_str()).collect();
    assert_eq!(ends, ["killed, or still running", "interrupted", "finished"]);
    // The export also contains the runs of the killed session.
    let rows = place.run(["export", "study", "--as", "csv"]);
    for run in ["0001/upload", "0002/upload", "0003/upload", "0003/verify"] {
        assert!(rows.expect(0).stdout.contains(run), "{run}: {}", rows.stdout);
    }
    // The study is complete, so nothing is uploaded again.
    let again = run(&place, &endpoint, &["run", "study.yaml", "--resume", "study", "--json"]);
    assert_eq!(json(again.expect(0))["fills"], study["fills"]);
    server.stop();
}

#[test]
fn the_worst_fill_decides_the_result_of_a_study() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, endpoint) = serve(&place, &["--delay", "50ms"]);
    make_bucket(&place, &endpoint);
    write_scenario(
        &place,
        "settings: {command: fill, count: 100000, size: 1KiB, concurrency: 2}\n\
         parts:\n  planned: {settings: {stop-when: files >= 30}}\n  \
         slow: {settings: {prefix: slow-, stop-when: [trailing 2s bandwidth < 50Mbit/s, time >= 8h]}}\n",
    );
    let ended = run(&place, &endpoint, &["run", "study.yaml", "--out", "study", "--json"]);
    let study = json(ended.expect(1));
    let words: Vec<&str> =
        study["fills"].as_array().unwrap().iter().filter_map(|it| it["fill"]["result"].as_str()).collect();
    assert_eq!((words, &study["result"]["word"]), (vec!["pass", "fail"], &"fail".into()), "{study:#}");
    let reason = "FAIL in 1 of 2 trials: the fill was stopped, because `trailing 2s bandwidth &lt; 50Mbit/s`";
    let shown = study["result"]["reasons"][0]["text"].as_str().unwrap();
    assert_eq!(shown.replace('<', "&lt;"), reason);
    let text = place.run(["report", "study"]);
    assert!(text.expect(1).stdout.starts_with("FAIL · 1 of 2 fills passed"), "{}", text.stdout);
    assert!(text.stdout.contains("trailing 2s bandwidth"), "{}", text.stdout);
    server.stop();
}

#[test]
fn a_dry_run_shows_bytes_and_costs_of_fills() {
    let place = TestDir::new();
    write_scenario(
        &place,
        "settings: {command: fill, count: 1000, size: 1kB, prices: mine.yaml, keep: 2 months}\n\
         parts:\n  upload: {settings: {stop-when: 'time >= 2h'}}\n  \
         and read: {settings: {verify: true, stop-when: 'bytes >= 400kB'}}\n",
    );
    let dry = |words: &[&str]| {
        let ended = run(&place, "http://127.0.0.1:1", &[&["run", "study.yaml", "--dry-run"], words].concat());
        ended.expect(0);
        ended.stdout
    };
    let text = dry(&[]);
    for part in [
        "upload, bucket: 1 × 2h, at most 1.00 MB\n",
        "and read, bucket: 1 × until done, at most 800.00 kB\n",
        "    costs: 1000.00 USD (mine), for all objects, kept for 2.00 months\n",
        "projected bytes: at most 1.80 MB\n",
        "plimsoll fill --count=1000",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let assumed = dry(&["--assume", "100kB/s"]);
    assert!(assumed.contains("upload, bucket: 1 × 10s") && assumed.contains("and read, bucket: 1 × 8s"), "{assumed}");
    assert!(!place.path("runs").exists() && !place.path("fills").exists());
}

#[test]
fn settings_that_a_fill_cannot_have_are_refused_with_their_positions() {
    let place = TestDir::new();
    for (setting, position, message) in [
        ("duration: 10s", "study.yaml:3:53: ", "-d: a fill uploads every object once"),
        ("no-upload: true", "study.yaml:3:43: ", "`no-upload` is not a setting"),
        ("stop-when: time < 1h", "study.yaml:3:54: ", "--stop-when"),
        ("prices: none.yaml", "study.yaml:3:21: ", "none.yaml"),
        ("concurrency: line", "study.yaml:3:56: ", "a fill has no load line"),
    ] {
        write_scenario(&place, &format!("settings: {{command: fill, count: 5,       {setting}}}\n"));
        let ended = run(&place, "http://127.0.0.1:1", &["run", "study.yaml", "--dry-run"]);
        ended.expect(2);
        assert!(ended.stderr.contains(position) && ended.stderr.contains(message), "{setting}: {}", ended.stderr);
    }
}
