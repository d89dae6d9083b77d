//! The header fields of requests: fields that the user sets, and defaults.

use super::args::{Checks, Requests};
use crate::failure::Failure;
use crate::input_file;
use crate::secret_reference::expand;
use base64::Engine;
use base64::engine::GeneralPurpose;
use engine::plan;
use std::path::Path;
use wire::{Header, HeaderName, HeaderValue};

/// The program's own `User-Agent`.
pub const USER_AGENT: &str = concat!("plimsoll/", env!("CARGO_PKG_VERSION"));

pub const BASE64: GeneralPurpose = base64::engine::general_purpose::STANDARD;

/// Returns the conditions for a successful response. The conditions depend on the header fields of the request.
pub fn checks(flags: &Checks, headers: &[Header]) -> Result<plan::Checks, Failure> {
    let (expected, most) = (flags.expect_header.len(), plan::EXPECTED_HEADERS_MAX);
    if expected > most {
        return Err(Failure::usage(format!("--expect-header is given {expected} times; the maximum is {most}")));
    }
    Ok(plan::Checks {
        statuses: flags.expect_status.clone(),
        ranges: if flags.accept_200_ranges { plan::RangeStatus::Also200 } else { plan::RangeStatus::Only206 },
        size: flags.expect_size.map(|size| size.0),
        headers: flags.expect_header.iter().map(|line| header(line, "--expect-header")).collect::<Result<_, _>>()?,
        encoding_asked: headers
            .iter()
            .any(|header| header.name.is("accept-encoding") && !header.value.as_str().eq_ignore_ascii_case("identity")),
        etag_is_name: false,
    })
}

/// Returns all header fields except Host and Connection. The user's fields come first, in their order, and then the
/// defaults.
pub fn headers(flags: &Requests, credentials: Option<String>) -> Result<Vec<Header>, Failure> {
    let mut given = Vec::new();
    for line in &flags.headers {
        match line.strip_prefix('@') {
            Some(path) => {
                let text = input_file::read_text(Path::new(path))?;
                for (line, number) in text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty()) {
                    given.push(kept(header(line, &format!("{path}, line {number}"))?));
                }
            }
            None => {
                let expanded = expand(line, "-H")?;
                let typed = header(&expanded, "-H")?;
                given.push(if expanded == *line { typed } else { kept(typed) });
            }
        }
    }
    for name in ["connection", "content-length", "transfer-encoding", "range"] {
        if given.iter().any(|header| header.name.is(name)) {
            let instead = match name {
                "connection" => "--no-keepalive",
                "range" => "--range SIZE with --range-at OFFSET",
                _ => "--body-file FILE",
            };
            return Err(Failure::usage(format!("-H cannot set '{name}', which the program sets; use {instead}")));
        }
    }
    let mut add = |name: &str, value: &str| -> Result<(), Failure> {
        let name = HeaderName::parse(name).map_err(Failure::usage)?;
        let value = HeaderValue::parse(value).map_err(|error| Failure::usage(format!("{}: {error}", name.as_str())))?;
        given.push(Header { name, value });
        Ok(())
    };
    if !flags.cookies.is_empty() {
        let cookies = flags.cookies.iter().map(|text| cookie(text)).collect::<Result<Vec<_>, _>>()?;
        add("Cookie", &cookies.join("; "))?;
    }
    let user = flags.user.as_deref().map(|user| expand(user, "-u")).transpose()?.or(credentials);
    if let Some(user) = user {
        if !user.contains(':') {
            return Err(Failure::usage("-u: use the form user:password, @FILE or ${ENV}"));
        }
        add("Authorization", &format!("Basic {}", BASE64.encode(user)))?;
    }
    let defaults = [("User-Agent", USER_AGENT), ("Accept", "*/*"), ("Accept-Encoding", "identity")];
    for (name, value) in defaults {
        if !given.iter().any(|header| header.name.is(name)) {
            let name = HeaderName::parse(name).map_err(Failure::usage)?;
            given.push(Header { name, value: HeaderValue::parse(value).map_err(Failure::usage)? });
        }
    }
    Ok(given)
}

/// Marks a header field as secret, because its value comes from a file or the environment.
fn kept(header: Header) -> Header {
    Header { value: header.value.into_secret(), ..header }
}

/// Parses one or several cookies. Error messages never contain cookies, because they may be secrets.
fn cookie(text: &str) -> Result<String, Failure> {
    let cookies = expand(text, "-C")?;
    let is_pair = |pair: &str| pair.split_once('=').is_some_and(|(name, _)| !name.trim().is_empty());
    let pairs: Vec<&str> = cookies.split(';').map(str::trim).filter(|pair| !pair.is_empty()).collect();
    if pairs.is_empty() || !pairs.iter().all(|pair| is_pair(pair)) {
        return Err(Failure::usage(
            "-C: a cookie has the form NAME=VALUE, for example session=abc or 'a=1; b=2'; @FILE reads it from a file",
        ));
    }
    Ok(pairs.join("; "))
}

fn header(line: &str, place: &str) -> Result<Header, Failure> {
    Header::parse(line).map_err(|error| Failure::usage(format!("{place}: {error}")))
}
