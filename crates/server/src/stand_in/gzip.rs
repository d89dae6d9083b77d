//! Content that is compressed while it is sent.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::content::Content;
use crate::content::pattern::Pattern;
use crate::content::source::{Produced, Source};
use crate::response::Response;

/// Maximum number of input bytes that one call compresses before it returns its output. After that, other connections
/// get their turn.
const COMPRESSED_MAX: usize = 1 << 20;

/// Content that is compressed while it is sent.
#[derive(Debug)]
struct Gzip {
    content: Content,
    next: u64,
    left: u64,
    /// `None` after all output has been produced.
    encoder: Option<GzEncoder<Vec<u8>>>,
    raw: Vec<u8>,
}

/// Compresses the body of a response. The length of the compressed body is unknown, even if the response has a range.
pub(crate) fn gzipped(response: Response, level: u32) -> Response {
    let gzip = Gzip {
        content: response.content,
        next: response.first,
        left: response.length.unwrap_or(u64::MAX),
        encoder: Some(GzEncoder::new(Vec::new(), Compression::new(level))),
        raw: Vec::new(),
    };
    Response { content: Content::Source(Box::new(gzip)), first: 0, length: None, ..response }
}

impl Gzip {
    /// Reads the next piece of input. Returns whether there was one.
    fn refill(&mut self, pattern: &Pattern, room: usize) -> io::Result<bool> {
        self.raw.clear();
        match &mut self.content {
            Content::Source(source) => {
                // The content of a stand-in is never pending.
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
            // Continue if the only output so far is the gzip header (ten bytes), so that it is not sent as a separate
            // piece.
            if some && (out.len() > 10 || taken >= COMPRESSED_MAX) {
                return Ok(Produced::Piece);
            }
        }
        Ok(if out.is_empty() { Produced::End } else { Produced::Piece })
    }
}
