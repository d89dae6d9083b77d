//! HTTP/2 against nginx, and against h2specd, which deliberately breaks every rule of the protocol.

use crate::support::{KIB, MIB, Nginx, Running, Setup, TestDir, peer, shared_cores};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const TLS: Setup = Setup { gibibyte: false, server: "", http: "", tls: true, http2: true, exact_times: false };
const PLAIN: Setup = Setup { tls: false, ..TLS };
/// Number of requests per connection after which nginx sends GOAWAY.
const SHORT: Setup = Setup { server: "keepalive_requests 50;", ..TLS };

#[test]
fn requests_and_bytes_equal_those_of_the_log() {
    let _cores = shared_cores();
    for (setup, path, size, n, slots, streams, connections) in [
        (TLS, "/f/1k", KIB, 5000, "64", "100", 1),
        (TLS, "/f/1k", KIB, 1000, "64", "10", 7),
        (TLS, "/f/1m", MIB, 100, "8", "100", 1),
        (TLS, "/f/64m", 64 * MIB, 8, "4", "2", 2),
        (PLAIN, "/f/1k", KIB, 2000, "16", "4", 4),
        (PLAIN, "/f/1m", MIB, 50, "4", "100", 1),
        // The bodies together are larger than the amount that nginx could queue without flow control.
        (PLAIN, "/f/64m", 64 * MIB, 16, "16", "100", 1),
    ] {
        let Some(nginx) = Nginx::start(setup) else { return };
        let place = TestDir::new();
        let (url, authority, n_text) = (nginx.url(path), nginx.authority(), n.to_string());
        let mut words =
            vec![url.as_str(), "--http2", "--threads", "1", "-n", &n_text, "-c", slots, "--streams", streams];
        if setup.tls {
            words.extend(["--cacert", &authority]);
        }
        let (ended, report) = place.get(words);
        ended.expect(0);
        report.expect_clean(n);
        assert_eq!(report.text("/server/http_version"), "HTTP/2");
        assert_eq!(report.number("/connections/opened"), connections, "{slots} slots on {streams} streams");
        let log = nginx.quit();
        assert_eq!(report.number("/operations/attempts"), log.len() as u64);
        assert!(log.iter().all(|request| request.protocol == "HTTP/2.0" && request.status == 200));
        assert_eq!(report.bytes("body_bytes"), n * size);
        let mut seen: Vec<u64> = log.iter().map(|request| request.connection).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len() as u64, connections);
    }
}

#[test]
fn requests_that_a_goaway_refuses_are_resent_and_none_is_lost() {
    let _cores = shared_cores();
    let Some(nginx) = Nginx::start(SHORT) else { return };
    let place = TestDir::new();
    let (url, authority) = (nginx.url("/f/1k"), nginx.authority());
    let (ended, report) = place.get([&url, "--http2", "--cacert", &authority, "-n", "3000", "-c", "32"]);
    ended.expect(0);
    assert_eq!((report.number("/operations/ok"), report.violations()), (3000, 0));
    let resends = report.number("/operations/resends");
    assert_eq!(report.cause("above_goaway") + report.cause("stream_refused"), resends, "{}", report.at("/failures"));
    // The log contains only the requests that nginx processed.
    assert_eq!(nginx.quit().len(), 3000);
    assert!(report.number("/connections/opened") >= 3000 / 50);
}

#[test]
fn a_server_without_http2_gets_http1_and_the_report_shows_it() {
    let _cores = shared_cores();
    let Some(nginx) = Nginx::start(Setup { http2: false, ..TLS }) else { return };
    let place = TestDir::new();
    let (url, authority) = (nginx.url("/f/1k"), nginx.authority());
    let (ended, report) = place.get([&url, "--http2", "--cacert", &authority, "-n", "200", "-c", "8"]);
    ended.expect(0);
    report.expect_clean(200);
    assert_eq!(report.text("/server/http_version"), "HTTP/1.1");
    assert!(nginx.quit().iter().all(|request| request.protocol == "HTTP/1.1"));
}

#[test]
fn plain_http1_is_reported_in_one_line() {
    let _cores = shared_cores();
    let Some(nginx) = Nginx::start(Setup::default()) else { return };
    let place = TestDir::new();
    let (ended, report) = place.get([&nginx.url("/f/1k"), "--http2", "-n", "3", "-c", "1"]);
    ended.expect(1);
    assert_eq!(report.cause("not_http2"), 3, "{}", report.at("/failures"));
}

#[test]
fn conflicting_flags_are_reported() {
    let place = TestDir::new();
    for (words, told) in [
        (&["--streams", "5"][..], "--http2"),
        (&["--http2", "--streams", "0"], "--streams"),
        (&["--http2", "--streams", "10001"], "the maximum is 10000"),
        (&["--http2", "--http1.0"], "--http1.0"),
        (&["--http2", "--proxy", "http://127.0.0.1:1"], "--proxy"),
    ] {
        let ended = place.run(["get", "http://127.0.0.1:1/"].iter().chain(words));
        ended.expect(2);
        assert!(ended.stderr.contains(told), "{words:?}: {}", ended.stderr);
    }
}

/// Searches for h2specd in the directory of `go install`, and in the PATH.
fn h2specd() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join("go/bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places =
        std::env::var_os("GOBIN").map(PathBuf::from).into_iter().chain(home).chain(std::env::split_paths(&path));
    peer("h2specd", places.map(|place| place.join("h2specd")).find(|program| program.exists()))
}

/// Returns the first of this many consecutive free ports. Searches below the range of ephemeral ports, because few
/// consecutive ports of that range are free after load tests.
fn free_ports(count: u16) -> u16 {
    let own = std::process::id() as u16 % 100;
    let starts = (100..200).map(|step| (own + step) % 200 * count + 10_000);
    let free = starts.filter(|first| *first < 32_000 - count).find(|first| {
        let all = (*first..first + count).map(|port| TcpListener::bind(("127.0.0.1", port)));
        all.collect::<Result<Vec<_>, _>>().is_ok()
    });
    free.unwrap_or_else(|| panic!("no {count} free ports in a row"))
}

/// Expected number of test cases of h2specd, which has no command to list its cases.
const CASES: std::ops::RangeInclusive<usize> = 50..=80;

#[test]
fn every_broken_rule_ends_in_a_class() {
    let _cores = shared_cores();
    let Some(h2specd) = h2specd() else { return };
    let place = TestDir::new();
    let get = "get --http2 -n 1 -c 1 --timeout-connect 1s --timeout-head 1s --timeout-idle 1s --print none --quiet";
    let program = format!("{} {get}", env!("CARGO_BIN_EXE_plimsoll"));
    let mut command = Command::new(h2specd);
    let from = free_ports(100).to_string();
    command.current_dir(place.path("")).args(["-f", &from, "-o", "1", "--exec", &program]);
    let ended = Running::of(command).end_within(Duration::from_secs(300));
    ended.expect(0);
    let runs = std::fs::read_dir(place.path("runs")).expect("each case is a run");
    let runs: Vec<_> = runs.map(|run| run.expect("can list the directory").path()).collect();
    assert!(CASES.contains(&runs.len()), "{} cases\n{}", runs.len(), ended.stdout);
    let mut by_cause = std::collections::BTreeMap::new();
    for run in &runs {
        let (told, report) = place.report(run);
        told.expect_no_panic();
        assert_eq!(report.violations(), 0, "{}: {}", run.display(), ended.stdout);
        assert_eq!(report.number("/operations/ok") + report.number("/operations/failed"), 1);
        assert_eq!(report.class("internal"), 0);
        for cause in report.list("/failures/causes") {
            *by_cause.entry(cause["cause"].to_string()).or_insert(0) += 1;
        }
    }
    let verdict = ended.stdout.lines().find(|line| line.contains(" passed, ")).unwrap_or("no verdict of its own");
    eprintln!("{} cases: {by_cause:?}; h2specd: {verdict}", runs.len());
}
