//! Outcomes of TLS failures. Outcomes are derived from rustls' kinds of errors and from bytes, never from text.

use super::verify;
use measure::{AttemptClass, AttemptOutcome, Cause, Phase};
use rustls::pki_types::UnixTime;
use rustls::{CertificateError, Error};

/// Types of TLS records. A record begins with its type and the major version.
const RECORD_TYPES: std::ops::RangeInclusive<u8> = 20..=23;
/// Major version in every TLS record.
const RECORD_MAJOR: u8 = 3;

/// Returns the outcome of a handshake that failed. `began_plain` means that the server sent plain HTTP.
pub(crate) fn of_handshake(error: &Error, began_plain: bool) -> AttemptOutcome {
    let (class, cause) = match error {
        Error::InvalidCertificate(error) => (AttemptClass::TlsCert, of_certificate(error)),
        Error::NoCertificatesPresented => (AttemptClass::TlsCert, Cause::CertInvalid),
        Error::AlertReceived(_) => (AttemptClass::TlsHandshake, Cause::TlsAlert),
        Error::PeerIncompatible(_) | Error::NoApplicationProtocol => {
            (AttemptClass::TlsHandshake, Cause::TlsIncompatible)
        }
        _ if began_plain => (AttemptClass::TlsHandshake, Cause::PlainResponse),
        _ => (AttemptClass::TlsHandshake, Cause::TlsBroken),
    };
    AttemptOutcome::failed(class, cause, Phase::Tls)
}

fn of_certificate(error: &CertificateError) -> Cause {
    match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => Cause::CertExpired,
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => Cause::CertNotYetValid,
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => Cause::CertWrongHost,
        CertificateError::UnknownIssuer => Cause::CertUnknownIssuer,
        _ => Cause::CertInvalid,
    }
}

/// Returns the outcome for an established connection that ended because of a bad record or an alert. In TLS 1.3, a
/// server can refuse a client certificate only after the handshake has ended for the client. An alert before the first
/// response therefore counts as a failure of the handshake.
pub(crate) fn of_record(error: &Error, phase: Phase, unanswered: bool) -> AttemptOutcome {
    let (class, cause) = match error {
        Error::AlertReceived(_) if unanswered => (AttemptClass::TlsHandshake, Cause::TlsAlert),
        Error::AlertReceived(_) => (AttemptClass::Reset, Cause::TlsAlert),
        _ => (AttemptClass::Protocol, Cause::BadTlsRecord),
    };
    AttemptOutcome::failed(class, cause, phase)
}

/// Returns the details of an error, which reports show with an example of the failure.
pub(crate) fn detail(error: &Error) -> String {
    match error {
        Error::AlertReceived(alert) => format!("alert {} ({alert:?})", u8::from(*alert)),
        Error::InvalidCertificate(error) => of_invalid(error),
        _ => error.to_string(),
    }
}

/// Returns the problem with a certificate. The error messages of rustls are avoided, because they contain names of Rust
/// types and fields.
fn of_invalid(error: &CertificateError) -> String {
    let days = |from: &UnixTime, until: &UnixTime| until.as_secs().saturating_sub(from.as_secs()) / (24 * 3600);
    match error {
        CertificateError::NotValidForNameContext { presented, .. } => format!("it is for {}", presented.join(", ")),
        CertificateError::UnknownIssuer => "its issuer is not trusted; --cacert FILE adds a trusted issuer".to_owned(),
        CertificateError::ExpiredContext { time, not_after } => {
            format!("it expired {} days ago", days(not_after, time))
        }
        CertificateError::NotValidYetContext { time, not_before } => {
            format!("it becomes valid in {} days", days(time, not_before))
        }
        error if verify::is_of_authority(error) => {
            // An example of a failure shows at most 64 bytes of its detail.
            "a CA certificate (CA:TRUE); to trust it, use --cacert FILE".to_owned()
        }
        CertificateError::Other(other) => other.to_string(),
        CertificateError::BadEncoding => "its encoding is wrong".to_owned(),
        CertificateError::BadSignature => "its signature is wrong".to_owned(),
        CertificateError::Revoked => "it was revoked".to_owned(),
        other => format!("{other:?}"),
    }
}

/// Returns whether bytes that should be HTTP are TLS.
pub(crate) fn is_tls(bytes: &[u8]) -> bool {
    matches!(bytes, [kind, RECORD_MAJOR, ..] if RECORD_TYPES.contains(kind))
}
