//! Content that consists of several segments.

use std::collections::VecDeque;
use std::io;

use wire::ByteRange;

use crate::content::Content;
use crate::content::pattern::Pattern;
use crate::content::source::{Produced, Source};

/// One of [`Segments`].
#[derive(Debug)]
pub(crate) enum Segment {
    Text(Vec<u8>),
    Pattern(ByteRange),
}

/// Several segments, one after the other.
#[derive(Debug)]
pub(crate) struct Segments(VecDeque<Segment>);

impl Segments {
    /// Creates content from these segments. Returns the content and its length.
    pub(crate) fn content(segments: Vec<Segment>) -> (Content, u64) {
        let length = |segment: &Segment| match segment {
            Segment::Text(text) => text.len() as u64,
            Segment::Pattern(range) => range.len(),
        };
        let length = segments.iter().map(length).sum();
        (Content::Source(Box::new(Self(segments.into()))), length)
    }
}

impl Source for Segments {
    fn produce(&mut self, pattern: &Pattern, room: usize, out: &mut Vec<u8>) -> io::Result<Produced> {
        let from = out.len();
        while out.len() - from < room {
            let room = room - (out.len() - from);
            match self.0.pop_front() {
                None => break,
                Some(Segment::Text(mut text)) => {
                    let rest = text.split_off(text.len().min(room));
                    out.extend_from_slice(&text);
                    if !rest.is_empty() {
                        self.0.push_front(Segment::Text(rest));
                    }
                }
                Some(Segment::Pattern(range)) => {
                    let piece = range.len().min(room as u64);
                    pattern.append(range.first(), piece as usize, out);
                    if let Some(rest) = ByteRange::new(range.first() + piece, range.last()) {
                        self.0.push_front(Segment::Pattern(rest));
                    }
                }
            }
        }
        Ok(if out.len() > from { Produced::Piece } else { Produced::End })
    }
}
