//! Refusals of requests by servers. The head and the error message of such a response are parsed.
//!
//! Outcomes depend only on codes and values that this program knows, never on other text. Other text is only shown to
//! users.

use super::body::BodySink;
use super::header_values::HeaderValues;
use crate::run_loop::attempt::failure_outcomes;
use measure::{AttemptClass, AttemptOutcome, Cause, Phase};
use std::time::Duration;
use wire::date::http_seconds;
use wire::s3::{ErrorBody, ErrorCode};

/// Maximum number of characters of a server's message that an example shows.
const SHOWN_CHARACTERS_MAX: usize = 200;
/// Maximum pause that is accepted from `Retry-After`, in seconds. This maximum is one day.
const RETRY_AFTER_MAX: u64 = 86_400;

/// Values from the head of a refusal.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::run_loop) struct Refusal {
    /// Number of seconds by which the server's clock is ahead of this host's clock.
    ahead: Option<i64>,
    /// Number of seconds to wait, from `Retry-After`.
    retry_after: Option<u64>,
}

impl Refusal {
    /// Reads the head of a refusal. `wall` is this host's time when the request was sent, in seconds since 1970.
    pub fn of(values: &HeaderValues, wall: u64) -> Self {
        let until = || http_seconds(&values.retry_after).map(|at| at.saturating_sub(wall));
        let seconds = std::str::from_utf8(&values.retry_after).ok().and_then(|text| text.trim().parse().ok());
        let ahead = |date: u64| i64::try_from(i128::from(date) - i128::from(wall)).ok();
        Self {
            ahead: http_seconds(&values.date).and_then(ahead),
            retry_after: seconds.or_else(until).map(|seconds: u64| seconds.min(RETRY_AFTER_MAX)),
        }
    }

    /// Returns the pause that the server requests.
    pub fn pause(self) -> Option<Duration> {
        self.retry_after.map(Duration::from_secs)
    }

    /// Adds the values that explain `outcome` to the server's message.
    fn explain(self, outcome: AttemptOutcome, message: &mut String) {
        let more = match (outcome, self.ahead, self.retry_after) {
            (AttemptOutcome { cause: Cause::ClockSkew, .. }, Some(ahead), _) => {
                let direction = if ahead >= 0 { "ahead of" } else { "behind" };
                format!("the server's clock is {} s {direction} this host's", ahead.unsigned_abs())
            }
            (AttemptOutcome { class: AttemptClass::Throttled, .. }, _, Some(seconds)) => {
                format!("asks to wait {seconds} s")
            }
            _ => return,
        };
        if !message.is_empty() {
            message.push_str("; ");
        }
        message.push_str(&more);
    }
}

/// Judges the body of a complete response that passed all other checks. Writes the explanation of a failure to
/// `message`.
pub(in crate::run_loop) fn of_success<'t>(
    body: &mut BodySink<'_>,
    s3: bool,
    trailers: impl Iterator<Item = (&'t [u8], &'t [u8])>,
    message: &mut String,
) -> AttemptOutcome {
    if let BodySink::Error(text) | BodySink::Keep(text) = body {
        let error = if s3 { ErrorBody::parse(text).ok() } else { None };
        return error.map_or(AttemptOutcome::OK, |error| {
            *message = shown(&error.code, &error.message);
            AttemptOutcome::failed(AttemptClass::S3Error, Cause::ErrorWithin200, Phase::Body)
        });
    }
    if matches!(body, BodySink::KeepList(_)) {
        return AttemptOutcome::OK;
    }
    match std::mem::take(body) {
        BodySink::Digest(digest) => digest.finish(trailers, message),
        BodySink::Gateway(check) => check.end().map_or_else(
            |fault| {
                *message = fault.to_string();
                failure_outcomes::of_gateway(&fault)
            },
            |()| AttemptOutcome::OK,
        ),
        BodySink::Discard
        | BodySink::Compare(_)
        | BodySink::CompareFile(_)
        | BodySink::Keep(_)
        | BodySink::KeepList(_)
        | BodySink::Error(_)
        | BodySink::Excerpt(_) => AttemptOutcome::OK,
    }
}

/// Judges a refusal by the error code in its body, if there is one. Writes the explanation to `message`.
pub(in crate::run_loop) fn of_refusal(
    outcome: AttemptOutcome,
    body: &BodySink<'_>,
    refusal: Refusal,
    message: &mut String,
) -> AttemptOutcome {
    let error = match body {
        BodySink::Error(text) => ErrorBody::parse(text).ok(),
        _ => None,
    };
    let found = error.as_ref().and_then(|error| of_code(&error.code));
    let outcome = found.map_or(outcome, |(class, cause)| AttemptOutcome { class, cause, ..outcome });
    *message = match (&error, body) {
        (Some(error), _) => shown(&error.code, &error.message),
        (None, BodySink::Excerpt(text)) => excerpt(text),
        (None, _) => String::new(),
    };
    refusal.explain(outcome, message);
    outcome
}

/// Returns the beginning of a refusal on one line. For an HTML page, this is the title, and otherwise the text.
fn excerpt(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let lower = text.to_ascii_lowercase();
    let title = || {
        let from = lower.find("<title>")? + "<title>".len();
        text.get(from..from + lower.get(from..)?.find('<')?)
    };
    let is_page = lower.trim_start().starts_with("<!doctype") || lower.trim_start().starts_with("<html");
    let shown = if is_page { title().unwrap_or_default() } else { &text };
    let words: Vec<&str> = shown.split_whitespace().collect();
    let line = words.join(" ");
    let mut cut: String = line.chars().take(SHOWN_CHARACTERS_MAX).collect();
    if cut.len() < line.len() {
        cut.push('…');
    }
    if cut.is_empty() { cut } else { format!("the server says: {cut}") }
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

/// Returns the text that an example shows for an S3 error.
pub(in crate::run_loop) fn shown(code: &ErrorCode, message: &str) -> String {
    format!("{code}: {message}").chars().take(SHOWN_CHARACTERS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_shown_on_one_short_line() {
        let shown = |text: &str| excerpt(text.as_bytes());
        assert_eq!(shown("{\"error\":\n  \"no such share\"}"), "the server says: {\"error\": \"no such share\"}");
        let page = "\n<!DOCTYPE html>\n<html><head><Title>Not  here</title></head><body>long</body></html>";
        assert_eq!(shown(page), "the server says: Not here");
        assert_eq!(shown("<html><body>no title</body></html>"), "");
        assert_eq!((shown(""), shown(" \n ")), (String::new(), String::new()));
        let long = shown(&"ö".repeat(3000));
        assert_eq!(long.chars().count(), "the server says: ".len() + SHOWN_CHARACTERS_MAX + 1);
        assert!(excerpt(b"\xff\xfe<title>").contains('\u{fffd}'));
    }

    #[test]
    fn retry_times_and_clocks_are_read() {
        const NOW: u64 = 1_369_353_600;
        let of = |retry: &str| Refusal::of(&HeaderValues::of(&[("Retry-After", retry)]), NOW).retry_after;
        assert_eq!(of("30"), Some(30));
        assert_eq!(of("Fri, 24 May 2013 00:01:00 GMT"), Some(60));
        assert_eq!(of("Thu, 23 May 2013 00:01:00 GMT"), Some(0));
        assert_eq!(of("99999999999"), Some(RETRY_AFTER_MAX));
        assert_eq!((of("soon"), of("")), (None, None));
        let skew = |date: &str| {
            let refusal = Refusal::of(&HeaderValues::of(&[("date", date)]), NOW);
            let (mut message, cause) = (String::new(), Cause::ClockSkew);
            refusal.explain(AttemptOutcome::failed(AttemptClass::Auth, cause, Phase::Head), &mut message);
            message
        };
        assert_eq!(skew("Fri, 24 May 2013 01:00:00 GMT"), "the server's clock is 3600 s ahead of this host's");
        assert_eq!(skew("Thu, 23 May 2013 23:59:59 GMT"), "the server's clock is 1 s behind this host's");
        assert_eq!(skew("yesterday"), "");
    }
}
