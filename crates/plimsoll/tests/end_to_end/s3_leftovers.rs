//! Leftovers of commands on a target, and their reports: incomplete uploads, the objects of a mix, damaged objects, and
//! refused requests.

use super::s3::serve;
use crate::support::versitygw::run;
use crate::support::{Ended, Report, Running, TestDir, Versitygw, shared_cores, wait_for};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

#[test]
fn prepare_retries_transient_failures_and_counts_them() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, endpoint) = serve(&place, &["--error-every", "3"]);
    let words = ["prepare", "s3://bbb/p", "--make-bucket", "--count", "30", "--size", "1KiB", "--json"];
    let ended = run(&place, &endpoint, &words);
    ended.expect(0);
    let made = json(&ended);
    assert_eq!((&made["objects"], &made["written"], &made["object_bytes"]), (&30.into(), &30.into(), &30_720.into()));
    assert!(made["retried"]["slow_down"].as_u64() >= Some(10), "{made:#}");
    let again = run(&place, &endpoint, &words);
    assert_eq!(json(again.expect(0))["written"], 0);
    let ledger = server.stop();
    assert!(ledger.contains("PutObject"), "{ledger}");
    let (server, endpoint) = serve(&place, &["--error-every", "1"]);
    drop(server);
    let ended = run(&place, &endpoint, &["prepare", "s3://bbb/p", "--count", "3", "--size", "1KiB"]);
    assert!(ended.code == Some(4) && ended.stderr.contains("no response from"), "{ended:?}");
}

#[test]
fn refusals_of_s3_are_reported_with_code_and_message() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, endpoint) = serve(&place, &[]);
    let prepare = ["prepare", "s3://bbb/p", "--count", "3", "--size", "1KiB"];
    let ended = run(&place, &endpoint, &prepare);
    assert!(ended.code == Some(4) && ended.stderr.contains("status 404, NoSuchBucket; "), "{ended:?}");
    let wrong = ["--access-key", "plimsoll", "--secret-key", "another", "--make-bucket"];
    let ended = run(&place, &endpoint, &[&prepare[..], &wrong].concat());
    assert!(ended.code == Some(4) && ended.stderr.contains("status 403, SignatureDoesNotMatch"), "{ended:?}");
    run(&place, &endpoint, &[&prepare[..], &["--make-bucket", "--print", "none"]].concat()).expect(0);
    let ended = run(&place, &endpoint, &["get", "s3://bbb/x", "-n", "3", "-c", "1", "--json", "--anonymous"]);
    let report = Report::read(&ended);
    assert_eq!((report.class("auth"), report.cause("access_denied")), (3, 3), "{}", report.at("/failures"));
    server.stop();
}

/// Returns the number of uploads for which VersityGW has parts.
fn uploads_on_disk(store: &Path) -> usize {
    fn below(directory: &Path, depth: u32) -> usize {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        let directories = entries.filter(|entry| entry.path().is_dir());
        directories.map(|entry| if depth == 0 { 1 } else { below(&entry.path(), depth - 1) }).sum()
    }
    // Each object has a directory, which contains a directory for each upload.
    below(&store.join("bucket/.sgwtmp/multipart"), 1)
}

const PARTS: [&str; 8] = ["--count", "40", "--size", "15MiB", "--multipart", "5MiB", "-c", "2"];

#[test]
fn uploads_that_the_end_of_a_run_cuts_off_are_aborted() {
    let _cores = shared_cores();
    let Some(server) = Versitygw::start() else { return };
    let place = TestDir::new();
    let bucket = ["prepare", "s3://bucket/x", "--make-bucket", "--count", "1", "--size", "1", "--print", "none"];
    run(&place, &server.endpoint(), &bucket).expect(0);
    let cut = [&["put", "s3://bucket/m", "--json", "-d", "700ms", "--drain", "0s"][..], &PARTS].concat();
    let ended = run(&place, &server.endpoint(), &cut);
    let report = Report::read(&ended);
    let uploads = report.at("/failures/open_uploads");
    assert!(uploads["aborted"].as_u64() > Some(0), "{uploads}: {}", ended.stderr);
    assert_eq!(uploads["not_aborted"], 0, "{}", ended.stderr);
    // A request that creates an upload may be cut off before the ID arrives. The upload is then reported as possibly
    // open.
    let unknown = uploads["possibly_open"].as_u64().unwrap();
    assert!(uploads_on_disk(&server.store()) as u64 <= unknown, "{uploads}: {}", ended.stderr);
    assert!(ended.stderr.contains("aborted"), "{}", ended.stderr);
    server.stop();
}

#[test]
fn uploads_that_a_probe_leaves_are_aborted() {
    let _cores = shared_cores();
    let place = TestDir::new();
    // With the delay, an upload takes longer than a probe and its drain together.
    let (server, endpoint) = serve(&place, &["--delay", "1200ms"]);
    run(&place, &endpoint, &["prepare", "s3://bbb/x", "--make-bucket", "--count", "1", "--print", "none"]).expect(0);
    let put = ["put", "s3://bbb/m", "--count", "1", "--size", "6MiB", "--multipart", "5MiB", "--parts", "2"];
    let ended = run(&place, &endpoint, &[&put[..], &["-n", "1", "-c", "1", "--probe=200ms", "--json"]].concat());
    let report = Report::read(&ended);
    assert_eq!(report.number("/operations/ok"), 1);
    let uploads = report.at("/failures/open_uploads");
    // The probe has two slots, so it leaves two uploads. On a busy host, the response with an upload's ID may arrive
    // too late, and the upload then counts as possibly open.
    let open =
        uploads["aborted"].as_u64().zip(uploads["possibly_open"].as_u64()).map(|(known, unknown)| known + unknown);
    assert_eq!((open, &uploads["not_aborted"]), (Some(2), &0.into()), "{uploads}: {}", ended.stderr);
    server.stop();
}

#[test]
fn cleanup_finds_and_aborts_uploads_of_a_killed_run() {
    let _cores = shared_cores();
    let Some(mut server) = Versitygw::start() else { return };
    let place = TestDir::new();
    let bucket = ["prepare", "s3://bucket/x", "--make-bucket", "--count", "1", "--size", "1", "--print", "none"];
    run(&place, &server.endpoint(), &bucket).expect(0);
    // A client has two slots, so the first client leaves at most two open uploads. If three uploads are open, at least
    // one of them belongs to the second client, even if the server completes another upload after the kill.
    let put = |location: &str, open: usize| {
        let words = [&["put", location, "--print", "none"][..], &PARTS].concat();
        let mut command = place.command(words);
        command.env("AWS_ACCESS_KEY_ID", "plimsoll").env("AWS_SECRET_ACCESS_KEY", "plimsoll-secret");
        command.env("AWS_ENDPOINT_URL", server.endpoint());
        let running = Running::of(command);
        wait_for("open uploads", || (uploads_on_disk(&server.store()) >= open).then_some(()));
        // Dropping the process kills the program at once.
        drop(running);
    };
    put("s3://bucket/m", 1);
    put("s3://bucket/m/others", 3);
    // The server may still carry out requests of the killed client. These requests end before the server stops.
    server.restart();
    let open = uploads_on_disk(&server.store());
    assert!(open >= 2);
    let cleanup = ["cleanup", "s3://bucket/m", "--count", "40", "--size", "15MiB", "--json"];
    let cleaned = json(run(&place, &server.endpoint(), &cleanup).expect(0));
    let (aborted, others) = (cleaned["uploads"]["aborted"].as_u64(), cleaned["uploads"]["others"].as_u64());
    assert!(aborted > Some(0) && others > Some(0), "{cleaned:#}");
    assert!(aborted.unwrap() + others.unwrap() >= open as u64, "{open} were open: {cleaned:#}");
    assert_eq!(uploads_on_disk(&server.store()) as u64, others.unwrap());
    server.stop();
}

#[test]
fn all_damaged_objects_are_listed() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, endpoint) = serve(&place, &["--store", "objects"]);
    let bucket = ["prepare", "s3://bbb/p", "--make-bucket", "--count", "1", "--print", "none"];
    run(&place, &endpoint, &bucket).expect(0);
    server.stop();
    let (server, endpoint) = serve(&place, &["--store", "objects", "--lose-every", "4"]);
    let set = ["s3://bbb/q", "--count", "120", "--size", "1KiB", "-c", "1"];
    run(&place, &endpoint, &[&["put", "--print", "none"][..], &set].concat()).expect(0);
    let get = [&["get", "--verify", "--order", "once", "--out", "out", "--full"][..], &set].concat();
    let ended = run(&place, &endpoint, &get);
    assert!(ended.stdout.contains("Damaged objects"), "{}", ended.stdout);
    assert_eq!(ended.stdout.matches(" · acked_lost · status 404").count(), 20, "{}", ended.stdout);
    assert!(
        ended.stdout.contains("30 in all") && ended.stdout.contains("10 more in damaged.jsonl"),
        "{}",
        ended.stdout
    );
    let list = std::fs::read_to_string(place.path("out/damaged.jsonl")).unwrap();
    let objects: BTreeSet<String> = list
        .lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            line["object"].as_str().unwrap().to_owned()
        })
        .collect();
    assert!(objects.len() == 30 && objects.iter().all(|key| key.starts_with("q/object-")), "{list}");
    let (_, report) = place.report(&place.path("out"));
    let damaged = report.at("/failures/damaged");
    assert_eq!(
        (&damaged["listed"], &damaged["operations"], &damaged["not_listed"]),
        (&30.into(), &30.into(), &0.into())
    );
    assert_eq!(damaged["first"].as_array().map(Vec::len), Some(20));
    server.stop();
    let (server, endpoint) = serve(&place, &["--store", "objects", "--flip", "1:77"]);
    let flipped = ["get", "s3://bbb/p", "--count", "1", "--verify", "-n", "3", "-c", "1", "--json"];
    let report = Report::read(&run(&place, &endpoint, &flipped));
    let damaged = report.at("/failures/damaged");
    assert_eq!((&damaged["listed"], &damaged["operations"]), (&1.into(), &3.into()), "{damaged:#}");
    assert_eq!(
        (&damaged["first"][0]["offset"], &damaged["first"][0]["object"]),
        (&77.into(), &"p/object-00000000.bin".into())
    );
    server.stop();
}

type Objects = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

/// Starts a plain HTTP server that stores objects and deletes them.
fn plain() -> (String, Objects) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("can bind a port");
    let url = format!("http://{}/files", listener.local_addr().expect("the listener has an address"));
    let objects = Objects::default();
    let kept = Arc::clone(&objects);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let kept = Arc::clone(&kept);
            std::thread::spawn(move || keep(&stream, &kept));
        }
    });
    (url, objects)
}

fn keep(stream: &TcpStream, objects: &Mutex<BTreeMap<String, Vec<u8>>>) -> Option<()> {
    let mut lines = BufReader::new(stream);
    loop {
        let (mut request, mut line, mut length) = (String::new(), String::new(), 0);
        lines.read_line(&mut request).ok().filter(|read| *read > 0)?;
        while lines.read_line(&mut line).ok()? > 2 {
            let told = line.strip_prefix("Content-Length: ").and_then(|value| value.trim().parse().ok());
            length = told.unwrap_or(length);
            line.clear();
        }
        let mut body = vec![0; length];
        lines.read_exact(&mut body).ok()?;
        let mut words = request.split(' ');
        let (method, path) = (words.next()?, words.next()?.to_owned());
        let mut objects = objects.lock().ok()?;
        let (status, answer) = match method {
            "PUT" => {
                objects.insert(path, body);
                ("201 Created", Vec::new())
            }
            "DELETE" if objects.remove(&path).is_some() => ("200 OK", Vec::new()),
            "GET" | "HEAD" if objects.contains_key(&path) => ("200 OK", objects[&path].clone()),
            _ => ("404 Not Found", Vec::new()),
        };
        drop(objects);
        let mut out = stream;
        out.write_all(format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", answer.len()).as_bytes()).ok()?;
        out.write_all(if method == "HEAD" { &[] } else { &answer }).ok()?;
    }
}

#[test]
fn cleanup_over_plain_http_deletes_what_a_mix_wrote() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (url, objects) = plain();
    place.run(["prepare", &url, "--count", "10", "--size", "1KiB"]).expect(0);
    let mix = ["mix", &url, "--put", "3", "--get", "1", "--delete", "1", "-n", "60", "-c", "3", "--print", "none"];
    place.run(mix).expect(0);
    let left = fresh(&objects);
    assert!(left > 5);
    objects.lock().unwrap().insert("/files/of-others".to_owned(), Vec::new());
    let cleaned = place.run(["cleanup", &url, "--json"]);
    let counts = json(cleaned.expect(0));
    assert_eq!((&counts["dataset_objects"], &counts["mix_objects"]), (&10.into(), &left.into()), "{counts:#}");
    assert_eq!((&counts["missing"], &counts["uploads"]), (&0.into(), &Value::Null));
    assert_eq!(objects.lock().unwrap().keys().collect::<Vec<_>>(), ["/files/of-others"]);
}

/// Returns the number of objects that runs of `mix` wrote.
fn fresh(objects: &Objects) -> u64 {
    objects.lock().unwrap().keys().filter(|key| key.contains("plimsoll-fresh-")).count() as u64
}

#[test]
fn cleanup_over_plain_http_reports_a_mix_that_did_not_end() {
    let _cores = shared_cores();
    let place = TestDir::new();
    for load in [&["mix", "-d", "60s", "-R", "50"][..], &["line", "mix", "-d", "60s"]] {
        let (url, objects) = plain();
        place.run(["prepare", &url, "--count", "3", "--size", "1KiB"]).expect(0);
        let running = place.start([load, &[&url, "--put", "1", "--get", "1", "--print", "none"]].concat());
        wait_for("a mixed object", || (fresh(&objects) > 0).then_some(()));
        drop(running);
        let ended = place.run(["cleanup", &url, "--json"]);
        assert_eq!(json(&ended)["dataset_objects"], 3);
        let named =
            ended.stderr.contains("deleted 3 objects") && ended.stderr.contains("plimsoll-fresh-0000000000000001-*");
        assert!(ended.code == Some(4) && named && ended.stderr.lines().count() == 1, "{ended:?}");
        let objects = objects.lock().unwrap();
        assert!(objects.keys().all(|key| key.contains("plimsoll-fresh-")), "{:?}", objects.keys());
    }
}

#[test]
fn cleanup_over_plain_http_deletes_what_a_search_and_a_study_wrote() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (url, objects) = plain();
    let line = ["line", "mix", &url, "--put", "1", "--get", "1", "--to", "2", "-d", "300ms", "--print", "none"];
    let line = [&line[..], &["--objective", "p99 <= 10s"]].concat();
    let settings = "{command: mix, put: 1, delete: 0, requests: 30}";
    place.write("study.yaml", format!("name: s\ntargets: {{mine: {{url: '{url}'}}}}\nsettings: {settings}\n"));
    for load in [&line[..], &["run", "study.yaml"]] {
        place.run(["prepare", &url, "--count", "3", "--size", "1KiB"]).expect(0);
        place.run(load).expect(0);
        let left = fresh(&objects);
        assert!(left > 20, "{left}");
        let counts = json(place.run(["cleanup", &url, "--json"]).expect(0));
        assert_eq!((&counts["dataset_objects"], &counts["mix_objects"]), (&3.into(), &left.into()));
        assert_eq!(objects.lock().unwrap().len(), 0);
    }
}

#[test]
fn cleanup_over_plain_http_deletes_what_a_probe_and_a_warm_up_wrote() {
    let _cores = shared_cores();
    let place = TestDir::new();
    for flag in ["--probe=200ms", "--warmup=200ms"] {
        let (url, objects) = plain();
        place.run(["prepare", &url, "--count", "3", "--size", "1KiB"]).expect(0);
        let mix = ["mix", &url, "--put", "1", "--delete", "0", "-n", "20", "-c", "2", "--print", "none", flag];
        place.run(mix).expect(0);
        let left = fresh(&objects);
        assert!(left > 20, "{left} with {flag}");
        assert_eq!(json(place.run(["cleanup", &url, "--json"]).expect(0))["mix_objects"], left, "{flag}");
        assert_eq!(objects.lock().unwrap().len(), 0, "{flag}");
    }
}

#[test]
fn the_record_of_a_mix_survives_another_that_is_refused_or_killed() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (url, objects) = plain();
    let prepare = ["prepare", &url, "--count", "3", "--size", "1KiB"];
    let mix = ["mix", &url, "--put", "1", "--delete", "0", "-n", "20", "--print", "none", "--out"];
    let line = ["line", "mix", &url, "--put", "1", "--delete", "0", "--print", "none", "--out"];
    let run = |words: &[&str], out| place.run([words, &[out]].concat());
    let remembered = || objects.lock().unwrap().get("/files/.plimsoll-mixed.json").cloned();
    place.run(prepare).expect(0);
    place.write("taken", "");
    run(&mix, "taken").expect(4);
    assert_eq!(remembered(), None, "there is a record although the mix wrote no object");
    run(&mix, "first").expect(0);
    let known = remembered();
    assert!(known.is_some());
    for (words, out) in [(&mix[..], "first"), (&line, "taken")] {
        run(words, out).expect(4);
        assert_eq!(remembered(), known, "{words:?}");
    }
    assert_eq!(json(place.run(["cleanup", &url, "--json"]).expect(0))["mix_objects"], 20);
    place.run(prepare).expect(0);
    run(&mix, "second").expect(0);
    let running = place.start(["mix", &url, "--put", "1", "--delete", "0", "-d", "60s", "--print", "none"]);
    wait_for("another object", || (fresh(&objects) > 20).then_some(()));
    drop(running);
    let ended = place.run(["cleanup", &url]);
    assert!(ended.code == Some(4) && ended.stderr.contains("and 20 objects that earlier runs wrote"), "{ended:?}");
    assert!(fresh(&objects) > 0);
}
