//! TLS configuration of a server: its certificate, and the clients that it accepts.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::certificate::GeneratedCertificate;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

/// The protocols offered to clients by ALPN, the preferred one first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// The TLS configuration of a server. The server supports TLS 1.2 and 1.3, and offers HTTP/2 and HTTP/1.1.
#[derive(Debug, Clone)]
pub struct Tls {
    /// The server's certificate.
    pub identity: Identity,
    /// A file of CA certificates (PEM). If set, clients must present a certificate signed by one of them.
    pub client_ca: Option<PathBuf>,
}

/// The origin of a server's certificate.
#[derive(Debug, Clone)]
pub enum Identity {
    /// A certificate for `localhost`, the loopback addresses and the listening addresses. The server generates this
    /// certificate when it starts, together with the CA that signs it.
    SelfSigned,
    /// Files in PEM format.
    Files {
        /// The certificate chain, beginning with the server's own certificate.
        certificate: PathBuf,
        /// The private key of the server's certificate.
        key: PathBuf,
    },
}

/// A TLS configuration that is ready for use.
pub(super) struct PreparedTls {
    pub(super) acceptor: TlsAcceptor,
    /// The CA certificate that was generated for this server, in PEM.
    pub(super) ca_pem: Option<String>,
}

impl Tls {
    pub(super) fn prepare(&self, addresses: &[SocketAddr]) -> io::Result<PreparedTls> {
        let (chain, key, ca_pem) = match &self.identity {
            Identity::SelfSigned => {
                let made = generate(addresses)?;
                let ca_pem = made.ca_pem().to_owned();
                let (certificate, key) = made.into_parts();
                (vec![certificate], key, Some(ca_pem))
            }
            Identity::Files { certificate, key } => (read_certificates(certificate)?, read_key(key)?, None),
        };
        // The provider is selected explicitly. If another crate enabled a second provider, rustls would have no
        // default.
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
        let builder = builder.map_err(io::Error::other)?;
        let builder = match &self.client_ca {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let mut roots = RootCertStore::empty();
                for certificate in read_certificates(path)? {
                    roots.add(certificate).map_err(|error| unusable(path, &error))?;
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
                builder.with_client_cert_verifier(verifier.map_err(|error| unusable(path, &error))?)
            }
        };
        let mut config = builder.with_single_cert(chain, key).map_err(|error| match &self.identity {
            Identity::SelfSigned => io::Error::other(error),
            Identity::Files { certificate, .. } => unusable(certificate, &error),
        })?;
        config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
        Ok(PreparedTls { acceptor: TlsAcceptor::from(Arc::new(config)), ca_pem })
    }
}

/// Generates a certificate for one run of the server.
fn generate(addresses: &[SocketAddr]) -> io::Result<GeneratedCertificate> {
    let fixed = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let mut names: Vec<String> = addresses.iter().map(|address| address.ip().to_string()).chain(fixed).collect();
    names.sort_unstable();
    names.dedup();
    GeneratedCertificate::new(names, "Plimsoll embedded server: CA of this run", "Plimsoll embedded server")
}

fn read_certificates(path: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let certificates = read.map_err(|error| unusable(path, &error))?;
    if certificates.is_empty() {
        return Err(unusable(path, &"it contains no certificate"));
    }
    Ok(certificates)
}

fn read_key(path: &Path) -> io::Result<PrivateKeyDer<'static>> {
    PrivateKeyDer::from_pem_file(path).map_err(|error| unusable(path, &error))
}

fn unusable(path: &Path, error: &dyn std::fmt::Display) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, format!("{}: {error}; use a PEM file", path.display()))
}
