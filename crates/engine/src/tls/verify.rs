//! The checks of servers' certificates, besides the check of rustls: trust in certificates that the user lists, and trust
//! without a check.

use super::provider;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{VerifierBuilderError, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::sync::Arc;

/// Returns a verifier for certificates that one of these roots signed.
///
/// # Errors
/// Fails if there are no roots.
pub(super) fn signed_by(roots: RootCertStore) -> Result<Arc<WebPkiServerVerifier>, VerifierBuilderError> {
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider()).build()
}

/// Returns the roots for these CA certificates.
///
/// # Errors
/// Fails if one is not a certificate.
pub(super) fn roots(certificates: &[CertificateDer<'static>]) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    certificates.iter().try_for_each(|certificate| roots.add(certificate.clone()))?;
    Ok(roots)
}

/// Returns whether a certificate was refused because it is the certificate of a CA. webpki checks the dates first.
pub(super) fn is_of_authority(error: &CertificateError) -> bool {
    let CertificateError::Other(other) = error else { return false };
    matches!(other.0.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity))
}

/// Verifier that trusts the listed certificates, and certificates that they signed. A server may use a listed
/// certificate itself, even if it is the certificate of a CA, as self-signed certificates of openssl usually are.
#[derive(Debug)]
pub(super) struct TrustListed {
    listed: Vec<CertificateDer<'static>>,
    signed: Arc<WebPkiServerVerifier>,
}

impl TrustListed {
    /// Returns a verifier for a list of certificates.
    ///
    /// # Errors
    /// Fails if the list is empty, or if one is not a certificate.
    pub(super) fn new(listed: &[CertificateDer<'static>]) -> Result<Self, Error> {
        let signed = signed_by(roots(listed)?).map_err(|error| Error::General(error.to_string()))?;
        Ok(Self { listed: listed.to_vec(), signed })
    }
}

impl ServerCertVerifier for TrustListed {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.signed.verify_server_cert(certificate, intermediates, name, ocsp, now);
        match &verified {
            Err(Error::InvalidCertificate(error)) if is_of_authority(error) && self.listed.contains(certificate) => {
                verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            _ => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.signed.supported_verify_schemes()
    }
}

/// Verifier that accepts every certificate for every name. The server must still prove that it has the key, so a
/// handshake costs as much as with a trusted certificate.
#[derive(Debug)]
pub(super) struct TrustAll {
    provider: Arc<CryptoProvider>,
}

impl TrustAll {
    pub(super) fn new(provider: Arc<CryptoProvider>) -> Self {
        Self { provider }
    }
}

impl ServerCertVerifier for TrustAll {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
