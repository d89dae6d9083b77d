//! Faults that a request selects in its query.

use std::time::Duration;

use percent_encoding::percent_decode_str;
use wire::Header;

use measure::units::{ByteSize, parse_span};

use crate::faults::body::BodyFaults;

/// Maximum number of headers that one query may add.
const HEADERS_MAX: usize = 16;
/// Header fields that frame a message or control its connection. Only the server may set these fields.
const OWN_HEADERS: [&str; 5] = ["content-length", "transfer-encoding", "connection", "content-range", "location"];
/// Maximum length of the target of a redirect.
const REDIRECT_BYTES_MAX: usize = 8 * 1024;

/// The faults in a query.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct QueryFaults {
    pub(crate) delay: Duration,
    pub(crate) status: Option<u16>,
    pub(crate) chunked: bool,
    pub(crate) close: bool,
    pub(crate) headers: Vec<Header>,
    pub(crate) redirect: Option<Redirect>,
    /// `true` if the query has `redirect` without a value, which means that another server of the cluster redirected
    /// the client.
    pub(crate) redirected_here: bool,
    pub(crate) body: BodyFaults,
}

/// A redirect that a query requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Redirect {
    pub(crate) code: u16,
    pub(crate) location: Box<str>,
}

/// A message for the client about a mistake in its query.
pub(crate) type QueryError = &'static str;

impl QueryFaults {
    /// Parses a query. Unknown parameters are ignored.
    pub(crate) fn parse(query: &str) -> Result<Self, QueryError> {
        let mut faults = Self::default();
        let mut code = None;
        let mut location = None;
        for parameter in query.split('&') {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let value = || percent_decode_str(value).decode_utf8().map_err(|_| "the query is not UTF-8");
            match name {
                "delay" => faults.delay = delay(&value()?)?,
                "status" => faults.status = Some(status(&value()?)?),
                "chunked" => faults.chunked = true,
                "close" => faults.close = true,
                "header" => faults.add_header(&value()?)?,
                "redirect" if parameter == "redirect" => faults.redirected_here = true,
                "redirect" => location = Some(redirect(&value()?)?),
                "truncate" => faults.body.cut = Some(size(&value()?, TRUNCATE)?),
                "flip" => faults.body.flip = Some(size(&value()?, FLIP)?),
                "code" => code = Some(redirect_code(&value()?)?),
                _ => {}
            }
        }
        faults.redirect = location.map(|location| Redirect { code: code.unwrap_or(307), location });
        Ok(faults)
    }

    fn add_header(&mut self, line: &str) -> Result<(), QueryError> {
        let header = Header::parse(line).map_err(|_| "header= takes Name:value, percent-encoded")?;
        if OWN_HEADERS.iter().any(|name| header.name.is(name)) {
            return Err("header= cannot set headers that frame the message or control the connection");
        }
        if self.headers.len() == HEADERS_MAX {
            return Err("header= may occur at most 16 times");
        }
        self.headers.push(header);
        Ok(())
    }
}

const DELAY: QueryError = "delay= must be a time like 250us, 20ms, 2s or 1m, up to 10m";

const TRUNCATE: QueryError = "truncate= must be the number of body bytes to send, like 1000 or 64KiB";
const FLIP: QueryError = "flip= must be the offset of the wrong body byte, like 1000 or 64KiB";

fn size(text: &str, wrong: QueryError) -> Result<u64, QueryError> {
    text.parse().map(|ByteSize(bytes)| bytes).map_err(|_| wrong)
}

/// Maximum delay that a query can request.
const DELAY_MAX: Duration = Duration::from_secs(600);

fn delay(text: &str) -> Result<Duration, QueryError> {
    parse_span(text).ok().filter(|span| *span <= DELAY_MAX).ok_or(DELAY)
}

fn status(text: &str) -> Result<u16, QueryError> {
    let status = three_digits(text).filter(|status| (200..600).contains(status));
    status.ok_or("status= must be a code from 200 to 599")
}

fn redirect_code(text: &str) -> Result<u16, QueryError> {
    let code = three_digits(text).filter(|code| matches!(code, 301 | 302 | 303 | 307 | 308));
    code.ok_or("code= must be 301, 302, 303, 307 or 308")
}

fn three_digits(text: &str) -> Option<u16> {
    (text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

fn redirect(text: &str) -> Result<Box<str>, QueryError> {
    let sound =
        !text.is_empty() && text.len() <= REDIRECT_BYTES_MAX && text.bytes().all(|byte| byte.is_ascii_graphic());
    if sound { Ok(text.into()) } else { Err("redirect= must be a percent-encoded path or URL without spaces") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_fault_parses() {
        let faults = QueryFaults::parse(
            "delay=20ms&status=503&chunked&close&header=X-Cache:hit&header=A%3A%20b%26c&redirect=%2Fx%3Fy%3D1&code=308&v=7",
        )
        .unwrap();
        assert_eq!((faults.delay, faults.status), (Duration::from_millis(20), Some(503)));
        assert!(faults.chunked && faults.close);
        let headers: Vec<String> = faults.headers.iter().map(ToString::to_string).collect();
        assert_eq!(headers, ["X-Cache: hit", "A: b&c"]);
        assert_eq!(faults.redirect, Some(Redirect { code: 308, location: "/x?y=1".into() }));
        let body_faults = QueryFaults::parse("truncate=1KiB&flip=0").unwrap().body;
        assert_eq!(body_faults, BodyFaults { cut: Some(1024), flip: Some(0) });
        assert_eq!(QueryFaults::parse("redirect=http://h/").unwrap().redirect.unwrap().code, 307);
        assert!(QueryFaults::parse("a=1&redirect").unwrap().redirected_here);
        assert_eq!(QueryFaults::parse("cache-buster=1&x&&=&code=307"), Ok(QueryFaults::default()));
    }

    #[test]
    fn invalid_values_are_rejected() {
        for query in [
            "delay=",
            "delay=1h",
            "truncate=",
            "flip=-1",
            "status=100",
            "status=600",
            "status=+20",
            "code=300",
            "header=none",
            "header=A:%0d%0aB:c",
            "header=content-Length:3",
            "redirect=",
            "redirect=a%20b",
            "redirect=%0d%0aX:y",
            "redirect=%ff",
        ] {
            assert!(QueryFaults::parse(query).is_err(), "{query}");
        }
        let many = "header=A:b&".repeat(HEADERS_MAX);
        assert!(QueryFaults::parse(many.trim_end_matches('&')).is_ok());
        assert!(QueryFaults::parse(&format!("{many}header=A:b")).is_err());
    }

    proptest! {
        #[test]
        fn parsed_values_are_always_valid(query in "((delay|status|header|redirect|code)=[!-~]{0,20}&?){0,4}") {
            if let Ok(faults) = QueryFaults::parse(&query) {
                prop_assert!(faults.status.is_none_or(|status| (200..600).contains(&status)));
                for text in faults.headers.iter().map(|header| header.value.as_str()) {
                    prop_assert!(!text.contains(['\r', '\n']));
                }
                let location = faults.redirect.map(|redirect| redirect.location).unwrap_or_default();
                prop_assert!(location.bytes().all(|byte| byte.is_ascii_graphic()));
            }
        }
    }
}
