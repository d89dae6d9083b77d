//! A case: what the liar does on each connection, and what a client must make of it.
//!
//! Cases are TOML. This module reads them into types that cannot hold nonsense; every mistake is told with its place.

use std::net::SocketAddr;
use std::time::Duration;

use serde::Deserialize;
use wire::ByteRange;

use super::step::{RawStep, Step};
use measure::units::{ByteSize, parse_span};

/// The most connections that a case may script one by one.
const CONNECTIONS_MAX: usize = 8;
/// The most steps of one script.
const STEPS_MAX: usize = 64;
/// The largest body of a request.
const BODY_BYTES_MAX: u64 = 64 << 20;

/// A misbehaviour and what a client must make of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The name of its file.
    pub name: Box<str>,
    /// What the server does, in one sentence.
    pub about: Box<str>,
    /// The number of the misbehaviour in the project's table of them (14 to 66).
    pub row: u16,
    /// How the case is to be driven.
    pub client: Client,
    /// What the client must say of it.
    pub expected: Expected,
    /// What is done on the first connection, the second and so on; the last script serves all further ones.
    pub(super) scripts: Vec<Vec<Step>>,
    /// The same for connections to the second port; empty when there is none.
    there: Vec<Vec<Step>>,
}

/// How a case is to be driven: so many operations one after the other, one at a time, on a kept connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// The method of every operation.
    pub method: Box<str>,
    /// Header fields of every request.
    pub headers: Vec<Box<str>>,
    /// The body of every request.
    pub body: Option<Upload>,
    /// Whether HTTP/2 is spoken, without TLS.
    pub http2: bool,
    /// Whether requests are signed, and answers read, as those of S3.
    pub s3: bool,
    /// The range asked for.
    pub range: Option<ByteRange>,
    /// Operations; all but the last are ordinary and succeed.
    pub requests: u32,
    /// The checksum of the object, or `etag` or `checksum`, as `--expect` takes it.
    pub expect_hash: Option<Box<str>>,
    /// The size of the object, when the client is to know it.
    pub expect_size: Option<u64>,
    /// How long the head of an answer may take.
    pub head_timeout: Duration,
    /// How long a body may stand still.
    pub idle_timeout: Duration,
    /// How long an attempt may take in all.
    pub total_timeout: Option<Duration>,
}

/// The body of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    /// What it holds.
    pub content: UploadContent,
    /// Framed by chunks instead of by its length.
    pub chunked: bool,
    /// The server is asked to agree before it is sent.
    pub expect_continue: bool,
}

/// What the body of a request holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UploadContent {
    /// That text.
    Text(Box<str>),
    /// So many bytes, which do not matter.
    Size(u64),
}

impl UploadContent {
    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.as_bytes().into(),
            Self::Size(size) => vec![b'x'; usize::try_from(*size).unwrap_or(0)],
        }
    }
}

/// What a client must say of the last operation. The names are those of outcomes: classes, causes and flags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// How its last attempt ends.
    pub last: End,
    /// How its attempts before that end.
    pub earlier: Vec<End>,
    /// Whether the operation succeeds, so that its times are among those of successes.
    pub ok: bool,
    /// Body bytes of the last attempt as received; `None` where that depends on timing.
    pub body_bytes: Option<u64>,
    /// Flags of its attempts, without the one that says that the connection can be used again.
    pub flags: Vec<Box<str>>,
    /// Whether the answer is complete, and its connection may carry another request.
    pub reused: bool,
    /// Connections opened in all; `None` where that does not matter.
    pub connections: Option<u64>,
}

impl Expected {
    /// How many attempts the operation has.
    #[must_use]
    pub fn attempts(&self) -> usize {
        self.earlier.len() + 1
    }
}

/// How an attempt ends.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// The class.
    pub class: Box<str>,
    /// The cause.
    pub cause: Box<str>,
}

/// Why a case cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CaseError {
    /// Not TOML, or not of the right shape; the text shows the place.
    #[error("{0}")]
    Toml(String),
    /// A step that cannot be taken.
    #[error("connection {connection}, step {step}: {wrong}")]
    Step {
        /// Counted from 1.
        connection: usize,
        /// Counted from 1.
        step: usize,
        /// What is wrong with it, and what would be right.
        wrong: String,
    },
    /// Something else that cannot be.
    #[error("{place}: {wrong}")]
    Value {
        /// The key.
        place: &'static str,
        /// What is wrong with it, and what would be right.
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
    there: Vec<RawConnection>,
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
    earlier: Vec<End>,
    body_bytes: Option<u64>,
    #[serde(default)]
    flags: Vec<Box<str>>,
    reused: bool,
    connections: Option<u64>,
}

impl Case {
    /// Reads a case under a name of the reader's choice.
    ///
    /// # Errors
    /// Says what is wrong, and where.
    pub fn parse(name: &str, text: &str) -> Result<Self, CaseError> {
        let raw: RawCase = toml::from_str(text).map_err(|error| CaseError::Toml(error.to_string()))?;
        if !(1..=CONNECTIONS_MAX).contains(&raw.connections.len()) || raw.there.len() > CONNECTIONS_MAX {
            return Err(value("connection", "a case scripts 1 to 8 connections, and up to 8 to the second port"));
        }
        if raw.about.trim().is_empty() {
            return Err(value("about", "say in a sentence what the server does"));
        }
        let scripts = |raw: Vec<RawConnection>| {
            raw.into_iter().enumerate().map(|(index, raw)| script(index + 1, raw)).collect::<Result<_, _>>()
        };
        Ok(Self {
            name: name.into(),
            about: raw.about,
            row: raw.row,
            client: Client::from_raw(raw.client)?,
            expected: Expected::from_raw(raw.expect)?,
            scripts: scripts(raw.connections)?,
            there: scripts(raw.there)?,
        })
    }

    /// What is played at the second port, as a case of its own; `None` when there is no second port.
    pub(super) fn take_there(&mut self) -> Option<Self> {
        let scripts = std::mem::take(&mut self.there);
        (!scripts.is_empty()).then(|| Self { scripts, ..self.clone() })
    }

    /// Puts the addresses into what is sent.
    pub(super) fn place(&mut self, here: SocketAddr, there: SocketAddr) {
        let (here, there) = (here.to_string(), there.to_string());
        for step in self.scripts.iter_mut().flatten() {
            if let Step::Send(bytes) | Step::EachRequest(bytes) = step
                && let Ok(text) = std::str::from_utf8(bytes)
            {
                *bytes = text.replace("{here}", &here).replace("{there}", &there).into_bytes().into();
            }
        }
    }

    /// What is done on the `index`-th connection, counted from 0.
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

impl Client {
    fn from_raw(raw: RawClient) -> Result<Self, CaseError> {
        let span = |place, text: Option<Box<str>>| {
            let span =
                text.map(|text| parse_span(&text).map_err(|error| value(place, error.to_string()))).transpose()?;
            if span == Some(Duration::ZERO) { Err(value(place, "a timeout is above zero")) } else { Ok(span) }
        };
        let usual = Duration::from_secs(2);
        let method = raw.method.unwrap_or_else(|| "GET".into());
        if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_uppercase()) {
            return Err(value("client.method", "write it in capitals, like GET"));
        }
        let requests = raw.requests.unwrap_or(1);
        if !(1..=16).contains(&requests) {
            return Err(value("client.requests", "1 to 16"));
        }
        let content = upload_content(raw.body, raw.body_size.as_deref())?;
        let (chunked, expect_continue) = (raw.chunked, raw.expect_continue);
        if content.is_none() && (chunked || expect_continue) {
            return Err(value("client.chunked, client.expect_continue", "they are about a body: give one"));
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
        (Some(_), Some(_)) => Err(wrong("a body has either a text or a size".to_owned())),
        (text, None) => Ok(text.map(UploadContent::Text)),
        (None, Some(size)) => match size.parse::<ByteSize>() {
            Ok(size) if size.0 <= BODY_BYTES_MAX => Ok(Some(UploadContent::Size(size.0))),
            Ok(_) => Err(wrong("a body has at most 64 MiB".to_owned())),
            Err(error) => Err(wrong(error.to_string())),
        },
    }
}

fn range(text: &str) -> Result<ByteRange, CaseError> {
    let wrong = || value("client.range", "write first-last, like 0-1023");
    let (first, last) = text.split_once('-').ok_or_else(wrong)?;
    let number = |text: &str| text.parse().map_err(|_| wrong());
    ByteRange::new(number(first)?, number(last)?).ok_or_else(wrong)
}

impl Expected {
    fn from_raw(raw: RawExpected) -> Result<Self, CaseError> {
        let last = End { class: raw.class, cause: raw.cause };
        let names = raw.earlier.iter().chain([&last]).flat_map(|end| [&end.class, &end.cause]).chain(&raw.flags);
        if let Some(name) = names.into_iter().find(|name| !is_name(name)) {
            return Err(value("expect", format!("`{name}` is no name: names are of small letters, digits and _")));
        }
        if raw.attempts != raw.earlier.len() + 1 {
            return Err(value("expect.attempts", "one more than there are in `earlier`"));
        }
        if raw.ok != (&*last.class == "ok") {
            return Err(value("expect.ok", "an operation is ok when its last attempt is, and only then"));
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
