//! Types shared by requests and responses: version, framing, and the progress of a reader.

use std::ops::Range;

/// The protocol version of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Version {
    /// HTTP/1.0. The connection closes after the response unless the message has `Connection: keep-alive`.
    Http10,
    /// HTTP/1.1. The connection stays open unless the message has `Connection: close`.
    Http11,
    /// HTTP/2. This crate does not read its frames.
    Http2,
}

impl Version {
    /// Converts the minor version from `httparse`, which is 0 or 1.
    pub(crate) fn from_minor(minor: u8) -> Self {
        if minor == 0 { Self::Http10 } else { Self::Http11 }
    }
}

/// The rule that determines the end of a body (RFC 9112 §6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// No body.
    None,
    /// A fixed number of bytes, possibly 0.
    Length(u64),
    /// The chunked transfer coding, up to a chunk of size 0.
    Chunked,
    /// All bytes until the peer closes the connection. Responses only.
    UntilClose,
}

/// The part of a message that is being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// The head. The head may not have begun yet.
    Head,
    /// The body and its chunk framing.
    Body,
    /// The trailer fields after a chunked body.
    Trailers,
    /// No part, because the message is complete.
    Complete,
}

/// The result of one call of a reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Number of input bytes consumed.
    pub consumed: usize,
    /// The event at the end of these bytes.
    pub event: Event,
}

impl Progress {
    pub(crate) fn new(consumed: usize, event: Event) -> Self {
        Self { consumed, event }
    }
}

/// A step in reading a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The reader consumed all input and the message continues.
    NeedMore,
    /// The head is complete.
    Head,
    /// Body bytes without chunk framing, at this range of the input. Never empty.
    Body(Range<usize>),
    /// The message is complete. Unconsumed input does not belong to this message.
    End,
}

/// The part of a message in which the stream ended too early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Truncated {
    /// The stream ended before the first byte.
    #[error("the peer closed the connection before the first byte")]
    BeforeHead,
    /// The stream ended in a head, or after an interim (1xx) head.
    #[error("the peer closed the connection within the head")]
    InHead,
    /// The stream ended in a body of known length.
    #[error("the peer closed the connection before the end of the body")]
    InBody,
    /// The stream ended in a chunked body or its trailers.
    #[error("the peer closed the connection before the last chunk")]
    InChunks,
}
