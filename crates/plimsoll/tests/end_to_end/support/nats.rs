//! A real nats-server on a loopback port or in a network namespace, and agents that wait on it.

use super::versitygw::{ACCESS_KEY, SECRET_KEY};
use super::{Node, Running, TestDir, installed, wait_for};
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns a loopback address with a port that was free a moment ago. The port of a server must stay the same after a
/// restart, so the server cannot choose it.
pub fn free_address() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("can bind a loopback port");
    listener.local_addr().expect("a bound socket has an address")
}

/// A running nats-server. The server stops when this value is dropped.
pub struct Nats {
    program: PathBuf,
    configuration: PathBuf,
    address: SocketAddr,
    /// Namespace of the server, if it has its own.
    node: Option<Node>,
    process: Option<Running>,
}

impl Nats {
    /// Starts nats-server with more lines of configuration. Returns `None` to skip the test.
    pub fn start(place: &TestDir, more: &str) -> Option<Self> {
        let address = free_address();
        let configuration = place.write("nats.conf", format!("listen: \"{address}\"\n{more}\n"));
        Self::with(configuration, address)
    }

    /// Starts nats-server with a configuration for this address, in the directory of the configuration. Returns `None`
    /// to skip the test.
    pub fn with(configuration: PathBuf, address: SocketAddr) -> Option<Self> {
        let program = installed("nats-server")?;
        let mut nats = Self { program, configuration, address, node: None, process: None };
        nats.start_again();
        Some(nats)
    }

    /// Starts nats-server on a port in a namespace, with more lines of configuration. Returns `None` to skip the test.
    pub fn start_in(place: &TestDir, node: &Node, port: u16, more: &str) -> Option<Self> {
        let (program, address) = (installed("nats-server")?, SocketAddr::from((node.address, port)));
        let configuration = place.write(&format!("nats-{port}.conf"), format!("listen: \"{address}\"\n{more}\n"));
        let mut nats = Self { program, configuration, address, node: Some(node.clone()), process: None };
        nats.start_again();
        Some(nats)
    }

    /// Stops the server at once, as a crash does.
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Starts the server again, on the same port.
    pub fn start_again(&mut self) {
        let mut command = Command::new(&self.program);
        command.arg("-c").arg(&self.configuration);
        command.current_dir(self.configuration.parent().expect("a file has a directory"));
        self.node.iter().for_each(|node| node.host(&mut command));
        self.process = Some(Running::of(command));
        let connect = || wait_for("nats-server", || TcpStream::connect(self.address).ok());
        let _ = self.node.as_ref().map_or_else(connect, |node| node.within(connect));
    }

    /// Returns the number of clients of a server in a namespace.
    pub fn clients(&self) -> usize {
        let read = || fs::read_to_string("/proc/thread-self/net/tcp").expect("the sockets are listed");
        let sockets = self.node.as_ref().expect("the server is in a namespace").within(read);
        // The second column is the local address, and the fourth one is 01 if the connection is open.
        let local = format!(":{:04X}", self.address.port());
        let is_client = |line: &&str| {
            let columns: Vec<&str> = line.split_whitespace().collect();
            matches!(columns[..], [_, address, _, "01", ..] if address.ends_with(&local))
        };
        sockets.lines().filter(is_client).count()
    }

    /// Returns the URL of the server.
    pub fn url(&self) -> String {
        format!("nats://{}", self.address)
    }

    /// Returns the URL of the server for TLS.
    pub fn tls_url(&self) -> String {
        format!("tls://localhost:{}", self.address.port())
    }
}

/// An agent that waits on the bus, with its own directories.
pub struct Agent {
    pub process: Running,
    /// Name of the agent on the bus.
    pub name: String,
    directory: PathBuf,
}

impl Agent {
    /// Starts an agent, and waits until it is connected.
    pub fn start(place: &TestDir, number: usize, flags: &[&str]) -> Self {
        Self::start_with(place, number, flags, |_| ())
    }

    /// Like [`Self::start`], but first lets a function change the command.
    pub fn start_with(place: &TestDir, number: usize, flags: &[&str], change: impl FnOnce(&mut Command)) -> Self {
        let directory = place.path(&format!("agent-{number}"));
        fs::create_dir_all(&directory).expect("can create a directory");
        let mut command = place.command(["agent"].iter().chain(flags));
        command.env("XDG_STATE_HOME", &directory);
        command.env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
        change(&mut command);
        let process = Running::of(command);
        let line = process.wait_for_error_line("agent ");
        let name = line.split(' ').nth(1).expect("the line has a name").to_owned();
        Self { process, name, directory }
    }

    /// Returns the directory of a fill, with the shares that the agent's host has.
    pub fn fill(&self, name: &str) -> PathBuf {
        self.directory.join("plimsoll/fills").join(name)
    }

    /// Returns the run directories that the agent made, in the order of their names.
    pub fn runs(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.directory.join("plimsoll/runs")).into_iter().flatten().flatten();
        let mut runs: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| has_records(path)).collect();
        runs.sort();
        runs
    }
}

fn has_records(path: &Path) -> bool {
    path.join("records.jsonl.zst").exists()
}
