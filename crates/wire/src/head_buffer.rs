//! Buffer for the head of a message that arrives in one or more pieces.
//!
//! A head that arrives in one piece is parsed in place. The pieces of any other head are collected. The pieces are
//! parsed again only when the end of the head has arrived or the number of buffered bytes has doubled. The total time
//! is therefore linear even if a peer sends single bytes, and invalid input is still rejected early.

/// Maximum size of a head, including its closing empty line and any empty lines before it.
pub(crate) const MAX_BYTES: usize = 64 * 1024;

/// While fewer bytes than this are buffered, each piece is parsed immediately, because the first few bytes already show
/// whether the peer uses another protocol.
const EAGER_BYTES: usize = 16;

/// The result of feeding one piece of input.
pub(crate) enum Feed<T> {
    /// The whole piece was buffered and the head continues.
    Partial,
    /// The first `consumed` bytes of the piece complete the head.
    Complete { consumed: usize, head: T },
}

/// The reason why a head is rejected.
pub(crate) enum FeedError<E> {
    TooLarge,
    Invalid(E),
}

/// A partly received head. The buffer allocates memory only when a part of a head has arrived.
#[derive(Debug, Default)]
pub(crate) struct HeadBuffer {
    buffered: Vec<u8>,
    /// Length of `buffered` at the last attempt to parse it.
    tried: usize,
    line: Line,
}

/// Position of the next byte within its line.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// Only empty lines have arrived so far. The parser skips them (RFC 9112 §2.2).
    #[default]
    Leading,
    Inside,
    Start,
    /// After a CR at the start of a line.
    StartCr,
}

impl HeadBuffer {
    /// Returns whether no part of a head is buffered.
    pub(crate) fn is_empty(&self) -> bool {
        self.buffered.is_empty()
    }

    /// Processes a piece of input. `parse` gets all bytes that may belong to the head. `parse` returns the length and
    /// the head, or `None` if the head is incomplete.
    pub(crate) fn feed<T, E>(
        &mut self,
        input: &[u8],
        mut parse: impl FnMut(&[u8]) -> Result<Option<(usize, T)>, E>,
    ) -> Result<Feed<T>, FeedError<E>> {
        if self.is_empty() {
            let window = &input[..input.len().min(MAX_BYTES)];
            if let Some((consumed, head)) = parse(window).map_err(FeedError::Invalid)? {
                return Ok(Feed::Complete { consumed, head });
            }
        }
        self.buffer(input, parse)
    }

    #[cold]
    fn buffer<T, E>(
        &mut self,
        input: &[u8],
        mut parse: impl FnMut(&[u8]) -> Result<Option<(usize, T)>, E>,
    ) -> Result<Feed<T>, FeedError<E>> {
        let first_piece = self.is_empty();
        let end = self.find_end(input);
        let piece = &input[..end.unwrap_or(input.len())];
        if self.buffered.len() + piece.len() > MAX_BYTES
            || (end.is_none() && self.buffered.len() + piece.len() == MAX_BYTES)
        {
            return Err(FeedError::TooLarge);
        }
        self.buffered.extend_from_slice(piece);
        if end.is_some() {
            let whole = std::mem::take(self).buffered;
            return match parse(&whole).map_err(FeedError::Invalid)? {
                Some((_, head)) => Ok(Feed::Complete { consumed: piece.len(), head }),
                // `find_end` has found the only possible end of the head. More input would therefore not help.
                None => Err(FeedError::TooLarge),
            };
        }
        let length = self.buffered.len();
        if first_piece {
            self.tried = length;
        } else if length < EAGER_BYTES || length >= self.tried * 2 {
            self.tried = length;
            parse(&self.buffered).map_err(FeedError::Invalid)?;
        }
        Ok(Feed::Partial)
    }

    /// Returns the position in `input` right after the empty line that ends the head; `None` if `input` does not contain
    /// it.
    fn find_end(&mut self, input: &[u8]) -> Option<usize> {
        for (at, byte) in input.iter().enumerate() {
            self.line = match (self.line, byte) {
                (Line::Leading, b'\r' | b'\n') => Line::Leading,
                (Line::Start | Line::StartCr, b'\n') => return Some(at + 1),
                (Line::Start, b'\r') => Line::StartCr,
                (_, b'\n') => Line::Start,
                _ => Line::Inside,
            };
        }
        None
    }
}
