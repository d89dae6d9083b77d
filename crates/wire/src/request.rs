//! The server-side reader of requests.
//!
//! This reader works like [`crate::ResponseReader`], but is stricter about framing. If a server guesses the end of a
//! request, an attacker can make the server read a request that no client sent.

use std::mem::MaybeUninit;

use crate::body::{BodyReader, ByteCounts};
use crate::chunked::ChunkError;
use crate::framing_fields::{FramingError, FramingFields};
use crate::head_buffer::{Feed, FeedError, HeadBuffer};
use crate::message::{Event, Framing, Progress, Reading, Truncated, Version};
use crate::range::RangeRequest;
use crate::response::MAX_HEADERS;

/// Maximum size of a request line.
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
    /// Converts the name of a method, which is case-sensitive. The caller guarantees that the name is a token.
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

    /// Returns the method as written in a request line.
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
    /// The method.
    pub method: Method,
    /// The request target as sent: path and query, an absolute URL, or `*`.
    pub target: Box<str>,
    /// The protocol version of the request.
    pub version: Version,
    /// The framing of the body. Never [`Framing::UntilClose`].
    pub framing: Framing,
    /// `true` if the client may send another request on this connection.
    pub keep_alive: bool,
    /// The value of `Host`. Always present in HTTP/1.1.
    pub host: Option<Box<str>>,
    /// The value of `Range`. `None` if the header is absent. Also `None` if the header is invalid or occurs twice,
    /// because servers then ignore it.
    pub range: Option<RangeRequest>,
    /// `true` if the client waits for `100 Continue` before it sends the body.
    pub expect_continue: bool,
}

/// The reason why a request cannot be read. The server responds with [`BadRequest::status`] and closes the connection.
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
    /// The request is neither HTTP/1.0 nor HTTP/1.1.
    #[error("the request is not HTTP/1.0 or HTTP/1.1")]
    NotHttp,
    /// `Host` is missing in HTTP/1.1, occurs twice, or is not UTF-8.
    #[error("Host is missing, repeated or not UTF-8")]
    BadHost,
    /// `Content-Length` is not a number, or there are two different numbers.
    #[error("Content-Length is not a single number")]
    BadContentLength,
    /// `Transfer-Encoding` occurs in HTTP/1.0 or together with `Content-Length`, which makes the end of the request
    /// ambiguous.
    #[error("Transfer-Encoding with HTTP/1.0 or together with Content-Length")]
    AmbiguousFraming,
    /// `Transfer-Encoding` is not `chunked`, or has several values.
    #[error("Transfer-Encoding is not \"chunked\"")]
    UnknownTransferEncoding,
    /// The size line or the line ending of a chunk is not valid.
    #[error("a chunk is not valid")]
    BadChunk,
    /// Chunk extensions or trailers are larger than their limits.
    #[error("chunk extensions or trailers are larger than 16 KiB")]
    ChunkFieldsTooLarge,
}

impl BadRequest {
    /// Returns the status code for the response.
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

impl From<FramingError> for BadRequest {
    fn from(error: FramingError) -> Self {
        match error {
            FramingError::ContentLength => Self::BadContentLength,
            FramingError::TransferEncoding => Self::UnknownTransferEncoding,
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

/// The reader of the requests of one connection, one after the other.
#[derive(Debug, Default)]
pub struct RequestReader {
    failed: Option<BadRequest>,
    counts: ByteCounts,
    head_buffer: HeadBuffer,
    /// The head and the state of its body. `None` while the head is being read.
    message: Option<(RequestHead, BodyReader)>,
}

impl RequestReader {
    /// Creates a reader at the beginning of a request.
    pub fn new() -> Self {
        Self::default()
    }

    /// Resets the reader. The next bytes are another request.
    pub fn start(&mut self) {
        *self = Self::new();
    }

    /// Reads from `input`. Call the function again with the unconsumed input until it returns [`Event::NeedMore`] (all
    /// input was consumed) or [`Event::End`] (unconsumed input belongs to the next request). `visit` is called with the
    /// name and the value of each header. After an error, every further call returns the same error.
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
        let progress = match self.head_buffer.feed(input, |bytes| parse_head(bytes, visit)) {
            Ok(Feed::Complete { consumed, head }) => {
                let body = BodyReader::new(head.framing);
                self.message = Some((head, body));
                Progress::new(consumed, Event::Head)
            }
            Ok(Feed::Partial) => Progress::new(input.len(), Event::NeedMore),
            Err(FeedError::TooLarge) => return Err(BadRequest::HeadTooLarge),
            Err(FeedError::Invalid(bad)) => return Err(bad),
        };
        self.counts.head += progress.consumed as u64;
        Ok(progress)
    }

    /// Returns how many of the next bytes are certainly body data. These are the rest of the body, or of the current
    /// chunk.
    pub fn opaque_bytes(&self) -> u64 {
        self.message.as_ref().map_or(0, |(_, body)| body.opaque_bytes())
    }

    /// Skips body bytes that the caller has discarded without reading them, at most [`Self::opaque_bytes`].
    pub fn skip(&mut self, bytes: u64) {
        debug_assert!(bytes <= self.opaque_bytes(), "bytes other than body data were skipped");
        if let Some((_, body)) = &mut self.message {
            self.counts.body = self.counts.body.saturating_add(body.skip(bytes));
        }
    }

    /// Returns whether the whole request has been received.
    pub fn is_complete(&self) -> bool {
        self.message.as_ref().is_some_and(|(_, body)| body.is_complete())
    }

    /// Handles the end of the stream, after the client closed its side. [`Truncated::BeforeHead`] means that the client
    /// closed the connection between two requests, which is not a fault.
    pub fn end_of_stream(&mut self) -> Result<(), Truncated> {
        match &mut self.message {
            None if self.counts.head == 0 => Err(Truncated::BeforeHead),
            None => Err(Truncated::InHead),
            Some((_, body)) => body.end_of_stream(),
        }
    }

    /// Returns the head, if it has been read.
    pub fn head(&self) -> Option<&RequestHead> {
        self.message.as_ref().map(|(head, _)| head)
    }

    /// Returns the part that is being read.
    pub fn phase(&self) -> Reading {
        self.message.as_ref().map_or(Reading::Head, |(_, body)| body.reading())
    }

    /// Returns the number of bytes received so far that are not body data: the head, chunk framing and trailers.
    pub fn head_bytes(&self) -> u64 {
        self.counts.head
    }

    /// Returns the number of body bytes received so far, whether read or skipped, without chunk framing.
    pub fn body_bytes(&self) -> u64 {
        self.counts.body
    }

    /// Returns whether another request may follow: this one is complete, and the client keeps the connection open.
    pub fn reusable(&self) -> bool {
        let kept = self.message.as_ref().is_some_and(|(head, body)| head.keep_alive && body.is_complete());
        kept && self.failed.is_none()
    }
}

/// Parses a head. `None` if it is incomplete.
fn parse_head(bytes: &[u8], visit: &mut impl FnMut(&[u8], &[u8])) -> Result<Option<(usize, RequestHead)>, BadRequest> {
    let mut headers = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut raw = httparse::Request::new(&mut []);
    let parser = httparse::ParserConfig::default();
    let status = parser.parse_request_with_uninit_headers(&mut raw, bytes, &mut headers)?;
    let (Some(method), Some(target), Some(minor)) = (raw.method, raw.path, raw.version) else {
        // The request line is incomplete, so all bytes so far belong to it.
        let too_large = bytes.len() > MAX_REQUEST_LINE_BYTES;
        return if too_large { Err(BadRequest::RequestLineTooLarge) } else { Ok(None) };
    };
    if method.len() + target.len() + "  HTTP/1.1\r\n".len() > MAX_REQUEST_LINE_BYTES {
        return Err(BadRequest::RequestLineTooLarge);
    }
    let httparse::Status::Complete(length) = status else { return Ok(None) };
    let mut builder = HeadBuilder::default();
    for header in raw.headers.iter() {
        builder.observe(header.name, header.value)?;
        visit(header.name.as_bytes(), header.value);
    }
    let head = builder.finish(Method::from_token(method), target.into(), Version::from_minor(minor))?;
    Ok(Some((length, head)))
}

/// The values collected from the headers of a head.
#[derive(Default)]
struct HeadBuilder {
    fields: FramingFields,
    host: Option<Box<str>>,
    ranges_seen: u32,
    range: Option<RangeRequest>,
    expect_continue: bool,
}

impl HeadBuilder {
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
            // Servers ignore `Expect` in HTTP/1.0 (RFC 9110 §10.1.1).
            expect_continue: self.expect_continue && version == Version::Http11,
        })
    }
}
