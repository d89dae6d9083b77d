//! TLS servers that follow a script, and their certificates.

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tempfile::TempDir;

/// The host of all URLs.
pub const HOST: &str = "plimsoll.test";
const PATIENCE: Duration = Duration::from_secs(20);

/// A CA that signs certificates, and the directory with all files of a test.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
    directory: TempDir,
}

/// A certificate and its key.
pub struct Identity {
    pub certificate: String,
    pub key: String,
}

/// Validity of a certificate, in years.
pub type Years = (i32, i32);
pub const VALID: Years = (2020, 4000);

impl Authority {
    pub fn new() -> Self {
        Self::named("Authority of a test")
    }

    pub fn named(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem, directory: TempDir::new().unwrap() }
    }

    pub fn sign(&self, name: &str, years: Years) -> Identity {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        (params.not_before, params.not_after) = (date_time_ymd(years.0, 1, 1), date_time_ymd(years.1, 1, 1));
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Identity { certificate: certificate.pem(), key: key.serialize_pem() }
    }

    /// Returns a self-signed certificate with CA:TRUE.
    pub fn self_signed(name: &str, years: Years) -> Identity {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        (params.not_before, params.not_after) = (date_time_ymd(years.0, 1, 1), date_time_ymd(years.1, 1, 1));
        Identity { certificate: params.self_signed(&key).unwrap().pem(), key: key.serialize_pem() }
    }

    pub fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    pub fn pem_file(&self) -> PathBuf {
        self.file("authority.pem", &self.pem)
    }

    fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.pem.as_bytes()).unwrap()).unwrap();
        roots
    }

    /// Returns the settings of a server with this identity. `asks` means that the server requests a client certificate.
    pub fn server(&self, identity: &Identity, asks: bool) -> Arc<ServerConfig> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_safe_default_protocol_versions().unwrap();
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(self.roots()), provider);
        let builder = match asks {
            true => builder.with_client_cert_verifier(verifier.build().unwrap()),
            false => builder.with_no_client_auth(),
        };
        let chain = vec![CertificateDer::from_pem_slice(identity.certificate.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap();
        let mut config = builder.with_single_cert(chain, key).unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Arc::new(config)
    }
}

/// Observations of an endpoint.
#[derive(Default)]
pub struct Seen {
    pub connections: AtomicU64,
    pub read: AtomicU64,
    pub written: AtomicU64,
    active: AtomicU64,
    over: AtomicBool,
}

/// A listening server with one thread for each connection.
pub struct Endpoint {
    pub address: SocketAddr,
    pub seen: Arc<Seen>,
    acceptor: Option<JoinHandle<()>>,
}

impl Endpoint {
    pub fn start(script: impl Fn(Counted) -> io::Result<()> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let (seen, script) = (Arc::new(Seen::default()), Arc::new(script));
        let kept = Arc::clone(&seen);
        let acceptor = std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (Ok(stream), false) = (stream, kept.over.load(Ordering::Relaxed)) else { return };
                kept.connections.fetch_add(1, Ordering::Relaxed);
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                stream.set_nodelay(true).unwrap();
                let (script, seen) = (Arc::clone(&script), Arc::clone(&kept));
                kept.active.fetch_add(1, Ordering::Relaxed);
                std::thread::spawn(move || {
                    let active = Arc::clone(&seen);
                    let _ = script(Counted { stream, seen });
                    active.active.fetch_sub(1, Ordering::Release);
                });
            }
        });
        Self { address, seen, acceptor: Some(acceptor) }
    }

    /// Waits until every connection is closed, and returns the number of bytes written.
    pub fn written(&self) -> u64 {
        let begun = std::time::Instant::now();
        while self.seen.active.load(Ordering::Acquire) > 0 {
            assert!(begun.elapsed() < PATIENCE, "a connection is still open");
            std::thread::sleep(Duration::from_millis(1));
        }
        self.seen.written.load(Ordering::Relaxed)
    }

    pub fn url(&self, scheme: &str) -> String {
        format!("{scheme}://{HOST}:{}/object", self.address.port())
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.seen.over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
        let _ = self.acceptor.take().map(JoinHandle::join);
    }
}

/// A socket whose bytes are counted.
pub struct Counted {
    pub stream: TcpStream,
    pub seen: Arc<Seen>,
}

impl Read for Counted {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let bytes = self.stream.read(room)?;
        self.seen.read.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.stream.write(bytes)?;
        self.seen.written.fetch_add(written as u64, Ordering::Relaxed);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub type Tls = StreamOwned<ServerConnection, Counted>;

pub fn accept(config: &Arc<ServerConfig>, socket: Counted) -> Tls {
    StreamOwned::new(ServerConnection::new(Arc::clone(config)).unwrap(), socket)
}

/// Reads a request. Returns `false` at the end of the connection.
pub fn request(tls: &mut impl Read) -> io::Result<bool> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if tls.read(&mut byte)? == 0 {
            return Ok(false);
        }
        head.push(byte[0]);
    }
    Ok(true)
}

/// Closes the connection in the way that TLS requires.
pub fn goodbye(tls: &mut Tls) -> io::Result<()> {
    tls.conn.send_close_notify();
    tls.flush()
}

/// Returns a script that responds to every request with this many bytes.
pub fn serve(config: Arc<ServerConfig>, bytes: usize) -> impl Fn(Counted) -> io::Result<()> + Send + Sync {
    move |socket| {
        let mut tls = accept(&config, socket);
        let answer = page(bytes);
        loop {
            match request(&mut tls) {
                Ok(true) => tls.write_all(&answer)?,
                Ok(false) => return Ok(()),
                Err(error) => {
                    // Closing the socket with unread bytes would reset the connection, and the alert would be lost.
                    tls.sock.stream.shutdown(std::net::Shutdown::Write)?;
                    io::copy(&mut tls.sock.stream, &mut io::sink())?;
                    return Err(error);
                }
            }
        }
    }
}

pub fn page(bytes: usize) -> Vec<u8> {
    let mut answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\n\r\n").into_bytes();
    answer.resize(answer.len() + bytes, b'x');
    answer
}
