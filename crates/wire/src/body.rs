//! Reader of request and response bodies with any framing. The reader counts the bytes and finds the end of the body.

use crate::chunked::{ChunkError, ChunkReader, Observer, Step};
use crate::message::{Event, Framing, Progress, Reading, Truncated};

/// The state of reading a body.
#[derive(Debug)]
pub(crate) enum BodyReader {
    /// Remaining bytes, at least 1.
    Length(u64),
    Chunks(ChunkReader),
    UntilClose,
    Complete,
}

impl BodyReader {
    pub(crate) fn new(framing: Framing) -> Self {
        match framing {
            Framing::None | Framing::Length(0) => Self::Complete,
            Framing::Length(bytes) => Self::Length(bytes),
            Framing::Chunked => Self::Chunks(ChunkReader::new()),
            Framing::UntilClose => Self::UntilClose,
        }
    }

    #[inline]
    pub(crate) fn read(&mut self, input: &[u8], observer: &mut impl Observer) -> Result<Progress, ChunkError> {
        match self {
            Self::Complete => Ok(Progress::new(0, Event::End)),
            Self::Chunks(chunks) => match chunks.read_observed(input, observer)? {
                Step::NeedMore => Ok(Progress::new(input.len(), Event::NeedMore)),
                Step::Data(range) => Ok(Progress::new(range.end, Event::Body(range))),
                Step::End(consumed) => {
                    *self = Self::Complete;
                    Ok(Progress::new(consumed, Event::End))
                }
            },
            Self::Length(_) | Self::UntilClose if input.is_empty() => Ok(Progress::new(0, Event::NeedMore)),
            Self::Length(_) | Self::UntilClose => {
                // `skip` returns at most the length of the input.
                let taken = self.skip(input.len() as u64) as usize;
                Ok(Progress::new(taken, Event::Body(0..taken)))
            }
        }
    }

    /// Returns how many of the next bytes are certainly body data. Callers may skip these bytes without reading them.
    #[inline]
    pub(crate) fn opaque_bytes(&self) -> u64 {
        match self {
            Self::Length(left) => *left,
            Self::Chunks(chunks) => chunks.opaque_bytes(),
            Self::UntilClose => u64::MAX,
            Self::Complete => 0,
        }
    }

    /// Skips at most `bytes` bytes of body data, and returns how many were skipped.
    #[inline]
    pub(crate) fn skip(&mut self, bytes: u64) -> u64 {
        let bytes = bytes.min(self.opaque_bytes());
        match self {
            Self::Length(left) if *left == bytes => *self = Self::Complete,
            Self::Length(left) => *left -= bytes,
            Self::Chunks(chunks) if bytes > 0 => chunks.skip(bytes),
            Self::Chunks(_) | Self::UntilClose | Self::Complete => {}
        }
        bytes
    }

    #[inline]
    pub(crate) fn is_complete(&self) -> bool {
        matches!(self, Self::Complete)
    }

    /// Handles the end of the stream: the peer closed its side of the connection.
    pub(crate) fn end_of_stream(&mut self) -> Result<(), Truncated> {
        match self {
            Self::Length(_) => Err(Truncated::InBody),
            Self::Chunks(_) => Err(Truncated::InChunks),
            Self::UntilClose | Self::Complete => {
                *self = Self::Complete;
                Ok(())
            }
        }
    }

    pub(crate) fn reading(&self) -> Reading {
        match self {
            Self::Chunks(chunks) if chunks.in_trailers() => Reading::Trailers,
            Self::Length(_) | Self::Chunks(_) | Self::UntilClose => Reading::Body,
            Self::Complete => Reading::Complete,
        }
    }
}

/// Received bytes of one message.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct ByteCounts {
    /// Bytes of heads, chunk framing and trailers.
    pub(crate) head: u64,
    pub(crate) body: u64,
}

impl ByteCounts {
    /// Adds the bytes that one [`BodyReader::read`] consumed.
    #[inline]
    pub(crate) fn add(&mut self, progress: &Progress) {
        let body = if let Event::Body(range) = &progress.event { range.len() as u64 } else { 0 };
        self.body = self.body.saturating_add(body);
        self.head += progress.consumed as u64 - body;
    }
}
