//! Request heads in the types of `wire`.

use hyper::header::{self, HeaderMap};
use hyper::http::request::Parts;
use hyper::http::uri::Authority;
use wire::{Method, RangeRequest, RequestHead, Version};

/// Converts the head of a request. HTTP/2 requests look like those of HTTP/1.1.
pub(super) fn request_head(parts: &Parts) -> RequestHead {
    RequestHead {
        method: Method::from_token(parts.method.as_str()),
        target: parts.uri.to_string().into(),
        version: if parts.version < hyper::Version::HTTP_11 { Version::Http10 } else { Version::Http11 },
        // hyper handles framing and the end of connections.
        framing: wire::Framing::None,
        keep_alive: true,
        host: host_of(parts),
        range: range_of(&parts.headers),
        expect_continue: false,
    }
}

/// Returns the host that a request names; in HTTP/2, its authority.
fn host_of(parts: &Parts) -> Option<Box<str>> {
    let host = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    host.or_else(|| parts.uri.authority().map(Authority::as_str)).map(Into::into)
}

/// Returns the `Range` of a request, by the rule of [`RequestHead::range`].
pub(crate) fn range_of(headers: &HeaderMap) -> Option<RangeRequest> {
    let mut ranges = headers.get_all(header::RANGE).iter();
    match (ranges.next(), ranges.next()) {
        (Some(range), None) => RangeRequest::parse(range.as_bytes()),
        _ => None,
    }
}
