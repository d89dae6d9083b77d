//! HTTP/1 syntax as pure functions: bytes in, meaning out. The leaf that both sides of a connection use.
//!
//! Nothing here opens a socket, reads a clock or knows what a measurement is. Everything that is read comes from a peer
//! that may lie: every reader has limits, never panics, and never takes more bytes than belong to its message, so that
//! its caller can see what a peer sent in excess.

mod chunked;
mod collector;
mod fields;
pub mod message;
pub mod range;
pub mod response;

pub use message::{Event, Framing, Progress, Reading, Truncated, Version};
pub use range::{ByteRange, ContentRange, RangeRequest};
pub use response::{
    Encoding, Head, HeadFlags, Location, MAX_CHUNK_EXTENSION_BYTES, MAX_HEAD_BYTES, MAX_HEADERS, MAX_INTERIM_BYTES,
    MAX_INTERIM_HEADS, MAX_LOCATION_BYTES, MAX_TRAILER_BYTES, Malformed, RangeField, RequestKind, ResponseReader,
};
