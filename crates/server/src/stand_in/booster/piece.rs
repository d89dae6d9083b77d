//! What Go's `http.ServeContent` makes of a piece: validators, conditions, one range or several.

use cid::Cid;
use wire::{ByteRange, ContentRange, Method, RequestHead, Resolved};

use super::super::make::{Segment, Segments};
use super::{CACHED, header};
use crate::answer::{self, AcceptRanges, Answer, Content, Facts, Media};

const MEDIA: &str = "application/piece";
/// `time.UnixMilli(1)`, to the second.
const LAST_MODIFIED: &str = "Thu, 01 Jan 1970 00:00:00 GMT";

/// The answer for a piece of `size` bytes; `wrapped` in the compressing handler, whether or not it compresses then.
pub(super) fn serve(cid: &Cid, size: u64, wrapped: bool, head: &RequestHead, facts: &Facts<'_>) -> Answer {
    let suffix = if wrapped { ".gz" } else { "" };
    let etag = format!("\"{cid}{suffix}\"");
    let is_head = head.method == Method::Head;
    let mut answer = if is_unmodified(&etag, is_head, facts) {
        Answer { media: Media::Unsaid, accept_ranges: AcceptRanges::Unsaid, ..Answer::of(304, Content::Empty, Some(0)) }
    } else {
        let whole = Answer { media: Media::Named(MEDIA.into()), ..Answer::of(200, Content::Pattern, Some(size)) };
        ranged(whole, cid, &etag, size, head, facts)
    };
    header(&mut answer, "Vary: Accept-Encoding");
    header(&mut answer, &format!("Etag: {etag}"));
    header(&mut answer, CACHED);
    // A HEAD is served without a time of modification; an answer with 304 has an Etag in its place.
    if !is_head && answer.status != 304 {
        header(&mut answer, &format!("Last-Modified: {LAST_MODIFIED}"));
    }
    answer
}

/// `If-None-Match`, compared weakly; without it, any `If-Modified-Since`, for no date lies before that of a piece.
fn is_unmodified(etag: &str, is_head: bool, facts: &Facts<'_>) -> bool {
    if let Some(list) = &facts.fields.if_none_match {
        let list = String::from_utf8_lossy(list);
        return list.split(',').map(str::trim).any(|tag| tag == "*" || tag.trim_start_matches("W/") == etag);
    }
    let date = facts.fields.if_modified_since.as_deref().filter(|_| !is_head);
    date.is_some_and(|date| date.len() == LAST_MODIFIED.len() && date.ends_with(b" GMT"))
}

/// `If-Range` holds for the same strong Etag, and for the very time of modification.
fn range_holds(etag: &str, facts: &Facts<'_>) -> bool {
    let condition = facts.fields.if_range.as_deref();
    condition.is_none_or(|value| value == etag.as_bytes() || value == LAST_MODIFIED.as_bytes())
}

fn ranged(whole: Answer, cid: &Cid, etag: &str, size: u64, head: &RequestHead, facts: &Facts<'_>) -> Answer {
    let asked = facts.fields.range.is_some() && range_holds(etag, facts);
    let ranges = match (&head.range, asked) {
        (_, false) => return whole,
        (None, true) => return refused("invalid range", None),
        (Some(request), true) => match request.resolve(size) {
            Resolved::Satisfiable(ranges) => ranges,
            Resolved::Unsatisfiable => return refused("invalid range: failed to overlap", Some(size)),
        },
    };
    // More than the whole in all may be an attack: Go then sends the whole.
    if ranges.iter().map(|range| u128::from(range.len())).sum::<u128>() > u128::from(size) {
        return whole;
    }
    match ranges.as_slice() {
        [one] => answer::slice(whole, *one, size),
        several => multipart(whole, cid, several, size),
    }
}

/// `multipart/byteranges` as Go's `mime/multipart` writes it.
fn multipart(whole: Answer, cid: &Cid, ranges: &[ByteRange], size: u64) -> Answer {
    // Go draws 30 random bytes; these come from the piece's hash, so that a run can be repeated.
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
    Answer { status: 206, content, length: Some(length), media, ..whole }
}

fn refused(sentence: &str, size: Option<u64>) -> Answer {
    let content_range = size.map(ContentRange::unsatisfied);
    Answer { content_range, accept_ranges: AcceptRanges::Unsaid, ..Answer::sentence(416, sentence) }
}
