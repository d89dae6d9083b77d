//! A server that can be killed and started again with the same store and port.

use super::{ServerKind, find_versitygw, with_keys};
use crate::failure::{Context, Result, failure};
use crate::process::{Affinity, Running, start};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Access key that the servers accept.
pub const ACCESS_KEY: &str = "plimsoll";
/// Secret of the access key.
pub const SECRET_KEY: &str = "plimsoll-secret";

/// Time limit of a start.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time limit of an orderly stop.
const STOP_PATIENCE: Duration = Duration::from_secs(5);

/// A server with its store.
pub struct Server {
    kind: ServerKind,
    program: PathBuf,
    store: PathBuf,
    port: u16,
    faults: Vec<String>,
    running: Option<Running>,
}

impl Server {
    /// Starts a server on a free port of the loopback interface, with an empty store below `directory`.
    pub fn start(kind: ServerKind, plimsoll: &Path, directory: &Path, faults: Vec<String>) -> Result<Self> {
        let program = match kind {
            ServerKind::Embedded => plimsoll.to_owned(),
            ServerKind::Versitygw => find_versitygw()?,
        };
        let store = directory.join("store");
        std::fs::create_dir(&store).cannot("create a directory for the store")?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).cannot("find a free port")?;
        let port = listener.local_addr().cannot("find a free port")?.port();
        drop(listener);
        let mut server = Self { kind, program, store, port, faults, running: None };
        server.start_again()?;
        Ok(server)
    }

    /// Starts the server with its store.
    pub fn start_again(&mut self) -> Result<()> {
        let address = format!("127.0.0.1:{}", self.port);
        let mut command = Command::new(&self.program);
        match self.kind {
            ServerKind::Embedded => {
                command.args(["serve", "--s3", "--listen", &address, "--threads", "2", "--stop-after", "30m"]);
                command.arg("--store").arg(&self.store).args(&self.faults);
            }
            ServerKind::Versitygw => {
                command.args(["--port", &address, "--quiet", "posix"]).arg(&self.store);
                command.env("ROOT_ACCESS_KEY", ACCESS_KEY).env("ROOT_SECRET_KEY", SECRET_KEY);
            }
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let deadline = Instant::now() + PATIENCE;
        let mut running = start(&mut command, Affinity::AllCores)?;
        while TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))).is_err() {
            if let Some(ended) = running.wait_until(running.age() + Duration::from_millis(10))? {
                return Err(failure(format_args!("the server does not start: {}", ended.end)));
            }
            if Instant::now() > deadline {
                return Err(failure("the server does not listen"));
            }
        }
        self.running = Some(running);
        Ok(())
    }

    /// Kills the server.
    pub fn kill(&mut self) {
        // Dropping the value kills the process.
        self.running = None;
    }

    /// Stops the server gracefully.
    pub fn stop(&mut self) {
        if let Some(mut running) = self.running.take() {
            running.stop(STOP_PATIENCE);
        }
    }

    /// Returns the kind of the server.
    pub fn kind(&self) -> ServerKind {
        self.kind
    }

    /// Returns the directory of the store.
    pub fn store(&self) -> &Path {
        &self.store
    }

    /// Returns a command of Plimsoll that uses this server.
    pub fn client(&self, plimsoll: &Path, words: &[&str]) -> Command {
        let mut command = with_keys(plimsoll);
        command.env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", self.port)).args(words);
        command
    }
}
