//! TLS of connections, made at the edge and carried out without a lock between threads.
//!
//! [`configure`] reads what the user named, so that a wrong file is told before the run. The authorities of the system
//! are read when the first connection needs them: a run without TLS never does. Each thread takes a copy of the
//! settings with a store of sessions of its own. The protocol itself is rustls; what a failure amounts to stands in
//! `outcome`, what a connection agreed on in [`negotiated`].

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
use wire::url::Origin;

/// Servers whose sessions a thread remembers.
const SESSIONS_MAX: usize = 256;
/// The largest file of certificates or keys that is read.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Which certificates are believed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// Those signed by an authority of this system.
    #[default]
    System,
    /// Those signed by an authority of these PEM files.
    Files(Vec<PathBuf>),
    /// Every one: nothing is checked but that the server holds its key.
    Any,
}

/// A certificate for this client, and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// PEM file with the certificate and those that lead to its authority.
    pub certificate: PathBuf,
    /// PEM file with the private key.
    pub key: PathBuf,
}

/// What a user can say about TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsSettings {
    /// Which certificates are believed.
    pub trust: Trust,
    /// What this client shows of itself, when it is asked.
    pub identity: Option<Identity>,
    /// Whether a new connection may take up an earlier session.
    pub resumption: bool,
    /// Protocols offered (ALPN), the preferred one first.
    pub protocols: Vec<Box<[u8]>>,
}

impl Default for TlsSettings {
    fn default() -> Self {
        Self { trust: Trust::System, identity: None, resumption: true, protocols: vec![(*b"http/1.1").into()] }
    }
}

/// Authorities that are believed, once their files are read.
#[derive(Clone)]
enum Roots {
    System,
    These(Arc<RootCertStore>),
    Any,
}

/// Settings whose files have been read. Shared by all threads of a run.
pub struct TlsPlan {
    roots: Roots,
    identity: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
    resumption: bool,
    protocols: Vec<Box<[u8]>>,
    /// Made when first needed, and then for the run.
    made: OnceLock<Arc<ClientConfig>>,
}

/// What is meant where nothing is said.
impl Default for TlsPlan {
    fn default() -> Self {
        let TlsSettings { resumption, protocols, .. } = TlsSettings::default();
        Self { roots: Roots::System, identity: None, resumption, protocols, made: OnceLock::new() }
    }
}

/// Nothing of the key.
impl std::fmt::Debug for TlsPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TlsPlan")
            .field("insecure", &self.is_insecure())
            .field("identity", &self.identity.is_some())
            .field("resumption", &self.resumption)
            .finish_non_exhaustive()
    }
}

/// Reads the files that the settings name.
///
/// # Errors
/// Which file can not be used, and why.
pub fn configure(settings: &TlsSettings) -> Result<TlsPlan, TlsConfigError> {
    let roots = match &settings.trust {
        Trust::System => Roots::System,
        Trust::Any => Roots::Any,
        Trust::Files(files) => {
            let mut roots = RootCertStore::empty();
            for file in files {
                for certificate in certificates(file)? {
                    roots.add(certificate).map_err(|_| TlsConfigError::BadCertificate(file.clone()))?;
                }
            }
            Roots::These(Arc::new(roots))
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
        // Whether key and certificate belong together shows when they are put together.
        plan.build(RootCertStore::empty()).map_err(|error| match error {
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

/// The authorities that this system trusts; unreadable ones are left out.
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
    /// Whether certificates are not checked.
    #[must_use]
    pub fn is_insecure(&self) -> bool {
        matches!(self.roots, Roots::Any)
    }

    /// Whether new connections may take up earlier sessions.
    #[must_use]
    pub fn resumes(&self) -> bool {
        self.resumption
    }

    /// Whether this client has a certificate of its own.
    #[must_use]
    pub fn has_identity(&self) -> bool {
        self.identity.is_some()
    }

    /// Gets ready what the first connection would have to wait for.
    ///
    /// # Errors
    /// When no server could be believed.
    pub fn prepare(&self) -> Result<(), TlsConfigError> {
        self.config().map(|_| ())
    }

    fn config(&self) -> Result<&Arc<ClientConfig>, TlsConfigError> {
        if let Some(config) = self.made.get() {
            return Ok(config);
        }
        let roots = match &self.roots {
            Roots::System => system_roots(),
            Roots::These(roots) => (**roots).clone(),
            Roots::Any => RootCertStore::empty(),
        };
        if roots.is_empty() && !self.is_insecure() {
            return Err(TlsConfigError::NoSystemRoots);
        }
        let config = Arc::new(self.build(roots).map_err(|_| TlsConfigError::Unusable)?);
        Ok(self.made.get_or_init(|| config))
    }

    fn build(&self, roots: RootCertStore) -> Result<ClientConfig, rustls::Error> {
        let builder = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions()?;
        let builder = if self.is_insecure() {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(verify::BelieveAll::new(provider())))
        } else {
            builder.with_root_certificates(roots)
        };
        let mut config = match &self.identity {
            Some((chain, key)) => builder.with_client_auth_cert(chain.clone(), key.clone_key())?,
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = self.protocols.iter().map(|name| name.to_vec()).collect();
        Ok(config)
    }

    /// A copy for one thread, with sessions of its own, so that threads do not wait for each other.
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

/// The name that a server of that origin must prove to have; `None` when no certificate can hold it.
#[must_use]
pub fn server_name(origin: &Origin) -> Option<ServerName<'static>> {
    ServerName::try_from(origin.host.to_string()).ok()
}
