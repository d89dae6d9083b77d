//! What limited a run, and time as a stalled server makes it.

use crate::support::{Nginx, Place, Report, Running, Setup, all_cores, wait_for};
use std::time::{Duration, Instant};

const LIMITS: [&str; 6] = ["target", "client_cpu", "client_nic", "shared_host", "concurrency", "rate"];

#[test]
fn a_hundred_thousand_requests_at_500_slots_are_valid_and_what_limited_them_is_named() {
    let _cores = all_cores();
    let Some(nginx) = Nginx::start(Setup::default()) else { return };
    let place = Place::new();
    let (ended, report) = place.get(["-k", "-c", "500", "-n", "100000", &nginx.url("/f/1k")]);
    ended.expect(0);
    report.expect_clean(100_000);
    let limited_by = report.text("/limited_by");
    assert!(LIMITS.contains(&limited_by), "limited by {limited_by}");
    let text = place.run(["report", "out"]);
    let first = text.stdout.lines().next().unwrap_or_default();
    assert!(first.starts_with("VALID · limited by: "), "{first}");
    let at_least = ["client_cpu", "client_nic", "shared_host"].contains(&limited_by);
    assert_eq!(first.contains(" at least "), at_least, "{first}");
    report.expect_joins(&nginx.quit());
}

#[test]
fn a_rate_that_the_client_can_not_make_is_never_a_clean_number() {
    let _cores = all_cores();
    let Some(nginx) = Nginx::start(Setup::default()) else { return };
    let place = Place::new();
    // More than a core can send, from one thread.
    let words = ["--threads", "1", "-R", "1000000", "-d", "4s", "--drain", "2s"];
    let (ended, report) = place.get([nginx.url("/f/1k").as_str()].into_iter().chain(words));
    ended.expect(3);
    let limited_by = report.text("/limited_by");
    assert!(["client_cpu", "shared_host"].contains(&limited_by), "limited by {limited_by}");
    assert_eq!(report.number("/operations/offered"), 4_000_000);
    let count = |name: &str| report.number(&format!("/operations/{name}"));
    assert_eq!(count("started") + count("dropped"), count("offered"));
}

#[test]
fn a_server_that_stalls_for_a_second_shows_in_the_response_times() {
    let _cores = all_cores();
    let Some(nginx) = Nginx::start(Setup::default()) else { return };
    let place = Place::new();
    let words = ["get", "--json", &nginx.url("/f/1k"), "-R", "1000", "-d", "10s", "--out", "out"];
    let run: Running = place.start(words);
    wait_for("run directory", || place.path("out/records.jsonl.zst").exists().then_some(()));
    std::thread::sleep(Duration::from_secs(4));
    nginx.signal_workers("STOP");
    let stopped = Instant::now();
    std::thread::sleep(Duration::from_secs(1));
    nginx.signal_workers("CONT");
    let stall_ms = stopped.elapsed().as_secs_f64() * 1000.0;
    let ended = run.end();
    let report = Report::read(&ended);
    ended.expect(0);
    report.expect_clean(10_000);
    // One operation each millisecond: those that arrived during the stall waited for the rest of it. Beyond p95 are
    // the 500 that waited longest, beyond p99 the 100.
    assert!(report.quantile_ms("/times/response/quantiles", 0.5) < 10.0);
    for (q, beyond_ms) in [(0.95, 500.0), (0.99, 100.0), (0.999, 10.0)] {
        let (truth, found) = (stall_ms - beyond_ms, report.quantile_ms("/times/response/quantiles", q));
        assert!((found - truth).abs() <= 10.0, "q {q}: {found} ms against {truth} ms");
    }
}
