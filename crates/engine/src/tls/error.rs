//! What is wrong with TLS settings, and how to mend it.

use super::Identity;
use std::io;
use std::path::PathBuf;

/// Why TLS can not be spoken as asked. Tells file and mend in one line, and nothing of a key.
#[derive(Debug, thiserror::Error)]
pub enum TlsConfigError {
    /// A file is missing or can not be read.
    #[error("{} can not be read: {}", .0.display(), .1)]
    Unreadable(PathBuf, io::Error),
    /// A file is too large to be what it should be.
    #[error("{} is larger than 16 MiB: is it a file of certificates or keys?", .0.display())]
    TooLarge(PathBuf),
    /// A file holds no certificate.
    #[error("{} holds no certificate: it must have lines like -----BEGIN CERTIFICATE-----", .0.display())]
    NoCertificate(PathBuf),
    /// A file holds something that is no certificate.
    #[error("{} holds a certificate that can not be read: is it whole, and PEM?", .0.display())]
    BadCertificate(PathBuf),
    /// A file holds no private key.
    #[error("{} holds no private key: it must have a line like -----BEGIN PRIVATE KEY-----, without a password", .0.display())]
    NoKey(PathBuf),
    /// A private key is of an unknown kind.
    #[error("the private key in {} can not be used: it must be RSA, ECDSA or Ed25519", .0.display())]
    BadKey(PathBuf),
    /// Key and certificate do not belong together.
    #[error("the key in {} is not that of the certificate in {}", .0.key.display(), .0.certificate.display())]
    KeyOfAnother(Identity),
    /// The system has no authorities.
    #[error("this system has no certificate authorities: name one with --cacert FILE, or install ca-certificates")]
    NoSystemRoots,
    /// Anything else.
    #[error("TLS can not be set up with these settings")]
    Unusable,
}
