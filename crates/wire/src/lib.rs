//! HTTP/1 syntax, and what S3 adds to it, as pure functions: bytes in, meaning out. The leaf that both sides of a
//! connection use.
//!
//! Nothing here opens a socket, reads a clock or knows what a measurement is. Everything that is read comes from a peer
//! that may lie: every reader has limits, never panics, and never takes more bytes than belong to its message, so that
//! its caller can see what a peer sent in excess.

mod body;
pub mod checksum;
mod chunked;
mod collector;
pub mod date;
mod fields;
pub mod gateway;
pub mod header;
mod hex;
pub mod message;
pub mod percent;
pub mod range;
pub mod request;
pub mod response;
pub mod s3;
pub mod sigv4;
pub mod url;

pub use header::{Header, HeaderError, HeaderName, HeaderValue, is_secret_name};
pub use message::{Event, Framing, Progress, Reading, Truncated, Version};
pub use range::{ByteRange, ContentRange, RangeRequest, RangeSpec, Resolved};
pub use request::{BadRequest, Method, RequestHead, RequestReader};
pub use response::{
    Encoding, Head, HeadFlags, Location, MAX_HEAD_BYTES, MAX_HEADERS, Malformed, RangeField, RequestKind,
    ResponseReader,
};
pub use url::{Credentials, Origin, Scheme, Url, UrlError};
