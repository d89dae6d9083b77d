//! Certificates that are generated for one use, together with the CA that signs them.

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose,
};
use std::io;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A new certificate of a server, with its key. The private key of the CA is destroyed after signing, so nobody can use
/// the CA to make other certificates that clients trust.
pub struct GeneratedCertificate {
    ca_pem: String,
    certificate: Certificate,
    key: KeyPair,
}

impl GeneratedCertificate {
    /// Generates a certificate for a server with these DNS names and IP addresses. `authority` and `server` are the
    /// common names of the two certificates.
    ///
    /// # Errors
    /// Fails if a host is neither a DNS name nor an IP address.
    pub fn new(hosts: Vec<String>, authority: &str, server: &str) -> io::Result<Self> {
        Self::generate(hosts, authority, server).map_err(io::Error::other)
    }

    fn generate(hosts: Vec<String>, authority_name: &str, server_name: &str) -> Result<Self, rcgen::Error> {
        let mut authority = CertificateParams::new(Vec::new())?;
        authority.distinguished_name = named(authority_name);
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let authority_key = KeyPair::generate()?;
        let ca_pem = authority.self_signed(&authority_key)?.pem();

        let mut server = CertificateParams::new(hosts)?;
        server.distinguished_name = named(server_name);
        server.use_authority_key_identifier_extension = true;
        server.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate()?;
        let certificate = server.signed_by(&key, &Issuer::new(authority, authority_key))?;
        Ok(Self { ca_pem, certificate, key })
    }

    /// Returns the certificate of the CA, in PEM.
    #[must_use]
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// Returns the certificate of the server, in PEM.
    #[must_use]
    pub fn certificate_pem(&self) -> String {
        self.certificate.pem()
    }

    /// Returns the private key of the server, in PEM.
    #[must_use]
    pub fn key_pem(&self) -> String {
        self.key.serialize_pem()
    }

    /// Returns the certificate and the private key of the server.
    pub(crate) fn into_parts(self) -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
        (self.certificate.der().clone(), self.key.into())
    }
}

fn named(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}
