//! The result of a TLS handshake, for the description of the server.

use super::Session;
use rustls::ProtocolVersion;
use rustls::pki_types::CertificateDer;
use x509_cert::Certificate;
use x509_cert::der::Decode;

/// Maximum number of bytes of a certificate's name that are kept.
const NAME_BYTES_MAX: usize = 256;

/// Result of the TLS handshake on the connection of the first successful response. Names come from the server and are
/// not trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Negotiated {
    /// Protocol version, such as `TLSv1.3`.
    pub version: String,
    /// Cipher suite, such as `TLS13_AES_256_GCM_SHA384`.
    pub cipher: String,
    /// Protocol chosen by ALPN, if the server chose one.
    pub protocol: Option<String>,
    /// Server name for which the connection was opened. A name that is not an IP address was also sent as SNI.
    pub server_name: String,
    /// The subject of the certificate.
    pub subject: Option<String>,
    /// The issuer of the certificate.
    pub issuer: Option<String>,
}

impl Negotiated {
    pub(crate) fn of(session: &Session, server_name: &str) -> Self {
        let agreed = session.connection();
        let version = match agreed.protocol_version() {
            Some(ProtocolVersion::TLSv1_2) => "TLSv1.2",
            Some(ProtocolVersion::TLSv1_3) => "TLSv1.3",
            _ => "TLS",
        };
        let cipher = agreed.negotiated_cipher_suite().map(|suite| format!("{:?}", suite.suite()));
        let certificate = agreed.peer_certificates().and_then(<[_]>::first).and_then(read);
        Self {
            version: version.to_owned(),
            cipher: cipher.unwrap_or_default(),
            protocol: agreed.alpn_protocol().map(|name| bounded(&String::from_utf8_lossy(name))),
            server_name: server_name.to_owned(),
            subject: certificate.as_ref().map(|it| bounded(&it.tbs_certificate().subject().to_string())),
            issuer: certificate.as_ref().map(|it| bounded(&it.tbs_certificate().issuer().to_string())),
        }
    }
}

fn read(certificate: &CertificateDer<'_>) -> Option<Certificate> {
    Certificate::from_der(certificate).ok()
}

fn bounded(text: &str) -> String {
    let mut end = text.len().min(NAME_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}
