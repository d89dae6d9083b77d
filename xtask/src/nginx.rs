//! The server of all benchmarks: Debian's nginx with one process on a core of its own, serving files from memory.
//!
//! The configuration is that of the comparisons in which the goals were set. nginx counts requests by itself, so that no
//! client has to be believed.

use crate::failure::{Result, While, failure};
use crate::process::{Running, SERVER, children_cpu, start};
use content::{Content, Seed};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Places where nginx is looked for; it is not in the PATH of ordinary users.
const PROGRAMS: [&str; 3] = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx"];
/// A directory in memory.
const MEMORY: &str = "/dev/shm";
/// What the bytes of [`Served::Object`] follow from; that of the program where none is said.
const DATASET: Seed = Seed(1);
const PATIENCE: Duration = Duration::from_secs(10);
const MIB: usize = 1 << 20;

/// A file that is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// `/1k`, 1 KiB.
    Kibibyte,
    /// `/100m`, 100 MiB.
    HundredMebibytes,
    /// `/1g`, 1 GiB.
    Gibibyte,
    /// `/object-00000000.bin`, 100 MiB: the only object of a dataset, whose bytes a client can verify.
    Object,
}

impl Served {
    /// Its name below the root of the server.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kibibyte => "1k",
            Self::HundredMebibytes => "100m",
            Self::Gibibyte => "1g",
            Self::Object => "object-00000000.bin",
        }
    }

    fn bytes(self) -> usize {
        match self {
            Self::Kibibyte => 1 << 10,
            Self::HundredMebibytes | Self::Object => 100 * MIB,
            Self::Gibibyte => 1024 * MIB,
        }
    }
}

/// A running server. Its directory is in memory, and is the working directory of clients too; both end with this value.
pub struct Nginx {
    running: Running,
    directory: TempDir,
    address: SocketAddr,
    secure_address: SocketAddr,
}

impl Nginx {
    /// Starts it with these files; any may be named more than once.
    pub fn start(files: &[Served]) -> Result<Self> {
        Self::start_speaking(files, "")
    }

    /// As [`Self::start`], but inside TLS it speaks HTTP/2.
    pub fn start_http2(files: &[Served]) -> Result<Self> {
        Self::start_speaking(files, " http2")
    }

    /// `inside` is what the listener with TLS is told besides.
    fn start_speaking(files: &[Served], inside: &str) -> Result<Self> {
        let program = program()?;
        let directory = tempfile::Builder::new().prefix("plimsoll-bench-").tempdir_in(MEMORY);
        let directory = directory.cannot(format_args!("make a directory in {MEMORY}"))?;
        write_files(directory.path(), files)?;
        write_certificate(directory.path())?;
        let (listener, address) = listen()?;
        let (secure_listener, secure_address) = listen()?;
        let path = directory.path().join("nginx.conf");
        fs::write(&path, configuration(directory.path(), address, secure_address, inside))
            .cannot("write the configuration of nginx")?;
        let errors = File::create(directory.path().join("stderr")).cannot("write the messages of nginx")?;
        let mut command = Command::new(program);
        command.arg("-p").arg(directory.path()).arg("-c").arg(&path).args(["-e", "error.log"]);
        // `NGINX` names descriptors that an nginx takes over from the one before: no port is guessed, and none can be lost.
        command.env("NGINX", "0;1;").stderr(errors);
        command.stdin(OwnedFd::from(listener)).stdout(OwnedFd::from(secure_listener));
        let running = start(&mut command, SERVER)?;
        let mut nginx = Self { running, directory, address, secure_address };
        nginx.wait_until_ready()?;
        Ok(nginx)
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let begun = Instant::now();
        loop {
            let over = self.running.wait_until(self.running.age() + Duration::from_millis(10))?;
            if over.is_some() || begun.elapsed() > PATIENCE {
                let messages = fs::read_to_string(self.directory.path().join("stderr")).unwrap_or_default();
                return Err(failure(format_args!("nginx did not start: {}", messages.trim())));
            }
            if self.requests().is_ok() {
                return Ok(());
            }
        }
    }

    /// The URL of a file, in plain HTTP.
    pub fn url(&self, file: Served) -> String {
        format!("http://{}/{}", self.address, file.name())
    }

    /// The URL of a file inside TLS.
    pub fn secure_url(&self, file: Served) -> String {
        format!("https://{}/{}", self.secure_address, file.name())
    }

    /// The working directory of clients.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Requests that it has taken so far, with the one that asks for this.
    pub fn requests(&self) -> Result<u64> {
        let page = self.status_page().cannot("ask nginx for its counters")?;
        // The third line: connections accepted, connections handled, requests.
        let (_, body) = page.split_once("\r\n\r\n").unwrap_or_default();
        let line = body.lines().nth(2).unwrap_or_default();
        let count = line.split_whitespace().nth(2).and_then(|number| number.parse().ok());
        count.ok_or_else(|| failure("nginx answers no counters: it is built without stub_status"))
    }

    /// CPU time that the process which serves has used so far.
    pub fn cpu(&self) -> Result<Duration> {
        children_cpu(self.running.id()).ok_or_else(|| failure("nginx has ended"))
    }

    fn status_page(&self) -> io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&self.address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(b"GET /stub HTTP/1.0\r\n\r\n")?;
        let mut page = String::new();
        stream.take(4096).read_to_string(&mut page)?;
        Ok(page)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // The master takes the process that serves down with it.
        self.running.stop(PATIENCE);
    }
}

fn listen() -> Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).cannot("listen on a loopback port")?;
    // nginx takes a socket over as it is, and would wait in `accept`.
    listener.set_nonblocking(true).cannot("listen without waiting")?;
    let address = listener.local_addr().cannot("tell the port")?;
    Ok((listener, address))
}

/// A certificate that signs itself, which all clients are told to take.
fn write_certificate(directory: &Path) -> Result<()> {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]);
    let made = made.map_err(|error| failure(format_args!("no certificate could be made: {error}")))?;
    fs::write(directory.join("cert.pem"), made.cert.pem()).cannot("write a certificate")?;
    fs::write(directory.join("key.pem"), made.signing_key.serialize_pem()).cannot("write a key")
}

fn program() -> Result<&'static str> {
    let found = PROGRAMS.into_iter().find(|path| Path::new(path).exists());
    found.ok_or_else(|| failure("nginx is not installed: `apt install nginx-light`"))
}

/// What `nginx -v` says.
pub fn version() -> Result<String> {
    let output = Command::new(program()?).arg("-v").output().cannot("start nginx")?;
    Ok(String::from_utf8_lossy(&output.stderr).trim().replace("nginx version: ", ""))
}

/// Files of noise, no holes: these would be one page in the processor's cache.
fn write_files(directory: &Path, files: &[Served]) -> Result<()> {
    let mut block = vec![0; MIB];
    File::open("/dev/urandom").and_then(|mut noise| noise.read_exact(&mut block)).cannot("read /dev/urandom")?;
    for file in files {
        let path: PathBuf = directory.join(file.name());
        if path.exists() {
            continue;
        }
        let written = File::create(&path).and_then(|mut output| {
            let dataset = Content::new(DATASET);
            let mut at = 0;
            while at < file.bytes() {
                let part = MIB.min(file.bytes() - at);
                if *file == Served::Object {
                    dataset.object(file.name()).fill(at as u64, &mut block[..part]);
                }
                output.write_all(&block[..part])?;
                at += part;
            }
            Ok(())
        });
        written.cannot(format_args!("write {}", path.display()))?;
    }
    // The process that serves is another user, when this one is root.
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).cannot("open the directory of nginx")
}

fn configuration(directory: &Path, address: SocketAddr, secure: SocketAddr, inside: &str) -> String {
    let root = directory.display();
    format!(
        r"
daemon off; worker_processes 1; user root; pid {root}/pid; error_log {root}/error.log; worker_rlimit_nofile 20000;
events {{ worker_connections 10000; multi_accept on; }}
http {{
  access_log off; sendfile on; sendfile_max_chunk 2m; tcp_nopush on; open_file_cache max=100;
  keepalive_requests 1000000000; keepalive_timeout 300;
  client_body_temp_path {root}/body; proxy_temp_path {root}/proxy; fastcgi_temp_path {root}/fastcgi;
  scgi_temp_path {root}/scgi; uwsgi_temp_path {root}/uwsgi;
  ssl_certificate {root}/cert.pem; ssl_certificate_key {root}/key.pem; ssl_protocols TLSv1.2 TLSv1.3;
  server {{
    listen {address} backlog=8192; listen {secure} ssl{inside} backlog=8192; root {root};
    location = /stub {{ stub_status; }}
  }}
}}
"
    )
}
