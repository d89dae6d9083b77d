//! Counts of requests and bytes, for all sizes and concurrencies. The counts must equal the counts in nginx's access
//! log.

use crate::support::{GIB, KIB, MIB, Nginx, Report, Request, Setup, TestDir, all_cores, shared_cores};
use std::collections::HashSet;

/// Maximum memory of the program with 1,000 slots, in bytes.
const MEMORY_MAX: u64 = 40 * MIB;

/// Makes `n` operations on `path` at this concurrency. The run must be clean, and its counts must equal the server's
/// log.
fn load(setup: Setup, path: &str, size: u64, n: u64, concurrency: u64) -> Option<(Report, Vec<Request>)> {
    let nginx = Nginx::start(setup)?;
    let place = TestDir::new();
    let (ended, report) = place.get([&nginx.url(path), "-n", &n.to_string(), "-c", &concurrency.to_string()]);
    ended.expect(0);
    report.expect_clean(n);
    assert_eq!(report.bytes("body_bytes"), n * size);
    let log = nginx.quit();
    report.expect_joins(&log);
    assert!(log.iter().all(|request| request.status == 200 && request.method == "GET" && request.uri == path));
    Some((report, log))
}

#[test]
fn counts_of_small_objects_at_64_slots_equal_the_servers() {
    let _cores = shared_cores();
    let Some((report, log)) = load(Setup::default(), "/f/1k", KIB, 20_000, 64) else { return };
    let connections: HashSet<u64> = log.iter().map(|request| request.connection).collect();
    assert_eq!(connections.len(), 64, "slots did not reuse their connections");
    assert_eq!(report.number("/connections/opened"), 64);
}

#[test]
fn counts_of_small_objects_at_1000_slots_equal_the_servers_and_need_40_mib() {
    let _cores = all_cores();
    let Some((report, _)) = load(Setup::default(), "/f/1k", KIB, 50_000, 1000) else { return };
    let memory = report.number("/client/peak_memory_bytes");
    assert!(memory <= MEMORY_MAX, "{memory} bytes resident");
}

#[test]
fn counts_of_small_objects_at_2100_slots_equal_the_servers() {
    let _cores = all_cores();
    load(Setup::default(), "/f/1k", KIB, 50_000, 2100);
}

#[test]
fn counts_of_gibibytes_at_8_slots_equal_the_servers() {
    let _cores = all_cores();
    load(Setup { gibibyte: true, ..Setup::default() }, "/f/1g", GIB, 16, 8);
}

#[test]
fn random_ranges_at_1000_slots_are_distinct_within_the_object_and_equal_the_servers_counts() {
    let _cores = all_cores();
    let Some(nginx) = Nginx::start(Setup { gibibyte: true, ..Setup::default() }) else { return };
    let place = TestDir::new();
    let n = 3000;
    let (ended, report) = place.get([&nginx.url("/f/1g"), "--range", "1MiB", "-n", "3000", "-c", "1000"]);
    ended.expect(0);
    report.expect_clean(n);
    let mut log = nginx.quit();
    let sizes = log.iter().position(|request| request.method == "HEAD").expect("a HEAD request finds the size");
    log.remove(sizes);
    report.expect_joins(&log);
    assert_eq!(report.bytes("body_bytes"), n * MIB);
    let ranges: Vec<(u64, u64)> = log.iter().map(|request| request.range.expect("every request has a range")).collect();
    assert!(ranges.iter().all(|(first, last)| last - first + 1 == MIB && *last < GIB));
    assert!(log.iter().all(|request| request.status == 206 && request.body_bytes == MIB));
    // The 3,000 offsets come from a billion possible offsets, so duplicates are very unlikely.
    assert!(ranges.iter().collect::<HashSet<_>>().len() >= 2998, "the ranges are not random");
    // The ranges must be spread over the object. A sixteenth of the object contains 187 ranges on average, with a
    // standard deviation of 13.
    for sixteenth in 0..16 {
        let inside = ranges.iter().filter(|(first, _)| first / (GIB / 16) == sixteenth).count();
        assert!((100..=280).contains(&inside), "{inside} of 3000 ranges in sixteenth {sixteenth}");
    }
}

#[test]
fn a_run_by_time_accounts_for_every_request_of_the_server() {
    let _cores = shared_cores();
    for (path, concurrency) in [("/f/1k", "64"), ("/f/1m", "8"), ("/f/64m", "4")] {
        let Some(nginx) = Nginx::start(Setup::default()) else { return };
        let place = TestDir::new();
        let (ended, report) = place.get([&nginx.url(path), "-d", "1500ms", "-c", concurrency]);
        ended.expect(0);
        let log = nginx.quit();
        let count = |name: &str| report.number(&format!("/operations/{name}"));
        assert_eq!(count("started"), log.len() as u64, "{path}");
        assert_eq!(count("ok") + count("failed") + count("unfinished"), count("started"), "{path}");
        assert_eq!(report.violations(), 0);
        report.expect_joins(&log);
    }
}

#[test]
fn a_run_at_a_rate_starts_the_operations_of_the_schedule() {
    let _cores = shared_cores();
    let Some(nginx) = Nginx::start(Setup::default()) else { return };
    let place = TestDir::new();
    let (_, report) = place.get([&nginx.url("/f/1k"), "-R", "500", "-d", "2s"]);
    let log = nginx.quit();
    assert_eq!(report.number("/operations/offered"), 1000);
    assert_eq!(report.number("/operations/started") + report.number("/operations/dropped"), 1000);
    assert_eq!(report.number("/operations/started"), log.len() as u64);
    report.expect_joins(&log);
}

#[test]
fn repeats_are_saved_separately_and_compared() {
    let _cores = shared_cores();
    let Some(nginx) = Nginx::start(Setup::default()) else { return };
    let place = TestDir::new();
    let ended = place.run(["get", &nginx.url("/f/1k"), "-n", "500", "--repeat", "2", "--out", "out", "--full"]);
    ended.expect(0);
    for number in ["1", "2"] {
        let (shown, report) = place.report(&place.path("out").join(number));
        shown.expect(0);
        report.expect_clean(500);
    }
    assert_eq!(nginx.quit().len(), 1000);
    assert_eq!(
        ended.stdout.matches("PASS · ").count(),
        3,
        "there must be one result for each run, and one for both together: {}",
        ended.stdout
    );
    let comparison = ended.stdout.to_lowercase();
    assert!(comparison.contains("repeats") || comparison.contains("2 runs"), "no comparison in {}", ended.stdout);
}

#[test]
fn no_operation_starts_after_the_requested_bytes_have_arrived() {
    let _cores = shared_cores();
    let Some(nginx) = Nginx::start(Setup::default()) else { return };
    let (ended, report) = TestDir::new().get([&nginx.url("/f/1m"), "--bytes", "10MiB", "-c", "4"]);
    ended.expect(0);
    let started = report.number("/operations/started");
    assert!((10..=13).contains(&started), "{started} instead of ten, plus up to three in flight when the tenth ended");
    report.expect_clean(started);
    report.expect_joins(&nginx.quit());
}

#[test]
fn the_log_contains_each_operation_once() {
    let _cores = shared_cores();
    let Some(nginx) = Nginx::start(Setup::default()) else { return };
    let place = TestDir::new();
    let (ended, report) = place.get([&nginx.url("/f/1m"), "--range", "10KiB", "-n", "2000", "-c", "20", "--log-ops"]);
    ended.expect(0);
    let ops = store::OpLogReader::open(&place.path("out")).expect("there is a log");
    let ops: Vec<_> = ops.map(|op| op.expect("can read every record")).collect();
    let log = nginx.quit();
    assert_eq!(ops.len() as u64, report.number("/operations/started"));
    let numbers: HashSet<u64> = ops.iter().map(|op| op.op).collect();
    assert_eq!(numbers, (0..2000).collect(), "numbers are missing or repeated");
    let mut asked: Vec<_> = log.iter().filter_map(|request| request.range).collect();
    let mut logged: Vec<_> = ops.iter().filter_map(|op| op.range.map(|range| (range.first, range.last))).collect();
    asked.sort_unstable();
    logged.sort_unstable();
    assert_eq!(asked, logged, "the log has other ranges than the requests");
    assert_eq!(ops.iter().map(|op| op.body_bytes).sum::<u64>(), report.bytes("body_bytes"));
    for op in &ops {
        assert_eq!((op.status, op.attempts, op.body_bytes), (Some(206), 1, 10 * KIB));
        let (sent, first_byte) = (op.sent.expect("was sent"), op.first_byte.expect("has a first byte"));
        assert!(
            op.intended <= op.started && op.started <= sent && sent <= first_byte && first_byte <= op.end,
            "{op:?}"
        );
    }
}
