//! The S3 commands against VersityGW. The client's counts equal the server's log, and every written byte can be read
//! back.

use super::support::versitygw::run;
use super::support::{Ended, Report, TestDir, Versitygw, shared_cores};
use serde_json::Value;
use std::collections::BTreeMap;

const DATASET: [&str; 4] = ["--count", "40", "--size", "10..200KiB"];
const LOCATION: &str = "s3://bucket/some prefix";

#[track_caller]
pub fn good(ended: Ended) -> Ended {
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stderr, ended.stdout);
    ended
}

/// Returns the number of successful operations by kind, and their bytes.
pub fn kinds(report: &Report) -> BTreeMap<String, (u64, u64)> {
    let figures = report.list("/kinds").iter();
    let read = |kind: &Value| {
        let number = |name: &str| kind[name].as_u64().unwrap();
        assert_eq!((number("failed"), number("unfinished")), (0, 0), "{kind}");
        (kind["kind"].as_str().unwrap().to_owned(), (number("ok"), number("ok_body_bytes")))
    };
    figures.map(read).collect()
}

/// Returns the numbers of objects that a cleanup in batches deleted: objects of the dataset, and objects of runs.
#[track_caller]
pub fn gone(cleaned: &Ended) -> (u64, u64) {
    let number = |text: &str| text.split(' ').next().and_then(|word| word.replace(',', "").parse().ok());
    let (dataset, fresh) = cleaned.stdout.split_once("; and ").unzip();
    let dataset = dataset.and_then(|text| number(text.strip_prefix("deleted ")?));
    dataset.zip(fresh.and_then(number)).unwrap_or_else(|| panic!("{}", cleaned.stdout))
}

/// Returns the number of objects that `prepare --json` wrote, and their bytes.
pub fn prepared(ended: &Ended) -> (u64, u64) {
    let json: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"));
    assert_eq!((&json["format"], &json["retried"]), (&2.into(), &Value::Object(Default::default())), "{json:#}");
    let number = |name: &str| json[name].as_u64().unwrap_or_else(|| panic!("no {name}: {json:#}"));
    assert_eq!(number("written"), number("objects"));
    (number("written"), number("object_bytes"))
}

#[test]
fn counts_of_a_mix_on_a_prepared_dataset_equal_the_servers_and_cleanup_deletes_it() {
    // The prefix has no spaces, because the server's log does not escape them.
    const LOCATION: &str = "s3://bucket/some/prefix";
    let _cores = shared_cores();
    let Some(server) = Versitygw::start() else { return };
    let place = TestDir::new();
    let prepare = [&["prepare", LOCATION, "--make-bucket", "-c", "4", "--json"][..], &DATASET].concat();
    let (objects, written) = prepared(&good(run(&place, &server.endpoint(), &prepare)));
    assert_eq!(objects, 40);
    let again = good(run(&place, &server.endpoint(), &[&["prepare", LOCATION, "-c", "4"][..], &DATASET].concat()));
    assert!(again.stdout.contains("nothing was written"), "{}", again.stdout);

    let words =
        "--get 30 --get-range 15 --range 4KiB --head 20 --put 20 --delete 10 --list 5 --verify -c 4 -n 600 --json";
    let mixed = [vec!["mix", LOCATION], words.split(' ').collect()].concat();
    let mixed = kinds(&Report::read(&good(run(&place, &server.endpoint(), &mixed))));
    assert_eq!(mixed.values().map(|(ok, _)| ok).sum::<u64>(), 600);
    assert_eq!(mixed["get-range"].1, mixed["get-range"].0 * 4096);

    let cleaned = good(run(&place, &server.endpoint(), &["cleanup", LOCATION]));
    let left = mixed["put"].0 - mixed["delete"].0;
    assert_eq!(gone(&cleaned), (40, left));
    assert_eq!(server.keys("bucket"), Vec::<String>::new());

    let log = server.stop();
    let of = |operation: &str, status: u16| log[operation].statuses.get(&status).copied().unwrap_or(0);
    // Of four requests for the description, three found it. The description was written once and deleted once. In the
    // server's log, ranges also have status 200.
    assert_eq!(of("GetObject", 200), mixed["get"].0 + mixed["get-range"].0 + 3);
    assert_eq!(of("GetObject", 404), 1);
    assert_eq!(log["HeadObject"].count(), mixed["head"].0);
    assert_eq!(log["PutObject"].count(), 40 + mixed["put"].0 + 1);
    let description = log["PutObject"].received_bytes - written - mixed["put"].1;
    assert!((50..500).contains(&description), "{description} bytes that no metric accounts for");
    assert_eq!(log["DeleteObject"].count(), mixed["delete"].0 + 1);
    assert_eq!(log["DeleteObjects"].count(), 1 + u64::from(left > 0));
    assert!(log["ListObjectsV2"].count() >= mixed["list"].0);
}

#[test]
fn every_way_to_sign_a_body_returns_every_byte() {
    let _cores = shared_cores();
    let Some(server) = Versitygw::start() else { return };
    let place = TestDir::new();
    good(run(
        &place,
        &server.endpoint(),
        &["prepare", "s3://bucket/x", "--make-bucket", "--count", "1", "--print", "none"],
    ));
    for how in ["unsigned", "signed", "chunks", "chunks-trailer", "unsigned-trailer"] {
        let location = format!("s3://bucket/{how}");
        let put = ["put", &location, "-c", "4", "--payload", how, "--json"];
        let put = Report::read(&good(run(&place, &server.endpoint(), &[&put[..], &DATASET].concat())));
        let (objects, bytes) = kinds(&put)["put"];
        assert_eq!((objects, put.bytes("sent_body_bytes")), (40, bytes), "{how}");
        let get = ["get", &location, "-c", "4", "--order", "once", "--verify", "--json"];
        let got = Report::read(&good(run(&place, &server.endpoint(), &[&get[..], &DATASET].concat())));
        assert_eq!(kinds(&got)["get"], (objects, bytes), "{how}");
    }
    let wrong = ["get", "s3://bucket/signed", "-n", "5", "--verify", "--dataset-seed", "2", "--print", "none"];
    let wrong = run(&place, &server.endpoint(), &[&wrong[..], &DATASET].concat());
    assert_eq!(wrong.code, Some(1), "wrong content did not fail the run: {}", wrong.stderr);
    assert!(wrong.stderr.contains("had wrong or missing content"), "{}", wrong.stderr);
}

#[test]
fn objects_in_parts_are_complete_and_each_part_is_counted() {
    let _cores = shared_cores();
    let Some(server) = Versitygw::start() else { return };
    let place = TestDir::new();
    good(run(
        &place,
        &server.endpoint(),
        &["prepare", "s3://bucket/x", "--make-bucket", "--count", "1", "--print", "none"],
    ));
    // The sizes cover an object with a single part, and last parts that are full or shorter than the others.
    let sizes = ["--count", "4", "--size", "5MiB,12MiB,15MiB,5242881B"];
    let put = ["put", "s3://bucket/parts", "-c", "2", "--multipart", "5MiB", "--parts", "3", "--json"];
    let report = Report::read(&good(run(&place, &server.endpoint(), &[&put[..], &sizes].concat())));
    assert_eq!(kinds(&report)["put-multipart"], (4, (32 << 20) + 5_242_881));
    let get = ["get", "s3://bucket/parts", "--order", "once", "--verify", "--json"];
    let got = Report::read(&good(run(&place, &server.endpoint(), &[&get[..], &sizes].concat())));
    assert_eq!(kinds(&got)["get"], (4, (32 << 20) + 5_242_881));
    let log = server.stop();
    let count = |operation: &str| log[operation].count();
    let (begun, parts, completed) =
        (count("CreateMultipartUpload"), count("UploadPart"), count("CompleteMultipartUpload"));
    assert_eq!((begun, parts, completed), (4, 1 + 3 + 3 + 2, 4));
    assert_eq!(report.number("/operations/attempts"), begun + parts + completed);
}

/// The server accepts parts below 5 MiB, but then refuses to complete the upload.
#[test]
fn parts_of_a_failed_upload_do_not_stay() {
    let _cores = shared_cores();
    let Some(server) = Versitygw::start() else { return };
    let place = TestDir::new();
    good(run(
        &place,
        &server.endpoint(),
        &["prepare", "s3://bucket/x", "--make-bucket", "--count", "1", "--print", "none"],
    ));
    let put = ["put", "s3://bucket/parts", "--multipart", "1MiB", "--count", "3", "--size", "4MiB", "--json"];
    let put = run(&place, &server.endpoint(), &put);
    assert_eq!(put.code, Some(1), "{}", put.stderr);
    let report = Report::read(&put);
    assert_eq!((report.number("/operations/failed"), report.number("/operations/attempts")), (3, 3 * (1 + 4 + 1 + 1)));
    let log = server.stop();
    assert_eq!((log["CompleteMultipartUpload"].count(), log["AbortMultipartUpload"].count()), (3, 3));
}

#[test]
fn cleanup_without_a_prepared_dataset_deletes_nothing() {
    let _cores = shared_cores();
    let Some(server) = Versitygw::start() else { return };
    let place = TestDir::new();
    good(run(&place, &server.endpoint(), &["prepare", LOCATION, "--make-bucket", "--count", "3", "--print", "none"]));
    let refused = run(&place, &server.endpoint(), &["cleanup", "s3://bucket/other"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    assert!(refused.stderr.contains("nothing was deleted"), "{}", refused.stderr);
    assert_eq!(server.keys("bucket").len(), 4);
    let other = run(&place, &server.endpoint(), &["prepare", LOCATION, "--count", "4", "--print", "none"]);
    assert_eq!(other.code, Some(4), "another dataset was overwritten: {}", other.stderr);
}
