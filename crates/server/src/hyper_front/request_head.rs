//! Conversion of request heads from hyper's types to the types of `wire`.

use hyper::header::{self, HeaderMap};
use hyper::http::request::Parts;
use hyper::http::uri::Authority;
use wire::{Method, RangeRequest, RequestHead, Version};

/// Converts the head of a request. The head of an HTTP/2 request is converted to the form of HTTP/1.1.
pub(super) fn request_head(parts: &Parts) -> RequestHead {
    RequestHead {
        method: Method::from_token(parts.method.as_str()),
        target: parts.uri.to_string().into(),
        version: if parts.version < hyper::Version::HTTP_11 { Version::Http10 } else { Version::Http11 },
        // Framing and keep-alive are constant here, because hyper handles both.
        framing: wire::Framing::None,
        keep_alive: true,
        host: host_of(parts),
        range: range_of(&parts.headers),
        expect_continue: false,
    }
}

/// Returns the host that a request names. In HTTP/2, the host is the request's authority.
fn host_of(parts: &Parts) -> Option<Box<str>> {
    let host = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    host.or_else(|| parts.uri.authority().map(Authority::as_str)).map(Into::into)
}

/// Returns the `Range` of a request, under the same rules as [`RequestHead::range`].
pub(crate) fn range_of(headers: &HeaderMap) -> Option<RangeRequest> {
    let mut ranges = headers.get_all(header::RANGE).iter();
    match (ranges.next(), ranges.next()) {
        (Some(range), None) => RangeRequest::parse(range.as_bytes()),
        _ => None,
    }
}
