//! What an answer amounts to: pure functions from what was asked and what came to an outcome.

use crate::http2::Failure;
use crate::plan::{Checks, Follow, RangeStatus};
use measure::{AttemptClass, AttemptOutcome, Cause, Phase};
use wire::gateway::Fault;
use wire::message::Truncated;
use wire::range::ByteRange;
use wire::response::{Head, Malformed, RangeField};

/// What was asked, as far as the answer is judged by it.
#[derive(Clone, Copy, Debug)]
pub(in crate::run_loop) struct Asked {
    pub range: Option<ByteRange>,
    pub follow: Follow,
    /// Size of the whole object, when known and the whole object was asked for.
    pub size: Option<u64>,
    /// One bit for each header field that had to be there and was.
    pub headers_matched: u128,
}

/// What to do once the head is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::run_loop) enum AtHead {
    /// Read the body; good unless something is wrong with it.
    Read,
    /// Read the body, since the connection stays useful; the outcome is known already.
    Doomed(AttemptOutcome),
    /// Do not read the body: close the connection.
    Cut(AttemptOutcome),
    /// Read the body, then follow the redirect.
    Redirect,
}

fn failed(class: AttemptClass, cause: Cause, phase: Phase) -> AttemptOutcome {
    AttemptOutcome::failed(class, cause, phase)
}

/// Judges a final head.
pub(in crate::run_loop) fn at_head(head: &Head, asked: &Asked, checks: &Checks) -> AtHead {
    use AtHead::{Cut, Doomed, Read, Redirect};
    let status = head.status;
    if matches!(status, 301 | 302 | 303 | 307 | 308) && !checks.statuses.contains(&status) {
        if matches!(asked.follow, Follow::UpTo(..)) {
            return Redirect;
        }
        return Doomed(failed(AttemptClass::Http3xx, Cause::NotFollowed, Phase::Head));
    }
    let range = |cause| failed(AttemptClass::Range, cause, Phase::Head);
    match (status, asked.range) {
        (200, Some(wanted)) if holds_range(head, wanted) => match checks.ranges {
            RangeStatus::Only206 => return Doomed(range(Cause::RangeBy200)),
            RangeStatus::Also200 => {}
        },
        (200, Some(_)) => return Cut(range(Cause::RangeIgnored)),
        (206, None) => return Doomed(range(Cause::UnaskedPartial)),
        (206, Some(_)) if head.content_type_multipart_byteranges => return Doomed(range(Cause::MultipartRange)),
        (206, Some(wanted)) => match &head.content_range {
            RangeField::Valid(found) if found.range == Some(expected_range(wanted, head)) => {}
            RangeField::Valid(_) => return Doomed(range(Cause::WrongContentRange)),
            RangeField::Absent | RangeField::Invalid => return Doomed(range(Cause::NoContentRange)),
        },
        (416, Some(wanted)) if !checks.statuses.contains(&416) => {
            let beyond = object_size(head).is_some_and(|size| wanted.within(size).is_none());
            return Doomed(range(if beyond { Cause::RangeBeyondEnd } else { Cause::RangeRefused }));
        }
        _ => {}
    }
    let good =
        if checks.statuses.is_empty() { (200..300).contains(&status) } else { checks.statuses.contains(&status) };
    if !good {
        let by_status = |class| Doomed(failed(class, Cause::Status, Phase::Head));
        return match status {
            429 | 503 => by_status(AttemptClass::Throttled),
            401 | 407 => by_status(AttemptClass::Auth),
            304 => Doomed(failed(AttemptClass::Http3xx, Cause::NotModified, Phase::Head)),
            300..400 => by_status(AttemptClass::Http3xx),
            400..500 => by_status(AttemptClass::Http4xx),
            500..600 => by_status(AttemptClass::Http5xx),
            _ => Doomed(failed(AttemptClass::Unexpected, Cause::StatusDiffers, Phase::Head)),
        };
    }
    if (asked.headers_matched.count_ones() as usize) < checks.fields() {
        return Doomed(failed(AttemptClass::Unexpected, Cause::HeaderDiffers, Phase::Head));
    }
    Read
}

/// Whether a response has the `Content-Range` that was asked for and, as far as it declares a length, the range's bytes alone.
fn holds_range(head: &Head, wanted: ByteRange) -> bool {
    let expected = expected_range(wanted, head);
    let has_its_length = head.declared_length.is_none_or(|length| length == expected.len());
    let has_its_place = matches!(&head.content_range, RangeField::Valid(found) if found.range == Some(expected));
    has_its_length && has_its_place
}

/// Size of the whole object, as a `Content-Range` tells it.
fn object_size(head: &Head) -> Option<u64> {
    match head.content_range {
        RangeField::Valid(found) => found.complete,
        RangeField::Absent | RangeField::Invalid => None,
    }
}

/// What a server owes who asked for `wanted`: a range that reaches beyond the object ends with it (RFC 9110 §14.1.2).
pub(in crate::run_loop) fn expected_range(wanted: ByteRange, head: &Head) -> ByteRange {
    object_size(head).and_then(|size| wanted.within(size)).unwrap_or(wanted)
}

/// The size that a body must not exceed: what is beyond is not read.
pub(in crate::run_loop) fn size_cap(asked: &Asked, checks: &Checks) -> Option<u64> {
    asked.range.map(ByteRange::len).or(checks.size).or(asked.size)
}

/// Judges a complete answer whose head was good.
pub(in crate::run_loop) fn at_end(asked: &Asked, checks: &Checks, body_bytes: u64, has_body: bool) -> AttemptOutcome {
    if let Some(range) = asked.range.filter(|_| has_body)
        && body_bytes != range.len()
    {
        return failed(AttemptClass::Range, Cause::WrongRangeLength, Phase::Body);
    }
    let expected = if asked.range.is_none() { checks.size.or(asked.size) } else { checks.size };
    if let Some(expected) = expected.filter(|_| has_body)
        && body_bytes != expected
    {
        return failed(AttemptClass::Integrity, Cause::SizeDiffers, Phase::Body);
    }
    AttemptOutcome::OK
}

/// The outcome of an answer that can not be read any further; `tls` says that its bytes are those of TLS.
pub(in crate::run_loop) fn of_malformed(error: Malformed, phase: Phase, tls: bool) -> AttemptOutcome {
    let cause = match error {
        Malformed::NotHttp if tls => Cause::TlsAnswer,
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
    failed(AttemptClass::Protocol, cause, phase)
}

/// The outcome of a body that is not what was asked of a gateway.
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
        // Nothing is known to be wrong, but a success would claim a check that did not happen.
        Fault::Unsupported { .. } => (Unexpected, Cause::Unverifiable),
    };
    failed(class, cause, Phase::Body)
}

/// The outcome of an answer that the server cut short by closing.
pub(in crate::run_loop) fn of_truncated(error: Truncated) -> AttemptOutcome {
    match error {
        Truncated::BeforeHead => failed(AttemptClass::ClosedEarly, Cause::ClosedBeforeHead, Phase::Head),
        Truncated::InHead => failed(AttemptClass::Incomplete, Cause::HeadCutShort, Phase::Head),
        Truncated::InBody => failed(AttemptClass::Incomplete, Cause::BodyCutShort, Phase::Body),
        Truncated::InChunks => failed(AttemptClass::Incomplete, Cause::ChunksCutShort, Phase::Body),
    }
}

/// The outcome of a stream that did not end well; `begins` tests the first bytes that came on its connection.
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
        Failure::BadConnection(_) if begins(crate::tls::outcome::is_tls) => (AttemptClass::Protocol, Cause::TlsAnswer),
        Failure::BadConnection(_) => (AttemptClass::Protocol, Cause::BadHttp2),
        Failure::TooManyInterim => (AttemptClass::Protocol, Cause::TooManyInterim),
        Failure::Defect => (AttemptClass::Internal, Cause::Defect),
    };
    failed(class, cause, phase)
}

/// The outcome of a connection that could not be opened.
pub(in crate::run_loop) fn of_connect_error(error: &std::io::Error) -> AttemptOutcome {
    use std::io::ErrorKind;
    let (class, cause) = match error.kind() {
        ErrorKind::ConnectionRefused => (AttemptClass::ConnectRefused, Cause::Refused),
        // A unix socket that nobody listens on is not there.
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
    failed(class, cause, Phase::Connect)
}

// Linux numbers of errors that `ErrorKind` has no name for.
const ENOMEM: i32 = 12;
const ENFILE: i32 = 23;
pub(crate) const EMFILE: i32 = 24;
const ENOBUFS: i32 = 105;
