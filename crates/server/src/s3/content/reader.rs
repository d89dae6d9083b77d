//! A reader of content.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};

use super::piece::Piece;

/// Maximum number of bytes read from a file at once.
const FILE_READ_MAX: u64 = 128 * 1024;

/// A range of content, which can be used as a response body.
#[derive(Debug)]
pub(in crate::s3) struct ContentReader {
    /// Pieces left to read. The next piece is at the end.
    pieces: Vec<Piece>,
    open: Option<File>,
    /// Offset in the next piece.
    at: u64,
    left: u64,
}

impl ContentReader {
    /// Creates a reader of `length` bytes of `pieces`, starting at offset `first`.
    pub(super) fn new(pieces: &[Piece], first: u64, length: u64) -> Self {
        let mut at = first;
        let skipped = pieces.iter().take_while(|piece| {
            let over = at >= piece.bytes();
            if over {
                at -= piece.bytes();
            }
            over
        });
        let skipped = skipped.count();
        let pieces = pieces[skipped..].iter().rev().cloned().collect();
        Self { pieces, open: None, at, left: length }
    }

    /// Returns the next bytes; `None` at the end.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub(super) fn next_piece(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            let Some(piece) = self.pieces.last().filter(|_| self.left > 0) else { return Ok(None) };
            let available = piece.bytes() - self.at;
            if available == 0 {
                self.pieces.pop();
                self.open = None;
                self.at = 0;
                continue;
            }
            let bytes = match piece {
                Piece::Memory(bytes, _) => {
                    let at = self.at as usize;
                    bytes.slice(at..at + available.min(self.left) as usize)
                }
                Piece::File(file) => {
                    let opened = match self.open.take() {
                        Some(opened) => opened,
                        None => file.open()?,
                    };
                    let mut buffer = vec![0; available.min(self.left).min(FILE_READ_MAX) as usize];
                    opened.read_exact_at(&mut buffer, self.at)?;
                    self.open = Some(opened);
                    buffer.into()
                }
            };
            self.at += bytes.len() as u64;
            self.left -= bytes.len() as u64;
            return Ok(Some(bytes));
        }
    }
}

impl Body for ContentReader {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Poll::Ready(self.next_piece().transpose().map(|read| read.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
