//! Debian's sshd, which serves files by SFTP. The test listens, and gives each connection to an sshd of its own (`-i`): no port
//! is guessed, and nothing is left running.

use super::{PATIENCE, peer};
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

/// A server with a host key and a user's key of its own, which ends with this value.
pub struct Sshd {
    directory: TempDir,
    address: SocketAddr,
    user: String,
    over: Arc<AtomicBool>,
    sessions: Arc<Mutex<Vec<Child>>>,
    listener: Option<JoinHandle<()>>,
}

impl Sshd {
    /// Starts it, or says that the test is skipped, which is a failure where `REQUIRE_PEERS=1`.
    pub fn start() -> Option<Self> {
        peer("openssh-server", Path::new(PROGRAM).exists().then_some(()))?;
        let directory = TempDir::with_prefix("plimsoll-sshd-").expect("a directory for sshd can be made");
        let path = |name: &str| directory.path().join(name);
        for name in ["host", "user"] {
            let words = ["-q", "-t", "ed25519", "-N", "", "-f"];
            let made = Command::new("ssh-keygen").args(words).arg(path(name)).status();
            assert!(made.is_ok_and(|status| status.success()), "a key can be made");
        }
        let user = Command::new("id").arg("-un").output().expect("id runs").stdout;
        let user = String::from_utf8(user).expect("a name is text").trim().to_owned();
        // As root it wants this directory, which Debian makes when the service is started.
        if user == "root" {
            fs::create_dir_all("/run/sshd").expect("a directory can be made");
        }
        let configuration = format!(
            "HostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n\
             KbdInteractiveAuthentication no\nPermitRootLogin yes\nPidFile none\nSubsystem sftp internal-sftp\n",
            path("host").display(),
            path("user.pub").display()
        );
        fs::write(path("config"), configuration).expect("a file can be written");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let address = listener.local_addr().expect("a listener has an address");
        let (over, sessions) = (Arc::<AtomicBool>::default(), Arc::<Mutex<Vec<Child>>>::default());
        let thread = {
            let (over, sessions, configuration) = (Arc::clone(&over), Arc::clone(&sessions), path("config"));
            std::thread::spawn(move || {
                while let Ok((socket, _)) = listener.accept() {
                    if over.load(Ordering::Relaxed) {
                        return;
                    }
                    let session = session(&configuration, socket);
                    sessions.lock().unwrap_or_else(PoisonError::into_inner).push(session);
                }
            })
        };
        Some(Self { directory, address, user, over, sessions, listener: Some(thread) })
    }

    /// A login as Filestash takes it; the key is what [`Self::key`] is, in the environment as `KEY`.
    pub fn login(&self) -> String {
        let port = self.address.port();
        format!("sftp,hostname=127.0.0.1,port={port},username={},password=${{KEY}}", self.user)
    }

    /// The user's private key.
    pub fn key(&self) -> String {
        fs::read_to_string(self.directory.path().join("user")).expect("a key can be read")
    }

    /// A directory for files to be served.
    pub fn files(&self) -> PathBuf {
        let path = self.directory.path().join("files");
        fs::create_dir_all(&path).expect("a directory can be made");
        path
    }

    /// Connections that it has had.
    pub fn connections(&self) -> usize {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

fn session(configuration: &Path, socket: TcpStream) -> Child {
    let output: OwnedFd = socket.try_clone().expect("a socket can be shared").into();
    let input: OwnedFd = socket.into();
    let mut sshd = Command::new(PROGRAM);
    sshd.args(["-i", "-e", "-f"]).arg(configuration);
    sshd.stdin(Stdio::from(input)).stdout(Stdio::from(output)).stderr(Stdio::null());
    sshd.spawn().expect("sshd can be started")
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect_timeout(&self.address, PATIENCE);
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
        for session in self.sessions.lock().unwrap_or_else(PoisonError::into_inner).iter_mut() {
            let _ = session.kill();
            let _ = session.wait();
        }
    }
}
