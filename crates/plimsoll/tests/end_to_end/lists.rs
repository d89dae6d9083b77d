//! Lists of URLs. The embedded server is the target, because its ledger records every request.

use crate::support::{Report, TestDir, shared_cores};
use server::{Config, RequestRecord, Server};
use std::collections::HashMap;
use std::io::Write;
use std::num::NonZeroUsize;
use std::process::Stdio;

const LOG_MAX: usize = 100_000;

fn serve() -> Server {
    Server::start(&Config { log_requests: NonZeroUsize::new(LOG_MAX), ..Config::default() }).expect("the server starts")
}

/// Returns a list of URLs of the server. Each URL has a different query.
fn list(server: &Server, urls: u64) -> Vec<String> {
    let address = server.addresses()[0];
    (0..urls).map(|number| format!("http://{address}/blackhole/10?n={number}")).collect()
}

/// Returns the number of requests for each URL in the server's ledger. The key is the number in the URL's query.
fn asked(server: Server) -> HashMap<u64, u64> {
    let ledger = server.stop();
    assert_eq!(ledger.log_dropped, 0);
    let mut counts = HashMap::new();
    for record in &ledger.log {
        *counts.entry(number(record)).or_default() += 1;
    }
    counts
}

fn number(record: &RequestRecord) -> u64 {
    let number = record.target.split_once("?n=").and_then(|(_, number)| number.parse().ok());
    number.unwrap_or_else(|| panic!("{} was never asked for", record.target))
}

/// Returns the number of requests for each URL in the warm-up and in the window, according to the operation log.
fn taken(place: &TestDir, warmup_nanos: u64) -> [HashMap<u64, u64>; 2] {
    let packed = std::fs::read(place.path("out/ops.jsonl.zst")).expect("operations are logged");
    let lines = zstd::decode_all(packed.as_slice()).expect("the file is zstd");
    let mut counts = [HashMap::new(), HashMap::new()];
    for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let op: serde_json::Value = serde_json::from_slice(line).expect("a line is JSON");
        let of = |name: &str| op[name].as_u64().unwrap_or_else(|| panic!("no {name} in {op}"));
        *counts[usize::from(of("intended_nanos") >= warmup_nanos)].entry(of("url")).or_default() += 1;
    }
    counts
}

#[test]
fn byte_order_marks_and_line_ends_are_not_part_of_a_url() {
    let _cores = shared_cores();
    let server = serve();
    let place = TestDir::new();
    let urls = list(&server, 4);
    place.write("urls", format!("\u{feff}{}\r\n\r\n# nothing\r\n  {}  \r\n{}\n{}", urls[0], urls[1], urls[2], urls[3]));
    let (ended, report) = place.get(["--url-file", "urls", "--order", "once"]);
    ended.expect(0);
    report.expect_clean(4);
    assert_eq!(asked(server), (0..4).map(|number| (number, 1)).collect());
}

#[test]
fn a_list_can_be_read_from_a_pipe() {
    let _cores = shared_cores();
    let server = serve();
    let place = TestDir::new();
    let mut command = place.command(["get", "--json", "--url-file", "-", "--order", "once"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("can start the program");
    let mut pipe = child.stdin.take().expect("the process has a standard input");
    pipe.write_all(list(&server, 100).join("\n").as_bytes()).expect("can write the list");
    drop(pipe);
    let left = child.wait_with_output().expect("can wait for the program");
    assert_eq!(left.status.code(), Some(0));
    Report(serde_json::from_slice(&left.stdout).expect("the output is JSON")).expect_clean(100);
    assert_eq!(asked(server), (0..100).map(|number| (number, 1)).collect());
}

#[test]
fn in_the_window_each_url_is_requested_once() {
    const URLS: u64 = 501;
    let _cores = shared_cores();
    for words in [
        &["-c", "8"] as &[&str],
        &["-c", "8", "--warmup", "200ms", "--think", "5ms"],
        &["-R", "1000"],
        &["-R", "1000", "--poisson"],
        &["-R", "1000", "--warmup", "205ms", "--threads", "1"],
        &["-R", "1000", "--warmup", "205ms", "--threads", "2"],
        &["-R", "1000", "--warmup", "205ms", "--threads", "3"],
        &["-R", "1000", "--warmup", "205ms", "--threads", "3", "--poisson"],
    ] {
        let server = serve();
        let place = TestDir::new();
        place.write("urls", list(&server, URLS).join("\n"));
        let (ended, report) = place.get(["--url-file", "urls", "--order", "once", "--log-ops"].iter().chain(words));
        ended.expect(0);
        assert_eq!(report.number("/operations/ok"), URLS, "{words:?}");
        let warmup_nanos = report.number("/setup/warmup_ms") * 1_000_000;
        let [warm, window] = taken(&place, warmup_nanos);
        assert_eq!(warm.is_empty(), warmup_nanos == 0, "{words:?}");
        let once: HashMap<u64, u64> = (0..URLS).map(|number| (number, 1)).collect();
        let missing = once.keys().filter(|number| !window.contains_key(number)).count();
        assert_eq!(missing, 0, "{words:?}: not requested in the window");
        assert_eq!(window, once, "{words:?}");
        let mut both = warm;
        window.iter().for_each(|(number, count)| *both.entry(*number).or_default() += count);
        assert_eq!(asked(server), both, "{words:?}: the ledger agrees with the log");
    }
}
