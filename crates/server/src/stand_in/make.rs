//! Sources of content that stand-ins need: several pieces one after the other, and whatever there is, compressed.

use std::collections::VecDeque;
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use wire::ByteRange;

use crate::answer::{Answer, Content};
use crate::pattern::Pattern;
use crate::source::{Produced, Source};

/// Content that is compressed before something must come out, so that others have their turn.
const COMPRESSED_MAX: usize = 1 << 20;

/// A part of [`Segments`].
#[derive(Debug)]
pub(crate) enum Segment {
    Text(Vec<u8>),
    Pattern(ByteRange),
}

/// Several pieces one after the other.
#[derive(Debug)]
pub(crate) struct Segments(VecDeque<Segment>);

impl Segments {
    /// Content of these pieces, and its length.
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

/// The body of an answer, compressed while it is sent.
#[derive(Debug)]
struct Gzip {
    content: Content,
    next: u64,
    left: u64,
    /// `None` once its last byte is out.
    encoder: Option<GzEncoder<Vec<u8>>>,
    raw: Vec<u8>,
}

/// The answer with its body compressed: of unknown length, whatever its range says.
pub(crate) fn gzipped(answer: Answer, level: u32) -> Answer {
    let gzip = Gzip {
        content: answer.content,
        next: answer.first,
        left: answer.length.unwrap_or(u64::MAX),
        encoder: Some(GzEncoder::new(Vec::new(), Compression::new(level))),
        raw: Vec::new(),
    };
    Answer { content: Content::Source(Box::new(gzip)), first: 0, length: None, ..answer }
}

impl Gzip {
    /// Takes the next piece of what is to be compressed; false at its end.
    fn refill(&mut self, pattern: &Pattern, room: usize) -> io::Result<bool> {
        self.raw.clear();
        match &mut self.content {
            Content::Source(source) => {
                // What stand-ins compress is made on the spot, and never has to be waited for.
                if source.produce(pattern, room, &mut self.raw)? != Produced::Piece {
                    return Ok(false);
                }
            }
            content => {
                let piece = self.left.min(room as u64);
                content.append(pattern, self.next, piece as usize, &mut self.raw)?;
                self.next += piece;
                self.left -= piece;
            }
        }
        Ok(!self.raw.is_empty())
    }
}

impl Source for Gzip {
    fn produce(&mut self, pattern: &Pattern, room: usize, out: &mut Vec<u8>) -> io::Result<Produced> {
        let mut taken = 0;
        while let Some(mut encoder) = self.encoder.take() {
            if !self.refill(pattern, room)? {
                out.extend_from_slice(&encoder.finish()?);
                return Ok(Produced::Piece);
            }
            encoder.write_all(&self.raw)?;
            taken += self.raw.len();
            if taken >= COMPRESSED_MAX {
                encoder.flush()?;
            }
            let ready = encoder.get_mut();
            let some = !ready.is_empty();
            out.append(ready);
            self.encoder = Some(encoder);
            // The ten bytes of the gzip header alone would tell nothing.
            if some && (out.len() > 10 || taken >= COMPRESSED_MAX) {
                return Ok(Produced::Piece);
            }
        }
        Ok(if out.is_empty() { Produced::End } else { Produced::Piece })
    }
}
