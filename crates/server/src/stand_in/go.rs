//! Behavior of Go's `net/http`, on which some of the imitated systems run.

use super::segments::{Segment, Segments};
use crate::content::Content;
use crate::response::Response;

/// The size of Go's buffer. If the whole body fits into the buffer, Go knows its length when it sends the head.
pub(super) const GO_BUFFER: u64 = 2048;

/// Removes the length from a response that is longer than Go's buffer, so that it is sent in chunks.
pub(super) fn without_length_beyond_buffer(response: Response) -> Response {
    let length = response.length.filter(|length| *length <= GO_BUFFER);
    match (length, response.content) {
        (None, Content::Text(text)) => {
            let (content, _) = Segments::content(vec![Segment::Text(text.into_owned())]);
            Response { content, length: None, ..response }
        }
        (length, content) => Response { content, length, ..response },
    }
}
