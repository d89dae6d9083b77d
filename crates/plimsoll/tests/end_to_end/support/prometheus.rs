//! Debian's Prometheus on a loopback port, which scrapes a running load.

use super::{Ended, PATIENCE, Running, TestDir, peer, wait_for};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use wire::percent::parameter;

/// Returns the path of a program of the package, or `None` to skip the test. With `REQUIRE_PEERS=1`, the test fails.
fn program(name: &str) -> Option<PathBuf> {
    let places = ["/usr/bin", "/usr/local/bin"].map(|place| Path::new(place).join(name));
    peer(name, places.into_iter().find(|path| path.exists()))
}

/// Runs promtool with this standard input.
pub fn promtool(words: &[&str], input: &str) -> Option<Ended> {
    let mut child = Command::new(program("promtool")?)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("can start promtool");
    child.stdin.take().expect("standard input is a pipe").write_all(input.as_bytes()).expect("promtool reads");
    let output = child.wait_with_output().expect("promtool ends");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Some(Ended { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) })
}

/// A running Prometheus. Prometheus stops when this value is dropped.
pub struct Prometheus {
    _process: Running,
    address: SocketAddr,
}

impl Prometheus {
    /// Starts Prometheus, which scrapes `target` (`HOST:PORT`) every half second. Returns `None` to skip the test.
    pub fn start(place: &TestDir, target: &str) -> Option<Self> {
        let program = program("prometheus")?;
        // Prometheus cannot report which free port it has chosen, so choose one that was free a moment ago.
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("can bind a loopback port");
        let address = listener.local_addr().expect("a bound socket has an address");
        drop(listener);
        let configuration = format!(
            "global: {{scrape_interval: 500ms, scrape_timeout: 500ms}}\n\
             scrape_configs: [{{job_name: plimsoll, static_configs: [{{targets: ['{target}']}}]}}]\n"
        );
        let mut command = Command::new(program);
        command
            .arg(format!("--config.file={}", place.write("prometheus.yml", configuration).display()))
            .arg(format!("--storage.tsdb.path={}", place.path("prometheus").display()))
            .arg(format!("--web.listen-address={address}"))
            .arg("--log.level=warn");
        let prometheus = Self { _process: Running::of(command), address };
        wait_for("answer from Prometheus", || (get(address, "/-/ready").is_some()).then_some(()));
        Some(prometheus)
    }

    /// Returns the results of a query: their labels and values.
    pub fn query(&self, query: &str) -> Vec<(Value, f64)> {
        let path = format!("/api/v1/query?query={}", parameter(query));
        let answer = get(self.address, &path).unwrap_or_else(|| panic!("no answer to {query}"));
        let answer: Value = serde_json::from_str(&answer).expect("the answer is JSON");
        assert_eq!(answer["status"], "success", "{query}: {answer}");
        let results = answer["data"]["result"].as_array().expect("the answer has results");
        let value = |result: &Value| result["value"][1].as_str().and_then(|text| text.parse().ok()).expect("a number");
        results.iter().map(|result| (result["metric"].clone(), value(result))).collect()
    }

    /// Returns the value of a query that has exactly one result.
    pub fn number(&self, query: &str) -> f64 {
        let results = self.query(query);
        assert_eq!(results.len(), 1, "{query}: {results:?}");
        results[0].1
    }
}

/// Returns the body of a successful response.
fn get(address: SocketAddr, path: &str) -> Option<String> {
    let mut connection = TcpStream::connect(address).ok()?;
    connection.set_read_timeout(Some(PATIENCE)).ok()?;
    connection.write_all(format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes()).ok()?;
    let mut response = String::new();
    connection.read_to_string(&mut response).ok()?;
    let (head, body) = response.split_once("\r\n\r\n")?;
    head.lines().next()?.contains(" 200").then(|| body.to_owned())
}
