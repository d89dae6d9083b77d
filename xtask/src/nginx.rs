//! The server of the benchmarks: nginx with one worker process on a separate core, and with all files in memory.
//!
//! The goals were set with this configuration. nginx counts the requests, so a benchmark does not need to trust the
//! counts of clients.

use crate::failure::{Context, Result, failure};
use crate::process::{Running, SERVER_CORE, children_cpu, start};
use content::{Content, Seed};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Paths of nginx. The PATH of ordinary users does not include some of these directories.
const PROGRAMS: [&str; 3] = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx"];
/// A directory that is in memory.
const MEMORY: &str = "/dev/shm";
/// Seed of the bytes of [`Served::Object`]. This is the default seed of the program.
const DATASET: Seed = Seed(1);
/// Time limit for the start of nginx, for its end, and for a response.
const PATIENCE: Duration = Duration::from_secs(10);
const MIB: usize = 1 << 20;

/// A file that the server can serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// `/1k`, 1 KiB.
    Kibibyte,
    /// `/100m`, 100 MiB.
    HundredMebibytes,
    /// `/1g`, 1 GiB.
    Gibibyte,
    /// `/object-00000000.bin`, 100 MiB. This file is the only object of a dataset, so a client can verify the bytes.
    Object,
}

impl Served {
    /// Returns the path of the file below the root of the server.
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

/// A running server. The directory of the server is in memory, and is also the working directory of the clients.
/// Dropping the value ends the server and removes the directory.
pub struct Nginx {
    running: Running,
    directory: TempDir,
    address: SocketAddr,
    secure_address: SocketAddr,
}

impl Nginx {
    /// Starts a server with these files. A file may be listed more than once.
    pub fn start(files: &[Served]) -> Result<Self> {
        Self::start_with(files, "")
    }

    /// Starts a server that speaks HTTP/2 over TLS.
    pub fn start_http2(files: &[Served]) -> Result<Self> {
        Self::start_with(files, " http2")
    }

    /// Starts a server with additional options for its TLS listener.
    fn start_with(files: &[Served], tls_options: &str) -> Result<Self> {
        let program = program()?;
        let directory = tempfile::Builder::new().prefix("plimsoll-bench-").tempdir_in(MEMORY);
        let directory = directory.cannot(format_args!("make a directory in {MEMORY}"))?;
        write_files(directory.path(), files)?;
        write_certificate(directory.path())?;
        let (listener, address) = listen()?;
        let (secure_listener, secure_address) = listen()?;
        let path = directory.path().join("nginx.conf");
        fs::write(&path, configuration(directory.path(), address, secure_address, tls_options))
            .cannot("write the configuration of nginx")?;
        let errors = File::create(directory.path().join("stderr")).cannot("write the messages of nginx")?;
        let mut command = Command::new(program);
        command.arg("-p").arg(directory.path()).arg("-c").arg(&path).args(["-e", "error.log"]);
        // The environment variable `NGINX` lists listening sockets that nginx inherits. This process opens them before
        // it starts nginx, so no other program can take their ports.
        command.env("NGINX", "0;1;").stderr(errors);
        command.stdin(OwnedFd::from(listener)).stdout(OwnedFd::from(secure_listener));
        let running = start(&mut command, SERVER_CORE)?;
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

    /// Returns the `http` URL of a file.
    pub fn url(&self, file: Served) -> String {
        format!("http://{}/{}", self.address, file.name())
    }

    /// Returns the `https` URL of a file.
    pub fn secure_url(&self, file: Served) -> String {
        format!("https://{}/{}", self.secure_address, file.name())
    }

    /// Returns the working directory of clients.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the number of requests so far, including the request that reads the number.
    pub fn requests(&self) -> Result<u64> {
        let page = self.status_page().cannot("ask nginx for its counters")?;
        // The third line has three counts: accepted connections, handled connections, and requests.
        let (_, body) = page.split_once("\r\n\r\n").unwrap_or_default();
        let line = body.lines().nth(2).unwrap_or_default();
        let count = line.split_whitespace().nth(2).and_then(|number| number.parse().ok());
        count.ok_or_else(|| failure("nginx returns no counters; use an nginx that is built with stub_status"))
    }

    /// Returns the CPU time of the worker process so far.
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
        // This ends the master process, which then ends the worker process.
        self.running.stop(PATIENCE);
    }
}

fn listen() -> Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).cannot("listen on a loopback port")?;
    // nginx does not change the mode of a socket that it inherits, and `accept` on a blocking socket would block the
    // worker.
    listener.set_nonblocking(true).cannot("make a socket nonblocking")?;
    let address = listener.local_addr().cannot("read the port of a socket")?;
    Ok((listener, address))
}

/// Writes a self-signed certificate and its key. No client verifies the certificate.
fn write_certificate(directory: &Path) -> Result<()> {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]);
    let made = made.map_err(|error| failure(format_args!("cannot make a certificate: {error}")))?;
    fs::write(directory.join("cert.pem"), made.cert.pem()).cannot("write a certificate")?;
    fs::write(directory.join("key.pem"), made.signing_key.serialize_pem()).cannot("write a key")
}

/// Returns the path of the program.
pub fn program() -> Result<&'static str> {
    let found = PROGRAMS.into_iter().find(|path| Path::new(path).exists());
    found.ok_or_else(|| failure("nginx is not installed; try: apt install nginx-light"))
}

/// Returns the version that `nginx -v` prints.
pub fn version() -> Result<String> {
    let output = Command::new(program()?).arg("-v").output().cannot("start nginx")?;
    Ok(String::from_utf8_lossy(&output.stderr).trim().replace("nginx version: ", ""))
}

/// Writes the files with random bytes. All pages of a sparse file would share one page of memory, which would stay in
/// the processor's cache and make nginx too fast.
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
    // If nginx is started by root, the worker process runs as another user, who needs access to the files.
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).cannot("open the directory to nginx")
}

fn configuration(directory: &Path, address: SocketAddr, secure: SocketAddr, tls_options: &str) -> String {
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
    listen {address} backlog=8192; listen {secure} ssl{tls_options} backlog=8192; root {root};
    location = /stub {{ stub_status; }}
  }}
}}
"
    )
}
