//! TLS settings, and the TLS sessions of connections. Threads share no locks.
//!
//! [`configure`] reads the files that the user named, so that a wrong file is reported before the run. The system's CA
//! certificates are read when the first connection needs them, so a run without TLS does not read them. Each thread has
//! a copy of the settings with its own session store. rustls implements the protocol. `outcome` classifies failures,
//! and [`negotiated`] describes connections.

mod error;
pub mod negotiated;
pub(crate) mod outcome;
mod session;
mod verify;

pub use error::TlsConfigError;
pub use negotiated::Negotiated;
pub(crate) use session::{RECORD_BYTES_MAX, Session, Wire};

use rustls::client::{ClientSessionMemoryCache, Resumption};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use verify::Verifier;
use wire::url::Origin;

/// Maximum number of servers whose sessions a thread keeps.
const SESSIONS_MAX: usize = 256;
/// Maximum size of a file of certificates or keys, in bytes.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Certificates that are trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// Certificates signed by a CA that this system trusts.
    #[default]
    System,
    /// The certificates in these PEM files, and certificates that they signed.
    Files(Vec<PathBuf>),
    /// All certificates. The client checks only that the server has the key of its certificate.
    Any,
}

/// A client certificate and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// PEM file with the certificate and its chain.
    pub certificate: PathBuf,
    /// PEM file with the private key.
    pub key: PathBuf,
}

/// TLS settings of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsSettings {
    /// Certificates that are trusted.
    pub trust: Trust,
    /// The client certificate, for servers that request one.
    pub identity: Option<Identity>,
    /// `true` if a new connection may resume an earlier session.
    pub resumption: bool,
    /// Protocols offered by ALPN, the preferred one first.
    pub protocols: Vec<Box<[u8]>>,
}

impl Default for TlsSettings {
    fn default() -> Self {
        Self { trust: Trust::System, identity: None, resumption: true, protocols: vec![(*b"http/1.1").into()] }
    }
}

/// Trusted certificates, read from their files.
#[derive(Clone)]
enum Roots {
    System,
    These(Arc<Verifier>),
    Any,
}

/// TLS settings whose files have been read. All threads of a run share these settings.
pub struct TlsPlan {
    roots: Roots,
    identity: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
    resumption: bool,
    protocols: Vec<Box<[u8]>>,
    /// Configuration for rustls, created when the first connection needs it. The whole run uses the same configuration.
    made: OnceLock<Arc<ClientConfig>>,
}

/// Default settings, if the user sets none.
impl Default for TlsPlan {
    fn default() -> Self {
        let TlsSettings { resumption, protocols, .. } = TlsSettings::default();
        Self { roots: Roots::System, identity: None, resumption, protocols, made: OnceLock::new() }
    }
}

/// Omits the private key.
impl std::fmt::Debug for TlsPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TlsPlan")
            .field("insecure", &self.is_insecure())
            .field("identity", &self.identity.is_some())
            .field("resumption", &self.resumption)
            .finish_non_exhaustive()
    }
}

/// Reads the files in the settings.
///
/// # Errors
/// Fails with the name of the file that cannot be used, and the reason.
pub fn configure(settings: &TlsSettings) -> Result<TlsPlan, TlsConfigError> {
    let roots = match &settings.trust {
        Trust::System => Roots::System,
        Trust::Any => Roots::Any,
        Trust::Files(files) => {
            let (mut roots, mut listed) = (RootCertStore::empty(), Vec::new());
            for file in files {
                for certificate in certificates(file)? {
                    roots.add(certificate.clone()).map_err(|_| TlsConfigError::BadCertificate(file.clone()))?;
                    listed.push(certificate);
                }
            }
            Roots::These(Arc::new(Verifier::new(roots, listed).map_err(|_| TlsConfigError::NoSystemRoots)?))
        }
    };
    let identity = settings.identity.as_ref().map(read_identity).transpose()?;
    let plan = TlsPlan {
        roots,
        identity,
        resumption: settings.resumption,
        protocols: settings.protocols.clone(),
        made: OnceLock::new(),
    };
    if let Some(identity) = settings.identity.as_ref() {
        // rustls checks whether key and certificate match only when it builds a configuration.
        plan.build(Arc::new(Verifier::without_check())).map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => TlsConfigError::KeyOfAnother(identity.clone()),
            _ => TlsConfigError::BadKey(identity.key.clone()),
        })?;
    }
    Ok(plan)
}

fn read_identity(
    identity: &Identity,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TlsConfigError> {
    let chain = certificates(&identity.certificate)?;
    let key = PrivateKeyDer::from_pem_slice(&read(&identity.key)?)
        .map_err(|_| TlsConfigError::NoKey(identity.key.clone()))?;
    Ok((chain, key))
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsConfigError> {
    let text = read(file)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let found = found.map_err(|_| TlsConfigError::BadCertificate(file.to_owned()))?;
    if found.is_empty() { Err(TlsConfigError::NoCertificate(file.to_owned())) } else { Ok(found) }
}

fn read(file: &Path) -> Result<Vec<u8>, TlsConfigError> {
    let unreadable = |error| TlsConfigError::Unreadable(file.to_owned(), error);
    let length = fs::metadata(file).map_err(unreadable)?.len();
    if length > FILE_BYTES_MAX {
        return Err(TlsConfigError::TooLarge(file.to_owned()));
    }
    fs::read(file).map_err(unreadable)
}

/// Returns the system's CA certificates. Certificates that cannot be read are skipped.
fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

fn provider() -> Arc<CryptoProvider> {
    static PROVIDER: OnceLock<Arc<CryptoProvider>> = OnceLock::new();
    Arc::clone(PROVIDER.get_or_init(|| Arc::new(rustls::crypto::aws_lc_rs::default_provider())))
}

impl TlsPlan {
    /// Returns whether certificates are accepted without a check.
    #[must_use]
    pub fn is_insecure(&self) -> bool {
        matches!(self.roots, Roots::Any)
    }

    /// Returns whether new connections may resume earlier sessions.
    #[must_use]
    pub fn resumes(&self) -> bool {
        self.resumption
    }

    /// Returns whether this client has a certificate.
    #[must_use]
    pub fn has_identity(&self) -> bool {
        self.identity.is_some()
    }

    /// Creates the configuration before the run, so that the first connection does not have to wait for it.
    ///
    /// # Errors
    /// Fails if there is no CA certificate, because the client could not trust any server.
    pub fn prepare(&self) -> Result<(), TlsConfigError> {
        self.config().map(|_| ())
    }

    fn config(&self) -> Result<&Arc<ClientConfig>, TlsConfigError> {
        if let Some(config) = self.made.get() {
            return Ok(config);
        }
        let verifier = match &self.roots {
            Roots::System => {
                let verifier = Verifier::new(system_roots(), Vec::new());
                Arc::new(verifier.map_err(|_| TlsConfigError::NoSystemRoots)?)
            }
            Roots::These(verifier) => Arc::clone(verifier),
            Roots::Any => Arc::new(Verifier::without_check()),
        };
        let config = Arc::new(self.build(verifier).map_err(|_| TlsConfigError::Unusable)?);
        Ok(self.made.get_or_init(|| config))
    }

    fn build(&self, verifier: Arc<Verifier>) -> Result<ClientConfig, rustls::Error> {
        let builder = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions()?;
        let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
        let mut config = match &self.identity {
            Some((chain, key)) => builder.with_client_auth_cert(chain.clone(), key.clone_key())?,
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = self.protocols.iter().map(|name| name.to_vec()).collect();
        Ok(config)
    }

    /// Returns a copy of the configuration for one thread. The copy has its own session store, so that threads do not
    /// wait for each other.
    pub(crate) fn for_thread(&self) -> Option<Arc<ClientConfig>> {
        let mut config = ClientConfig::clone(self.config().ok()?);
        config.resumption = if self.resumption {
            Resumption::store(Arc::new(ClientSessionMemoryCache::new(SESSIONS_MAX)))
        } else {
            Resumption::disabled()
        };
        Some(Arc::new(config))
    }
}

/// Returns the name that an origin's certificate must contain; `None` if no certificate can contain this name.
#[must_use]
pub fn server_name(origin: &Origin) -> Option<ServerName<'static>> {
    ServerName::try_from(origin.host.to_string()).ok()
}
