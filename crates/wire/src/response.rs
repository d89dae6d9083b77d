//! Reads one response at a time from the bytes of a connection.
//!
//! This is the client's hot path. A head that arrives in one piece is parsed where it lies, without allocation. Body
//! bytes are only counted, and the reader tells how many may be passed over unseen ([`ResponseReader::opaque_bytes`]), so
//! that the caller can drop them inside the kernel.

mod head;
mod known;

pub use head::{Encoding, Head, HeadFlags, Location, Malformed, RangeField};

use crate::body::{Body, Counts};
use crate::chunked::{self, Observer};
use crate::collector::{Collector, Fed, MAX_BYTES, Unfed};
use crate::message::{Event, Framing, Progress, Reading, Truncated};
use head::{Parsed, parse_head};
use known::{Fields, Known};

/// The most bytes a final head may have.
pub const MAX_HEAD_BYTES: usize = MAX_BYTES;
/// The most headers a head may have.
pub const MAX_HEADERS: usize = 100;
/// The most interim (1xx) heads before a final one.
pub const MAX_INTERIM_HEADS: u32 = 64;
/// The most bytes that all interim heads may have together.
pub const MAX_INTERIM_BYTES: u64 = 64 * 1024;
/// The most bytes that all chunk extensions of a body may have together.
pub const MAX_CHUNK_EXTENSION_BYTES: u32 = chunked::MAX_EXTENSION_BYTES;
/// The most bytes that the trailers may have.
pub const MAX_TRAILER_BYTES: u32 = chunked::MAX_TRAILER_BYTES;
/// The most bytes of a `Location` that is followed.
pub const MAX_LOCATION_BYTES: usize = 8 * 1024;

/// What was asked, as far as it changes how the answer is framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// A HEAD request: the answer has no body, whatever it says.
    Head,
    /// Any other request.
    Other,
}

/// Reads the responses of one connection, one after the other.
#[derive(Debug)]
pub struct ResponseReader {
    kind: RequestKind,
    failed: Option<Malformed>,
    interim: u32,
    counts: Counts,
    collector: Collector,
    /// The final head with its body; none while heads are read.
    message: Option<(Head, Body)>,
    trailers: Trailers,
    known: Option<Box<Known>>,
}

/// The trailer fields of a body, for who wants them.
#[derive(Debug, Default)]
struct Trailers {
    wanted: bool,
    /// As they came, without line feeds; the reader of chunks bounds them.
    bytes: Vec<u8>,
}

impl Observer for Trailers {
    fn extension(&mut self, _: u8) {}
    fn size_line(&mut self, _: u64) {}

    fn trailer(&mut self, byte: u8) {
        if self.wanted {
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
    /// A reader for the answer to a request of kind [`RequestKind::Other`].
    pub fn new() -> Self {
        Self {
            kind: RequestKind::Other,
            failed: None,
            interim: 0,
            counts: Counts::default(),
            collector: Collector::default(),
            message: None,
            trailers: Trailers::default(),
            known: None,
        }
    }

    /// Begins anew: the next bytes answer a request of this kind.
    pub fn start(&mut self, kind: RequestKind) {
        let known = self.known.take();
        *self = Self { kind, known, ..Self::new() };
    }

    /// Keeps the trailer fields of the response that comes next.
    pub fn keep_trailers(&mut self) {
        self.trailers.wanted = true;
    }

    /// Names and values of the trailer fields that were kept.
    pub fn trailers(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.trailers.bytes.split(|byte| *byte == b'\r').filter_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            Some((&line[..colon], line[colon + 1..].trim_ascii()))
        })
    }

    /// Reads from `input`. Call again with the rest until [`Event::NeedMore`] (everything was consumed) or
    /// [`Event::End`] (what was not consumed does not belong to this response). `visit` gets name and value of each
    /// header of the final head. After an error every further call gives the same error.
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
            let in_one_piece = self.collector.is_empty();
            if in_one_piece
                && let Some(known) = &self.known
                && let Some((length, head)) = known.recall(kind, rest, visit)
            {
                return Ok(self.begin_body(at + length, length, head));
            }
            let mut fields = Fields::default();
            let parse = |bytes: &[u8]| {
                parse_head(bytes, kind, &mut |name, value| {
                    fields.note(bytes, name, value);
                    visit(name, value);
                })
            };
            let (consumed, parsed) = match self.collector.feed(rest, parse) {
                Ok(Fed::Whole { consumed, head }) => (consumed, head),
                Ok(Fed::Partial) => {
                    self.counts.head += (input.len() - at) as u64;
                    return Ok(Progress::new(input.len(), Event::NeedMore));
                }
                Err(Unfed::TooLarge) => return Err(Malformed::HeadTooLarge),
                Err(Unfed::Refused(malformed)) => return Err(malformed),
            };
            at += consumed;
            match parsed {
                Parsed::Interim => {
                    self.counts.head += consumed as u64;
                    self.count_interim()?;
                }
                Parsed::Final(head) => {
                    if in_one_piece {
                        Known::keep(&mut self.known, kind, &rest[..consumed], &fields, &head);
                    }
                    return Ok(self.begin_body(at, consumed, head));
                }
            }
        }
        Ok(Progress::new(at, Event::NeedMore))
    }

    /// The final head is complete, `length` bytes of which came with this piece of input.
    #[inline]
    fn begin_body(&mut self, consumed: usize, length: usize, head: Head) -> Progress {
        self.counts.head += length as u64;
        let body = Body::new(head.framing);
        self.message = Some((head, body));
        Progress::new(consumed, Event::Head)
    }

    fn count_interim(&mut self) -> Result<(), Malformed> {
        self.interim += 1;
        // Until the final head has come, all bytes are those of interim heads.
        if self.interim > MAX_INTERIM_HEADS || self.counts.head > MAX_INTERIM_BYTES {
            return Err(Malformed::TooManyInterim);
        }
        Ok(())
    }

    /// Body bytes that come next and need no look: the rest of the body, or of the current chunk; [`u64::MAX`] when the
    /// body ends with the connection. 0 in heads and framing, and when the response is complete.
    #[inline]
    pub fn opaque_bytes(&self) -> u64 {
        self.message.as_ref().map_or(0, |(_, body)| body.opaque_bytes())
    }

    /// Passes over body bytes that the caller has dropped unseen; they count as received. At most
    /// [`Self::opaque_bytes`]; what goes beyond is not counted.
    #[inline]
    pub fn skip(&mut self, bytes: u64) {
        debug_assert!(bytes <= self.opaque_bytes(), "only opaque bytes can be skipped");
        if let Some((_, body)) = &mut self.message {
            self.counts.body = self.counts.body.saturating_add(body.skip(bytes));
        }
    }

    /// Whether the last byte of this response has come. [`Self::read`] then gives [`Event::End`] and consumes nothing.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.message.as_ref().is_some_and(|(_, body)| body.is_complete())
    }

    /// The peer has closed its side: fine when the response was complete, or becomes so by it.
    pub fn end_of_stream(&mut self) -> Result<(), Truncated> {
        match &mut self.message {
            None if self.counts.head == 0 => Err(Truncated::BeforeHead),
            None => Err(Truncated::InHead),
            Some((_, body)) => body.end_of_stream(),
        }
    }

    /// The final head, once it has been read.
    #[inline]
    pub fn head(&self) -> Option<&Head> {
        self.message.as_ref().map(|(head, _)| head)
    }

    /// The part that is being read.
    pub fn phase(&self) -> Reading {
        self.message.as_ref().map_or(Reading::Head, |(_, body)| body.reading())
    }

    /// Whether a head, interim or final, has begun to arrive and is not complete.
    #[inline]
    pub fn is_within_head(&self) -> bool {
        self.message.is_none() && !self.collector.is_empty()
    }

    /// Bytes received so far that are not body: all heads, chunk framing, trailers.
    #[inline]
    pub fn head_bytes(&self) -> u64 {
        self.counts.head
    }

    /// Body bytes received so far, without their framing, read or skipped.
    #[inline]
    pub fn body_bytes(&self) -> u64 {
        self.counts.body
    }

    /// Whether the connection may carry another request: the response is complete, did not end by the close, and the
    /// server keeps the connection. Bytes left over after the end forbid it too, which only the caller sees.
    pub fn reusable(&self) -> bool {
        self.message.as_ref().is_some_and(|(head, body)| {
            let told = head.keep_alive && head.framing != Framing::UntilClose && !head.flags.smuggling_risk;
            told && body.is_complete() && self.failed.is_none()
        })
    }

    /// How many interim (1xx) heads came before the final one.
    pub fn interim(&self) -> u32 {
        self.interim
    }
}
