//! Checks of status, range, header fields and size. Pure functions compute the outcome from request and response.

use crate::plan::{Checks, Follow, RangeStatus};
use measure::{AttemptClass, AttemptOutcome, Cause, Phase};
use wire::range::ByteRange;
use wire::response::{Head, RangeField};

/// Properties of a request that are needed to judge its response.
#[derive(Clone, Copy, Debug)]
pub(in crate::run_loop) struct Expected {
    pub range: Option<ByteRange>,
    pub follow: Follow,
    /// Size of the object, if it is known and the whole object was requested.
    pub size: Option<u64>,
    /// One bit for each required header field. The bit is set if the response contains the field.
    pub headers_matched: u128,
}

/// Next step of an attempt after the head of its response has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::run_loop) enum AfterHead {
    /// The body is read. The attempt succeeds unless something is wrong with the body.
    Read,
    /// The body is read so that the connection can be kept. Then the attempt fails with this outcome.
    ReadAndFail(AttemptOutcome),
    /// The connection is closed without reading the body.
    Close(AttemptOutcome),
    /// The body is read. Then the redirect is followed.
    Redirect,
}

fn failed(class: AttemptClass, cause: Cause, phase: Phase) -> AttemptOutcome {
    AttemptOutcome::failed(class, cause, phase)
}

/// Judges a final head.
pub(in crate::run_loop) fn judge_head(head: &Head, expected: &Expected, checks: &Checks) -> AfterHead {
    use AfterHead::{Close, Read, ReadAndFail, Redirect};
    let status = head.status;
    if matches!(status, 301 | 302 | 303 | 307 | 308) && !checks.statuses.contains(&status) {
        if matches!(expected.follow, Follow::UpTo(..)) {
            return Redirect;
        }
        return ReadAndFail(failed(AttemptClass::Http3xx, Cause::NotFollowed, Phase::Head));
    }
    let range = |cause| failed(AttemptClass::Range, cause, Phase::Head);
    match (status, expected.range) {
        (200, Some(wanted)) if holds_range(head, wanted) => match checks.ranges {
            RangeStatus::Only206 => return ReadAndFail(range(Cause::RangeBy200)),
            RangeStatus::Also200 => {}
        },
        (200, Some(_)) => return Close(range(Cause::RangeIgnored)),
        (206, None) => return ReadAndFail(range(Cause::UnrequestedPartial)),
        (206, Some(_)) if head.content_type_multipart_byteranges => return ReadAndFail(range(Cause::MultipartRange)),
        (206, Some(wanted)) => match &head.content_range {
            RangeField::Valid(found) if found.range == Some(expected_range(wanted, head)) => {}
            RangeField::Valid(_) => return ReadAndFail(range(Cause::WrongContentRange)),
            RangeField::Absent | RangeField::Invalid => return ReadAndFail(range(Cause::NoContentRange)),
        },
        (416, Some(wanted)) if !checks.statuses.contains(&416) => {
            let beyond = object_size(head).is_some_and(|size| wanted.within(size).is_none());
            return ReadAndFail(range(if beyond { Cause::RangeBeyondEnd } else { Cause::RangeRefused }));
        }
        _ => {}
    }
    let good =
        if checks.statuses.is_empty() { (200..300).contains(&status) } else { checks.statuses.contains(&status) };
    if !good {
        let by_status = |class| ReadAndFail(failed(class, Cause::Status, Phase::Head));
        return match status {
            429 | 503 => by_status(AttemptClass::Throttled),
            401 | 407 => by_status(AttemptClass::Auth),
            304 => ReadAndFail(failed(AttemptClass::Http3xx, Cause::NotModified, Phase::Head)),
            300..400 => by_status(AttemptClass::Http3xx),
            400..500 => by_status(AttemptClass::Http4xx),
            500..600 => by_status(AttemptClass::Http5xx),
            _ => ReadAndFail(failed(AttemptClass::Unexpected, Cause::StatusDiffers, Phase::Head)),
        };
    }
    if (expected.headers_matched.count_ones() as usize) < checks.fields() {
        return ReadAndFail(failed(AttemptClass::Unexpected, Cause::HeaderDiffers, Phase::Head));
    }
    Read
}

/// Returns whether a response has the requested `Content-Range`. If the response declares a length, this length must
/// equal the length of the range.
fn holds_range(head: &Head, wanted: ByteRange) -> bool {
    let expected = expected_range(wanted, head);
    let has_its_length = head.declared_length.is_none_or(|length| length == expected.len());
    let has_its_place = matches!(&head.content_range, RangeField::Valid(found) if found.range == Some(expected));
    has_its_length && has_its_place
}

/// Returns the size of the whole object, from `Content-Range`.
fn object_size(head: &Head) -> Option<u64> {
    match head.content_range {
        RangeField::Valid(found) => found.complete,
        RangeField::Absent | RangeField::Invalid => None,
    }
}

/// Returns the range that a server must send for `wanted`. A range that extends beyond the object ends where the object
/// ends (RFC 9110 §14.1.2).
pub(in crate::run_loop) fn expected_range(wanted: ByteRange, head: &Head) -> ByteRange {
    object_size(head).and_then(|size| wanted.within(size)).unwrap_or(wanted)
}

/// Returns the maximum size of a body. Bytes beyond this size are not read.
pub(in crate::run_loop) fn size_max(expected: &Expected, checks: &Checks) -> Option<u64> {
    expected.range.map(ByteRange::len).or(checks.size).or(expected.size)
}

/// Judges a complete response whose head was good.
pub(in crate::run_loop) fn judge_size(
    expected: &Expected,
    checks: &Checks,
    body_bytes: u64,
    has_body: bool,
) -> AttemptOutcome {
    if let Some(range) = expected.range.filter(|_| has_body)
        && body_bytes != range.len()
    {
        return failed(AttemptClass::Range, Cause::WrongRangeLength, Phase::Body);
    }
    let size = if expected.range.is_none() { checks.size.or(expected.size) } else { checks.size };
    if let Some(size) = size.filter(|_| has_body)
        && body_bytes != size
    {
        return failed(AttemptClass::Integrity, Cause::SizeDiffers, Phase::Body);
    }
    AttemptOutcome::OK
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Follow;
    use wire::message::Version;
    use wire::response::RequestKind;

    fn judged(status: u16, fields: &[(&str, &str)], range: Option<ByteRange>) -> AfterHead {
        let fields = fields.iter().map(|(name, value)| (*name, value.as_bytes()));
        let head = Head::of_fields(Version::Http11, status, RequestKind::Other, fields, &mut |_, _| {}).unwrap();
        let expected = Expected { range, follow: Follow::Never, size: None, headers_matched: 0 };
        judge_head(&head, &expected, &Checks::default())
    }

    fn cause(after: AfterHead) -> Cause {
        match after {
            AfterHead::Read | AfterHead::Redirect => Cause::None,
            AfterHead::ReadAndFail(outcome) | AfterHead::Close(outcome) => outcome.cause,
        }
    }

    #[test]
    fn a_206_must_have_the_requested_range() {
        let range = ByteRange::of_length(10, 5);
        let found = |value: &'static str| [("content-range", value)];
        assert_eq!(judged(206, &found("bytes 10-14/100"), range), AfterHead::Read);
        assert_eq!(
            judged(206, &found("bytes 10-12/13"), range),
            AfterHead::Read,
            "a range may end where the object ends"
        );
        assert_eq!(cause(judged(206, &found("bytes 11-15/100"), range)), Cause::WrongContentRange);
        assert_eq!(cause(judged(206, &found("bytes a"), range)), Cause::NoContentRange);
        assert_eq!(cause(judged(206, &[], range)), Cause::NoContentRange);
        assert_eq!(cause(judged(206, &found("bytes 10-14/100"), None)), Cause::UnrequestedPartial);
        let parts = [("content-type", "multipart/byteranges; boundary=x")];
        assert_eq!(cause(judged(206, &parts, range)), Cause::MultipartRange);
        assert!(matches!(judged(200, &[], range), AfterHead::Close(_)), "the whole object must not be read");
        assert_eq!(cause(judged(416, &found("bytes */5"), range)), Cause::RangeBeyondEnd);
        assert_eq!(cause(judged(416, &found("bytes */50"), range)), Cause::RangeRefused);
    }

    #[test]
    fn statuses_have_classes() {
        let class = |status| match judged(status, &[], None) {
            AfterHead::ReadAndFail(outcome) => Some(outcome.class),
            _ => None,
        };
        assert_eq!([200, 204].map(class), [None; 2]);
        assert_eq!([429, 503].map(class), [Some(AttemptClass::Throttled); 2]);
        assert_eq!([401, 407].map(class), [Some(AttemptClass::Auth); 2]);
        assert_eq!([302, 304].map(class), [Some(AttemptClass::Http3xx); 2]);
        assert_eq!([404, 500].map(class), [Some(AttemptClass::Http4xx), Some(AttemptClass::Http5xx)]);
    }
}
