//! Runs that are killed or interrupted, and reports of runs in progress.

use crate::support::{Nginx, PATIENCE, Report, Running, Setup, TestDir, shared_cores, wait_for};
use std::net::TcpListener;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Directives for slow responses, which take about two seconds below `/slow/`, and many minutes below `/endless/`.
const SLOW: &str =
    "location /slow/ { alias files/; limit_rate 512k; } location /endless/ { alias files/; limit_rate 1k; }";

fn start(server: &'static str) -> Option<Nginx> {
    Nginx::start(Setup { server, ..Setup::default() })
}

/// Reads the run in `out` repeatedly until it has `count` intervals. Reading fails at first, because a run that has
/// just started has no record yet.
fn wait_for_intervals(place: &TestDir, count: usize) -> Report {
    wait_for("intervals on disk", || {
        let ended = place.run(["report", "--json", "out"]);
        let report = ended.stdout.starts_with('{').then(|| Report::read(&ended))?;
        (report.list("/series").len() >= count).then_some(report)
    })
}

/// Waits until the server has requests in flight.
fn wait_for_start(place: &TestDir) {
    wait_for("run directory", || place.path("out/records.jsonl.zst").exists().then_some(()));
}

#[test]
fn a_killed_run_keeps_its_results_up_to_the_last_second() {
    let _cores = shared_cores();
    let Some(nginx) = start("") else { return };
    let place = TestDir::new();
    let run = place.start(["get", &nginx.url("/f/1k"), "-d", "60s", "-c", "8", "--out", "out"]);

    let during = wait_for_intervals(&place, 2);
    assert_eq!(during.text("/result/word"), "partial", "a run in progress must be partial");
    assert!(during.at("/end").is_null());
    assert!(during.number("/operations/ok") > 0);

    wait_for_intervals(&place, 3);
    let killed = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_secs_f64();
    run.signal("KILL");
    assert_eq!(run.end().code, None, "the signal did not kill it");

    let (shown, after) = place.report(&place.path("out"));
    shown.expect(0);
    assert_eq!(after.text("/result/word"), "partial");
    assert!(after.at("/end").is_null());
    let text = place.run(["report", "out"]);
    assert!(text.stdout.starts_with("PARTIAL · "), "{}", text.stdout);

    let log = nginx.quit();
    let completed = after.number("/operations/completed");
    // Intervals are saved every second, shortly after they end.
    let old = log.iter().filter(|request| request.end < killed - 1.5).count() as u64;
    assert!(old > 0 && completed >= old, "{completed} are reported, but {old} had ended 1.5 s before the kill");
    assert!(completed <= log.len() as u64, "{completed} are reported, but only {} are in the server's log", log.len());
    let series: u64 = after.list("/series").iter().filter_map(|point| point["ok"].as_u64()).sum();
    assert_eq!(series, after.number("/operations/ok"));
}

#[test]
fn a_killed_run_keeps_its_operation_log_up_to_the_last_second() {
    let _cores = shared_cores();
    let Some(nginx) = start("") else { return };
    let place = TestDir::new();
    let run = place.start(["get", &nginx.url("/f/1k"), "-R", "100", "-d", "60s", "--log-ops", "--out", "out"]);
    let during = wait_for_intervals(&place, 3);
    run.signal("KILL");
    run.end();
    // The third interval is on disk, so the log must contain the operations of the first two intervals.
    let before: u64 = during.list("/series")[..2].iter().filter_map(|point| point["ok"].as_u64()).sum();
    let ops = store::OpLogReader::open(&place.path("out")).expect("there is a log");
    let logged = ops.filter(Result::is_ok).count() as u64;
    assert!(before > 100 && logged >= before, "{logged} logged, {before} counted");
}

#[test]
fn an_interrupt_ends_the_requests_before_a_run() {
    let _cores = shared_cores();
    // This server accepts connections, but never sends a response.
    let listener = TcpListener::bind("127.0.0.1:0").expect("can bind a loopback port");
    let url = format!("http://{}/x", listener.local_addr().expect("a bound socket has an address"));
    let place = TestDir::new();
    let mut run = place.start(["get", &url, "--range", "100", "-d", "1s"]);
    let _asking = listener.accept().expect("the size is asked for");
    run.signal("INT");
    run.wait_for_message("interrupted: ");
    run.signal("INT");
    let ended = run.end_within(Duration::from_secs(5));
    ended.expect(130);
    assert!(ended.stderr.contains("interrupted while object sizes were requested"), "{}", ended.stderr);
}

#[test]
fn one_interrupt_lets_operations_end_and_reports() {
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let _cores = shared_cores();
        let Some(nginx) = start(SLOW) else { return };
        let place = TestDir::new();
        let url = nginx.url("/slow/1m");
        // The process that runs the tests may ignore SIGHUP, and its children inherit this. `env` resets it.
        let mut command = Command::new("env");
        command.args(["--default-signal=HUP", env!("CARGO_BIN_EXE_plimsoll")]).current_dir(place.path(""));
        command.args(["get", "--json", &url, "-d", "50s", "-c", "5", "--out", "out"]);
        let mut run = Running::of(command);
        wait_for_start(&place);
        wait_for_intervals(&place, 1);
        run.signal(signal);
        run.wait_for_message("interrupted: ");
        let ended = run.end();
        ended.expect(code);
        let report = Report::read(&ended);
        assert_eq!(report.text("/end/reason"), "interrupted");
        assert_eq!(report.text("/end/reason"), "interrupted");
        assert_eq!(report.number("/end/signal"), code as u64 - 128);
        let count = |name: &str| report.number(&format!("/operations/{name}"));
        assert!(count("ok") >= 5, "operations in flight were cut off");
        assert_eq!((count("ok"), count("failed"), count("unfinished")), (count("started"), 0, 0));
        let log = nginx.quit();
        report.expect_joins(&log);
        assert!(log.iter().all(|request| request.body_bytes == 1 << 20), "a body was not read completely");
    }
}

#[test]
fn a_second_interrupt_ends_the_run_at_once_and_keeps_what_is_saved() {
    let _cores = shared_cores();
    let Some(nginx) = start(SLOW) else { return };
    let place = TestDir::new();
    let url = nginx.url("/endless/1m");
    let mut run = place.start(["get", &url, "-d", "50s", "--drain", "50s", "-c", "5", "--out", "out"]);
    wait_for_intervals(&place, 1);
    run.signal("INT");
    run.wait_for_message("interrupted: ");
    run.signal("INT");
    let ended = run.end_within(Duration::from_secs(3));
    ended.expect(130);
    assert!(ended.stdout.starts_with("PARTIAL · interrupted by the user"), "{}", ended.stdout);
    let (shown, report) = place.report(&place.path("out"));
    shown.expect(130);
    assert_eq!(report.text("/end/reason"), "interrupted");
    assert_eq!((report.number("/operations/started"), report.number("/operations/ok")), (5, 0));
    assert_eq!(report.number("/operations/failed") + report.number("/operations/unfinished"), 5);
    assert!(report.bytes("body_bytes") > 0, "bytes of unfinished operations are not counted");
}

#[test]
fn operations_that_cannot_end_are_unfinished_and_their_bytes_counted() {
    let _cores = shared_cores();
    let Some(nginx) = start(SLOW) else { return };
    let place = TestDir::new();
    let (ended, report) = place.get([&nginx.url("/endless/1m"), "-d", "1s", "--drain", "500ms", "-c", "3"]);
    ended.expect_no_panic();
    let count = |name: &str| report.number(&format!("/operations/{name}"));
    assert_eq!((count("started"), count("unfinished"), count("ok"), count("failed")), (3, 3, 0, 0));
    assert_eq!(report.violations(), 0);
    assert!(report.bytes("body_bytes") > 0);
    assert!(report.at("/bytes/throughput_bytes_per_second").as_f64().is_some_and(|throughput| throughput > 0.0));
}

#[test]
fn an_interrupt_of_a_repeated_run_ends_all_repeats() {
    let _cores = shared_cores();
    let Some(nginx) = start("") else { return };
    let place = TestDir::new();
    let words = ["get", &nginx.url("/f/1k"), "-d", "50s", "--repeat", "3", "--print", "none", "--out", "out"];
    let run: Running = place.start(words);
    wait_for("run directory", || place.path("out/1/records.jsonl.zst").exists().then_some(()));
    run.signal("INT");
    run.end_within(PATIENCE / 2).expect(130);
    assert!(!place.path("out/2").exists(), "the second run was started");
}

#[test]
fn a_run_under_nohup_outlives_its_terminal() {
    let _cores = shared_cores();
    let Some(nginx) = start("") else { return };
    let place = TestDir::new();
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_plimsoll")]);
    command.args(["get", "--json", &nginx.url("/f/1k"), "-d", "3s", "-c", "2", "--think", "50ms", "--out", "out"]);
    command.current_dir(place.path(""));
    let run = Running::of(command);
    wait_for_intervals(&place, 1);
    run.signal("HUP");
    let ended = run.end();
    ended.expect(0);
    let report = Report::read(&ended);
    assert_eq!((report.violations(), report.text("/end/reason")), (0, "completed"));
    report.expect_joins(&nginx.quit());
}

#[test]
fn a_run_whose_terminal_is_closed_ends_gracefully() {
    let _cores = shared_cores();
    let Some(nginx) = start("") else { return };
    let place = TestDir::new();
    let program = env!("CARGO_BIN_EXE_plimsoll");
    let url = nginx.url("/f/1k");
    let line = format!("exec env --default-signal=HUP {program} get {url} -d 50s -c 2 --out out");
    // script(1) gives the program a terminal that disappears when script(1) ends.
    let mut terminal = Command::new("script");
    terminal.args(["-q", "-c", &line, "/dev/null"]).current_dir(place.path(""));
    let terminal = Running::of(terminal);
    wait_for_intervals(&place, 1);
    terminal.signal("KILL");
    terminal.end();
    let report = wait_for("end of the run", || {
        let report = Report::read(&place.run(["report", "--json", "out"]));
        (!report.at("/end").is_null()).then_some(report)
    });
    assert_eq!((report.text("/end/reason"), report.number("/end/signal")), ("interrupted", 1));
    report.expect_joins(&nginx.quit());
}

/// The limit of 1 MiB per file allows the reserve, but not the log of so many operations.
#[test]
fn a_log_that_cannot_be_written_does_not_prevent_the_end_record() {
    let _cores = shared_cores();
    let Some(nginx) = start("") else { return };
    let place = TestDir::new();
    let url = nginx.url("/f/1k");
    let program = place.command(["get", &url, "-n", "300000", "-c", "20", "--log-ops", "--out", "out"]);
    let mut limited = Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 2048; exec \"$0\" \"$@\""]);
    limited.arg(program.get_program()).args(program.get_args()).current_dir(place.path(""));
    let ended = Running::of(limited).end();
    ended.expect(4);
    assert!(ended.stderr.contains("the run was not saved completely: "), "{}", ended.stderr);
    assert!(ended.stderr.contains("ops.jsonl.zst"), "{}", ended.stderr);
    let (_, report) = place.report(&place.path("out"));
    assert_eq!(report.text("/end/reason"), "failed");
    assert_eq!(report.text("/result/word"), "partial");
    assert!(report.text("/end/detail").contains("ops.jsonl.zst"), "{}", report.at("/end"));
    assert!(report.number("/operations/ok") > 10_000, "results up to then were lost");
    assert!(!place.path("out/reserve").exists());
}
