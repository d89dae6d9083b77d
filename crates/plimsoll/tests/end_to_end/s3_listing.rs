//! Load on the existing objects of a bucket.

use super::s3::serve;
use crate::support::versitygw::run;
use crate::support::{Report, TestDir, Versitygw, shared_cores};

/// Writes so many objects that a listing has more than one page. Some names need escaping in XML and URLs.
fn fill(place: &TestDir, endpoint: &str) {
    let put = |location: &str, words: &[&str]| {
        let fixed = ["prepare", location, "--make-bucket", "--print", "none"];
        run(place, endpoint, &[&fixed[..], words].concat()).expect(0);
    };
    put("s3://bbb/many", &["--count", "1100", "--size", "100B"]);
    put("s3://bbb/other", &["--count", "3", "--size", "5kB"]);
    std::fs::create_dir_all(place.path("tree")).expect("the directory can be made");
    for (name, size) in [("a b&c%20<d>.bin", 7_u64), ("Übung+1", 8), ("empty", 0)] {
        place.write(&format!("tree/{name}"), vec![b'x'; size as usize]);
    }
    run(place, endpoint, &["put", "s3://bbb/odd", "--from", "tree", "--print", "none"]).expect(0);
}

fn objects_are_found_and_read(place: &TestDir, endpoint: &str) {
    fill(place, endpoint);
    let get = |location: &str, words: &[&str]| {
        let ended = run(place, endpoint, &[&["get", location, "--list", "--json"][..], words].concat());
        (Report::read(ended.expect(0)), ended)
    };
    // The bucket has 1,100 objects of 100 bytes, and the description of the dataset.
    let (report, _) = get("s3://bbb/many", &["--order", "once", "--expect", "etag"]);
    report.expect_clean(1101);
    assert!(report.bytes("body_bytes") > 110_000, "{}", report.at("/bytes"));
    let (report, _) = get("s3://bbb/odd", &["--order", "once"]);
    report.expect_clean(3);
    assert_eq!(report.bytes("body_bytes"), 15);
    let (report, _) = get("s3://bbb", &["-n", "500", "--order", "random"]);
    report.expect_clean(500);
    let ended = run(place, endpoint, &["get", "s3://bbb/none", "--list"]);
    assert!(ended.code == Some(4) && ended.stderr.contains("no object has the prefix `none/`"), "{ended:?}");
    let ended = run(place, endpoint, &["get", "s3://missing", "--list"]);
    assert!(ended.code == Some(4) && ended.stderr.contains("NoSuchBucket"), "{ended:?}");
}

#[test]
fn the_objects_of_a_bucket_are_loaded() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, endpoint) = serve(&place, &[]);
    objects_are_found_and_read(&place, &endpoint);
    server.stop();
}

#[test]
fn the_objects_of_a_foreign_server_are_loaded() {
    let _cores = shared_cores();
    let Some(gateway) = Versitygw::start() else { return };
    objects_are_found_and_read(&TestDir::new(), &gateway.endpoint());
    // The gateway's log cannot be read, because it contains unescaped spaces of keys.
    drop(gateway);
}

#[test]
fn only_a_bucket_can_be_listed() {
    let place = TestDir::new();
    let ended = place.run(["get", "http://127.0.0.1:9/x", "--list"]);
    assert!(ended.code == Some(2) && ended.stderr.contains("--list requires a bucket"), "{ended:?}");
    let ended = place.run(["get", "s3://b/x", "--list", "--count", "3", "--endpoint", "http://127.0.0.1:9"]);
    assert!(ended.code == Some(2) && ended.stderr.contains("--count"), "{ended:?}");
}

#[test]
fn a_repair_writes_missing_and_damaged_objects_again() {
    let _cores = shared_cores();
    let Some(gateway) = Versitygw::start() else { return };
    let (place, endpoint) = (TestDir::new(), gateway.endpoint());
    let prepare = |words: &[&str]| {
        let fixed = ["prepare", "s3://bbb/set", "--make-bucket", "--count", "40", "--size", "10kB", "--json"];
        let ended = run(&place, &endpoint, &[&fixed[..], words].concat());
        let json: serde_json::Value = serde_json::from_str(&ended.expect(0).stdout).expect("JSON");
        (json["written"].as_u64().expect("a number"), json["repaired"].as_u64())
    };
    assert_eq!(prepare(&[]), (40, None));
    let mut files: Vec<_> = std::fs::read_dir(gateway.store().join("bbb/set"))
        .expect("the gateway stores objects as files")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.metadata().is_ok_and(|about| about.len() == 10_000))
        .collect();
    files.sort();
    assert_eq!(files.len(), 40);
    let mut bytes = std::fs::read(&files[7]).expect("the file can be read");
    bytes[9_999] ^= 1;
    std::fs::write(&files[7], bytes).expect("the file can be written");
    std::fs::write(&files[8], "short").expect("the file can be written");
    std::fs::remove_file(&files[9]).expect("the file can be removed");
    assert_eq!(prepare(&[]), (0, None), "without --repair, nothing is read");
    assert_eq!(prepare(&["--repair"]), (3, Some(3)));
    assert_eq!(prepare(&["--repair"]), (0, Some(0)));
    let get = ["get", "s3://bbb/set", "--count", "40", "--size", "10kB", "--verify", "--order", "once", "--json"];
    Report::read(run(&place, &endpoint, &get).expect(0)).expect_clean(40);
    gateway.stop();
}
