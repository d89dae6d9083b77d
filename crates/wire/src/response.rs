//! Reads one response at a time from the bytes of a connection.
//!
//! This is the client's hot path. A head that arrives in one piece is parsed where it lies, without allocation. Body
//! bytes are only counted, and the reader tells how many may be passed over unseen ([`ResponseReader::opaque_bytes`]), so
//! that the caller can drop them inside the kernel.

mod head;

pub use head::{Encoding, Head, HeadFlags, Location, Malformed, RangeField};

use crate::chunked::{self, ChunkReader, Step};
use crate::collector::{Collector, Fed, MAX_BYTES, Unfed};
use crate::message::{Event, Framing, Progress, Reading, Truncated};
use head::{Parsed, parse_head};

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
    state: State,
    kind: RequestKind,
    failed: Option<Malformed>,
    interim: u32,
    head_bytes: u64,
    body_bytes: u64,
    head: Option<Head>,
    collector: Collector,
}

#[derive(Debug)]
enum State {
    Head,
    /// More than 0 bytes are still to come.
    Length(u64),
    Chunks(ChunkReader),
    UntilClose,
    Complete,
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
            state: State::Head,
            kind: RequestKind::Other,
            failed: None,
            interim: 0,
            head_bytes: 0,
            body_bytes: 0,
            head: None,
            collector: Collector::default(),
        }
    }

    /// Begins anew: the next bytes answer a request of this kind.
    pub fn start(&mut self, kind: RequestKind) {
        *self = Self { kind, ..Self::new() };
    }

    /// Reads from `input`. Call again with the rest until [`Event::NeedMore`] (everything was consumed) or
    /// [`Event::End`] (what was not consumed does not belong to this response). `visit` gets name and value of each
    /// header of the final head. After an error every further call gives the same error.
    #[inline]
    pub fn read(&mut self, input: &[u8], visit: &mut impl FnMut(&[u8], &[u8])) -> Result<Progress, Malformed> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        let progress = match &mut self.state {
            State::Head => self.read_heads(input, visit),
            State::Chunks(_) => self.read_chunks(input),
            State::Complete => Ok(Progress::new(0, Event::End)),
            State::Length(_) | State::UntilClose if input.is_empty() => Ok(Progress::new(0, Event::NeedMore)),
            State::Length(_) | State::UntilClose => {
                let taken = usize::try_from(self.opaque_bytes()).unwrap_or(usize::MAX).min(input.len());
                self.skip(taken as u64);
                Ok(Progress::new(taken, Event::Body(0..taken)))
            }
        };
        if let Err(failed) = progress {
            self.failed = Some(failed);
        }
        progress
    }

    fn read_heads(&mut self, input: &[u8], visit: &mut impl FnMut(&[u8], &[u8])) -> Result<Progress, Malformed> {
        let mut at = 0;
        while at < input.len() {
            let kind = self.kind;
            let fed = self.collector.feed(&input[at..], |bytes| parse_head(bytes, kind, visit));
            let (consumed, parsed) = match fed {
                Ok(Fed::Whole { consumed, head }) => (consumed, head),
                Ok(Fed::Partial) => {
                    self.head_bytes += (input.len() - at) as u64;
                    return Ok(Progress::new(input.len(), Event::NeedMore));
                }
                Err(Unfed::TooLarge) => return Err(Malformed::HeadTooLarge),
                Err(Unfed::Refused(malformed)) => return Err(malformed),
            };
            at += consumed;
            self.head_bytes += consumed as u64;
            match parsed {
                Parsed::Interim => self.count_interim()?,
                Parsed::Final(head) => {
                    self.state = match head.framing {
                        Framing::None | Framing::Length(0) => State::Complete,
                        Framing::Length(bytes) => State::Length(bytes),
                        Framing::Chunked => State::Chunks(ChunkReader::new()),
                        Framing::UntilClose => State::UntilClose,
                    };
                    self.head = Some(head);
                    return Ok(Progress::new(at, Event::Head));
                }
            }
        }
        Ok(Progress::new(at, Event::NeedMore))
    }

    fn count_interim(&mut self) -> Result<(), Malformed> {
        self.interim += 1;
        // Until the final head has come, all bytes are those of interim heads.
        if self.interim > MAX_INTERIM_HEADS || self.head_bytes > MAX_INTERIM_BYTES {
            return Err(Malformed::TooManyInterim);
        }
        Ok(())
    }

    fn read_chunks(&mut self, input: &[u8]) -> Result<Progress, Malformed> {
        let State::Chunks(chunks) = &mut self.state else { return Ok(Progress::new(0, Event::NeedMore)) };
        match chunks.read(input)? {
            Step::NeedMore => {
                self.head_bytes += input.len() as u64;
                Ok(Progress::new(input.len(), Event::NeedMore))
            }
            Step::Data(range) => {
                self.head_bytes += range.start as u64;
                self.body_bytes += range.len() as u64;
                Ok(Progress::new(range.end, Event::Body(range)))
            }
            Step::End(consumed) => {
                self.head_bytes += consumed as u64;
                self.state = State::Complete;
                Ok(Progress::new(consumed, Event::End))
            }
        }
    }

    /// Body bytes that come next and need no look: the rest of the body, or of the current chunk; [`u64::MAX`] when the
    /// body ends with the connection. 0 in heads and framing, and when the response is complete.
    #[inline]
    pub fn opaque_bytes(&self) -> u64 {
        match &self.state {
            State::Length(left) => *left,
            State::Chunks(chunks) => chunks.opaque_bytes(),
            State::UntilClose => u64::MAX,
            State::Head | State::Complete => 0,
        }
    }

    /// Passes over body bytes that the caller has dropped unseen; they count as received. At most
    /// [`Self::opaque_bytes`], which what is beyond is cut to.
    #[inline]
    pub fn skip(&mut self, bytes: u64) {
        debug_assert!(bytes <= self.opaque_bytes(), "only opaque bytes can be skipped");
        let bytes = bytes.min(self.opaque_bytes());
        if bytes == 0 {
            return;
        }
        match &mut self.state {
            State::Length(left) => {
                *left -= bytes;
                if *left == 0 {
                    self.state = State::Complete;
                }
            }
            State::Chunks(chunks) => chunks.skip(bytes),
            State::UntilClose | State::Head | State::Complete => {}
        }
        self.body_bytes = self.body_bytes.saturating_add(bytes);
    }

    /// Whether the last byte of this response has come. [`Self::read`] then gives [`Event::End`] and consumes nothing.
    #[inline]
    pub fn is_complete(&self) -> bool {
        matches!(self.state, State::Complete)
    }

    /// The peer has closed its side: fine when the response was complete, or becomes so by it.
    pub fn end_of_stream(&mut self) -> Result<(), Truncated> {
        match self.state {
            State::Head if self.head_bytes == 0 => Err(Truncated::BeforeHead),
            State::Head => Err(Truncated::InHead),
            State::Length(_) => Err(Truncated::InBody),
            State::Chunks(_) => Err(Truncated::InChunks),
            State::UntilClose | State::Complete => {
                self.state = State::Complete;
                Ok(())
            }
        }
    }

    /// The final head, once it has been read.
    #[inline]
    pub fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// The part that is being read.
    pub fn phase(&self) -> Reading {
        match &self.state {
            State::Head => Reading::Head,
            State::Chunks(chunks) if chunks.in_trailers() => Reading::Trailers,
            State::Length(_) | State::Chunks(_) | State::UntilClose => Reading::Body,
            State::Complete => Reading::Complete,
        }
    }

    /// Bytes received so far that are not body: all heads, chunk framing, trailers.
    #[inline]
    pub fn head_bytes(&self) -> u64 {
        self.head_bytes
    }

    /// Body bytes received so far, without their framing, read or skipped.
    #[inline]
    pub fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// Whether the connection may carry another request: the response is complete, did not end by the close, and the
    /// server keeps the connection. Bytes left over after the end forbid it too, which only the caller sees.
    pub fn reusable(&self) -> bool {
        self.is_complete()
            && self.failed.is_none()
            && self.head.as_ref().is_some_and(|head| {
                head.keep_alive && head.framing != Framing::UntilClose && !head.flags.smuggling_risk
            })
    }

    /// How many interim (1xx) heads came before the final one.
    pub fn interim(&self) -> u32 {
        self.interim
    }
}
