//! What requests and responses have in common: how they are framed, and how reading one goes on.

use std::ops::Range;

/// The protocol version of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Version {
    /// HTTP/1.0: a connection carries one message unless it says otherwise.
    Http10,
    /// HTTP/1.1: a connection carries many messages unless it says otherwise.
    Http11,
    /// HTTP/2: messages are streams of frames, many at a time on one connection. Its frames are not read here.
    Http2,
}

impl Version {
    /// From the minor version that `httparse` reads, which is 0 or 1.
    pub(crate) fn from_minor(minor: u8) -> Self {
        if minor == 0 { Self::Http10 } else { Self::Http11 }
    }
}

/// How the end of a body is found (RFC 9112 §6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// There is no body.
    None,
    /// So many bytes (possibly none).
    Length(u64),
    /// Chunks that tell their sizes, up to one of size 0.
    Chunked,
    /// All bytes until the peer closes. Responses only.
    UntilClose,
}

/// The part of a message that is being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// The head, or nothing yet.
    Head,
    /// The body, with its framing.
    Body,
    /// The trailer fields after a chunked body.
    Trailers,
    /// Nothing: the message is complete.
    Complete,
}

/// What one call of a reader came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// How many bytes of the input now belong to the past.
    pub consumed: usize,
    /// What they held.
    pub event: Event,
}

impl Progress {
    pub(crate) fn new(consumed: usize, event: Event) -> Self {
        Self { consumed, event }
    }
}

/// Something that a reader found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// All input was consumed and the message goes on.
    NeedMore,
    /// The head is complete.
    Head,
    /// Body bytes, without their framing, at this range of the input; never empty.
    Body(Range<usize>),
    /// The message is complete. Input that was not consumed does not belong to it.
    End,
}

/// Where a message broke off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Truncated {
    /// Not one byte came.
    #[error("the peer closed before the first byte")]
    BeforeHead,
    /// Within a head, or after an interim (1xx) head.
    #[error("the peer closed within the head")]
    InHead,
    /// Within a body of known length.
    #[error("the peer closed before the whole body had come")]
    InBody,
    /// Within a chunked body or its trailers.
    #[error("the peer closed before the last chunk")]
    InChunks,
}
