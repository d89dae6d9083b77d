//! The part of an exchange's response that has arrived so far, for both versions of HTTP.

use crate::run_loop::invariant::Invariant;
use http::HeaderMap;
use wire::message::{Reading, Truncated};
use wire::response::{Head, RequestKind, ResponseReader};

/// A reader that parses HTTP/1 responses, or keeps the values from HTTP/2 frames.
#[derive(Debug)]
pub(in crate::run_loop) enum Reader {
    Http1(ResponseReader),
    Http2(StreamReader),
}

/// The part of a stream's response whose frames have arrived.
#[derive(Debug)]
pub(in crate::run_loop) struct StreamReader {
    pub kind: RequestKind,
    head: Option<Head>,
    interim: u32,
    body_bytes: u64,
    trailers: HeaderMap,
    complete: bool,
}

impl StreamReader {
    pub fn new() -> Self {
        Self {
            kind: RequestKind::Other,
            head: None,
            interim: 0,
            body_bytes: 0,
            trailers: HeaderMap::new(),
            complete: false,
        }
    }

    pub fn set_interim(&mut self, count: u32) {
        self.interim = count;
    }

    pub fn set_head(&mut self, head: Head) {
        self.head = Some(head);
    }

    pub fn add_body(&mut self, bytes: u64) {
        self.body_bytes += bytes;
    }

    /// Sets the trailers. For trailers, the session has the same size limit as for a head.
    pub fn set_trailers(&mut self, fields: HeaderMap) {
        self.trailers = fields;
    }

    pub fn set_complete(&mut self) {
        self.complete = true;
    }
}

impl Reader {
    /// Returns a reader for HTTP/1 responses.
    pub fn http1() -> Self {
        Self::Http1(ResponseReader::new())
    }

    /// Returns a reader for HTTP/2 responses.
    pub fn http2() -> Self {
        Self::Http2(StreamReader::new())
    }

    /// Returns the parser of HTTP/1 responses. The reader must be an HTTP/1 reader.
    #[inline]
    pub fn http1_mut(&mut self) -> Option<&mut ResponseReader> {
        let reader = if let Self::Http1(reader) = self { Some(reader) } else { None };
        reader.assert_some("an HTTP/1 response is read by an HTTP/1 reader")
    }

    /// Returns the reader of a stream. The reader must be an HTTP/2 reader.
    pub fn http2_mut(&mut self) -> Option<&mut StreamReader> {
        let reader = if let Self::Http2(reader) = self { Some(reader) } else { None };
        reader.assert_some("the frames of a response are read by the reader of a stream")
    }

    /// Prepares the reader for the response to a request of this kind.
    #[inline]
    pub fn start(&mut self, kind: RequestKind) {
        match self {
            Self::Http1(reader) => reader.start(kind),
            Self::Http2(reader) => *reader = StreamReader { kind, ..StreamReader::new() },
        }
    }

    /// Makes the reader keep the trailer fields of the response. With HTTP/2, the trailer fields are always kept.
    pub fn keep_trailers(&mut self) {
        if let Self::Http1(reader) = self {
            reader.keep_trailers();
        }
    }

    /// Returns the names and values of the trailer fields that were kept.
    pub fn trailers(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let (http1, http2) = match self {
            Self::Http1(reader) => (Some(reader), None),
            Self::Http2(reader) => (None, Some(&reader.trailers)),
        };
        let fields = http2.into_iter().flatten().map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes()));
        http1.into_iter().flat_map(ResponseReader::trailers).chain(fields)
    }

    /// Returns the final head, if it is complete.
    #[inline]
    pub fn head(&self) -> Option<&Head> {
        match self {
            Self::Http1(reader) => reader.head(),
            Self::Http2(reader) => reader.head.as_ref(),
        }
    }

    /// Returns which part of the response is being read.
    #[inline]
    pub fn phase(&self) -> Reading {
        match self {
            Self::Http1(reader) => reader.phase(),
            Self::Http2(reader) if reader.complete => Reading::Complete,
            Self::Http2(reader) if reader.head.is_some() => Reading::Body,
            Self::Http2(_) => Reading::Head,
        }
    }

    /// Returns whether no byte of the response has arrived.
    #[inline]
    pub fn is_untouched(&self) -> bool {
        match self {
            Self::Http1(reader) => reader.head_bytes() == 0,
            Self::Http2(reader) => reader.head.is_none(),
        }
    }

    /// Returns whether a head has begun but is not complete. On a stream, the result is always `false`, because the
    /// session returns only complete heads.
    #[inline]
    pub fn is_within_head(&self) -> bool {
        match self {
            Self::Http1(reader) => reader.is_within_head(),
            Self::Http2(_) => false,
        }
    }

    /// Returns the number of body bytes received so far.
    #[inline]
    pub fn body_bytes(&self) -> u64 {
        match self {
            Self::Http1(reader) => reader.body_bytes(),
            Self::Http2(reader) => reader.body_bytes,
        }
    }

    /// Returns how many of the next bytes are body bytes that need no parsing. On a stream, the result is 0, because
    /// frames have to be parsed.
    #[inline]
    pub fn opaque_bytes(&self) -> u64 {
        match self {
            Self::Http1(reader) => reader.opaque_bytes(),
            Self::Http2(_) => 0,
        }
    }

    /// Returns how many interim (1xx) heads arrived so far.
    #[inline]
    pub fn interim(&self) -> u32 {
        match self {
            Self::Http1(reader) => reader.interim(),
            Self::Http2(reader) => reader.interim,
        }
    }

    /// Returns whether the connection can be used for another request after the response.
    #[inline]
    pub fn reusable(&self) -> bool {
        match self {
            Self::Http1(reader) => reader.reusable(),
            Self::Http2(reader) => reader.complete,
        }
    }

    /// Records that the peer has closed its side.
    ///
    /// # Errors
    /// Fails if the response is incomplete.
    pub fn end_of_stream(&mut self) -> Result<(), Truncated> {
        match self {
            Self::Http1(reader) => reader.end_of_stream(),
            Self::Http2(reader) if reader.complete => Ok(()),
            Self::Http2(reader) if reader.head.is_some() => Err(Truncated::InBody),
            Self::Http2(_) => Err(Truncated::BeforeHead),
        }
    }
}
