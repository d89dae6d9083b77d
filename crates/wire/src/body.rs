//! Reads a body of any framing, of a request or a response: counts it, and finds its end.

use crate::chunked::{ChunkError, ChunkReader, Observer, Step};
use crate::message::{Event, Framing, Progress, Reading, Truncated};

/// Where a reader stands in a body.
#[derive(Debug)]
pub(crate) enum Body {
    /// More than 0 bytes are still to come.
    Length(u64),
    Chunks(ChunkReader),
    UntilClose,
    Complete,
}

impl Body {
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
                // What is skipped is at most what the input holds.
                let taken = self.skip(input.len() as u64) as usize;
                Ok(Progress::new(taken, Event::Body(0..taken)))
            }
        }
    }

    #[inline]
    pub(crate) fn opaque_bytes(&self) -> u64 {
        match self {
            Self::Length(left) => *left,
            Self::Chunks(chunks) => chunks.opaque_bytes(),
            Self::UntilClose => u64::MAX,
            Self::Complete => 0,
        }
    }

    /// Passes over at most `bytes` opaque bytes; answers how many.
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

    /// The peer has closed its side.
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

/// How many bytes of a message have come, by what they were.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Counts {
    pub(crate) head: u64,
    pub(crate) body: u64,
}

impl Counts {
    /// Adds what one [`Body::read`] consumed.
    #[inline]
    pub(crate) fn add(&mut self, progress: &Progress) {
        let body = if let Event::Body(range) = &progress.event { range.len() as u64 } else { 0 };
        self.body = self.body.saturating_add(body);
        self.head += progress.consumed as u64 - body;
    }
}
