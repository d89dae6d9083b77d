//! Limits in reports, and response times of a server that stalls.

use crate::support::{
    Ended, Nginx, Report, Request, Running, Setup, TestDir, all_cores, respond, signal, wait_for, with_its_cores,
};
use server::{Config, Delay, Faults, Server};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

const LIMITS: [&str; 6] = ["target", "client_cpu", "client_nic", "shared_host", "concurrency", "not_determined"];

#[test]
fn a_hundred_thousand_requests_at_500_slots_are_valid_and_their_limit_is_named() {
    let _cores = all_cores();
    let Some(nginx) = Nginx::start(Setup::default()) else { return };
    let place = TestDir::new();
    let (ended, report) = place.get(["-k", "-c", "500", "-n", "100000", &nginx.url("/f/1k")]);
    ended.expect(0);
    report.expect_clean(100_000);
    let limited_by = report.text("/limited_by");
    assert!(LIMITS.contains(&limited_by), "limited by {limited_by}");
    let text = place.run(["report", "out"]);
    let first = text.stdout.lines().next().unwrap_or_default();
    assert!(first.starts_with("PASS · "), "{first}");
    let at_least = ["client_cpu", "client_nic", "shared_host"].contains(&limited_by);
    assert_eq!(first.contains(" at least "), at_least, "{first}");
    report.expect_joins(&nginx.quit());
}

/// Each response takes 20 ms at any load, so twice as many slots reach twice the rate.
#[test]
fn a_probe_decides_and_every_report_shows_it() {
    let _cores = all_cores();
    let faults = Faults { delay: Delay::Constant(Duration::from_millis(20)), ..Faults::default() };
    let server = Server::start(&Config { faults, ..Config::default() }).expect("the server starts");
    let url = format!("http://{}/blackhole/1KiB", server.addresses()[0]);
    let probed = with_its_cores(|| {
        let place = TestDir::new();
        let (ended, report) = place.get([&url, "-c", "4", "-d", "1s", "--probe=400ms"]);
        Some((ended, report, place))
    });
    let Some((ended, report, place)) = probed else { return };
    ended.expect(0);
    assert_eq!(report.text("/limited_by"), "concurrency");
    let because = report.text("/limit_reason");
    assert!(because.starts_with("a probe with 8 slots reached "), "{because}");
    assert!(report.number("/operations/ok") <= 200, "the run includes operations of the probes");
    let again = Report::read(&place.run(["report", "--json", "out"]));
    assert_eq!(again.text("/limit_reason"), because);
}

#[test]
fn a_rate_that_the_client_cannot_reach_is_never_a_clean_result() {
    let _cores = all_cores();
    let server = "location = /nothing { access_log off; return 204; }";
    let Some(nginx) = Nginx::start(Setup { server, ..Setup::default() }) else { return };
    let place = TestDir::new();
    let url = nginx.url("/nothing");
    // The program gets a single core. The server gets the other cores, and needs less CPU time for a response than the
    // program.
    let mut command = Command::new("taskset");
    command.args(["-c", "0", env!("CARGO_BIN_EXE_plimsoll"), "get", "--json", &url, "-c", "64"]);
    command.args(["-R", "1000000", "-d", "4s"]).current_dir(place.path(""));
    let ended = Running::of(command).end();
    let report = Report::read(&ended);
    ended.expect(3);
    // One core cannot reach this rate, even if no other process uses that core.
    assert_eq!(report.text("/limited_by"), "client_cpu", "{}", report.at("/client"));
    let count = |name: &str| report.number(&format!("/operations/{name}"));
    assert_eq!(count("offered"), 4_000_000);
    assert_eq!(count("started") + count("dropped"), count("offered"));
    assert!(count("dropped") > 40_000, "too few operations were dropped");
}

#[test]
fn a_rate_above_what_the_target_sustains_is_not_a_success() {
    let _cores = all_cores();
    // There are ten slots, and responses take about three seconds.
    let setup = Setup { server: "location /slow/ { alias files/; limit_rate 256k; }", ..Setup::default() };
    let overloaded = with_its_cores(|| {
        let nginx = Nginx::start(setup)?;
        let (ended, report) = TestDir::new().get([&nginx.url("/slow/1m"), "-R", "100", "-c", "10", "-d", "4s"]);
        Some((ended, report, nginx.quit()))
    });
    let Some((ended, report, log)) = overloaded else { return };
    ended.expect(1);
    assert_eq!(report.violations(), 0);
    assert_eq!(report.text("/limited_by"), "target");
    let count = |name: &str| report.number(&format!("/operations/{name}"));
    assert_eq!((count("offered"), count("failed")), (400, 0));
    assert!(count("dropped") > 300 && count("started") + count("dropped") == 400, "{}", report.at("/operations"));
    let waited = report.number("/times/slot_wait/count");
    assert!(waited > 0, "no operation waited for a slot, although the target was slow");
    report.expect_joins(&log);
}

/// nginx makes uploads beyond 8/s wait, and serves downloads at once. A tenth of the operations are uploads.
#[test]
fn a_target_that_falls_behind_with_rare_uploads_is_the_limit() {
    let _cores = all_cores();
    let http = "map $request_method $upload { PUT put; default ''; } limit_req_zone $upload zone=uploads:1m rate=8r/s;";
    let server = "location /d/ { alias files/; dav_methods PUT DELETE; limit_req zone=uploads burst=10000; }";
    let Some(nginx) = Nginx::start(Setup { http, server, ..Setup::default() }) else { return };
    let location = nginx.url("/d/");
    TestDir::new().run(["prepare", &location, "--count", "3", "--size", "1KiB"]).expect(0);
    let limit = |rate: &str| {
        let words = ["mix", &location, "--get", "90", "--put", "10", "-R", rate, "-d", "4s", "--json", "--out", "out"];
        let (ended, report, ()) = with_its_cores(|| {
            let ended = TestDir::new().run(words);
            let report = Report::read(&ended);
            Some((ended, report, ()))
        })?;
        ended.expect(0);
        Some((report.text("/limited_by").to_owned(), report.text("/limit_reason").to_owned()))
    };
    let Some((overloaded, reason)) = limit("200") else { return };
    assert_eq!(overloaded, "target", "{reason}");
    assert!(reason.starts_with("response times of put "), "{reason}");
    let Some((sustained, reason)) = limit("40") else { return };
    assert_eq!(sustained, "rate", "{reason}");
}

#[test]
fn a_stall_of_one_second_appears_in_the_response_times() {
    let _cores = all_cores();
    let Some((ended, report, log)) = with_its_cores(stalled_run) else { return };
    ended.expect(0);
    report.expect_clean(10_000);
    report.expect_joins(&log);
    let truth = waits_ms(log.iter().map(|request| request.end * 1000.0).collect());
    let quantile = |q: f64| truth[(truth.len() as f64 * q) as usize];
    assert!((880.0..1000.0).contains(&quantile(0.99)), "the server stalled for a second: {}", quantile(0.99));
    for q in [0.5, 0.95, 0.99, 0.999] {
        let (truth, found) = (quantile(q), report.quantile_ms("/times/response/quantiles", q));
        // After the stall, client and server compete for the cores until the backlog is gone.
        let error_max = f64::max(10.0, 0.02 * truth);
        assert!((found - truth).abs() <= error_max, "q {q}: {found} ms against {truth} ms");
    }
    // A stall increases service times, because most operations were sent during the stall. The stall must not increase
    // lateness.
    assert!(report.quantile_ms("/times/service/quantiles", 0.99) > 500.0);
    assert!(report.quantile_ms("/times/lateness/quantiles", 0.99) < 100.0, "the client was late");
}

/// Makes a run with 1,000 operations per second for 10 s. The server stops for one second during the run.
fn stalled_run() -> Option<(Ended, Report, Vec<Request>)> {
    let nginx = Nginx::start(Setup { exact_times: true, ..Setup::default() })?;
    let place = TestDir::new();
    let words = ["get", "--json", &nginx.url("/f/1k"), "-R", "1000", "-d", "10s", "--out", "out"];
    let run: Running = place.start(words);
    wait_for("run directory", || place.path("out/records.jsonl.zst").exists().then_some(()));
    std::thread::sleep(Duration::from_secs(4));
    nginx.signal_workers("STOP");
    std::thread::sleep(Duration::from_secs(1));
    nginx.signal_workers("CONT");
    let ended = run.end();
    let report = Report::read(&ended);
    Some((ended, report, nginx.quit()))
}

/// Returns the waits of operations, in the order of arrival. One operation arrives every millisecond, and the
/// operations end at `ends_ms`. The time of the first arrival is unknown, and is chosen so that the shortest wait is
/// zero. Only the server's log is used.
fn waits_ms(mut ends_ms: Vec<f64>) -> Vec<f64> {
    ends_ms.sort_unstable_by(f64::total_cmp);
    let starts = ends_ms.iter().enumerate().map(|(number, end)| end - number as f64);
    let first = starts.clone().fold(f64::INFINITY, f64::min);
    let mut waits: Vec<f64> = starts.map(|start| start - first).collect();
    waits.sort_unstable_by(f64::total_cmp);
    waits
}

/// Makes a run with two threads and this many file descriptors. The program itself needs 72 descriptors. The other
/// descriptors are for connections.
fn with_descriptors(place: &TestDir, descriptors: u64, words: &[&str]) -> Ended {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -n {descriptors}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_plimsoll")]);
    command.args(words).args(["--threads", "2"]).current_dir(place.path(""));
    Running::of(command).end()
}

/// The target takes 100 ms per request, so 300 operations per second need 30 connections. Only 28 descriptors are left
/// for connections, so the client is the limit.
#[test]
fn too_few_descriptors_for_the_rate_are_the_clients_limit() {
    let _cores = all_cores();
    let place = TestDir::new();
    let (server, url) = place.serve(&[]);
    let url = format!("{url}?delay=100ms");
    for (descriptors, code, limit) in [(100, 3, "client_resources"), (400, 0, "rate")] {
        let Some((ended, report, ())) = with_its_cores(|| {
            let words = ["get", &url, "-R", "300", "-d", "3s", "--json"];
            let ended = with_descriptors(&TestDir::new(), descriptors, &words);
            let report = Report::read(&ended);
            Some((ended, report, ()))
        }) else {
            return;
        };
        assert_eq!((ended.code, report.text("/limited_by")), (Some(code), limit), "{}", report.at("/result"));
        let text = ended.stderr.contains("raise its limit of descriptors");
        assert_eq!(text, descriptors == 100, "{}", ended.stderr);
    }
    // A search must not report this limit of the client as the load line of the target.
    let search = ["line", &url, "--on", "rate", "--from", "320", "--to", "320", "-d", "1s", "--json", "--out", "line"];
    let ended = with_descriptors(&place, 100, &search);
    let line: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(line["levels"][0]["outcome"], "client_limited", "{line:#}");
    server.stop();
}

/// The target handles one operation at a time, in 10 ms. At 300 operations per second, its backlog grows until all
/// slots are in use, for any number of slots. A target that hangs has the same effect.
#[test]
fn a_slow_target_is_not_excused_by_few_descriptors() {
    let _cores = all_cores();
    let place = TestDir::new();
    let core = Mutex::new(());
    let url = respond(move |send| {
        let _busy = core.lock().unwrap();
        std::thread::sleep(Duration::from_millis(10));
        send();
    });
    let ended = with_descriptors(&place, 100, &["get", &url, "-R", "300", "-d", "3s", "--json"]);
    let report = Report::read(&ended);
    assert_eq!(report.text("/limited_by"), "target", "{}", report.at("/result"));
}

/// The server stops the client's process before it sends a response, and lets the process continue 60 ms after that.
#[test]
fn a_client_that_stops_reading_for_a_known_time_shows_that_share() {
    const WORK: Duration = Duration::from_millis(20);
    const WAIT: Duration = Duration::from_millis(60);
    let _cores = all_cores();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let place = TestDir::new();
    let client = place.start(["get", &url, "-c", "1", "-n", "40", "--json", "--out", "out"]);
    let process = client.id();
    let server = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        connection.set_nodelay(true).unwrap();
        let (mut waited, mut served) = (Duration::ZERO, Duration::ZERO);
        let mut buffer = [0; 4096];
        while connection.read(&mut buffer).is_ok_and(|bytes| bytes > 0) {
            let begun = Instant::now();
            signal(process, "STOP");
            std::thread::sleep(WORK);
            connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
            let sent = Instant::now();
            std::thread::sleep(WAIT);
            signal(process, "CONT");
            (waited, served) = (waited + sent.elapsed(), served + begun.elapsed());
        }
        waited.as_secs_f64() / served.as_secs_f64()
    });
    let ended = client.end();
    let planted = server.join().unwrap();
    let report = Report::read(&ended);
    let found = report.at("/client/unread_share").as_f64().expect("a share");
    assert!((found - planted).abs() < 0.05, "{found} of {planted} planted: {}", report.at("/client"));
    // The client discards a sample if it was delayed while it compared the two clocks.
    assert!((36..=40).contains(&report.number("/client/unread_samples")), "{}", report.at("/client"));
    assert_eq!(report.text("/limited_by"), "shared_host");
}
