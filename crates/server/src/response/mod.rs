//! Responses before they are sent.

pub(crate) mod range;

use std::borrow::Cow;
use std::time::Duration;

use wire::{BadRequest, ByteRange, ContentRange, Header, Method, RequestHead, Version};

use crate::content::Content;
use crate::faults::FaultInjector;
use crate::faults::body::BodyFaults;

/// The value of the `Server` header.
pub(crate) const SERVER: &str = concat!("plimsoll/", env!("CARGO_PKG_VERSION"));

/// A response before it is sent.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) content: Content,
    /// Offset in the content where the body begins.
    pub(crate) first: u64,
    /// Length of the body, even if the body is not sent (HEAD); `None` if it is unknown until the end.
    pub(crate) length: Option<u64>,
    pub(crate) content_range: Option<ContentRange>,
    pub(crate) framing: Framing,
    pub(crate) media: Media,
    pub(crate) accept_ranges: AcceptRanges,
    /// `true` if the connection is closed after this response.
    pub(crate) close: bool,
    /// `true` if the client may have sent more bytes on this connection. The server then must not close the connection
    /// immediately: the kernel would send a reset, which could destroy the response.
    pub(crate) linger: bool,
    /// The value of `Allow`, for a 405.
    pub(crate) allow: Option<&'static str>,
    pub(crate) headers: Vec<Header>,
    pub(crate) location: Option<Box<str>>,
    /// Additional delay of responses of this kind, in milliseconds.
    pub(crate) delay_ms: u32,
    pub(crate) body_faults: BodyFaults,
    /// Bytes to send instead of the normal end if the body breaks off. Only the lean front uses them.
    pub(crate) cut_tail: &'static [u8],
}

/// The way in which a response marks the end of its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Neither body nor length (204, 304).
    NoBody,
    /// A length and no body (HEAD).
    LengthOnly,
    Length,
    Chunked,
    UntilClose,
}

/// The value of `Content-Type`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Media {
    /// The default type for the content: plain text or bytes.
    FromContent,
    Named(Box<str>),
    /// No header.
    Omitted,
}

/// The value of `Accept-Ranges`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AcceptRanges {
    Bytes,
    None,
    /// No header.
    Omitted,
}

impl AcceptRanges {
    /// Returns the value of the header, unless it is omitted.
    pub(crate) fn header_value(self) -> Option<&'static str> {
        match self {
            Self::Bytes => Some("bytes"),
            Self::None => Some("none"),
            Self::Omitted => None,
        }
    }
}

/// The style of responses to HTTP/1.0 requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Http10Style {
    /// The status line contains HTTP/1.1, and there is a `Connection: close`.
    #[default]
    Http11,
    /// The style of Go's `net/http`: the status line contains HTTP/1.0, and there is no `Connection` field unless the
    /// connection is kept.
    LikeGo,
}

impl Response {
    /// Creates a response with all of `content`. If `length` is `None`, the content is sent in chunks.
    pub(crate) fn new(status: u16, content: Content, length: Option<u64>) -> Self {
        Self {
            status,
            content,
            first: 0,
            length,
            content_range: None,
            framing: Framing::Length,
            media: Media::FromContent,
            accept_ranges: AcceptRanges::Bytes,
            close: false,
            linger: false,
            allow: None,
            headers: Vec::new(),
            location: None,
            delay_ms: 0,
            body_faults: BodyFaults::default(),
            cut_tail: b"",
        }
    }

    /// Creates a response with exactly this text.
    pub(crate) fn text(status: u16, text: impl Into<Cow<'static, [u8]>>) -> Self {
        let text = text.into();
        let length = text.len() as u64;
        Self::new(status, Content::Text(text), Some(length))
    }

    /// Creates a response with a line of text.
    pub(crate) fn line(status: u16, line: &str) -> Self {
        Self::text(status, format!("{line}\n").into_bytes())
    }

    /// Creates the response to a request that could not be parsed.
    pub(crate) fn to_malformed(bad: BadRequest) -> Self {
        Self { close: true, linger: true, ..Self::line(bad.status(), &bad.to_string()) }
    }

    /// Creates the response for an injected error.
    pub(crate) fn injected_error() -> Self {
        Self::text(500, &b"injected error\n"[..])
    }

    /// Returns `other`, changed so that it can be sent instead of this response. It gets the framing of this response,
    /// so that the response to a HEAD still has no body, and it closes the connection if this response does.
    pub(crate) fn replaced_by(self, other: Self) -> Self {
        let framing = if self.framing == Framing::LengthOnly { Framing::LengthOnly } else { Framing::Length };
        Self { close: self.close || other.close, linger: self.linger || other.linger, framing, ..other }
    }

    /// Adds a header line, `Name: value`, unless it is invalid. The value may contain a path from the client, which can
    /// make it invalid.
    pub(crate) fn add_header(&mut self, line: &str) {
        self.headers.extend(Header::parse(line));
    }

    /// Returns the length of the body that is sent; `None` if it is unknown until the end.
    pub(crate) fn body_length(&self) -> Option<u64> {
        match self.framing {
            Framing::Length | Framing::Chunked | Framing::UntilClose => self.length,
            Framing::NoBody | Framing::LengthOnly => Some(0),
        }
    }

    /// Adds the injector's faults for the next body, if this body has content. Keeps faults that the body already has.
    pub(crate) fn inject_body_faults(&mut self, injector: &FaultInjector) {
        if matches!(self.status, 200..300) && self.body_length() != Some(0) {
            self.body_faults = self.body_faults.or(injector.next_body());
        }
    }

    /// Returns the value of `Content-Type`, unless the header is omitted.
    pub(crate) fn media_type(&self) -> Option<&str> {
        match &self.media {
            Media::Omitted => None,
            Media::Named(name) => Some(name),
            Media::FromContent if self.framing == Framing::NoBody => None,
            Media::FromContent => Some(self.content.media_type()),
        }
    }

    /// Returns the additional delay of responses of this kind.
    pub(crate) fn own_delay(&self) -> Duration {
        Duration::from_millis(self.delay_ms.into())
    }

    /// Returns the range in the body of a 206.
    pub(crate) fn range(&self) -> Option<ByteRange> {
        self.content_range.filter(|_| self.status == 206)?.range
    }
}

/// Creates the response of a server that failed to fetch the owner's response.
pub(crate) fn bad_gateway() -> Response {
    Response::line(502, "the owner of this object did not respond")
}

/// Sets the framing of the body, and whether the connection closes.
pub(crate) fn set_framing(mut response: Response, head: &RequestHead, chunked: bool) -> Response {
    let chunked = chunked || response.length.is_none();
    response.framing = match head.version {
        _ if matches!(response.status, 204 | 304) => Framing::NoBody,
        _ if head.method == Method::Head && response.length.is_none() => Framing::NoBody,
        _ if head.method == Method::Head => Framing::LengthOnly,
        Version::Http11 | Version::Http2 if chunked => Framing::Chunked,
        Version::Http10 if chunked => Framing::UntilClose,
        _ => Framing::Length,
    };
    response.close |= !head.keep_alive || response.framing == Framing::UntilClose;
    response
}
