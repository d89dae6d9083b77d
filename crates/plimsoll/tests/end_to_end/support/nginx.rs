//! Debian's nginx on a loopback port. The test binds the port first and passes it to nginx. Therefore, no port has to
//! be guessed, and no other process can take the port.

use super::{GIB, KIB, MIB, PATIENCE, peer, signal, wait_for};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// Paths of nginx. The PATH of ordinary users does not contain nginx.
const PROGRAMS: [&str; 3] = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx"];

/// Settings of a server, in addition to the plain files `/f/1k`, `/f/1m` and `/f/64m`.
#[derive(Clone, Copy, Default)]
pub struct Setup {
    /// `true` to serve `/f/1g` too.
    pub gibibyte: bool,
    /// Further directives of the server, for example locations.
    pub server: &'static str,
    /// Further directives outside of the server, for example limits.
    pub http: &'static str,
    /// `true` if the port uses TLS, with a certificate for 127.0.0.1 that [`Nginx::authority`] signed.
    pub tls: bool,
    /// `true` if the port supports HTTP/2. A port with TLS then also supports HTTP/1.1, but a port without TLS supports
    /// only HTTP/2.
    pub http2: bool,
    /// `true` if times in the log must be exact to the millisecond. By default, nginx reads the clock only once per
    /// batch of events.
    pub exact_times: bool,
}

/// A line of the access log.
pub struct Request {
    pub method: String,
    pub uri: String,
    pub status: u64,
    pub body_bytes: u64,
    /// Bytes sent, with the response header.
    pub bytes: u64,
    /// Bytes received, with the body of the request.
    pub received_bytes: u64,
    /// First and last byte of the requested range.
    pub range: Option<(u64, u64)>,
    pub connection: u64,
    pub protocol: String,
    pub host: String,
    /// The first line of the request.
    pub line: String,
    pub user: String,
    pub proxy_authorization: String,
    pub cookie: String,
    /// The `Content-Length` of the request.
    pub length: String,
    /// Time at which the request ended, in seconds since 1970.
    pub end: f64,
    /// TLS version, such as `TLSv1.3`. Empty for plain HTTP.
    pub tls: String,
    /// `r` if the TLS session was resumed, otherwise `.`.
    pub tls_session: String,
    /// Name in the client's certificate.
    pub tls_client: String,
}

/// A running server, which stops when this value is dropped.
pub struct Nginx {
    child: Child,
    directory: TempDir,
    address: SocketAddr,
    tls: bool,
    over: bool,
}

impl Nginx {
    /// Returns the path of nginx. Without nginx, the test is skipped, as in [`Self::start`].
    pub fn program() -> Option<&'static Path> {
        peer("nginx", PROGRAMS.map(Path::new).into_iter().find(|path| path.exists()))
    }

    /// Starts nginx. Without nginx, this function returns `None` to skip the test, or fails with `REQUIRE_PEERS=1`.
    pub fn start(setup: Setup) -> Option<Self> {
        let program = Self::program()?;
        let shm = Path::new("/dev/shm");
        let mut builder = tempfile::Builder::new();
        builder.prefix("plimsoll-nginx-");
        let directory = if shm.is_dir() { builder.tempdir_in(shm) } else { builder.tempdir() };
        let directory = directory.expect("can create a directory for nginx");
        write_files(&directory.path().join("files"), setup);
        if setup.tls {
            write_certificates(directory.path());
        }

        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("can bind a loopback port");
        // nginx uses an inherited socket as it is. With a blocking socket, nginx would block in `accept`.
        listener.set_nonblocking(true).expect("can make the socket non-blocking");
        let address = listener.local_addr().expect("a bound socket has an address");
        let text = configuration(directory.path(), address, setup);
        let path = directory.path().join("nginx.conf");
        fs::write(&path, text).expect("can write nginx's configuration");
        let errors = File::create(directory.path().join("stderr")).expect("can write nginx's messages");
        // During an upgrade, an old nginx process passes its sockets to a new one, and lists their descriptors in the
        // environment variable `NGINX`. Here the test acts as the old process.
        let child = Command::new(program)
            .arg("-p")
            .arg(directory.path())
            .arg("-c")
            .arg(&path)
            .args(["-e", "error.log"])
            .env("NGINX", "0;")
            .stdin(Stdio::from(OwnedFd::from(listener)))
            .stdout(Stdio::null())
            .stderr(errors)
            .spawn()
            .expect("can start nginx");
        let mut nginx = Self { child, directory, address, tls: setup.tls, over: false };
        wait_for("answer from nginx", || nginx.is_ready().then_some(()));
        Some(nginx)
    }

    fn is_ready(&mut self) -> bool {
        if let Ok(Some(status)) = self.child.try_wait() {
            self.over = true;
            panic!("nginx ended with {status}: {}", self.messages());
        }
        // The unix socket never uses TLS.
        let Ok(mut stream) = UnixStream::connect(self.socket()) else { return false };
        let _ = stream.set_read_timeout(Some(PATIENCE));
        let mut answer = Vec::new();
        let asked = stream.write_all(b"GET /ready HTTP/1.0\r\n\r\n").and_then(|()| stream.read_to_end(&mut answer));
        asked.is_ok() && answer.starts_with(b"HTTP/1.1 204")
    }

    fn messages(&self) -> String {
        ["stderr", "error.log"].map(|name| fs::read_to_string(self.path(name)).unwrap_or_default()).concat()
    }

    /// Returns the URL of a path.
    pub fn url(&self, path: &str) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}{path}", self.address)
    }

    /// Returns the file with the CA certificate that signed the server's certificate.
    pub fn authority(&self) -> String {
        self.path("authority.pem").display().to_string()
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the unix socket on which nginx listens too.
    pub fn socket(&self) -> PathBuf {
        self.path("socket")
    }

    /// Returns the path of a file in nginx's directory. The files that nginx serves are below `files/`.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Stops or continues the worker processes.
    pub fn signal_workers(&self, name: &str) {
        let master = self.child.id();
        let children =
            fs::read_to_string(format!("/proc/{master}/task/{master}/children")).expect("Linux lists children");
        for child in children.split_whitespace() {
            signal(child.parse().expect("a process has a number"), name);
        }
    }

    /// Stops nginx gracefully, and reads its log.
    pub fn quit(mut self) -> Vec<Request> {
        signal(self.child.id(), "QUIT");
        let status = wait_for("end of nginx", || self.child.try_wait().expect("can wait for nginx"));
        self.over = true;
        assert!(status.success(), "nginx ended with {status}: {}", self.messages());
        let log = fs::read_to_string(self.path("access.log")).expect("nginx has written a log");
        log.lines().map(request).collect()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        if !self.over {
            self.signal_workers("CONT");
            // The master process also stops its workers.
            signal(self.child.id(), "TERM");
            let _ = self.child.wait();
        }
    }
}

fn write_files(files: &Path, setup: Setup) {
    fs::create_dir(files).expect("can create a directory");
    let sizes = [("1k", KIB), ("1m", MIB), ("64m", 64 * MIB), ("1g", GIB)];
    for (name, size) in sizes.iter().filter(|(_, size)| *size < GIB || setup.gibibyte) {
        let mut file = File::create(files.join(name)).expect("can create a file");
        file.set_len(*size).expect("can create a sparse file");
        // Each MiB starts with random bytes. The rest of a large file is sparse, so that the file takes little space.
        let mut state = *size;
        for start in (0..*size).step_by(MIB as usize) {
            let block: Vec<u8> = (0..KIB).map(|_| noise(&mut state)).collect();
            file.seek(SeekFrom::Start(start)).and_then(|_| file.write_all(&block)).expect("can write a file");
        }
    }
}

/// Writes a CA certificate, and the certificates of the server and of a client, signed by the CA.
fn write_certificates(directory: &Path) {
    let key = || KeyPair::generate().expect("can create a key");
    let params = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        CertificateParams::new(names).expect("the names are valid")
    };
    let write = |name: &str, text: String| fs::write(directory.join(name), text).expect("can write a file");
    let (mut own, own_key) = (params(&[]), key());
    own.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    own.distinguished_name.push(DnType::CommonName, "authority of a test");
    write("authority.pem", own.self_signed(&own_key).expect("the CA signs itself").pem());
    let authority = Issuer::new(own, own_key);
    for (name, about) in [("server", "127.0.0.1"), ("client", "client.test")] {
        let (mut params, key) = (params(&[about]), key());
        params.distinguished_name.push(DnType::CommonName, about);
        let certificate = params.signed_by(&key, &authority).expect("the CA signs a certificate");
        write(&format!("{name}.pem"), certificate.pem());
        write(&format!("{name}.key"), key.serialize_pem());
    }
}

/// Returns a byte of Marsaglia's xorshift64.
fn noise(state: &mut u64) -> u8 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 32) as u8
}

fn configuration(directory: &Path, address: SocketAddr, setup: Setup) -> String {
    let (root, server, http) = (directory.display(), setup.server, setup.http);
    let (ssl, certificates) = if setup.tls {
        let names = format!("ssl_certificate {root}/server.pem; ssl_certificate_key {root}/server.key;");
        (" ssl", names + &format!("ssl_client_certificate {root}/authority.pem; ssl_verify_client optional;"))
    } else {
        ("", String::new())
    };
    let http2 = if setup.http2 { " http2" } else { "" };
    let events = if setup.exact_times { "epoll_events 8;" } else { "multi_accept on;" };
    format!(
        r#"
daemon off; user root; worker_processes 1; worker_rlimit_nofile 10000; pid {root}/pid; error_log {root}/error.log;
events {{ worker_connections 8192; {events} }}
http {{
  log_format requests escape=json '{{"method":"$request_method","uri":"$request_uri","status":$status,"body_bytes":$body_bytes_sent,'
    '"bytes":$bytes_sent,"received_bytes":$request_length,"range":"$http_range","connection":$connection,'
    '"protocol":"$server_protocol","host":"$http_host","line":"$request","user":"$remote_user",'
    '"proxy_authorization":"$http_proxy_authorization","cookie":"$http_cookie","length":"$http_content_length","end":$msec,'
    '"tls":"$ssl_protocol","tls_session":"$ssl_session_reused","tls_client":"$ssl_client_s_dn"}}';
  access_log {root}/access.log requests; ssl_protocols TLSv1.2 TLSv1.3;
  sendfile on; tcp_nopush on; keepalive_requests 1000000; keepalive_timeout 120s; client_max_body_size 64m;
  client_body_temp_path {root}/body; proxy_temp_path {root}/proxy; fastcgi_temp_path {root}/fastcgi;
  scgi_temp_path {root}/scgi; uwsgi_temp_path {root}/uwsgi;
  {http}
  server {{
    listen {address}{ssl}{http2} backlog=4096; {certificates}
    listen unix:{root}/socket;
    location = /ready {{ access_log off; return 204; }}
    location /f/ {{ alias {root}/files/; }}
    {server}
  }}
}}
"#
    )
}

fn request(line: &str) -> Request {
    let value: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("log line {line}: {error}"));
    let text = |name: &str| value[name].as_str().unwrap_or_else(|| panic!("no {name} in {line}")).to_owned();
    let number = |name: &str| value[name].as_u64().unwrap_or_else(|| panic!("no {name} in {line}"));
    Request {
        method: text("method"),
        uri: text("uri"),
        status: number("status"),
        body_bytes: number("body_bytes"),
        bytes: number("bytes"),
        received_bytes: number("received_bytes"),
        range: range(&text("range")),
        connection: number("connection"),
        protocol: text("protocol"),
        host: text("host"),
        line: text("line"),
        user: text("user"),
        proxy_authorization: text("proxy_authorization"),
        cookie: text("cookie"),
        length: text("length"),
        tls: text("tls"),
        tls_session: text("tls_session"),
        tls_client: text("tls_client"),
        end: value["end"].as_f64().unwrap_or_else(|| panic!("no end in {line}")),
    }
}

fn range(text: &str) -> Option<(u64, u64)> {
    let (first, last) = text.strip_prefix("bytes=")?.split_once('-')?;
    Some((first.parse().ok()?, last.parse().ok()?))
}
