//! Live metrics: the endpoint for Prometheus, scraped by a real Prometheus, and pushes to a receiver of OTLP.

use crate::support::versitygw::{ACCESS_KEY, SECRET_KEY};
use crate::support::{Prometheus, Report, Running, TestDir, promtool, python_with_otlp, shared_cores, wait_for};
use serde_json::Value;
use server::{Config, Faults, Server};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::num::NonZeroU64;
use std::process::Command;
use std::time::Duration;
use telemetry::BOUNDS;

const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0";

/// Starts a server that delays every 20th response by 60 ms, and the others by 4 ms.
fn serve() -> (Server, String) {
    let delay = server::Delay::Bimodal {
        fast: Duration::from_millis(4),
        slow: Duration::from_millis(60),
        every: NonZeroU64::new(20).expect("20 is not 0"),
    };
    let faults = Faults { delay, ..Faults::default() };
    let server = Server::start(&Config { faults, ..Config::default() }).expect("the server starts");
    let url = format!("http://{}/blackhole/1KiB", server.addresses()[0]);
    (server, url)
}

fn with_endpoint(mut command: Command, endpoint: &str) -> Command {
    command.env("AWS_ENDPOINT_URL", endpoint);
    command
}

/// Returns the address of a command's endpoint.
fn endpoint_of(command: &Running) -> String {
    let line = command.wait_for_error_line("live metrics: http://");
    line.trim_start_matches("live metrics: http://").trim_end_matches("/metrics").to_owned()
}

/// Requests the metrics. Returns the head and the body of the response, or `None` if the command has ended.
fn scrape(address: &str, accept: &str) -> Option<(String, String)> {
    let mut connection = TcpStream::connect(address).ok()?;
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\nAccept: {accept}\r\n\r\n");
    connection.write_all(request.as_bytes()).ok()?;
    let mut response = String::new();
    connection.read_to_string(&mut response).ok()?;
    let (head, body) = response.split_once("\r\n\r\n")?;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    Some((head.to_owned(), body.to_owned()))
}

/// Returns the samples of a text: names with labels, and values.
fn samples(text: &str) -> HashMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let sample = |line: &str| {
        let (name, value) = line.rsplit_once(' ')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    lines.map(|line| sample(line).unwrap_or_else(|| panic!("not a sample: {line}"))).collect()
}

/// Returns the number of the bucket that contains a time in seconds.
fn bucket(seconds: f64) -> usize {
    BOUNDS.iter().position(|bound| seconds <= *bound as f64 / 1e9).unwrap_or(BOUNDS.len())
}

#[test]
fn prometheus_scrapes_a_load_and_computes_the_percentiles_of_the_report() {
    let _cores = shared_cores();
    let (_server, url) = serve();
    let place = TestDir::new();
    let words = ["get", &url, "-d", "8s", "-c", "8", "--metrics", "127.0.0.1:0", "--json", "--out", "out"];
    let load = place.start(words.iter().chain(&["--objective", "p99 <= 1s", "--objective", "p50 <= 1ms"]));
    let address = endpoint_of(&load);
    let Some(prometheus) = Prometheus::start(&place, &address) else { return };
    let report = Report::read(load.end().expect(1));

    assert_eq!(prometheus.number("max_over_time(up[5m])"), 1.0, "Prometheus cannot read the metrics");
    let last = |series: &str| format!("last_over_time({series}[5m])");
    let ok = prometheus.number(&last("plimsoll_operations_total{kind=\"get\",outcome=\"ok\"}"));
    let reported = report.number("/operations/ok") as f64;
    assert!(ok <= reported && ok > 0.5 * reported, "{ok} of {reported}");
    for time in ["response", "service", "ttfb"] {
        let quantile = |q: f64| {
            prometheus.number(&format!(
                "histogram_quantile({q}, sum by (le) ({}))",
                last(&format!("plimsoll_{time}_seconds_bucket"))
            ))
        };
        for q in [0.5, 0.99] {
            let (theirs, ours) = (quantile(q), report.quantile_ms(&format!("/times/{time}/quantiles"), q) / 1e3);
            assert!(bucket(theirs).abs_diff(bucket(ours)) <= 1, "{time} {q}: {theirs} s, in the report {ours} s");
        }
    }
    let state = |series: &str| prometheus.query(&format!("{} == 1", last(series)));
    assert_eq!(state("plimsoll_limited_by").len(), 1);
    let objectives = state("plimsoll_objective_state");
    let outcome = |objective: &str| {
        let found = objectives.iter().find(|(labels, _)| labels["objective"] == objective);
        found.map(|(labels, _)| labels["state"].clone())
    };
    assert_eq!(outcome("response p99 <= 1s"), Some("met".into()));
    assert_eq!(outcome("response p50 <= 1ms"), Some("missed".into()));
    let bytes = prometheus.number(&last("plimsoll_received_bytes_total{part=\"body\"}"));
    assert!(bytes > 0.0 && bytes <= report.bytes("body_bytes") as f64, "{bytes}");
}

#[test]
fn both_formats_are_valid_and_counters_never_decrease_over_repeats() {
    let _cores = shared_cores();
    let (_server, url) = serve();
    let place = TestDir::new();
    let words = ["get", &url, "-d", "1500ms", "--warmup", "500ms", "--repeat", "2", "--collect", "host"];
    let load =
        place.start(words.iter().chain(&["--metrics", "127.0.0.1:0", "--out", "out", "--collect-every", "200ms"]));
    let address = endpoint_of(&load);
    let (mut before, mut runs, mut operations) = (HashMap::new(), 0.0_f64, 0.0_f64);
    let mut last = String::new();
    while let Some((head, text)) = scrape(&address, "text/plain") {
        assert!(head.contains("\r\nContent-Type: text/plain; version=0.0.4"), "{head}");
        let now = samples(&text);
        let is_counter = |name: &str| {
            let name = name.split('{').next().unwrap_or_default();
            ["_total", "_bucket", "_count", "_sum"].iter().any(|suffix| name.ends_with(suffix))
                && !name.starts_with("plimsoll_collected")
        };
        for (name, value) in before.iter().filter(|(name, _): &(&String, _)| is_counter(name)) {
            let current = now.get(name);
            assert!(current.is_some_and(|current| current >= value), "{name}: {value}, then {current:?}");
        }
        runs = runs.max(now.get("plimsoll_runs_total").copied().unwrap_or_default());
        let ok = now.get("plimsoll_operations_total{kind=\"get\",outcome=\"ok\"}");
        operations = operations.max(ok.copied().unwrap_or_default());
        // Values are collected only during a run.
        if now.keys().any(|name| name.starts_with("plimsoll_collected_value{series=\"host_")) {
            last = text;
        }
        before = now;
        std::thread::sleep(Duration::from_millis(50));
    }
    load.end().expect(0);
    assert_eq!(runs, 2.0);
    let one = place.report(&place.path("out/1")).1.number("/operations/ok") as f64;
    assert!(operations > one, "the second run is not added: {operations}, {one}");
    assert!(!last.is_empty(), "no collected values");
    if let Some(checked) = promtool(&["check", "metrics"], &last) {
        assert_eq!((checked.code, checked.stderr.as_str()), (Some(0), ""), "{}", checked.stdout);
    }
}

#[test]
fn the_client_chooses_openmetrics() {
    let _cores = shared_cores();
    let (_server, url) = serve();
    let load = TestDir::new();
    let load = load.start(["get", &url, "-d", "2s", "--metrics", "127.0.0.1:0"]);
    let address = endpoint_of(&load);
    // The endpoint starts before the load, so the first texts have no times.
    let text = wait_for("times", || {
        let (head, text) = scrape(&address, OPENMETRICS).expect("the load runs");
        assert!(head.contains(&format!("\r\nContent-Type: {OPENMETRICS}")), "{head}");
        assert!(text.ends_with("# EOF\n"), "{text}");
        text.contains("\n# TYPE plimsoll_response_seconds histogram\n").then_some(text)
    });
    assert!(text.contains("\n# UNIT plimsoll_response_seconds seconds\n"), "{text}");
    load.end().expect(0);
}

#[test]
fn the_current_trial_and_level_are_shown() {
    let _cores = shared_cores();
    let (_server, url) = serve();
    let place = TestDir::new();
    place.write(
        "two.yaml",
        "name: two\ntargets: {one: {url: '${url}'}}\nvars: {url: x}\nsettings: {duration: 1s}\n\
         matrix: {concurrency: [2, 3]}\n",
    );
    let url = format!("url={url}");
    let study = place.start(["run", "two.yaml", "--set", &url, "--out", "study", "--metrics", "127.0.0.1:0"]);
    let address = endpoint_of(&study);
    let mut seen = Vec::new();
    while let Some((_, text)) = scrape(&address, "*/*") {
        let now = samples(&text);
        let number = |name: &str| now.get(name).copied();
        let level = number("plimsoll_load_level{unit=\"in_flight\"}");
        let trial = (number("plimsoll_trial_number"), number("plimsoll_trials_planned"), level);
        if trial.2.is_some() && seen.last() != Some(&trial) {
            let number = trial.0.unwrap_or_default() + 1.0;
            let info = format!("plimsoll_trial_info{{cell=\"concurrency {number}\",target=\"one\",repeat=\"1\"}} 1");
            // The trial is set before its run begins.
            assert!(text.contains(&info), "{text}");
            seen.push(trial);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    study.end().expect(0);
    for (number, level) in [(1.0, 2.0), (2.0, 3.0)] {
        assert!(seen.contains(&(Some(number), Some(2.0), Some(level))), "{seen:?}");
    }
}

#[test]
fn a_search_publishes_all_its_levels() {
    let _cores = shared_cores();
    let (_server, url) = serve();
    let place = TestDir::new();
    let words = ["line", &url, "-d", "300ms", "--from", "1", "--to", "4", "--metrics", "127.0.0.1:0", "--out", "out"];
    let search = place.start(words);
    let address = endpoint_of(&search);
    let (mut levels, mut runs) = (Vec::new(), 0.0_f64);
    while let Some((_, text)) = scrape(&address, "*/*") {
        let now = samples(&text);
        levels.extend(now.get("plimsoll_load_level{unit=\"in_flight\"}").map(|level| *level as u64));
        runs = runs.max(now.get("plimsoll_runs_total").copied().unwrap_or_default());
        std::thread::sleep(Duration::from_millis(20));
    }
    search.end();
    assert!(levels.contains(&1) && levels.iter().any(|level| *level > 1), "{levels:?}");
    // The measurements of the target's recovery do not count as levels.
    let saved = std::fs::read_dir(place.path("out/levels")).expect("there are levels").count() as f64;
    assert_eq!(runs, saved);
}

#[test]
fn a_fill_shows_its_progress_and_its_costs() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, endpoint) = super::s3::serve(&place, &["--bucket", "bbb", "--delay", "30ms"]);
    let words = ["fill", "s3://bbb/fill", "--count", "40", "--size", "100kB", "-c", "1", "--prices", "s3-standard"];
    let mut command = place.command(words.iter().chain(&["--verify", "--metrics", "127.0.0.1:0", "--out", "out"]));
    command.env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
    let fill = Running::of(with_endpoint(command, &endpoint));
    let address = endpoint_of(&fill);
    let (mut phases, mut last, mut spent) = (Vec::new(), HashMap::new(), 0.0_f64);
    while let Some((_, text)) = scrape(&address, "*/*") {
        let now = samples(&text);
        for phase in ["upload", "verify"] {
            let is_current = now.get(&format!("plimsoll_fill_phase{{phase=\"{phase}\"}}")) == Some(&1.0);
            if is_current && phases.last() != Some(&phase) {
                phases.push(phase);
            }
        }
        spent = spent.max(now.get("plimsoll_fill_spent{currency=\"USD\"}").copied().unwrap_or_default());
        if now.contains_key("plimsoll_fill_bytes{state=\"stored\"}") {
            last = now;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    fill.end().expect(0);
    assert_eq!(phases, ["upload", "verify"]);
    for (series, value) in [
        ("plimsoll_fill_objects{state=\"stored\"}", 40.0),
        ("plimsoll_fill_objects{state=\"planned\"}", 40.0),
        ("plimsoll_fill_bytes{state=\"stored\"}", 4e6),
        ("plimsoll_fill_bytes{state=\"planned\"}", 4e6),
        ("plimsoll_fill_failed_uploads", 0.0),
    ] {
        assert_eq!(last.get(series), Some(&value), "{series}");
    }
    // Each of the 40 uploads costs 0.000005 USD (s3-standard).
    let json = place.run(["report", "out", "--json"]).stdout;
    let report: Value = serde_json::from_str(&json).expect("the report is JSON");
    assert!(spent > 0.0, "nothing was spent: {}", report["costs"]);
    server.stop();
}

/// Returns the expressions of the dashboard, with its variables replaced.
fn dashboard_queries() -> Vec<String> {
    let text = include_str!("../../../../deploy/grafana/plimsoll.json");
    let dashboard: Value = serde_json::from_str(text).expect("the dashboard is JSON");
    let panels = dashboard["panels"].as_array().expect("the dashboard has panels");
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().expect("a panel has queries"));
    let query = |target: &Value| {
        let query = target["expr"].as_str().expect("a target has a query");
        query.replace("$instance", ".*").replace("$__rate_interval", "3s")
    };
    targets.map(query).collect()
}

#[test]
fn every_query_of_the_dashboard_has_results() {
    let _cores = shared_cores();
    let faults = Faults { error_every: NonZeroU64::new(10), ..Faults::default() };
    let _server = Server::start(&Config { faults, ..Config::default() }).expect("the server starts");
    let url = format!("http://{}/blackhole/1KiB", _server.addresses()[0]);
    let place = TestDir::new();
    let (storage, endpoint) = super::s3::serve(&place, &["--bucket", "bbb", "--delay", "100ms"]);
    let load = ["get", &url, "-d", "60s", "-R", "50", "--objective", "p99 <= 1s", "--metrics", "127.0.0.1:0"];
    let load = place.start(load);
    let mut fill = place.command([
        "fill",
        "s3://bbb/fill",
        "--count",
        "600",
        "--size",
        "100kB",
        "-c",
        "1",
        "--prices",
        "s3-standard",
        "--metrics",
        "127.0.0.1:0",
        "--out",
        "fill",
    ]);
    fill.env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
    let fill = Running::of(with_endpoint(fill, &endpoint));
    let targets = format!("{}', '{}", endpoint_of(&load), endpoint_of(&fill));
    let Some(prometheus) = Prometheus::start(&place, &targets) else { return };
    let queries = dashboard_queries();
    assert!(queries.len() > 20, "{queries:?}");
    for query in queries {
        wait_for(&query, || (!prometheus.query(&query).is_empty()).then_some(()));
    }
    for command in [&load, &fill] {
        command.signal("INT");
    }
    drop(storage);
}

#[test]
fn a_taken_port_fails_before_anything_is_written() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("can bind a port");
    let address = taken.local_addr().expect("the port is known").to_string();
    let place = TestDir::new();
    let ended = place.run(["get", "http://127.0.0.1:1/", "--metrics", &address, "--out", "out"]);
    ended.expect(4);
    assert!(ended.stderr.starts_with(&format!("plimsoll: --metrics {address}: cannot listen: ")), "{}", ended.stderr);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    assert!(!place.path("out").exists());
    let ended = place.run(["get", "http://127.0.0.1:1/", "--metrics", "9464"]);
    ended.expect(2);
    assert!(ended.stderr.contains("use a form such as 127.0.0.1:9464"), "{}", ended.stderr);
}

/// Returns the value of a counter in a pushed message, summed over its labels.
fn pushed(message: &Value, name: &str) -> Option<u64> {
    let metrics = message["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array()?;
    let metric = metrics.iter().find(|metric| metric["name"] == name)?;
    let points = metric["sum"]["dataPoints"].as_array()?;
    // 64-bit numbers are texts in the JSON form of protobuf.
    Some(points.iter().filter_map(|point| point["asInt"].as_str()?.parse::<u64>().ok()).sum())
}

#[test]
fn a_receiver_of_opentelemetry_gets_all_totals() {
    let _cores = shared_cores();
    let Some(python) = python_with_otlp() else { return };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/end_to_end/support/otlp_receiver.py");
    let mut receiver = Command::new(python);
    receiver.arg(script).env_remove("PYTHONHOME").env_remove("PYTHONPATH");
    let receiver = Running::of(receiver);
    let collector = receiver.wait_for_line("http://").trim().to_owned();
    let (_server, url) = serve();
    let place = TestDir::new();
    // There is a push every 10 s, and one at the end.
    let mut command =
        place.command(["get", &url, "-d", "11s", "-R", "50", "--json", "--out", "out", "--otlp", &collector]);
    command.env("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20c4nary");
    let ended = Running::of(command).end();
    let report = Report::read(ended.expect(0));
    assert!(!ended.stderr.contains("--otlp"), "{}", ended.stderr);
    receiver.signal("TERM");
    let received = receiver.end().stdout;
    let lines = received.lines().filter(|line| line.starts_with('{'));
    let pushes: Vec<Value> = lines.map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    assert_eq!(pushes.len(), 2, "{received}");
    for push in &pushes {
        assert_eq!(push["path"], "/v1/metrics");
        assert_eq!(push["content_type"], "application/x-protobuf");
        assert_eq!(push["authorization"], "Bearer c4nary");
    }
    let count = |push: &Value, name| pushed(&push["message"], name).unwrap_or_else(|| panic!("no {name}: {push}"));
    let operations = count(&pushes[0], "plimsoll_operations");
    assert!(operations > 300 && operations <= count(&pushes[1], "plimsoll_operations"), "{operations}");
    assert_eq!(count(&pushes[1], "plimsoll_operations"), report.number("/operations/ok"));
    assert_eq!(count(&pushes[1], "plimsoll_attempts"), report.number("/operations/attempts"));
    let received = report.bytes("body_bytes") + report.bytes("overhead_bytes");
    assert_eq!(count(&pushes[1], "plimsoll_received_bytes"), received);
}

#[test]
fn an_unreachable_collector_is_one_warning() {
    let _cores = shared_cores();
    let (_server, url) = serve();
    let place = TestDir::new();
    let ended = place.run(["get", &url, "-n", "20", "--otlp", "http://me:c4nary@127.0.0.1:1", "--out", "out"]);
    ended.expect(0);
    let warnings: Vec<_> = ended.stderr.lines().filter(|line| line.contains("--otlp")).collect();
    let expected =
        "plimsoll: --otlp: cannot push to http://127.0.0.1:1/v1/metrics: connection refused; the load goes on";
    assert_eq!(warnings, [expected], "{}", ended.stderr);
    let ended = place.run(["get", &url, "-n", "20", "--otlp", "ftp://host"]);
    ended.expect(2);
    assert!(ended.stderr.starts_with("plimsoll: --otlp: "), "{}", ended.stderr);
}

#[test]
fn other_hosts_than_the_collector_are_not_contacted() {
    let _cores = shared_cores();
    let (_server, url) = serve();
    // The collector redirects to another host.
    let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("can bind a port");
    other.set_nonblocking(true).expect("can make the socket non-blocking");
    let location = format!("http://{}/v1/metrics", other.local_addr().expect("the port is known"));
    let collector = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("can bind a port");
    let address = collector.local_addr().expect("the port is known");
    let redirecting = std::thread::spawn(move || {
        let (mut connection, _) = collector.accept().expect("the collector gets a connection");
        let mut buffer = [0; 1024];
        let mut head = String::new();
        while !head.contains("\r\n\r\n") {
            let bytes = connection.read(&mut buffer).expect("the collector gets a request");
            head.push_str(&String::from_utf8_lossy(&buffer[..bytes]));
        }
        let answer = format!("HTTP/1.1 307 Temporary Redirect\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n");
        let _ = connection.write_all(answer.as_bytes());
        // Read the rest of the body, so that the response is not lost.
        let _ = connection.set_read_timeout(Some(Duration::from_secs(1)));
        while connection.read(&mut buffer).is_ok_and(|bytes| bytes > 0) {}
        head
    });
    let place = TestDir::new();
    let ended = place.run(["get", &url, "-n", "20", "--otlp", &format!("http://{address}")]);
    ended.expect(0);
    let head = redirecting.join().expect("the collector gets a push");
    assert!(head.starts_with("POST /v1/metrics HTTP/1.1\r\n"), "{head}");
    assert!(
        ended.stderr.contains(&format!("cannot push to http://{address}/v1/metrics: status 307")),
        "{}",
        ended.stderr
    );
    assert!(other.accept().is_err(), "the redirect was followed");
}

#[test]
fn the_example_configuration_is_valid() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/prometheus/prometheus.yml");
    if let Some(checked) = promtool(&["check", "config", path], "") {
        checked.expect(0);
    }
}

#[test]
fn the_endpoint_ends_with_the_command() {
    let _cores = shared_cores();
    let (_server, url) = serve();
    let place = TestDir::new();
    let load = place.start(["get", &url, "-n", "50", "--metrics", "127.0.0.1:0"]);
    let address = endpoint_of(&load);
    load.end().expect(0);
    wait_for("end of the endpoint", || TcpStream::connect(&address).is_err().then_some(()));
}
