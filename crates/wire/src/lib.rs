//! HTTP/1 syntax and S3's additions to it, as pure functions. The client and the embedded server share this crate.
//!
//! This crate opens no socket, reads no clock, and does not measure anything. All input comes from a peer that may
//! misbehave. Readers have limits and never panic. Readers never consume bytes beyond their message, so callers can
//! detect excess bytes.

mod body;
pub mod checksum;
mod chunked;
pub mod date;
mod decimal;
mod framing_fields;
pub mod gateway;
mod head_buffer;
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
