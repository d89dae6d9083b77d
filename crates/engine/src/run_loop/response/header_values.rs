//! What answers say of themselves beside their bytes: why they refuse, which checksum their body has, which state of an
//! object they show.
//!
//! Whatever a server says decides by a closed set of codes and values, never by its text, which is only shown.

use crate::plan::{Answers, Auth, Plan, RequestPlan, Subject, Wanted};
use crate::run_loop::operation::op::Body;
use crate::run_loop::response::checks::{self, AtHead};
use measure::{AttemptClass, AttemptOutcome, Cause, Phase};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use wire::checksum::{self, Algorithm, Checksum};
use wire::date::http_seconds;
use wire::response::{Head, RangeField};
use wire::s3::{ErrorBody, ErrorCode};

/// Bytes that are kept of a message that says why something was refused.
pub(in crate::run_loop) const SAID_BYTES_MAX: usize = 64 << 10;
/// Bytes of a header field's value that are looked at.
const FIELD_BYTES_MAX: usize = 256;
/// Characters of a server's own words that an example shows.
const SHOWN_CHARACTERS_MAX: usize = 200;
/// The longest wait that is noted of what a server asks for: a day.
const RETRY_AFTER_MAX: u64 = 86_400;
/// Objects whose state a thread remembers.
const SEEN_MAX: usize = 100_000;

const ACKED_LOST: AttemptOutcome = AttemptOutcome::failed(AttemptClass::Integrity, Cause::AckedLost, Phase::Head);
const OBJECT_CHANGED: AttemptOutcome =
    AttemptOutcome::failed(AttemptClass::Integrity, Cause::ObjectChanged, Phase::Head);
const NO_HASH: AttemptOutcome = AttemptOutcome::failed(AttemptClass::Integrity, Cause::NoHash, Phase::Head);

/// The header fields of the answer being read that something may depend on.
#[derive(Debug, Default)]
pub(in crate::run_loop) struct Heard {
    /// Whether more than the time to wait is of interest.
    all: bool,
    date: Vec<u8>,
    retry_after: Vec<u8>,
    etag: Vec<u8>,
    /// The checksum of the body, and the kind of one that is to come behind it.
    told: Option<Checksum>,
    announced: Option<Algorithm>,
}

impl Heard {
    pub fn new(plan: &Plan) -> Self {
        let asks = |request: &RequestPlan| request.range.is_some() || matches!(request.answers, Answers::Digested(_));
        Self { all: speaks_s3(plan) || plan.mix.requests().iter().any(asks), ..Self::default() }
    }

    /// Forgets what was said.
    #[inline]
    pub fn clear(&mut self) {
        self.retry_after.clear();
        if self.all {
            self.date.clear();
            self.etag.clear();
            (self.told, self.announced) = (None, None);
        }
    }

    #[inline]
    pub fn see(&mut self, name: &[u8], value: &[u8]) {
        if self.all || name.len() == b"retry-after".len() {
            self.look_at(name, value);
        }
    }

    fn look_at(&mut self, name: &[u8], value: &[u8]) {
        let is = |wanted: &str| name.eq_ignore_ascii_case(wanted.as_bytes());
        let field = match name.len() {
            4 if is("date") => &mut self.date,
            4 if is("etag") => &mut self.etag,
            11 if is("retry-after") => &mut self.retry_after,
            7 | 13 if is("trailer") || is("x-amz-trailer") => {
                self.announced = self.announced.or_else(|| announced(value));
                return;
            }
            _ => {
                self.told = self.told.or_else(|| checksum::of_field(name, value));
                return;
            }
        };
        field.clear();
        field.extend_from_slice(&value[..value.len().min(FIELD_BYTES_MAX)]);
    }
}

fn announced(value: &[u8]) -> Option<Algorithm> {
    value.split(|byte| *byte == b',').find_map(|name| Algorithm::of_field(name.trim_ascii()))
}

/// Whether requests are those of S3.
pub(in crate::run_loop) fn speaks_s3(plan: &Plan) -> bool {
    matches!(plan.auth, Auth::S3 { .. } | Auth::S3Anonymous)
}

/// What a refusal said in its head.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::run_loop) struct Refusal {
    /// Seconds by which the server's clock is ahead of ours.
    ahead: Option<i64>,
    /// Seconds to wait.
    retry_after: Option<u64>,
}

impl Refusal {
    /// `wall` is our time when the request was sent, in seconds since 1970.
    pub fn of(heard: &Heard, wall: u64) -> Self {
        let until = || http_seconds(&heard.retry_after).map(|at| at.saturating_sub(wall));
        let seconds = std::str::from_utf8(&heard.retry_after).ok().and_then(|text| text.trim().parse().ok());
        let ahead = |date: u64| i64::try_from(i128::from(date) - i128::from(wall)).ok();
        Self {
            ahead: http_seconds(&heard.date).and_then(ahead),
            retry_after: seconds.or_else(until).map(|seconds: u64| seconds.min(RETRY_AFTER_MAX)),
        }
    }

    /// What an example shows of it beside the server's words.
    fn show(self, outcome: AttemptOutcome, said: &mut String) {
        let more = match (outcome, self.ahead, self.retry_after) {
            (AttemptOutcome { cause: Cause::ClockSkew, .. }, Some(ahead), _) if ahead >= 0 => {
                format!("its clock is {ahead} s ahead of this host's")
            }
            (AttemptOutcome { cause: Cause::ClockSkew, .. }, Some(ahead), _) => {
                format!("its clock is {} s behind this host's", ahead.unsigned_abs())
            }
            (AttemptOutcome { class: AttemptClass::Throttled, .. }, _, Some(seconds)) => {
                format!("asks to wait {seconds} s")
            }
            _ => return,
        };
        if !said.is_empty() {
            said.push_str("; ");
        }
        said.push_str(&more);
    }
}

/// What a head comes to, beyond what [`crate::run_loop::response::checks::at_head`] says of it.
pub(in crate::run_loop) fn at_head(
    judged: AtHead,
    request: &RequestPlan,
    head: &Head,
    changed: impl FnOnce() -> bool,
) -> AtHead {
    match judged {
        AtHead::Doomed(AttemptOutcome { cause: Cause::Status, .. })
            if matches!(head.status, 404 | 410) && matches!(request.answers, Answers::Compared(_)) =>
        {
            AtHead::Doomed(ACKED_LOST)
        }
        AtHead::Read if request.range.is_some() && matches!(head.status, 200 | 206) && changed() => {
            AtHead::Doomed(OBJECT_CHANGED)
        }
        _ => judged,
    }
}

/// The states of objects that were seen first, by the origin that showed them.
#[derive(Debug, Default)]
pub(in crate::run_loop) struct Seen(HashMap<(Subject, usize), State>);

#[derive(Clone, Copy, Debug)]
struct State {
    /// A hash of the ETag.
    etag: Option<u64>,
    /// Length of the whole object.
    length: Option<u64>,
}

impl Seen {
    /// Whether a range shows another state of its object than one before.
    pub fn differs(&mut self, subject: Subject, origin: usize, head: &Head, heard: &Heard) -> bool {
        let RangeField::Valid(range) = head.content_range else { return false };
        let etag = (!heard.etag.is_empty()).then(|| {
            let mut hasher = DefaultHasher::new();
            heard.etag.hash(&mut hasher);
            hasher.finish()
        });
        let now = State { etag, length: range.complete };
        let room = self.0.len() < SEEN_MAX;
        let Some(first) = self.0.get_mut(&(subject, origin)) else {
            if room {
                self.0.insert((subject, origin), now);
            }
            return false;
        };
        let differ = |a: Option<u64>, b: Option<u64>| a.zip(b).is_some_and(|(a, b)| a != b);
        let differs = differ(first.etag, now.etag) || differ(first.length, now.length);
        *first = State { etag: first.etag.or(now.etag), length: first.length.or(now.length) };
        differs
    }
}

/// A body on its way through a hash.
#[derive(Debug)]
pub(in crate::run_loop) struct Digesting {
    hasher: checksum::Hasher,
    /// `None` when it comes in a trailer.
    expected: Option<Checksum>,
    algorithm: Algorithm,
}

impl Digesting {
    /// # Errors
    /// The answer says nothing that its body could be compared with.
    pub fn begin(wanted: &Wanted, heard: &Heard) -> Result<Self, AttemptOutcome> {
        let expected = match wanted {
            Wanted::Given(checksum) => Some(*checksum),
            Wanted::Etag => Some(md5_of_etag(&heard.etag).ok_or(NO_HASH)?),
            Wanted::Told => heard.told,
        };
        let algorithm = expected.map(|checksum| checksum.algorithm()).or(heard.announced).ok_or(NO_HASH)?;
        Ok(Self { hasher: checksum::Hasher::new(algorithm), expected, algorithm })
    }

    #[inline]
    pub fn update(&mut self, piece: &[u8]) {
        self.hasher.update(piece);
    }

    fn judge<'t>(self, mut trailers: impl Iterator<Item = (&'t [u8], &'t [u8])>, said: &mut String) -> AttemptOutcome {
        let in_trailer = || trailers.find_map(|(name, value)| checksum::of_field(name, value));
        let expected = self.expected.or_else(in_trailer).filter(|found| found.algorithm() == self.algorithm);
        let Some(expected) = expected else { return AttemptOutcome { phase: Phase::Body, ..NO_HASH } };
        let found = self.hasher.finish();
        if found == expected {
            return AttemptOutcome::OK;
        }
        *said = format!("expected {expected}, got {found}");
        AttemptOutcome::failed(AttemptClass::Integrity, Cause::HashDiffers, Phase::Body)
    }
}

/// The ETag of an object that was sent in one piece is its MD5.
fn md5_of_etag(etag: &[u8]) -> Option<Checksum> {
    let text = std::str::from_utf8(etag).ok()?.trim();
    Checksum::from_hex(Algorithm::Md5, text.strip_prefix('"')?.strip_suffix('"')?)
}

/// Judges a complete answer that is good so far by what its body says or hashes to. `said` gets what an example shows.
pub(in crate::run_loop) fn of_success<'t>(
    body: &mut Body<'_>,
    s3: bool,
    trailers: impl Iterator<Item = (&'t [u8], &'t [u8])>,
    said: &mut String,
) -> AttemptOutcome {
    match body {
        Body::Digested(_) => match std::mem::take(body) {
            Body::Digested(digesting) => digesting.judge(trailers, said),
            _ => AttemptOutcome::OK,
        },
        Body::Gateway(_) => match std::mem::take(body) {
            Body::Gateway(check) => match check.end() {
                Ok(()) => AttemptOutcome::OK,
                Err(fault) => {
                    *said = fault.to_string();
                    checks::of_gateway(&fault)
                }
            },
            _ => AttemptOutcome::OK,
        },
        Body::Said(message) | Body::Kept(message) if s3 => match ErrorBody::parse(message) {
            Ok(error) => {
                *said = shown(&error.code, &error.message);
                AttemptOutcome::failed(AttemptClass::S3Error, Cause::ErrorWithin200, Phase::Body)
            }
            Err(_) => AttemptOutcome::OK,
        },
        _ => AttemptOutcome::OK,
    }
}

/// Judges a refusal by the code in its body, where it has one.
pub(in crate::run_loop) fn of_refusal(
    outcome: AttemptOutcome,
    body: &Body<'_>,
    refusal: Refusal,
    said: &mut String,
) -> AttemptOutcome {
    let error = match body {
        Body::Said(message) => ErrorBody::parse(message).ok(),
        _ => None,
    };
    let found = error.as_ref().and_then(|error| of_code(&error.code));
    let outcome = found.map_or(outcome, |(class, cause)| AttemptOutcome { class, cause, ..outcome });
    *said = error.as_ref().map(|error| shown(&error.code, &error.message)).unwrap_or_default();
    refusal.show(outcome, said);
    outcome
}

fn of_code(code: &ErrorCode) -> Option<(AttemptClass, Cause)> {
    let cause = match code {
        ErrorCode::SlowDown => return Some((AttemptClass::Throttled, Cause::SlowDown)),
        ErrorCode::ServiceUnavailable => return Some((AttemptClass::Throttled, Cause::Status)),
        ErrorCode::RequestTimeTooSkewed => Cause::ClockSkew,
        ErrorCode::SignatureDoesNotMatch => Cause::SignatureDiffers,
        ErrorCode::AuthorizationHeaderMalformed => Cause::AuthorizationMalformed,
        ErrorCode::InvalidAccessKeyId => Cause::UnknownAccessKey,
        ErrorCode::ExpiredToken => Cause::TokenExpired,
        ErrorCode::InvalidToken => Cause::TokenInvalid,
        ErrorCode::AccessDenied => Cause::AccessDenied,
        _ => return None,
    };
    Some((AttemptClass::Auth, cause))
}

/// What an example shows of an error.
pub(in crate::run_loop) fn shown(code: &ErrorCode, message: &str) -> String {
    format!("{code}: {message}").chars().take(SHOWN_CHARACTERS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(fields: &[(&str, &str)]) -> Heard {
        let mut heard = Heard { all: true, ..Heard::default() };
        fields.iter().for_each(|(name, value)| heard.see(name.as_bytes(), value.as_bytes()));
        heard
    }

    #[test]
    fn waits_and_clocks_are_read() {
        const NOW: u64 = 1_369_353_600;
        let of = |retry: &str| Refusal::of(&heard(&[("Retry-After", retry)]), NOW).retry_after;
        assert_eq!(of("30"), Some(30));
        assert_eq!(of("Fri, 24 May 2013 00:01:00 GMT"), Some(60));
        assert_eq!(of("Thu, 23 May 2013 00:01:00 GMT"), Some(0));
        assert_eq!(of("99999999999"), Some(RETRY_AFTER_MAX));
        assert_eq!((of("soon"), of("")), (None, None));
        let skew = |date: &str| {
            let refusal = Refusal::of(&heard(&[("date", date)]), NOW);
            let (mut said, cause) = (String::new(), Cause::ClockSkew);
            refusal.show(AttemptOutcome::failed(AttemptClass::Auth, cause, Phase::Head), &mut said);
            said
        };
        assert_eq!(skew("Fri, 24 May 2013 01:00:00 GMT"), "its clock is 3600 s ahead of this host's");
        assert_eq!(skew("Thu, 23 May 2013 23:59:59 GMT"), "its clock is 1 s behind this host's");
        assert_eq!(skew("yesterday"), "");
    }

    #[test]
    fn a_body_is_compared_with_what_its_answer_says() {
        let judge = |wanted: Wanted, fields: &[(&str, &str)], trailers: &[(&str, &str)]| {
            let mut digesting = match Digesting::begin(&wanted, &heard(fields)) {
                Ok(digesting) => digesting,
                Err(outcome) => return outcome.cause,
            };
            digesting.update(b"123456789");
            let trailers = trailers.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
            digesting.judge(trailers, &mut String::new()).cause
        };
        let etag = "\"25f9e794323b453885f5181f1b624d0b\"";
        for (wanted, fields, trailers, cause) in [
            (Wanted::Etag, &[("ETag", etag)][..], &[][..], Cause::None),
            (Wanted::Etag, &[("ETag", "\"25f9e794323b453885f5181f1b624d0c\"")], &[], Cause::HashDiffers),
            (Wanted::Etag, &[("ETag", "\"25f9e794323b453885f5181f1b624d0b-2\"")], &[], Cause::NoHash),
            (Wanted::Etag, &[], &[], Cause::NoHash),
            (Wanted::Told, &[("x-amz-checksum-crc32", "y/Q5Jg==")], &[], Cause::None),
            (Wanted::Told, &[("x-amz-checksum-crc32", "y/Q5Jw==")], &[], Cause::HashDiffers),
            (Wanted::Told, &[("Content-MD5", "JfnnlDI7RTiF9RgfG2JNCw==")], &[], Cause::None),
            (
                Wanted::Told,
                &[("Trailer", "x-amz-checksum-crc32")],
                &[("x-amz-checksum-crc32", "y/Q5Jg==")],
                Cause::None,
            ),
            (Wanted::Told, &[("Trailer", "x-amz-checksum-crc32")], &[], Cause::NoHash),
            (Wanted::Told, &[("ETag", etag)], &[], Cause::NoHash),
            (Wanted::Given(Algorithm::Sha1.of(b"123456789")), &[], &[], Cause::None),
            (Wanted::Given(Algorithm::Sha1.of(b"")), &[], &[], Cause::HashDiffers),
        ] {
            assert_eq!(judge(wanted.clone(), fields, trailers), cause, "{wanted:?} {fields:?} {trailers:?}");
        }
    }
}
