//! A case: the actions of the liar on each connection, and the outcome that a client must report.
//!
//! Cases are TOML files. This module parses them into types that cannot contain invalid values. Every error names the
//! place in the file.

use std::net::SocketAddr;
use std::time::Duration;

use serde::Deserialize;
use wire::ByteRange;

use super::step::{RawStep, Step};
use measure::units::{ByteSize, parse_span};

/// Maximum number of connections with their own script.
const CONNECTIONS_MAX: usize = 8;
/// Maximum number of steps in one script.
const STEPS_MAX: usize = 64;
/// The largest body of a request.
const BODY_BYTES_MAX: u64 = 64 << 20;

/// A misbehavior, and the outcome that a client must report.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The name of the case's file, without its extension.
    pub name: Box<str>,
    /// A short description of the misbehavior.
    pub about: Box<str>,
    /// The number of the misbehavior in docs/liar.md (14 to 66).
    pub row: u16,
    /// Instructions for a client.
    pub client: ClientSetup,
    /// The outcome that the client must report.
    pub expected: Expected,
    /// The scripts of the first connection, the second and so on. The last script is also used for all further
    /// connections.
    pub(super) scripts: Vec<Vec<Step>>,
    /// The scripts of connections to the second server; empty if there is none.
    second_server: Vec<Vec<Step>>,
}

/// Instructions for a client, which performs its operations one after the other on one open connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientSetup {
    /// The method of every operation.
    pub method: Box<str>,
    /// Header fields to add to every request.
    pub headers: Vec<Box<str>>,
    /// The body of every request.
    pub body: Option<Upload>,
    /// `true` to speak HTTP/2, without TLS.
    pub http2: bool,
    /// `true` if the client signs its requests for S3 and reads the responses as S3 responses.
    pub s3: bool,
    /// The range to request.
    pub range: Option<ByteRange>,
    /// The number of operations. All except the last must succeed.
    pub requests: u32,
    /// The value of `--expect`: the object's checksum, `etag` or `checksum`.
    pub expect_hash: Option<Box<str>>,
    /// The size of the object, if the client knows it.
    pub expect_size: Option<u64>,
    /// The maximum time until the head of a response is complete.
    pub head_timeout: Duration,
    /// The maximum time in which no byte of a body arrives.
    pub idle_timeout: Duration,
    /// The maximum time of an attempt.
    pub total_timeout: Option<Duration>,
}

/// The body of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    /// The bytes of the body.
    pub content: UploadContent,
    /// `true` if the body is sent in chunks instead of with its length.
    pub chunked: bool,
    /// `true` if the client waits for `100 Continue` before it sends the body.
    pub expect_continue: bool,
}

/// The content of a request body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UploadContent {
    /// This text.
    Text(Box<str>),
    /// This many bytes with arbitrary values.
    Size(u64),
}

impl UploadContent {
    /// Returns the bytes.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.as_bytes().into(),
            Self::Size(size) => vec![b'x'; usize::try_from(*size).unwrap_or(0)],
        }
    }
}

/// The outcome that a client must report for its last operation. Classes, causes and flags are names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// The outcome of the operation's last attempt.
    pub last: AttemptEnd,
    /// The outcomes of all earlier attempts.
    pub earlier: Vec<AttemptEnd>,
    /// `true` if the operation must count as a success.
    pub ok: bool,
    /// Received body bytes of the last attempt; `None` if they depend on timing.
    pub body_bytes: Option<u64>,
    /// Flags of the operation's attempts, except the flag for a reusable connection.
    pub flags: Vec<Box<str>>,
    /// `true` if the response is complete and its connection can be reused.
    pub reused: bool,
    /// Total number of opened connections; `None` if it does not matter.
    pub connections: Option<u64>,
}

impl Expected {
    /// Returns the number of attempts of the operation.
    #[must_use]
    pub fn attempts(&self) -> usize {
        self.earlier.len() + 1
    }

    /// Returns whether an attempt of the operation ends with this class.
    #[must_use]
    pub fn has_class(&self, class: &str) -> bool {
        self.earlier.iter().chain([&self.last]).any(|end| end.class.as_ref() == class)
    }
}

/// The end of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttemptEnd {
    /// The outcome's class.
    pub class: Box<str>,
    /// The outcome's cause.
    pub cause: Box<str>,
}

/// The reason why a case is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CaseError {
    /// The text is not TOML or has the wrong structure. The message names the place in the text.
    #[error("{0}")]
    Toml(String),
    /// A step is not valid.
    #[error("connection {connection}, step {step}: {wrong}")]
    Step {
        /// The number of the connection, counted from 1.
        connection: usize,
        /// The number of the step, counted from 1.
        step: usize,
        /// The mistake, and a valid alternative.
        wrong: String,
    },
    /// A value outside of the steps is not valid.
    #[error("{place}: {wrong}")]
    Value {
        /// The key of the value.
        place: &'static str,
        /// The mistake, and a valid alternative.
        wrong: String,
    },
}

fn value(place: &'static str, wrong: impl Into<String>) -> CaseError {
    CaseError::Value { place, wrong: wrong.into() }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCase {
    about: Box<str>,
    row: u16,
    #[serde(default)]
    client: RawClient,
    expect: RawExpected,
    #[serde(rename = "connection")]
    connections: Vec<RawConnection>,
    #[serde(default)]
    second_server: Vec<RawConnection>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawConnection {
    script: Vec<RawStep>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct RawClient {
    method: Option<Box<str>>,
    #[serde(default)]
    headers: Vec<Box<str>>,
    body: Option<Box<str>>,
    body_size: Option<Box<str>>,
    #[serde(default)]
    chunked: bool,
    #[serde(default)]
    expect_continue: bool,
    #[serde(default)]
    http2: bool,
    #[serde(default)]
    s3: bool,
    range: Option<Box<str>>,
    requests: Option<u32>,
    expect_hash: Option<Box<str>>,
    expect_size: Option<u64>,
    head_timeout: Option<Box<str>>,
    idle_timeout: Option<Box<str>>,
    total_timeout: Option<Box<str>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawExpected {
    class: Box<str>,
    cause: Box<str>,
    ok: bool,
    attempts: usize,
    #[serde(default)]
    earlier: Vec<AttemptEnd>,
    body_bytes: Option<u64>,
    #[serde(default)]
    flags: Vec<Box<str>>,
    reused: bool,
    connections: Option<u64>,
}

impl Case {
    /// Parses a case and sets its name.
    ///
    /// # Errors
    /// Fails if the text is not a valid case. The error contains the mistake and its place.
    pub fn parse(name: &str, text: &str) -> Result<Self, CaseError> {
        let raw: RawCase = toml::from_str(text).map_err(|error| CaseError::Toml(error.to_string()))?;
        if !(1..=CONNECTIONS_MAX).contains(&raw.connections.len()) || raw.second_server.len() > CONNECTIONS_MAX {
            return Err(value("connection", "a case has 1 to 8 connections, and up to 8 to the second server"));
        }
        if raw.about.trim().is_empty() {
            return Err(value("about", "describe in a phrase what the server does"));
        }
        let scripts = |raw: Vec<RawConnection>| {
            raw.into_iter().enumerate().map(|(index, raw)| script(index + 1, raw)).collect::<Result<_, _>>()
        };
        Ok(Self {
            name: name.into(),
            about: raw.about,
            row: raw.row,
            client: ClientSetup::from_raw(raw.client)?,
            expected: Expected::from_raw(raw.expect)?,
            scripts: scripts(raw.connections)?,
            second_server: scripts(raw.second_server)?,
        })
    }

    /// Removes the scripts of the second server and returns them as a separate case; `None` if there is no second
    /// server.
    pub(super) fn take_second_server(&mut self) -> Option<Self> {
        let scripts = std::mem::take(&mut self.second_server);
        (!scripts.is_empty()).then(|| Self { scripts, ..self.clone() })
    }

    /// Replaces the placeholders for addresses in the bytes to send.
    pub(super) fn insert_addresses(&mut self, first: SocketAddr, second: SocketAddr) {
        let (first, second) = (first.to_string(), second.to_string());
        for step in self.scripts.iter_mut().flatten() {
            if let Step::Send(bytes) | Step::EachRequest(bytes) = step
                && let Ok(text) = std::str::from_utf8(bytes)
            {
                *bytes = text.replace("{first_server}", &first).replace("{second_server}", &second).into_bytes().into();
            }
        }
    }

    /// Returns the script of connection number `index`, starting at 0.
    pub(super) fn script(&self, index: usize) -> &[Step] {
        self.scripts.get(index).or(self.scripts.last()).map_or(&[], Vec::as_slice)
    }
}

fn script(connection: usize, raw: RawConnection) -> Result<Vec<Step>, CaseError> {
    if raw.script.len() > STEPS_MAX {
        let wrong = format!("a script has at most {STEPS_MAX} steps");
        return Err(CaseError::Step { connection, step: STEPS_MAX + 1, wrong });
    }
    let steps = raw.script.into_iter().enumerate();
    steps
        .map(|(index, raw)| Step::try_from(raw).map_err(|wrong| CaseError::Step { connection, step: index + 1, wrong }))
        .collect()
}

impl ClientSetup {
    fn from_raw(raw: RawClient) -> Result<Self, CaseError> {
        let span = |place, text: Option<Box<str>>| {
            let span =
                text.map(|text| parse_span(&text).map_err(|error| value(place, error.to_string()))).transpose()?;
            if span == Some(Duration::ZERO) { Err(value(place, "a timeout must be above zero")) } else { Ok(span) }
        };
        let usual = Duration::from_secs(2);
        let method = raw.method.unwrap_or_else(|| "GET".into());
        if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_uppercase()) {
            return Err(value("client.method", "write it in capitals, for example GET"));
        }
        let requests = raw.requests.unwrap_or(1);
        if !(1..=16).contains(&requests) {
            return Err(value("client.requests", "must be 1 to 16"));
        }
        let content = upload_content(raw.body, raw.body_size.as_deref())?;
        let (chunked, expect_continue) = (raw.chunked, raw.expect_continue);
        if content.is_none() && (chunked || expect_continue) {
            return Err(value("client.chunked, client.expect_continue", "they need a `body` or a `body_size`"));
        }
        Ok(Self {
            method,
            headers: raw.headers,
            body: content.map(|content| Upload { content, chunked, expect_continue }),
            http2: raw.http2,
            s3: raw.s3,
            range: raw.range.as_deref().map(range).transpose()?,
            requests,
            expect_hash: raw.expect_hash,
            expect_size: raw.expect_size,
            head_timeout: span("client.head_timeout", raw.head_timeout)?.unwrap_or(usual),
            idle_timeout: span("client.idle_timeout", raw.idle_timeout)?.unwrap_or(usual),
            total_timeout: span("client.total_timeout", raw.total_timeout)?,
        })
    }
}

fn upload_content(text: Option<Box<str>>, size: Option<&str>) -> Result<Option<UploadContent>, CaseError> {
    let wrong = |wrong: String| value("client.body_size", wrong);
    match (text, size) {
        (Some(_), Some(_)) => Err(wrong("give either `body` or `body_size`".to_owned())),
        (text, None) => Ok(text.map(UploadContent::Text)),
        (None, Some(size)) => match size.parse::<ByteSize>() {
            Ok(size) if size.0 <= BODY_BYTES_MAX => Ok(Some(UploadContent::Size(size.0))),
            Ok(_) => Err(wrong("a body may have at most 64 MiB".to_owned())),
            Err(error) => Err(wrong(error.to_string())),
        },
    }
}

fn range(text: &str) -> Result<ByteRange, CaseError> {
    let wrong = || value("client.range", "write first-last, for example 0-1023");
    let (first, last) = text.split_once('-').ok_or_else(wrong)?;
    let number = |text: &str| text.parse().map_err(|_| wrong());
    ByteRange::new(number(first)?, number(last)?).ok_or_else(wrong)
}

impl Expected {
    fn from_raw(raw: RawExpected) -> Result<Self, CaseError> {
        let last = AttemptEnd { class: raw.class, cause: raw.cause };
        let names = raw.earlier.iter().chain([&last]).flat_map(|end| [&end.class, &end.cause]).chain(&raw.flags);
        if let Some(name) = names.into_iter().find(|name| !is_name(name)) {
            return Err(value("expect", format!("`{name}` is not a valid name: use lowercase letters, digits and _")));
        }
        if raw.attempts != raw.earlier.len() + 1 {
            return Err(value("expect.attempts", "must be one more than the number of entries in `earlier`"));
        }
        if raw.ok != (&*last.class == "ok") {
            return Err(value("expect.ok", "must be true if and only if `class` is ok"));
        }
        Ok(Self {
            last,
            earlier: raw.earlier,
            ok: raw.ok,
            body_bytes: raw.body_bytes,
            flags: raw.flags,
            reused: raw.reused,
            connections: raw.connections,
        })
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}
