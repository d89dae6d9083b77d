//! Range requests: the part of an object that a response contains.

use wire::{ByteRange, ContentRange, Method, RangeRequest, RequestHead, Resolved};

use super::Response;
use crate::request::RequestFacts;

/// Narrows a 200 to the requested range. A request for several ranges gets the whole object, which RFC 9110 §14.2
/// allows. A request with `If-Range` also gets the whole object (§13.1.5): the server sends no validators, so the
/// client cannot have a matching one.
pub(crate) fn narrow_to_range(response: Response, head: &RequestHead, facts: &RequestFacts<'_>) -> Response {
    let range = head.range.as_ref().filter(|_| head.method == Method::Get && response.status == 200);
    let (Some(range), Some(complete)) = (range, response.length) else { return response };
    match resolve(range, complete) {
        _ if facts.fields.if_range.is_some() => response,
        RangeOutcome::Whole => response,
        RangeOutcome::Unsatisfiable => {
            let content_range = Some(ContentRange::unsatisfied(complete));
            Response { content_range, ..Response::line(416, "the range lies outside the object") }
        }
        RangeOutcome::Range(range) => slice(response, range, complete),
    }
}

/// The server's response to a `Range`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RangeOutcome {
    /// The whole object. RFC 9110 §14.2 also allows this response to a request for several ranges.
    Whole,
    Range(ByteRange),
    /// No part of the object; the status is 416.
    Unsatisfiable,
}

/// Resolves a range request against an object of `complete` bytes.
pub(crate) fn resolve(request: &RangeRequest, complete: u64) -> RangeOutcome {
    match request.resolve(complete) {
        _ if request.specs().len() != 1 => RangeOutcome::Whole,
        Resolved::Unsatisfiable => RangeOutcome::Unsatisfiable,
        Resolved::Satisfiable(ranges) => {
            ranges.first().map_or(RangeOutcome::Whole, |range| RangeOutcome::Range(*range))
        }
    }
}

/// Turns a whole response into a 206 with one range of an object of `complete` bytes.
pub(crate) fn slice(response: Response, range: ByteRange, complete: u64) -> Response {
    let content_range = ContentRange::of(range, Some(complete));
    Response { status: 206, first: range.first(), length: Some(range.len()), content_range, ..response }
}
