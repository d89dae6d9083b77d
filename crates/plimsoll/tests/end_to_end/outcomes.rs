//! Outcomes of the whole program: S3 errors, and responses whose content is wrong or missing.

use crate::support::versitygw::run;
use crate::support::{Ended, Nginx, Report, Running, Setup, TestDir, respond, shared_cores, wait_for, with_its_cores};
use serde_json::Value;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Starts an S3 server. Returns the process and its endpoint.
fn serve(place: &TestDir, words: &[&str]) -> (Running, String) {
    let fixed = ["serve", "--s3", "--listen", "127.0.0.1:0", "--threads", "1", "--stop-after", "120s"];
    let server = place.start(fixed.iter().chain(words));
    let line = server.wait_for_line("serving S3 on ");
    (server, line.trim_start_matches("serving S3 on ").to_owned())
}

/// Returns the details of the report's example for a cause.
#[track_caller]
fn detail(report: &Report, cause: &str) -> String {
    let row = report.list("/failures/causes").iter().find(|row| row["cause"] == cause);
    let example = row.and_then(|row| row.get("example")).unwrap_or_else(|| panic!("{}", report.at("/failures")));
    example["detail"].as_str().unwrap_or_default().to_owned()
}

fn wants(ended: &Ended, class: &str, cause: &str) -> Report {
    ended.expect(1);
    let report = Report::read(ended);
    assert_eq!(report.violations(), 0);
    assert!(report.class(class) > 0 && report.cause(cause) == report.class(class), "{}", report.at("/failures"));
    report
}

#[test]
fn s3_errors_are_reported_with_their_code() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, endpoint) = serve(&place, &[]);
    run(&place, &endpoint, &["prepare", "s3://bbb", "--make-bucket", "--count", "1", "--print", "none"]).expect(0);
    let get = ["get", "s3://bbb/x", "-n", "3", "-c", "1", "--json"];
    for (keys, cause, says) in [
        (["--access-key", "plimsoll", "--secret-key", "another"], "signature_differs", "SignatureDoesNotMatch: "),
        (["--access-key", "someone", "--secret-key", "plimsoll-secret"], "unknown_access_key", "InvalidAccessKeyId: "),
    ] {
        let ended = run(&place, &endpoint, &[&get[..], &keys].concat());
        let report = wants(&ended, "auth", cause);
        assert!(ended.stderr.contains("3 failed (mostly with status 403: "), "{}", ended.stderr);
        assert!(detail(&report, cause).starts_with(says), "{}", detail(&report, cause));
    }
    wants(&run(&place, &endpoint, &get), "http_4xx", "status");
    server.stop();
    let (server, endpoint) = serve(&place, &["--error-every", "2"]);
    let report = wants(&run(&place, &endpoint, &get), "throttled", "slow_down");
    assert!(detail(&report, "slow_down").starts_with("SlowDown"), "{}", detail(&report, "slow_down"));
    server.stop();
}

#[test]
fn lost_objects_are_detected() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, endpoint) = serve(&place, &["--store", "objects"]);
    run(&place, &endpoint, &["prepare", "s3://bbb/p", "--make-bucket", "--count", "1", "--print", "none"]).expect(0);
    server.stop();
    let (server, endpoint) = serve(&place, &["--store", "objects", "--lose-every", "4"]);
    let set = ["s3://bbb/q", "--count", "8", "--size", "10KiB", "-c", "1", "--json"];
    run(&place, &endpoint, &[&["put"][..], &set].concat()).expect(0);
    let read = [&["get", "--verify", "--order", "once"][..], &set].concat();
    let ended = run(&place, &endpoint, &read);
    let report = wants(&ended, "integrity", "acked_lost");
    assert_eq!((report.cause("acked_lost"), report.number("/operations/ok")), (2, 6));
    assert!(ended.stderr.contains("2 responses had wrong or missing content"), "{}", ended.stderr);
    // An object of an unexpected size has wrong content. Wrong content fails the run, even with `--success 0%`.
    let smaller = ["s3://bbb/q", "--count", "8", "--size", "9KiB", "-c", "1", "--json", "--success", "0%"];
    let ended = run(&place, &endpoint, &[&["get", "--verify", "--order", "once"][..], &smaller].concat());
    let report = Report::read(&ended);
    assert_eq!((ended.code, report.cause("size_differs"), report.cause("acked_lost")), (Some(1), 6, 2));
    assert!(ended.stderr.contains("8 responses had wrong or missing content"), "{}", ended.stderr);
    let ledger = server.stop();
    assert!(ledger.contains("\nfaults       2 objects lost\n"), "{ledger}");
}

#[test]
fn each_kind_of_a_mix_on_a_prepared_dataset_can_have_an_objective() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, endpoint) = serve(&place, &[]);
    run(&place, &endpoint, &["prepare", "s3://bbb/p", "--make-bucket", "--count", "9", "--print", "none"]).expect(0);
    let mix = ["mix", "s3://bbb/p", "--get", "2", "--put", "1", "-n", "60", "-c", "2", "--print", "none"];
    let judged = |objective| run(&place, &endpoint, &[&mix[..], &["--objective", objective]].concat());
    judged("put p50 <= 1h").expect(0);
    judged("put p50 <= 1us").expect(1);
    let refused = judged("list p50 <= 1s");
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("this load has no operations of kind `list`"), "{}", refused.stderr);
    server.stop();
}

/// Operations at the quick server overtake those at the slow one, which all wait in its queue.
#[test]
fn the_queue_of_one_of_two_servers_is_not_hidden_by_the_other() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let quick = respond(|send| {
        std::thread::sleep(Duration::from_millis(3));
        send();
    });
    let queue = std::sync::Mutex::new(());
    let slow = respond(move |send| {
        let turn = queue.lock().unwrap();
        std::thread::sleep(Duration::from_millis(40));
        drop(turn);
        send();
    });
    let ended = place.run(["get", &quick, &slow, "-c", "12", "-d", "4s", "--json"]);
    let report = Report::read(&ended);
    ended.expect_no_panic();
    assert_ne!(report.text("/limited_by"), "concurrency", "{}", report.text("/limit_reason"));
}

/// Every 300th request hangs, until all slots wait for such requests. The share of successes stays above 99 %.
#[test]
fn slots_that_get_stuck_one_after_the_other_are_an_outage() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let requests = AtomicU64::new(0);
    let url = respond(move |send| {
        std::thread::sleep(Duration::from_millis(1));
        if requests.fetch_add(1, Ordering::Relaxed) % 300 == 299 {
            std::thread::sleep(Duration::from_secs(60));
        }
        send();
    });
    let ended = place.run(["get", &url, "-c", "6", "-d", "5s", "--drain", "500ms", "--json"]);
    ended.expect(1);
    let report = Report::read(&ended);
    assert_eq!(report.text("/objectives/0/outcome"), "met", "{}", report.at("/objectives"));
    assert_eq!(report.text("/result/reasons/0/name"), "outage", "{}", report.at("/result"));
}

#[test]
fn a_target_that_goes_away_fails_a_closed_run_even_if_few_operations_fail() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (_server, url) = place.serve(&["--threads", "1", "--stop-after", "3s"]);
    let get = ["get", &url, "-c", "2", "-d", "6s", "--objective", "success >= 50%", "--json"];
    let ended = place.run(get);
    ended.expect(1);
    let report = Report::read(&ended);
    assert_eq!(report.text("/objectives/0/outcome"), "met");
    assert_eq!(report.text("/result/reasons/0/name"), "outage", "{}", report.at("/result"));
    assert!(ended.stderr.contains("operations failed or hung, and none succeeded (exit code 1)"), "{}", ended.stderr);
    // Slots pause after a refused connection. The report must not state that too few slots limited the run.
    assert_eq!(report.text("/limited_by"), "target");
    let failing = report.list("/notes").iter().find(|note| note["name"] == "failing");
    assert!(failing.is_some(), "{}", report.at("/notes"));
}

/// The timeouts are longer than the run, so no operation fails during the run.
#[test]
fn a_target_that_hangs_until_the_end_fails_the_run() {
    let _cores = shared_cores();
    let Some(nginx) = Nginx::start(Setup::default()) else { return };
    for load in [["-c", "4"], ["-R", "200"]] {
        let made = with_its_cores(|| {
            let place = TestDir::new();
            let words = ["get", "--json", &nginx.url("/f/1k"), "-d", "5s", "--drain", "500ms", "--out", "out"];
            let run = place.start([&words[..], &load].concat());
            wait_for("run directory", || place.path("out/records.jsonl.zst").exists().then_some(()));
            std::thread::sleep(Duration::from_secs(2));
            nginx.signal_workers("STOP");
            let ended = run.end();
            nginx.signal_workers("CONT");
            let report = Report::read(&ended);
            Some((ended, report, ()))
        });
        let Some((ended, report, ())) = made else { continue };
        assert_eq!(ended.code, Some(1), "{load:?}: {}", report.at(""));
        if load[0] == "-c" {
            assert_eq!(report.text("/result/reasons/0/name"), "outage", "{}", report.at("/result"));
        }
        assert_eq!(report.text("/limited_by"), "target");
    }
    drop(nginx.quit());
}

#[test]
fn a_run_whose_operations_all_end_after_its_window_has_no_rate() {
    let _cores = shared_cores();
    let url = respond(|send| {
        std::thread::sleep(Duration::from_millis(1200));
        send();
    });
    let place = TestDir::new();
    let ended = place.run(["get", &url, "-c", "2", "-d", "300ms"]);
    let first = ended.expect(0).stdout.lines().next().unwrap_or_default();
    assert!(first.starts_with("PASS · no rate, because all 2 successes ended after the window"), "{first}");
}

/// The target stops serving one connection after the other, within 150 ms.
#[test]
fn a_target_that_stops_step_by_step_fails_a_closed_run() {
    let _cores = shared_cores();
    let started = Instant::now();
    let hanging = AtomicU64::new(0);
    let url = respond(move |send| {
        let stops = Duration::from_millis(1500 + 50 * hanging.load(Ordering::Relaxed));
        if started.elapsed() < stops {
            send();
        } else {
            hanging.fetch_add(1, Ordering::Relaxed);
        }
    });
    let place = TestDir::new();
    let (ended, report) = place.get([&url, "-c", "4", "-d", "5s", "--drain", "500ms"]);
    assert_eq!(ended.code, Some(1), "{}", report.at("/result"));
    assert_eq!(report.text("/result/reasons/0/name"), "outage", "{}", report.at("/result"));
}

/// One of 100 requests never gets a response. The other requests get a response at once, so most of the operations in
/// flight at the end are hanging.
#[test]
fn requests_that_hang_among_others_that_succeed_are_no_outage() {
    let _cores = shared_cores();
    let requests = AtomicU64::new(0);
    let url = respond(move |send| {
        if requests.fetch_add(1, Ordering::Relaxed) % 100 != 50 {
            send();
        }
    });
    let place = TestDir::new();
    let (ended, report) = place.get([&url, "-R", "300", "-d", "4s", "--drain", "2s", "--success", "98%"]);
    assert_eq!(ended.code, Some(0), "{}", report.at("/result"));
    assert!((10..=14).contains(&report.number("/operations/unfinished")), "{}", report.at("/operations"));
}

/// The target is down at the end of the run, but has been down for less than a second.
#[test]
fn a_target_that_is_down_when_the_run_ends_fails_it() {
    let _cores = shared_cores();
    let Some(nginx) = Nginx::start(Setup::default()) else { return };
    let place = TestDir::new();
    let run = place.start(["get", "--json", &nginx.url("/f/1k"), "-c", "4", "-d", "3s", "--out", "out"]);
    wait_for("run directory", || place.path("out").join("records.jsonl.zst").exists().then_some(()));
    std::thread::sleep(Duration::from_millis(2150));
    drop(nginx.quit());
    let ended = run.end();
    let report = Report::read(&ended);
    assert_eq!(ended.code, Some(1), "{}", report.at("/result"));
    assert_eq!(report.text("/result/reasons/0/name"), "outage", "{}", report.at("/result"));
}

#[test]
fn a_target_that_stops_responding_is_reported() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, url) = place.serve(&["--threads", "1", "--stall", "1s:4s"]);
    let (ended, report) = place.get([&url, "-c", "2", "-d", "6s"]);
    ended.expect(0);
    let silent = report.list("/notes").iter().find(|note| note["name"] == "silent");
    let text = silent.and_then(|note| note["text"].as_str()).unwrap_or_default();
    // The pause of 4 s begins and ends in the middle of a second. A note may leave out the parts of these two seconds,
    // so it may report a pause of only 3 s.
    let length =
        text.strip_prefix("no operation ended for ").and_then(|rest| rest.split(' ').next()?.parse::<f64>().ok());
    assert!(length.is_some_and(|seconds| (3.0..=4.0).contains(&seconds)), "{}", report.at("/notes"));
    server.stop();
}

#[test]
fn a_single_wrong_byte_is_found_with_its_offset() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, endpoint) = serve(&place, &["--store", "objects"]);
    let set = ["s3://bbb/p", "--count", "1", "--size", "1GiB"];
    let write = [&["prepare", "--make-bucket", "--print", "none"][..], &set].concat();
    run(&place, &endpoint, &write).expect(0);
    server.stop();
    for (flip, range, offset) in [
        ("1:700000001", &[][..], 700_000_001_u64),
        ("1:4321", &["--range", "1MiB", "--range-at", "512MiB"], (512 << 20) + 4321),
    ] {
        let (server, endpoint) = serve(&place, &["--store", "objects", "--flip", flip]);
        let read = [&["get", "--verify", "-n", "1", "-c", "1", "--json"][..], &set, range].concat();
        let report = wants(&run(&place, &endpoint, &read), "integrity", "content_differs");
        let found = detail(&report, "content_differs");
        assert!(found.contains(&offset.to_string()), "{found} does not name {offset}");
        let ledger = server.stop();
        assert!(ledger.contains("\nfaults       1 wrong bytes\n"), "{ledger}");
    }
}

#[test]
fn checksums_of_whole_bodies_are_compared_with_the_expected_ones() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, endpoint) = serve(&place, &[]);
    let set = ["s3://bbb/p", "--count", "3", "--size", "100KiB"];
    run(&place, &endpoint, &[&["prepare", "--make-bucket", "--print", "none"][..], &set].concat()).expect(0);
    let read = [&["get", "--json", "-n", "3", "-c", "1"][..], &set].concat();
    let ended = run(&place, &endpoint, &[&read[..], &["--expect", "etag"]].concat());
    ended.expect(0);
    Report::read(&ended).expect_clean(3);
    wants(&run(&place, &endpoint, &[&read[..], &["--expect", "checksum"]].concat()), "integrity", "no_hash");
    let zeros = format!("sha256:{}", "0".repeat(64));
    let ended = run(&place, &endpoint, &[&read[..], &["--expect", &zeros]].concat());
    assert!(ended.code == Some(2) && ended.stderr.contains("single object"), "{ended:?}");
    let one =
        ["get", "--json", "-n", "3", "-c", "1", "s3://bbb/p", "--count", "1", "--size", "100KiB", "--expect", &zeros];
    let report = wants(&run(&place, &endpoint, &one), "integrity", "hash_differs");
    let found = detail(&report, "hash_differs");
    let right = found.split("got ").nth(1).unwrap_or_default().to_owned();
    let with =
        |hash: &str| one.iter().map(|word| if *word == zeros { hash.to_owned() } else { (*word).to_owned() }).collect();
    let words: Vec<String> = with(&right);
    run(&place, &endpoint, &words.iter().map(String::as_str).collect::<Vec<_>>()).expect(0);
    let ranged = run(&place, &endpoint, &["get", "http://127.0.0.1:9/", "--range", "1KiB", "--expect", "etag"]);
    assert!(ranged.code == Some(2) && ranged.stderr.contains("--range"), "{ranged:?}");
    let _: &Value = report.at("/failures");
    server.stop();
}

#[test]
fn the_ledger_counts_the_faults_that_the_client_reports() {
    let _cores = shared_cores();
    let place = TestDir::new();
    // Without `--http2`, the server for plain HTTP/1 responds. With `--http2`, the server that is built on hyper
    // responds.
    for front in [&[][..], &["--http2"]] {
        let fixed =
            ["serve", "--listen", "127.0.0.1:0", "--stop-after", "120s", "--truncate", "4:100", "--flip", "3:10"];
        let server = place.start(fixed.iter().chain(front));
        let line = server.wait_for_line("serving http://");
        let base = line.split_whitespace().nth(1).and_then(|url| url.split("/blackhole").next()).expect("an address");
        let url = format!("{}/blackhole/10KiB", base.trim_end_matches('/'));
        let ended = place.run(["get", &url, "-c", "1", "-n", "24", "--json"]);
        let report = wants(&ended, "incomplete", "body_cut_short");
        assert_eq!((report.cause("body_cut_short"), report.number("/operations/ok")), (6, 18));
        let ledger = server.stop();
        assert!(ledger.contains("\nfaults       6 bodies cut off, 8 wrong bytes\n"), "{front:?}: {ledger}");
    }
}

#[test]
fn lengths_of_different_operations_are_not_compared() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, endpoint) = serve(&place, &[]);
    let set = ["s3://bbb/p", "--count", "8", "--size", "1KiB,2KiB"];
    run(&place, &endpoint, &[&["prepare", "--make-bucket", "--print", "none"][..], &set].concat()).expect(0);
    let mix = "mix s3://bbb/p --get 40 --head 20 --put 20 --delete 20 -n 60 -c 2 --json";
    let ended = run(&place, &endpoint, &mix.split(' ').collect::<Vec<_>>());
    ended.expect(0);
    let flags = Report::read(&ended).list("/failures/flags").to_vec();
    assert!(flags.iter().all(|flag| flag["flag"] != "length_differs"), "{flags:?}");
    assert!(flags.iter().any(|flag| flag["flag"] == "kept_alive"), "{flags:?}");
    server.stop();
}

/// A server reads the beginning of each upload and closes the connection, so the client gets a reset in the middle of a body.
#[test]
fn resets_in_uploads_keep_the_counters_equal() {
    let _cores = shared_cores();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/p", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let Ok(mut connection) = connection else { return };
            // Unread data turns the close into a reset.
            std::thread::spawn(move || std::io::Read::read(&mut connection, &mut [0; 1000]));
        }
    });
    let place = TestDir::new();
    let words = ["put", &url, "--size", "4MiB", "--count", "100", "-c", "4", "-n", "40", "--json", "--out", "out"];
    let ended = place.run(words);
    let report = Report::read(ended.expect(1));
    assert_eq!((report.violations(), report.text("/result/word")), (0, "fail"), "{}", report.at("/result"));
    assert_eq!(report.number("/operations/failed"), 40);
}

/// Two objects of different speed are requested equally often, with any number of threads.
#[test]
fn objects_in_turn_are_requested_equally_often_by_all_threads() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (_fast, fast) = place.serve(&[]);
    let (_slow, slow) = place.serve(&["--delay", "20ms"]);
    let words = ["-c", "4", "-d", "2s", "--threads", "2", &fast, &slow];
    let (ended, report) = place.get(words);
    ended.expect(0);
    let host = |url: &str| url.split('/').nth(2).unwrap().to_owned();
    let of = |url: &str| {
        let group = report.list("/groups").iter().find(|group| group["label"] == host(url).as_str());
        group.unwrap_or_else(|| panic!("{:?}", report.list("/groups")))["ok"].as_u64().unwrap()
    };
    let (fast, slow) = (of(&fast), of(&slow));
    assert!(slow > 50 && fast.abs_diff(slow) < slow / 3, "{fast} and {slow}");
}
