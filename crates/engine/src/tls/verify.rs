//! The check of servers' certificates. rustls makes this check, with two exceptions: certificates that the user lists
//! are trusted, and the check can be turned off.

use super::provider;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{VerifierBuilderError, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::sync::Arc;

/// Verifier of the certificates of servers. The server must always prove that it has the key, so a handshake costs the
/// same with every kind of trust.
#[derive(Debug)]
pub(super) struct Verifier {
    provider: Arc<CryptoProvider>,
    trusted: Trusted,
}

#[derive(Debug)]
enum Trusted {
    /// Every certificate for every name.
    All,
    /// Certificates that a root signed, and listed certificates. A server may use a listed certificate even if it is
    /// the certificate of a CA, because self-signed certificates from openssl usually are CA certificates.
    Some { signed: Arc<WebPkiServerVerifier>, listed: Vec<CertificateDer<'static>> },
}

impl Verifier {
    /// Returns a verifier that accepts every certificate for every name.
    pub(super) fn without_check() -> Self {
        Self { provider: provider(), trusted: Trusted::All }
    }

    /// Returns a verifier that accepts certificates that one of these roots signed, and listed certificates.
    ///
    /// # Errors
    /// Fails if there are no roots.
    pub(super) fn new(
        roots: RootCertStore,
        listed: Vec<CertificateDer<'static>>,
    ) -> Result<Self, VerifierBuilderError> {
        let signed = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider()).build()?;
        Ok(Self { provider: provider(), trusted: Trusted::Some { signed, listed } })
    }
}

/// Returns whether a certificate was refused because it is the certificate of a CA. webpki checks the dates first. The
/// result is therefore `false` for an expired certificate.
pub(super) fn is_of_authority(error: &CertificateError) -> bool {
    let CertificateError::Other(other) = error else { return false };
    matches!(other.0.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity))
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Trusted::Some { signed, listed } = &self.trusted else { return Ok(ServerCertVerified::assertion()) };
        let verified = signed.verify_server_cert(certificate, intermediates, name, ocsp, now);
        match &verified {
            Err(Error::InvalidCertificate(error)) if is_of_authority(error) && listed.contains(certificate) => {
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
