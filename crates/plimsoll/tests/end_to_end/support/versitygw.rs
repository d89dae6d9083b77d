//! VersityGW, an S3 server that stores objects in a directory, and listens on a free loopback port.

use super::{Ended, Running, TestDir, peer, signal, wait_for};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// Access key that the server accepts.
pub const ACCESS_KEY: &str = "plimsoll";
pub const SECRET_KEY: &str = "plimsoll-secret";

/// Runs a command with the keys that all S3 servers in these tests accept.
pub fn run(place: &TestDir, endpoint: &str, words: &[&str]) -> Ended {
    let mut command = place.command(words);
    command.env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
    command.env("AWS_ENDPOINT_URL", endpoint);
    Running::of(command).end()
}

/// A running server, which stops when this value is dropped.
pub struct Versitygw {
    child: Child,
    directory: TempDir,
    port: u16,
}

/// The log entries for an operation: the number of requests by status, and the body bytes of requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Logged {
    pub statuses: BTreeMap<u16, u64>,
    pub received_bytes: u64,
}

impl Logged {
    pub fn count(&self) -> u64 {
        self.statuses.values().sum()
    }
}

impl Versitygw {
    /// Starts the server. Without VersityGW, this function returns `None` to skip the test, or fails with
    /// `REQUIRE_PEERS=1`.
    pub fn start() -> Option<Self> {
        let program = peer("versitygw", find())?;
        // Another process may take the free port first, so try several times.
        (0..10).find_map(|_| Self::try_start(&program)).or_else(|| panic!("versitygw does not start"))
    }

    fn try_start(program: &Path) -> Option<Self> {
        let directory = TempDir::with_prefix("plimsoll-versitygw-").unwrap();
        std::fs::create_dir(directory.path().join("store")).unwrap();
        let (child, port) = Self::serve(program, directory.path())?;
        Some(Self { child, directory, port })
    }

    /// Starts a process that serves a directory on a free port. Returns `None` if another process takes the port first.
    fn serve(program: &Path, directory: &Path) -> Option<(Child, u16)> {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let mut command = Command::new(program);
        command.args(["--port", &format!("127.0.0.1:{port}"), "--keep-alive", "--quiet", "--access-log"]);
        command.arg(directory.join("log")).arg("posix").arg(directory.join("store"));
        command.env("ROOT_ACCESS_KEY", ACCESS_KEY).env("ROOT_SECRET_KEY", SECRET_KEY);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let up = wait_for("versitygw", || match child.try_wait().unwrap() {
            Some(_) => Some(false),
            None => listens(child.id(), port).then_some(true),
        });
        up.then_some((child, port))
    }

    /// Stops the server after its requests have ended, and starts it again on another port.
    pub fn restart(&mut self) {
        self.end();
        let program = find().expect("it was found before");
        let again = (0..10).find_map(|_| Self::serve(&program, self.directory.path()));
        (self.child, self.port) = again.expect("versitygw starts again");
    }

    fn end(&mut self) {
        signal(self.child.id(), "TERM");
        wait_for("end of versitygw", || self.child.try_wait().unwrap());
    }

    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns the directory in which the server stores its buckets.
    pub fn store(&self) -> PathBuf {
        self.directory.path().join("store")
    }

    /// Stops the server, and reads its log.
    pub fn stop(mut self) -> BTreeMap<String, Logged> {
        self.end();
        let log = std::fs::read_to_string(self.directory.path().join("log")).unwrap();
        let mut operations: BTreeMap<String, Logged> = BTreeMap::new();
        for words in log.lines().map(|line| line.split(' ').collect::<Vec<_>>()).filter(|words| words.len() > 14) {
            let Some(operation) = words[7].strip_prefix("s3_") else { continue };
            let logged = operations.entry(operation.to_owned()).or_default();
            *logged.statuses.entry(words[10].parse().unwrap()).or_default() += 1;
            logged.received_bytes += words[13].parse::<u64>().unwrap_or(0);
        }
        operations
    }

    /// Returns the keys of a bucket that exist in the file system.
    pub fn keys(&self, bucket: &str) -> Vec<String> {
        fn below(directory: &Path, root: &Path, found: &mut Vec<String>) {
            for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() && path.file_name().is_some_and(|name| name != ".sgwtmp") {
                    below(&path, root, found);
                } else if path.is_file() {
                    found.push(path.strip_prefix(root).unwrap().to_string_lossy().into_owned());
                }
            }
        }
        let root = self.directory.path().join("store").join(bucket);
        let mut found = Vec::new();
        below(&root, &root, &mut found);
        found.sort();
        found
    }
}

/// Returns whether this process listens on a loopback port. A connection attempt would not be a sufficient test,
/// because it also succeeds if another process listens on the port, or if the connecting socket itself gets the port.
fn listens(process: u32, port: u16) -> bool {
    const LISTENING: &str = "0A";
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    let address = format!("0100007F:{port:04X}");
    let mut sockets = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let is_it = |fields: &Vec<&str>| fields.get(1) == Some(&&*address) && fields.get(3) == Some(&LISTENING);
    let Some(fields) = sockets.find(is_it) else { return false };
    let socket = format!("socket:[{}]", fields[9]);
    let open = std::fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    open.filter_map(|entry| std::fs::read_link(entry.path()).ok()).any(|link| link.as_os_str() == &*socket)
}

impl Drop for Versitygw {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn find() -> Option<PathBuf> {
    let go = std::env::var_os("HOME").map(|home| PathBuf::from(home).join("go/bin"));
    let places = std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect::<Vec<_>>());
    let all = go.into_iter().chain(places.into_iter().flatten());
    all.map(|place| place.join("versitygw")).find(|path| path.exists())
}
