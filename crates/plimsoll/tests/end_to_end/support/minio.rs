//! MinIO, another S3 server. Building MinIO takes minutes, so tests use it only if `PLIMSOLL_MINIO` names its
//! executable. `.ci/minio` builds MinIO and runs the tests that need it.

use super::versitygw::{ACCESS_KEY, SECRET_KEY};
use super::{skip, wait_for};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// A running server, which stops when this value is dropped.
pub struct Minio {
    child: Child,
    _directory: TempDir,
    port: u16,
}

impl Minio {
    /// Starts the server. Returns `None` to skip the test if there is no MinIO.
    pub fn start() -> Option<Self> {
        let Some(program) = std::env::var_os("PLIMSOLL_MINIO") else {
            skip("PLIMSOLL_MINIO names no program; .ci/minio builds it");
            return None;
        };
        // Another process may take the free port first, so try several times.
        (0..10).find_map(|_| Self::try_start(&program)).or_else(|| panic!("minio does not start"))
    }

    fn try_start(program: &OsStr) -> Option<Self> {
        let directory = TempDir::with_prefix("plimsoll-minio-").unwrap();
        let free = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let (port, console) = (free(), free());
        let mut command = Command::new(program);
        command.args(["server", "--quiet", "--address", &format!("127.0.0.1:{port}")]);
        command.args(["--console-address", &format!("127.0.0.1:{console}")]).arg(directory.path().join("store"));
        command.env("MINIO_ROOT_USER", ACCESS_KEY).env("MINIO_ROOT_PASSWORD", SECRET_KEY);
        command.env("MINIO_PROMETHEUS_AUTH_TYPE", "public").env("MINIO_UPDATE", "off").env("HOME", directory.path());
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let mut server = Self { child, _directory: directory, port };
        let up = wait_for("minio", || match server.child.try_wait().unwrap() {
            Some(_) => Some(false),
            // The server reports that it is ready before it accepts S3 requests, so wait until it refuses a request
            // without keys.
            None => server.get("/").filter(|answer| answer.contains(" 403 ")).map(|_| true),
        });
        up.then_some(server)
    }

    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns the number of S3 requests for each operation, and the number of requests with a status of 400 or more.
    pub fn answered(&self) -> BTreeMap<String, (u64, u64)> {
        let page = self.get("/minio/metrics/v3/api/requests").unwrap();
        let mut operations: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for line in page.lines() {
            let Some((metric, value)) = line.rsplit_once(' ') else { continue };
            let (name, labels) = metric.split_once('{').unwrap_or((metric, ""));
            let operation = labels.split("name=\"").nth(1).and_then(|rest| rest.split('"').next());
            let (Some(operation), Ok(value)) = (operation, value.parse::<f64>()) else { continue };
            let counts = operations.entry(operation.to_owned()).or_default();
            match name {
                "minio_api_requests_total" => counts.0 += value as u64,
                "minio_api_requests_errors_total" => counts.1 += value as u64,
                _ => {}
            }
        }
        operations
    }

    fn get(&self, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).ok()?;
        write!(stream, "GET {path} HTTP/1.0\r\nHost: 127.0.0.1:{}\r\n\r\n", self.port).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    }
}

impl Drop for Minio {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
