//! Errors in TLS settings, and their fixes.

use super::Identity;
use std::io;
use std::path::PathBuf;

/// Error in TLS settings. The message has one line, contains the file and the fix, and never shows a key.
#[derive(Debug, thiserror::Error)]
pub enum TlsConfigError {
    /// A file is missing or cannot be read.
    #[error("cannot read {}: {}", .0.display(), .1)]
    Unreadable(PathBuf, io::Error),
    /// A file is too large.
    #[error("{} is larger than 16 MiB: use a file of certificates or keys", .0.display())]
    TooLarge(PathBuf),
    /// A file contains no certificate.
    #[error("{} contains no certificate: it must have lines like -----BEGIN CERTIFICATE-----", .0.display())]
    NoCertificate(PathBuf),
    /// A file contains an invalid certificate.
    #[error("{} contains an invalid certificate: use a complete PEM file", .0.display())]
    BadCertificate(PathBuf),
    /// A file contains no private key.
    #[error("{} contains no private key: it must have a line like -----BEGIN PRIVATE KEY-----, without a password", .0.display())]
    NoKey(PathBuf),
    /// A private key has an unknown type.
    #[error("the private key in {} has an unknown type: it must be RSA, ECDSA or Ed25519", .0.display())]
    BadKey(PathBuf),
    /// Key and certificate do not match.
    #[error("the key in {} does not match the certificate in {}", .0.key.display(), .0.certificate.display())]
    KeyOfAnother(Identity),
    /// The system has no CA certificates.
    #[error("this system has no certificate authorities: name one with --cacert FILE, or install ca-certificates")]
    NoSystemRoots,
    /// Another error of the TLS settings.
    #[error("cannot set up TLS with these settings")]
    Unusable,
}
