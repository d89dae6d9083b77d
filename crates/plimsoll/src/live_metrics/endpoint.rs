//! The HTTP endpoint of an OpenTelemetry collector. Only the host that the user named is contacted.

use crate::failure::Failure;
use crate::{redact, single_request};
use engine::plan::{BodyPlan, Plan, RequestPlan};
use engine::{OpEntry, single_requests};
use measure::{AttemptClass, OpKind};
use report::escape::bounded;
use std::sync::Arc;
use std::time::Duration;
use wire::{Header, HeaderName, HeaderValue};

/// Path of the endpoint for metrics, if the URL has no path.
const PATH: &str = "v1/metrics";
/// Environment variable with header fields, as in other programs that use OTLP.
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
/// Maximum time of a push.
const PUSH_MAX: Duration = Duration::from_secs(5);
/// Maximum length of the server's explanation of a failure, in characters.
const EXPLANATION_MAX: usize = 200;

/// The endpoint of a collector.
#[derive(Debug)]
pub struct Endpoint {
    plan: Plan,
    request: RequestPlan,
    /// The URL without secrets.
    pub shown: String,
}

impl Endpoint {
    /// Returns the endpoint at a URL, with the header fields from the environment.
    ///
    /// # Errors
    /// Fails if the URL or the header fields are wrong.
    pub fn new(url: &str) -> Result<Self, Failure> {
        let failed = |failure: Failure| Failure::usage(format!("--otlp: {}", failure.into_message()));
        let url = full(url);
        let plan = single_request::plan(&url, None, PUSH_MAX).map_err(failed)?;
        let mut request =
            plan.mix.requests().first().cloned().unwrap_or_else(|| RequestPlan::new("POST", OpKind::Request));
        (request.method, request.kind) = ("POST".into(), OpKind::Request);
        request.headers.extend(Header::parse(&format!("Content-Type: {}", telemetry::otlp::CONTENT_TYPE)));
        // A value that is not UTF-8 may be a secret, so it must not appear in an error message either.
        if let Some(text) = std::env::var_os(HEADERS) {
            request.headers.extend(headers(&text.to_string_lossy()).map_err(Failure::usage)?);
        }
        Ok(Self { plan, request, shown: redact::url_text(&url) })
    }

    /// Sends a message once.
    ///
    /// # Errors
    /// Returns why the collector did not accept the message.
    pub fn push(&self, message: Vec<u8>) -> Result<(), String> {
        let body = Some(BodyPlan::of_bytes(Arc::from(message)));
        let request = RequestPlan { body, ..self.request.clone() };
        match single_requests::exchange(&self.plan, request) {
            Ok(Some(op)) if op.outcome.class == AttemptClass::Ok => Ok(()),
            Ok(Some(op)) => Err(explanation(&op)),
            Ok(None) => Err("the request did not end".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Returns the URL, with the usual path of OTLP if it has none.
fn full(url: &str) -> String {
    let has_path = wire::Url::parse(url).is_ok_and(|url| url.path() != "/" || url.query().is_some());
    if has_path { url.to_owned() } else { format!("{}/{PATH}", url.trim_end_matches('/')) }
}

fn explanation(op: &OpEntry) -> String {
    let about = match op.status {
        Some(status) => format!("status {status}"),
        None => op.outcome.cause.about().to_owned(),
    };
    let text = String::from_utf8_lossy(op.message.as_deref().unwrap_or_default()).into_owned();
    let line = text.lines().next().unwrap_or_default().trim();
    // The message is usually protobuf, which is not readable.
    let is_readable = !line.is_empty() && !line.chars().any(|letter| letter.is_control() || letter == '\u{fffd}');
    if is_readable { format!("{about}: {}", bounded(line, EXPLANATION_MAX)) } else { about }
}

/// Parses header fields in the form `NAME=VALUE,NAME=VALUE`, with percent-encoded values. Error messages contain no
/// values, because these may be secrets.
fn headers(text: &str) -> Result<Vec<Header>, String> {
    let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty()).zip(1..);
    let header = |(pair, number): (&str, usize)| {
        let wrong = |why: &dyn std::fmt::Display| format!("{HEADERS}: header {number}: {why}");
        let (name, value) = pair.split_once('=').ok_or_else(|| wrong(&"write NAME=VALUE"))?;
        let name = HeaderName::parse(name.trim()).map_err(|error| wrong(&error))?;
        let value = HeaderValue::parse(&wire::percent::decode_path(value.trim())).map_err(|error| wrong(&error))?;
        Ok(Header { name, value: value.into_secret() })
    };
    pairs.map(header).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_path_is_added_to_a_url_without_a_path() {
        for (url, expected) in [
            ("http://host:4318", "http://host:4318/v1/metrics"),
            ("http://host:4318/", "http://host:4318/v1/metrics"),
            ("https://me:pw@host", "https://me:pw@host/v1/metrics"),
            ("http://host/otlp/v1/metrics", "http://host/otlp/v1/metrics"),
            ("http://host/?tenant=a", "http://host/?tenant=a"),
        ] {
            assert_eq!(full(url), expected);
        }
    }

    #[test]
    fn headers_are_secrets_and_errors_do_not_show_them() {
        let parsed = headers("Authorization=Bearer%20CANARY, x-tenant = a=b,").unwrap();
        let shown: Vec<_> = parsed.iter().map(|header| (header.name.as_str(), header.value.as_str())).collect();
        assert_eq!(shown, [("Authorization", "Bearer CANARY"), ("x-tenant", "a=b")]);
        assert!(parsed.iter().all(Header::is_secret));
        assert!(!format!("{parsed:?}").contains("CANARY"));
        for text in ["CANARY", "a=b,CANARY", "CAN ARY=x", "a=CANARY%0A"] {
            let error = headers(text).unwrap_err();
            assert!(error.starts_with(HEADERS) && !error.contains("CAN"), "{error}");
        }
    }

    #[test]
    fn mistakes_in_the_url_name_the_flag() {
        for url in ["ftp://host", "http://", "host:4318"] {
            let message = Endpoint::new(url).unwrap_err().into_message();
            assert!(message.starts_with("--otlp: "), "{message}");
        }
        assert_eq!(Endpoint::new("http://me:pw@127.0.0.1:4318").unwrap().shown, "http://127.0.0.1:4318/v1/metrics");
    }
}
