//! Outcomes of attempts that failed because of the connection, the stream or the syntax of the response. Outcomes
//! depend only on kinds of errors and on received bytes, never on the texts of messages.

use crate::http2_session::Failure;
use crate::plan::SourceChanged;
use crate::run_loop::request::upload::BodyDefect;
use measure::{AttemptClass, AttemptOutcome, Cause, Phase};
use std::io;
use wire::gateway::Fault;
use wire::message::Truncated;
use wire::response::Malformed;

/// Returns the outcome of a response that cannot be parsed any further. `tls` means that the bytes of the response are
/// TLS.
pub(in crate::run_loop) fn of_malformed(error: Malformed, phase: Phase, tls: bool) -> AttemptOutcome {
    let cause = match error {
        Malformed::NotHttp if tls => Cause::TlsResponse,
        Malformed::HeadTooLarge | Malformed::TooManyHeaders => Cause::HeadTooLarge,
        Malformed::BadHead => Cause::BadHead,
        Malformed::NotHttp => Cause::NotHttp,
        Malformed::BadStatus => Cause::BadStatus,
        Malformed::BadContentLength => Cause::BadContentLength,
        Malformed::TransferEncodingInHttp10 | Malformed::UnknownTransferEncoding => Cause::BadTransferEncoding,
        Malformed::TooManyInterim => Cause::TooManyInterim,
        Malformed::UnexpectedSwitch => Cause::UnexpectedSwitch,
        Malformed::BadChunk => Cause::BadChunk,
        Malformed::ChunkExtensionsTooLarge => Cause::ChunkExtensionsTooLarge,
        Malformed::TrailersTooLarge => Cause::TrailersTooLarge,
    };
    AttemptOutcome::failed(AttemptClass::Protocol, cause, phase)
}

/// Returns the outcome of a gateway's response whose body is not the requested content.
pub(in crate::run_loop) fn of_gateway(fault: &Fault) -> AttemptOutcome {
    use AttemptClass::{Incomplete, Integrity, Unexpected};
    let (class, cause) = match fault {
        Fault::NotCar(_) => (Integrity, Cause::NotACar),
        Fault::OtherRoot { .. } => (Integrity, Cause::OtherRoot),
        Fault::BadFraming { .. } | Fault::BadNode(_) => (Integrity, Cause::BadCar),
        Fault::CutShort { .. } => (Incomplete, Cause::CarCutShort),
        Fault::RootMissing => (Integrity, Cause::RootMissing),
        Fault::BlockMissing { .. } => (Integrity, Cause::BlockMissing),
        Fault::PathMissing(_) => (Integrity, Cause::PathMissing),
        Fault::BlockDiffers(_) => (Integrity, Cause::BlockDiffers),
        Fault::Unrelated { .. } => (Integrity, Cause::UnrelatedBlock),
        // The body may be right, but could not be checked. The class is not a success, because a success would mean
        // that the body was checked and found right.
        Fault::Unsupported { .. } => (Unexpected, Cause::Unverifiable),
    };
    AttemptOutcome::failed(class, cause, Phase::Body)
}

/// Returns the outcome of an attempt whose body or local file cannot be read.
pub(in crate::run_loop) fn of_local_file(error: &io::Error, phase: Phase) -> AttemptOutcome {
    let has_changed = matches!(error.get_ref(), Some(error) if error.is::<SourceChanged>());
    let is_defect = matches!(error.get_ref(), Some(error) if error.is::<BodyDefect>());
    let (class, cause) = match error.raw_os_error() {
        _ if is_defect => (AttemptClass::Internal, Cause::Defect),
        _ if has_changed => (AttemptClass::LocalFile, Cause::SourceChanged),
        Some(EMFILE | ENFILE) => (AttemptClass::ClientResource, Cause::OutOfDescriptors),
        _ => (AttemptClass::LocalFile, Cause::BodyUnreadable),
    };
    AttemptOutcome::failed(class, cause, phase)
}

/// Returns the outcome of a response that the server cut off by closing the connection.
pub(in crate::run_loop) fn of_truncated(error: Truncated) -> AttemptOutcome {
    match error {
        Truncated::BeforeHead => {
            AttemptOutcome::failed(AttemptClass::ClosedEarly, Cause::ClosedBeforeHead, Phase::Head)
        }
        Truncated::InHead => AttemptOutcome::failed(AttemptClass::Incomplete, Cause::HeadCutShort, Phase::Head),
        Truncated::InBody => AttemptOutcome::failed(AttemptClass::Incomplete, Cause::BodyCutShort, Phase::Body),
        Truncated::InChunks => AttemptOutcome::failed(AttemptClass::Incomplete, Cause::ChunksCutShort, Phase::Body),
    }
}

/// Returns the outcome of a stream that failed. `begins` tests the first bytes that were received on the connection of
/// the stream.
pub(in crate::run_loop) fn of_stream(
    failure: Failure,
    phase: Phase,
    begins: impl Fn(fn(&[u8]) -> bool) -> bool,
) -> AttemptOutcome {
    let (class, cause) = match failure {
        Failure::Refused => (AttemptClass::Reset, Cause::StreamRefused),
        Failure::AboveGoaway => (AttemptClass::Reset, Cause::AboveGoaway),
        Failure::Reset(_) => (AttemptClass::Reset, Cause::StreamReset),
        Failure::GoneAway(_) => (AttemptClass::Reset, Cause::GoneAway),
        Failure::Closed => (AttemptClass::ClosedEarly, Cause::ClosedBeforeHead),
        Failure::BadStream(_) => (AttemptClass::Protocol, Cause::BadStream),
        Failure::BadConnection(_) if begins(|bytes| bytes.starts_with(b"HTTP/")) => {
            (AttemptClass::Protocol, Cause::NotHttp2)
        }
        Failure::BadConnection(_) if begins(crate::tls::outcome::is_tls) => {
            (AttemptClass::Protocol, Cause::TlsResponse)
        }
        Failure::BadConnection(_) => (AttemptClass::Protocol, Cause::BadHttp2),
        Failure::TooManyInterim => (AttemptClass::Protocol, Cause::TooManyInterim),
        Failure::Defect => (AttemptClass::Internal, Cause::Defect),
    };
    AttemptOutcome::failed(class, cause, phase)
}

/// Returns the outcome of a connection that could not be opened.
pub(in crate::run_loop) fn of_connect_error(error: &io::Error) -> AttemptOutcome {
    use std::io::ErrorKind;
    let (class, cause) = match error.kind() {
        ErrorKind::ConnectionRefused => (AttemptClass::ConnectRefused, Cause::Refused),
        // The file of the Unix socket does not exist, so nothing listens there.
        ErrorKind::NotFound => (AttemptClass::ConnectRefused, Cause::Refused),
        ErrorKind::TimedOut => (AttemptClass::ConnectTimeout, Cause::ConnectTimedOut),
        ErrorKind::AddrNotAvailable | ErrorKind::AddrInUse => (AttemptClass::ClientResource, Cause::OutOfPorts),
        ErrorKind::OutOfMemory => (AttemptClass::ClientResource, Cause::OutOfMemory),
        ErrorKind::NetworkUnreachable | ErrorKind::HostUnreachable => (AttemptClass::ConnectOther, Cause::Unreachable),
        _ => match error.raw_os_error() {
            Some(EMFILE | ENFILE) => (AttemptClass::ClientResource, Cause::OutOfDescriptors),
            Some(ENOBUFS | ENOMEM) => (AttemptClass::ClientResource, Cause::OutOfMemory),
            _ => (AttemptClass::ConnectOther, Cause::ConnectFailed),
        },
    };
    AttemptOutcome::failed(class, cause, Phase::Connect)
}

// Linux error numbers that `ErrorKind` has no name for.
const ENOMEM: i32 = 12;
const ENFILE: i32 = 23;
pub(crate) const EMFILE: i32 = 24;
const ENOBUFS: i32 = 105;
