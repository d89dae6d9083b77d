//! The client-side reader of responses.
//!
//! This module is the client's hot path. A head that arrives in one piece is parsed in place, without allocation. Body
//! bytes are only counted. [`ResponseReader::opaque_bytes`] returns the number of bytes that may be skipped, so that
//! the caller can discard them inside the kernel without reading them.

mod cached_head;
mod head;

pub use head::{Encoding, Head, HeadFlags, Location, Malformed, RangeField};

use crate::body::{BodyReader, ByteCounts};
use crate::chunked::{self, Observer};
use crate::head_buffer::{Feed, FeedError, HeadBuffer, MAX_BYTES};
use crate::message::{Event, Framing, Progress, Reading, Truncated};
use cached_head::{CachedHead, FieldSpans};
use head::{Parsed, parse_head};

/// Maximum size of a final head.
pub const MAX_HEAD_BYTES: usize = MAX_BYTES;
/// Maximum number of headers in a head.
pub const MAX_HEADERS: usize = 100;
/// Maximum number of interim (1xx) heads before the final head.
pub const MAX_INTERIM_HEADS: u32 = 64;
/// Maximum total size of the interim heads.
pub const MAX_INTERIM_BYTES: u64 = 64 * 1024;
/// Maximum total size of the chunk extensions of a body.
pub const MAX_CHUNK_EXTENSION_BYTES: u32 = chunked::MAX_EXTENSION_BYTES;
/// Maximum total size of the trailers.
pub const MAX_TRAILER_BYTES: u32 = chunked::MAX_TRAILER_BYTES;
/// Maximum size of a `Location` value.
pub const MAX_LOCATION_BYTES: usize = 8 * 1024;

/// The properties of a request that affect the framing of its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// A HEAD request. The response has no body, regardless of its headers.
    Head,
    /// Any other request.
    Other,
}

/// The reader of the responses of one connection, one after the other.
#[derive(Debug)]
pub struct ResponseReader {
    kind: RequestKind,
    failed: Option<Malformed>,
    interim: u32,
    counts: ByteCounts,
    head_buffer: HeadBuffer,
    /// The final head and the state of its body. `None` while heads are being read.
    message: Option<(Head, BodyReader)>,
    trailers: Trailers,
    cached_head: Option<Box<CachedHead>>,
}

/// The trailer fields of a body.
#[derive(Debug, Default)]
struct Trailers {
    /// `true` if trailer fields are kept.
    keep: bool,
    /// The received bytes of trailer fields, without line feeds. The chunk reader limits their number.
    bytes: Vec<u8>,
}

impl Observer for Trailers {
    fn extension(&mut self, _: u8) {}
    fn size_line(&mut self, _: u64) {}

    fn trailer(&mut self, byte: u8) {
        if self.keep {
            self.bytes.push(byte);
        }
    }
}

impl Default for ResponseReader {
    fn default() -> Self {
        Self::new()
    }
}

impl ResponseReader {
    /// Creates a reader for the response to a request of kind [`RequestKind::Other`].
    pub fn new() -> Self {
        Self {
            kind: RequestKind::Other,
            failed: None,
            interim: 0,
            counts: ByteCounts::default(),
            head_buffer: HeadBuffer::default(),
            message: None,
            trailers: Trailers::default(),
            cached_head: None,
        }
    }

    /// Resets the reader. The next bytes are the response to a request of this kind.
    pub fn start(&mut self, kind: RequestKind) {
        let cached_head = self.cached_head.take();
        *self = Self { kind, cached_head, ..Self::new() };
    }

    /// Keeps the trailer fields of the next response.
    pub fn keep_trailers(&mut self) {
        self.trailers.keep = true;
    }

    /// Returns names and values of the kept trailer fields.
    pub fn trailers(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.trailers.bytes.split(|byte| *byte == b'\r').filter_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            Some((&line[..colon], line[colon + 1..].trim_ascii()))
        })
    }

    /// Reads from `input`. Call the function again with the unconsumed input until it returns [`Event::NeedMore`] (all
    /// input was consumed) or [`Event::End`] (unconsumed input does not belong to this response). `visit` is called
    /// with the name and the value of each header of the final head. After an error, every further call returns the
    /// same error.
    #[inline]
    pub fn read(&mut self, input: &[u8], visit: &mut impl FnMut(&[u8], &[u8])) -> Result<Progress, Malformed> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        let progress = match &mut self.message {
            None => self.read_heads(input, visit),
            Some((_, body)) => {
                let read = body.read(input, &mut self.trailers).map_err(Malformed::from);
                read.inspect(|progress| self.counts.add(progress))
            }
        };
        self.failed = progress.as_ref().err().copied();
        progress
    }

    fn read_heads(&mut self, input: &[u8], visit: &mut impl FnMut(&[u8], &[u8])) -> Result<Progress, Malformed> {
        let mut at = 0;
        while at < input.len() {
            let (kind, rest) = (self.kind, &input[at..]);
            let in_one_piece = self.head_buffer.is_empty();
            if in_one_piece
                && let Some(cached) = &self.cached_head
                && let Some((length, head)) = cached.match_input(kind, rest, visit)
            {
                return Ok(self.begin_body(at + length, length, head));
            }
            let mut fields = FieldSpans::default();
            let parse = |bytes: &[u8]| {
                parse_head(bytes, kind, &mut |name, value| {
                    fields.record(bytes, name, value);
                    visit(name, value);
                })
            };
            let (consumed, parsed) = match self.head_buffer.feed(rest, parse) {
                Ok(Feed::Complete { consumed, head }) => (consumed, head),
                Ok(Feed::Partial) => {
                    self.counts.head += (input.len() - at) as u64;
                    return Ok(Progress::new(input.len(), Event::NeedMore));
                }
                Err(FeedError::TooLarge) => return Err(Malformed::HeadTooLarge),
                Err(FeedError::Invalid(malformed)) => return Err(malformed),
            };
            at += consumed;
            match parsed {
                Parsed::Interim => {
                    self.counts.head += consumed as u64;
                    self.count_interim()?;
                }
                Parsed::Final(head) => {
                    if in_one_piece {
                        CachedHead::store(&mut self.cached_head, kind, &rest[..consumed], &fields, &head);
                    }
                    return Ok(self.begin_body(at, consumed, head));
                }
            }
        }
        Ok(Progress::new(at, Event::NeedMore))
    }

    /// Begins to read the body after a complete final head. `consumed` is the number of bytes read from this piece of
    /// input, including interim heads. `length` is the number of those bytes that belong to the final head.
    #[inline]
    fn begin_body(&mut self, consumed: usize, length: usize, head: Head) -> Progress {
        self.counts.head += length as u64;
        let body = BodyReader::new(head.framing);
        self.message = Some((head, body));
        Progress::new(consumed, Event::Head)
    }

    fn count_interim(&mut self) -> Result<(), Malformed> {
        self.interim += 1;
        // Before the final head, all bytes counted so far belong to interim heads.
        if self.interim > MAX_INTERIM_HEADS || self.counts.head > MAX_INTERIM_BYTES {
            return Err(Malformed::TooManyInterim);
        }
        Ok(())
    }

    /// Returns how many of the next bytes are certainly body data. These are the rest of the body or of the current
    /// chunk. The number is [`u64::MAX`] if the body ends when the connection closes. The number is 0 in heads and
    /// framing, and after the end of the response.
    #[inline]
    pub fn opaque_bytes(&self) -> u64 {
        self.message.as_ref().map_or(0, |(_, body)| body.opaque_bytes())
    }

    /// Skips body bytes that the caller has discarded without reading them, at most [`Self::opaque_bytes`]. The skipped
    /// bytes count as received. Bytes beyond that limit are not counted.
    #[inline]
    pub fn skip(&mut self, bytes: u64) {
        debug_assert!(bytes <= self.opaque_bytes(), "bytes other than body data were skipped");
        if let Some((_, body)) = &mut self.message {
            self.counts.body = self.counts.body.saturating_add(body.skip(bytes));
        }
    }

    /// Returns whether the whole response has been received. [`Self::read`] then returns [`Event::End`] and consumes
    /// nothing.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.message.as_ref().is_some_and(|(_, body)| body.is_complete())
    }

    /// Handles the end of the stream, after the server closed its side. The end is not an error if the response was
    /// complete, or if its body ends when the connection closes.
    pub fn end_of_stream(&mut self) -> Result<(), Truncated> {
        match &mut self.message {
            None if self.counts.head == 0 => Err(Truncated::BeforeHead),
            None => Err(Truncated::InHead),
            Some((_, body)) => body.end_of_stream(),
        }
    }

    /// Returns the final head, if it has been read.
    #[inline]
    pub fn head(&self) -> Option<&Head> {
        self.message.as_ref().map(|(head, _)| head)
    }

    /// Returns the part that is being read.
    pub fn phase(&self) -> Reading {
        self.message.as_ref().map_or(Reading::Head, |(_, body)| body.reading())
    }

    /// Returns whether a head, interim or final, has been received in part.
    #[inline]
    pub fn is_within_head(&self) -> bool {
        self.message.is_none() && !self.head_buffer.is_empty()
    }

    /// Returns the number of bytes received so far that are not body data: all heads, chunk framing and trailers.
    #[inline]
    pub fn head_bytes(&self) -> u64 {
        self.counts.head
    }

    /// Returns the number of body bytes received so far, whether read or skipped, without chunk framing.
    #[inline]
    pub fn body_bytes(&self) -> u64 {
        self.counts.body
    }

    /// Returns whether the connection can be used for another request. The response must be complete, and the server
    /// must keep the connection open. The end of the response must not have been marked by closing the connection.
    /// Excess bytes after the end also make the connection unusable, but only the caller can detect them.
    pub fn reusable(&self) -> bool {
        self.message.as_ref().is_some_and(|(head, body)| {
            let kept = head.keep_alive && head.framing != Framing::UntilClose && !head.flags.smuggling_risk;
            kept && body.is_complete() && self.failed.is_none()
        })
    }

    /// Returns the number of interim (1xx) heads before the final head.
    pub fn interim(&self) -> u32 {
        self.interim
    }
}
