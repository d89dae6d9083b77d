//! Debian's sshd, which serves files over SFTP. The test itself listens, and starts a separate sshd process (`-i`) for
//! each connection. Therefore, no port has to be guessed, and no process remains.

use super::{Node, PATIENCE, peer};
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use tempfile::TempDir;

const PROGRAM: &str = "/usr/sbin/sshd";

/// A server with its own host key and its own user key. The server stops when this value is dropped.
pub struct Sshd {
    directory: TempDir,
    address: SocketAddr,
    /// Namespace of the server, if it has its own.
    node: Option<Node>,
    user: String,
    over: Arc<AtomicBool>,
    sessions: Arc<Mutex<Vec<Child>>>,
    listener: Option<JoinHandle<()>>,
}

impl Sshd {
    /// Starts the server. Without sshd, this function returns `None` to skip the test, or fails with `REQUIRE_PEERS=1`.
    pub fn start() -> Option<Self> {
        Self::start_with("", None)
    }

    /// Starts the server with further lines of its configuration, on loopback or in a network namespace.
    pub fn start_with(more: &str, node: Option<&Node>) -> Option<Self> {
        peer("openssh-server", Path::new(PROGRAM).exists().then_some(()))?;
        let directory = TempDir::with_prefix("plimsoll-sshd-").expect("can create a directory for sshd");
        let path = |name: &str| directory.path().join(name);
        for name in ["host", "user"] {
            let words = ["-q", "-t", "ed25519", "-N", "", "-f"];
            let made = Command::new("ssh-keygen").args(words).arg(path(name)).status();
            assert!(made.is_ok_and(|status| status.success()), "cannot make a key");
        }
        let user = Command::new("id").arg("-un").output().expect("can run id").stdout;
        let user = String::from_utf8(user).expect("a name is text").trim().to_owned();
        // As root, sshd needs this directory. Debian creates the directory when the sshd service starts, but the
        // service may never have started on this machine.
        if user == "root" {
            fs::create_dir_all("/run/sshd").expect("can create a directory");
        }
        let configuration = format!(
            "HostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n\
             KbdInteractiveAuthentication no\nPermitRootLogin yes\nPidFile none\nSubsystem sftp internal-sftp\n{more}",
            path("host").display(),
            path("user.pub").display()
        );
        fs::write(path("config"), configuration).expect("can write a file");
        let bind = |address: Ipv4Addr| TcpListener::bind((address, 0)).expect("can bind a port");
        let listener = match node {
            None => bind(Ipv4Addr::LOCALHOST),
            Some(node) => node.within(|| bind(node.address)),
        };
        let address = listener.local_addr().expect("a listener has an address");
        let (over, sessions) = (Arc::<AtomicBool>::default(), Arc::<Mutex<Vec<Child>>>::default());
        let thread = {
            let (over, sessions, configuration) = (Arc::clone(&over), Arc::clone(&sessions), path("config"));
            let node = node.cloned();
            std::thread::spawn(move || {
                // The sessions, and the commands that they run, are in the same namespace as this thread.
                node.iter().for_each(Node::enter);
                while let Ok((socket, _)) = listener.accept() {
                    if over.load(Ordering::Relaxed) {
                        return;
                    }
                    let session = session(&configuration, socket);
                    sessions.lock().unwrap_or_else(PoisonError::into_inner).push(session);
                }
            })
        };
        Some(Self { directory, address, node: node.cloned(), user, over, sessions, listener: Some(thread) })
    }

    /// Returns a login for Filestash. The environment variable `KEY` of the client must contain [`Self::key`].
    pub fn login(&self) -> String {
        let port = self.address.port();
        format!("sftp,hostname=127.0.0.1,port={port},username={},password=${{KEY}}", self.user)
    }

    /// Returns a configuration for `ssh` in which this server is the host `target`.
    pub fn client_configuration(&self) -> String {
        self.client_configuration_as("target")
    }

    /// Returns a configuration for `ssh` in which this server is the host `name`.
    pub fn client_configuration_as(&self, name: &str) -> String {
        let (address, port, key) = (self.address.ip(), self.address.port(), self.directory.path().join("user"));
        format!(
            "Host {name}\n  HostName {address}\n  Port {port}\n  User {}\n  IdentityFile {}\n  IdentitiesOnly yes\n  \
             StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n",
            self.user,
            key.display()
        )
    }

    /// Makes the server run this command for every login with the user's key, whatever the client asks for.
    pub fn force_command(&self, command: &str) {
        let authorized_keys = self.directory.path().join("user.pub");
        let key = fs::read_to_string(&authorized_keys).expect("can read the key");
        fs::write(authorized_keys, format!("command=\"{command}\" {key}")).expect("can write the key");
    }

    /// Returns the user's private key.
    pub fn key(&self) -> String {
        fs::read_to_string(self.directory.path().join("user")).expect("can read the key")
    }

    /// Returns the directory of the files that are served.
    pub fn files(&self) -> PathBuf {
        let path = self.directory.path().join("files");
        fs::create_dir_all(&path).expect("can create a directory");
        path
    }

    /// Returns the number of connections so far.
    pub fn connections(&self) -> usize {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

fn session(configuration: &Path, socket: TcpStream) -> Child {
    let output: OwnedFd = socket.try_clone().expect("can clone the socket").into();
    let input: OwnedFd = socket.into();
    let mut sshd = Command::new(PROGRAM);
    sshd.args(["-i", "-e", "-f"]).arg(configuration);
    sshd.stdin(Stdio::from(input)).stdout(Stdio::from(output)).stderr(Stdio::null());
    sshd.spawn().expect("can start sshd")
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let connect = || TcpStream::connect_timeout(&self.address, PATIENCE);
        let _ = self.node.as_ref().map_or_else(connect, |node| node.within(connect));
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
        for session in self.sessions.lock().unwrap_or_else(PoisonError::into_inner).iter_mut() {
            let _ = session.kill();
            let _ = session.wait();
        }
    }
}
