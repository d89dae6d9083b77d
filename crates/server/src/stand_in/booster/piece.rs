//! Pieces, served like files by Go's `http.ServeContent`: with validators, conditions, and one or several ranges.

use cid::Cid;
use wire::{ByteRange, ContentRange, Method, RequestHead, Resolved};

use crate::content::Content;
use crate::request::RequestFacts;
use crate::response::range::slice;
use crate::response::{AcceptRanges, Media, Response};
use crate::stand_in::segments::{Segment, Segments};

const MEDIA: &str = "application/piece";
/// The header line of content that never changes.
pub(super) const CACHED: &str = "Cache-Control: public, max-age=29030400, immutable";
/// `time.UnixMilli(1)`, rounded to seconds.
const LAST_MODIFIED: &str = "Thu, 01 Jan 1970 00:00:00 GMT";

/// Returns the response for a piece of `size` bytes. `wrapped` is true if the response goes through the compressing
/// handler. This handler does not compress every response.
pub(super) fn serve(cid: &Cid, size: u64, wrapped: bool, head: &RequestHead, facts: &RequestFacts<'_>) -> Response {
    let suffix = if wrapped { ".gz" } else { "" };
    let etag = format!("\"{cid}{suffix}\"");
    let is_head = head.method == Method::Head;
    let mut response = if is_unmodified(&etag, is_head, facts) {
        Response {
            media: Media::Omitted,
            accept_ranges: AcceptRanges::Omitted,
            ..Response::new(304, Content::Empty, Some(0))
        }
    } else {
        let whole = Response { media: Media::Named(MEDIA.into()), ..Response::new(200, Content::Pattern, Some(size)) };
        ranged(whole, cid, &etag, size, head, facts)
    };
    response.add_header("Vary: Accept-Encoding");
    response.add_header(&format!("Etag: {etag}"));
    response.add_header(CACHED);
    // Go omits the modification time in the response to a HEAD, and in a 304 with an ETag.
    if !is_head && response.status != 304 {
        response.add_header(&format!("Last-Modified: {LAST_MODIFIED}"));
    }
    response
}

/// Returns whether the client already has this version. If `If-None-Match` is present, only its ETags matter, and weak
/// comparison is used. Otherwise any `If-Modified-Since` is enough: the date of a piece is so early that no date in a
/// request is earlier.
fn is_unmodified(etag: &str, is_head: bool, facts: &RequestFacts<'_>) -> bool {
    if let Some(list) = &facts.fields.if_none_match {
        let list = String::from_utf8_lossy(list);
        return list.split(',').map(str::trim).any(|tag| tag == "*" || tag.trim_start_matches("W/") == etag);
    }
    let date = facts.fields.if_modified_since.as_deref().filter(|_| !is_head);
    date.is_some_and(|date| date.len() == LAST_MODIFIED.len() && date.ends_with(b" GMT"))
}

/// Returns whether the `If-Range` condition is true. The condition is true if its value is the same strong ETag, or the
/// exact modification time.
fn range_holds(etag: &str, facts: &RequestFacts<'_>) -> bool {
    let condition = facts.fields.if_range.as_deref();
    condition.is_none_or(|value| value == etag.as_bytes() || value == LAST_MODIFIED.as_bytes())
}

fn ranged(whole: Response, cid: &Cid, etag: &str, size: u64, head: &RequestHead, facts: &RequestFacts<'_>) -> Response {
    let asked = facts.fields.range.is_some() && range_holds(etag, facts);
    let ranges = match (&head.range, asked) {
        (_, false) => return whole,
        (None, true) => return unsatisfiable("invalid range", None),
        (Some(request), true) => match request.resolve(size) {
            Resolved::Satisfiable(ranges) => ranges,
            Resolved::Unsatisfiable => return unsatisfiable("invalid range: failed to overlap", Some(size)),
        },
    };
    // If the ranges add up to more than the whole piece, the request may be an attack. Go sends the whole piece
    // instead.
    if ranges.iter().map(|range| u128::from(range.len())).sum::<u128>() > u128::from(size) {
        return whole;
    }
    match ranges.as_slice() {
        [one] => slice(whole, *one, size),
        several => multipart(whole, cid, several, size),
    }
}

/// Returns several ranges as `multipart/byteranges`, in the format of Go's `mime/multipart`.
fn multipart(whole: Response, cid: &Cid, ranges: &[ByteRange], size: u64) -> Response {
    // Go uses 30 random bytes. The stand-in uses bytes of the piece's hash, so that runs are repeatable.
    let boundary: String = cid.hash().digest().iter().take(30).map(|byte| format!("{byte:02x}")).collect();
    let mut segments = Vec::new();
    for range in ranges {
        let line = if segments.is_empty() { "" } else { "\r\n" };
        let (first, last) = (range.first(), range.last());
        segments.push(Segment::Text(
            format!(
                "{line}--{boundary}\r\nContent-Range: bytes {first}-{last}/{size}\r\nContent-Type: {MEDIA}\r\n\r\n"
            )
            .into_bytes(),
        ));
        segments.push(Segment::Pattern(*range));
    }
    segments.push(Segment::Text(format!("\r\n--{boundary}--\r\n").into_bytes()));
    let (content, length) = Segments::content(segments);
    let media = Media::Named(format!("multipart/byteranges; boundary={boundary}").into());
    Response { status: 206, content, length: Some(length), media, ..whole }
}

fn unsatisfiable(message: &str, size: Option<u64>) -> Response {
    let content_range = size.map(ContentRange::unsatisfied);
    Response { content_range, accept_ranges: AcceptRanges::Omitted, ..Response::line(416, message) }
}
