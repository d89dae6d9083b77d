//! Reads one request at a time from the bytes of a connection: the server's side.
//!
//! Works as [`crate::ResponseReader`] does, and is stricter about framing: a server that guesses can be made to see a
//! request that its client never sent.

use std::mem::MaybeUninit;

use crate::body::{Body, Counts};
use crate::chunked::ChunkError;
use crate::collector::{Collector, Fed, Unfed};
use crate::fields::{FieldError, Fields};
use crate::message::{Event, Framing, Progress, Reading, Truncated, Version};
use crate::range::RangeRequest;
use crate::response::MAX_HEADERS;

/// The most bytes a request line may have.
pub const MAX_REQUEST_LINE_BYTES: usize = 16 * 1024;

/// A request method.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Method {
    /// GET
    Get,
    /// HEAD
    Head,
    /// PUT
    Put,
    /// POST
    Post,
    /// DELETE
    Delete,
    /// OPTIONS
    Options,
    /// PATCH
    Patch,
    /// Any other token.
    Other(Box<str>),
}

impl Method {
    /// From a method token, which is case-sensitive. The caller vouches that it is a token.
    pub fn from_token(token: &str) -> Self {
        match token {
            "GET" => Self::Get,
            "HEAD" => Self::Head,
            "PUT" => Self::Put,
            "POST" => Self::Post,
            "DELETE" => Self::Delete,
            "OPTIONS" => Self::Options,
            "PATCH" => Self::Patch,
            other => Self::Other(other.into()),
        }
    }

    /// The method as it is written in a request line.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Put => "PUT",
            Self::Post => "POST",
            Self::Delete => "DELETE",
            Self::Options => "OPTIONS",
            Self::Patch => "PATCH",
            Self::Other(token) => token,
        }
    }
}

/// The head of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHead {
    /// What is to be done.
    pub method: Method,
    /// To what: path and query, an absolute URL or `*`, as sent.
    pub target: Box<str>,
    /// The version the client speaks.
    pub version: Version,
    /// How the body ends; never [`Framing::UntilClose`].
    pub framing: Framing,
    /// Whether the client wants to send another request on this connection.
    pub keep_alive: bool,
    /// `Host`; there with HTTP/1.1.
    pub host: Option<Box<str>>,
    /// `Range`; none also when it is not to be understood or comes twice, for then it is to be ignored.
    pub range: Option<RangeRequest>,
    /// The client waits for `100 Continue` before it sends its body.
    pub expect_continue: bool,
}

/// Why a request cannot be read. The connection is lost with it, after an answer with [`BadRequest::status`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum BadRequest {
    /// The head has more than [`crate::MAX_HEAD_BYTES`].
    #[error("the head is larger than 64 KiB")]
    HeadTooLarge,
    /// The head has more than [`MAX_HEADERS`].
    #[error("the head has more than 100 headers")]
    TooManyHeaders,
    /// The request line has more than [`MAX_REQUEST_LINE_BYTES`].
    #[error("the request line is larger than 16 KiB")]
    RequestLineTooLarge,
    /// The request line or a header is not valid.
    #[error("the head is not valid HTTP/1")]
    BadHead,
    /// Not HTTP/1.0 or HTTP/1.1.
    #[error("the request is not HTTP/1.0 or HTTP/1.1")]
    NotHttp,
    /// `Host` is missing with HTTP/1.1, comes twice, or is not UTF-8.
    #[error("Host is missing or not one value")]
    BadHost,
    /// `Content-Length` is not a number, or two different ones.
    #[error("Content-Length is not one number")]
    BadContentLength,
    /// `Transfer-Encoding` with HTTP/1.0, or beside `Content-Length`: where the request ends is not certain.
    #[error("Transfer-Encoding with HTTP/1.0 or beside Content-Length")]
    AmbiguousFraming,
    /// A `Transfer-Encoding` other than one single "chunked".
    #[error("Transfer-Encoding is not \"chunked\"")]
    UnknownTransferEncoding,
    /// A chunk's size or line end is not valid.
    #[error("a chunk is not valid")]
    BadChunk,
    /// More chunk extensions or trailers than their limits.
    #[error("chunk extensions or trailers are larger than 16 KiB")]
    ChunkFieldsTooLarge,
}

impl BadRequest {
    /// The status code that says so to the client.
    pub fn status(self) -> u16 {
        match self {
            Self::HeadTooLarge | Self::TooManyHeaders | Self::ChunkFieldsTooLarge => 431,
            Self::RequestLineTooLarge => 414,
            Self::NotHttp => 505,
            Self::UnknownTransferEncoding => 501,
            Self::BadHead | Self::BadHost | Self::BadContentLength | Self::AmbiguousFraming | Self::BadChunk => 400,
        }
    }
}

impl From<FieldError> for BadRequest {
    fn from(error: FieldError) -> Self {
        match error {
            FieldError::ContentLength => Self::BadContentLength,
            FieldError::TransferEncoding => Self::UnknownTransferEncoding,
        }
    }
}

impl From<ChunkError> for BadRequest {
    fn from(error: ChunkError) -> Self {
        match error {
            ChunkError::Syntax => Self::BadChunk,
            ChunkError::ExtensionsTooLarge | ChunkError::TrailersTooLarge => Self::ChunkFieldsTooLarge,
        }
    }
}

impl From<httparse::Error> for BadRequest {
    fn from(error: httparse::Error) -> Self {
        match error {
            httparse::Error::Version => Self::NotHttp,
            httparse::Error::TooManyHeaders => Self::TooManyHeaders,
            _ => Self::BadHead,
        }
    }
}

/// Reads the requests of one connection, one after the other.
#[derive(Debug, Default)]
pub struct RequestReader {
    failed: Option<BadRequest>,
    counts: Counts,
    collector: Collector,
    /// The head with its body; none while the head is read.
    message: Option<(RequestHead, Body)>,
}

impl RequestReader {
    /// A reader at the beginning of a request.
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins anew: the next bytes are another request.
    pub fn start(&mut self) {
        *self = Self::new();
    }

    /// Reads from `input`. Call again with the rest until [`Event::NeedMore`] (everything was consumed) or
    /// [`Event::End`] (what was not consumed belongs to the next request). `visit` gets name and value of each header.
    /// After an error every further call gives the same error.
    pub fn read(&mut self, input: &[u8], visit: &mut impl FnMut(&[u8], &[u8])) -> Result<Progress, BadRequest> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        let progress = match &mut self.message {
            None => self.read_head(input, visit),
            Some((_, body)) => {
                body.read(input, &mut ()).map_err(BadRequest::from).inspect(|progress| self.counts.add(progress))
            }
        };
        self.failed = progress.as_ref().err().copied();
        progress
    }

    fn read_head(&mut self, input: &[u8], visit: &mut impl FnMut(&[u8], &[u8])) -> Result<Progress, BadRequest> {
        if input.is_empty() {
            return Ok(Progress::new(0, Event::NeedMore));
        }
        let progress = match self.collector.feed(input, |bytes| parse_head(bytes, visit)) {
            Ok(Fed::Whole { consumed, head }) => {
                let body = Body::new(head.framing);
                self.message = Some((head, body));
                Progress::new(consumed, Event::Head)
            }
            Ok(Fed::Partial) => Progress::new(input.len(), Event::NeedMore),
            Err(Unfed::TooLarge) => return Err(BadRequest::HeadTooLarge),
            Err(Unfed::Refused(bad)) => return Err(bad),
        };
        self.counts.head += progress.consumed as u64;
        Ok(progress)
    }

    /// Body bytes that come next and need no look: the rest of the body, or of the current chunk.
    pub fn opaque_bytes(&self) -> u64 {
        self.message.as_ref().map_or(0, |(_, body)| body.opaque_bytes())
    }

    /// Passes over body bytes that the caller has dropped unseen; at most [`Self::opaque_bytes`].
    pub fn skip(&mut self, bytes: u64) {
        debug_assert!(bytes <= self.opaque_bytes(), "only opaque bytes can be skipped");
        if let Some((_, body)) = &mut self.message {
            self.counts.body = self.counts.body.saturating_add(body.skip(bytes));
        }
    }

    /// Whether the last byte of this request has come.
    pub fn is_complete(&self) -> bool {
        self.message.as_ref().is_some_and(|(_, body)| body.is_complete())
    }

    /// The peer has closed its side. [`Truncated::BeforeHead`] is how a client ends a connection in good order.
    pub fn end_of_stream(&mut self) -> Result<(), Truncated> {
        match &mut self.message {
            None if self.counts.head == 0 => Err(Truncated::BeforeHead),
            None => Err(Truncated::InHead),
            Some((_, body)) => body.end_of_stream(),
        }
    }

    /// The head, once it has been read.
    pub fn head(&self) -> Option<&RequestHead> {
        self.message.as_ref().map(|(head, _)| head)
    }

    /// The part that is being read.
    pub fn phase(&self) -> Reading {
        self.message.as_ref().map_or(Reading::Head, |(_, body)| body.reading())
    }

    /// Bytes received so far that are not body: the head, chunk framing, trailers.
    pub fn head_bytes(&self) -> u64 {
        self.counts.head
    }

    /// Body bytes received so far, without their framing, read or skipped.
    pub fn body_bytes(&self) -> u64 {
        self.counts.body
    }

    /// Whether another request may follow: this one is complete and its client wants to go on.
    pub fn reusable(&self) -> bool {
        let wanted = self.message.as_ref().is_some_and(|(head, body)| head.keep_alive && body.is_complete());
        wanted && self.failed.is_none()
    }
}

/// Parses one head; `None` when it is not complete.
fn parse_head(bytes: &[u8], visit: &mut impl FnMut(&[u8], &[u8])) -> Result<Option<(usize, RequestHead)>, BadRequest> {
    let mut room = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut raw = httparse::Request::new(&mut []);
    let parser = httparse::ParserConfig::default();
    let status = parser.parse_request_with_uninit_headers(&mut raw, bytes, &mut room)?;
    let (Some(method), Some(target), Some(minor)) = (raw.method, raw.path, raw.version) else {
        // The request line is not complete, so that all bytes belong to it.
        let too_large = bytes.len() > MAX_REQUEST_LINE_BYTES;
        return if too_large { Err(BadRequest::RequestLineTooLarge) } else { Ok(None) };
    };
    if method.len() + target.len() + "  HTTP/1.1\r\n".len() > MAX_REQUEST_LINE_BYTES {
        return Err(BadRequest::RequestLineTooLarge);
    }
    let httparse::Status::Complete(length) = status else { return Ok(None) };
    let mut draft = Draft::default();
    for header in raw.headers.iter() {
        draft.observe(header.name, header.value)?;
        visit(header.name.as_bytes(), header.value);
    }
    let head = draft.finish(Method::from_token(method), target.into(), Version::from_minor(minor))?;
    Ok(Some((length, head)))
}

/// A head while its headers are looked at.
#[derive(Default)]
struct Draft {
    fields: Fields,
    host: Option<Box<str>>,
    ranges_seen: u32,
    range: Option<RangeRequest>,
    expect_continue: bool,
}

impl Draft {
    fn observe(&mut self, name: &str, value: &[u8]) -> Result<(), BadRequest> {
        if self.fields.observe(name, value)? {
            return Ok(());
        }
        match name.len() {
            4 if name.eq_ignore_ascii_case("host") => {
                let text = std::str::from_utf8(value).map_err(|_| BadRequest::BadHost)?;
                if self.host.replace(text.into()).is_some() {
                    return Err(BadRequest::BadHost);
                }
            }
            5 if name.eq_ignore_ascii_case("range") => {
                self.ranges_seen += 1;
                self.range = if self.ranges_seen == 1 { RangeRequest::parse(value) } else { None };
            }
            6 if name.eq_ignore_ascii_case("expect") => {
                self.expect_continue |= value.eq_ignore_ascii_case(b"100-continue");
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(self, method: Method, target: Box<str>, version: Version) -> Result<RequestHead, BadRequest> {
        let fields = self.fields;
        if fields.chunked && (version == Version::Http10 || fields.length.is_some()) {
            return Err(BadRequest::AmbiguousFraming);
        }
        if version == Version::Http11 && self.host.is_none() {
            return Err(BadRequest::BadHost);
        }
        let framing = match fields.length {
            _ if fields.chunked => Framing::Chunked,
            Some(length) => Framing::Length(length),
            None => Framing::None,
        };
        Ok(RequestHead {
            method,
            target,
            version,
            framing,
            keep_alive: fields.persistent(version),
            host: self.host,
            range: self.range,
            // HTTP/1.0 does not know it (RFC 9110 §10.1.1).
            expect_continue: self.expect_continue && version == Version::Http11,
        })
    }
}
