//! Finds and collects the head of a message, whole or in pieces.
//!
//! A head that arrives in one piece is parsed where it lies. One that comes in pieces is gathered, and parsed again only
//! when its end has come or the bytes have doubled: a peer that sends single bytes costs time in proportion to them,
//! while rubbish is still seen early.

/// The most bytes a head may have, with its closing empty line and any empty lines before it.
pub(crate) const MAX_BYTES: usize = 64 * 1024;

/// Below so many gathered bytes every piece is parsed at once: a wrong protocol shows in its first bytes.
const EAGER_BYTES: usize = 16;

/// What came of a piece of input.
pub(crate) enum Fed<T> {
    /// All of it was taken; the head goes on.
    Partial,
    /// The head is complete with the first `consumed` bytes of the piece.
    Whole { consumed: usize, head: T },
}

/// Why no head came of it.
pub(crate) enum Unfed<E> {
    TooLarge,
    Refused(E),
}

/// A head in the making. Holds no memory unless one has come in part.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    gathered: Vec<u8>,
    /// How many gathered bytes have been parsed in vain.
    tried: usize,
    line: Line,
}

/// Where in a line the next byte stands.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// Only empty lines so far, which are skipped (RFC 9112 §2.2).
    #[default]
    Leading,
    Inside,
    Start,
    /// After a CR at a line's start.
    StartCr,
}

impl Collector {
    /// Whether nothing of a head has come.
    pub(crate) fn is_empty(&self) -> bool {
        self.gathered.is_empty()
    }

    /// Takes a piece. `parse` gets all bytes that may belong to the head and answers the head with its length, `None`
    /// when it is not complete, or why it can never be.
    pub(crate) fn feed<T, E>(
        &mut self,
        input: &[u8],
        mut parse: impl FnMut(&[u8]) -> Result<Option<(usize, T)>, E>,
    ) -> Result<Fed<T>, Unfed<E>> {
        if self.is_empty() {
            let window = &input[..input.len().min(MAX_BYTES)];
            if let Some((consumed, head)) = parse(window).map_err(Unfed::Refused)? {
                return Ok(Fed::Whole { consumed, head });
            }
        }
        self.gather(input, parse)
    }

    #[cold]
    fn gather<T, E>(
        &mut self,
        input: &[u8],
        mut parse: impl FnMut(&[u8]) -> Result<Option<(usize, T)>, E>,
    ) -> Result<Fed<T>, Unfed<E>> {
        let first_piece = self.is_empty();
        let end = self.find_end(input);
        let piece = &input[..end.unwrap_or(input.len())];
        if self.gathered.len() + piece.len() > MAX_BYTES
            || (end.is_none() && self.gathered.len() + piece.len() == MAX_BYTES)
        {
            return Err(Unfed::TooLarge);
        }
        self.gathered.extend_from_slice(piece);
        if end.is_some() {
            let whole = std::mem::take(self).gathered;
            return match parse(&whole).map_err(Unfed::Refused)? {
                Some((_, head)) => Ok(Fed::Whole { consumed: piece.len(), head }),
                // The end that was found is the only one a parser can find.
                None => Err(Unfed::TooLarge),
            };
        }
        let length = self.gathered.len();
        if first_piece {
            self.tried = length;
        } else if length < EAGER_BYTES || length >= self.tried * 2 {
            self.tried = length;
            parse(&self.gathered).map_err(Unfed::Refused)?;
        }
        Ok(Fed::Partial)
    }

    /// The end of the head within `input` (just after its closing empty line), if it is there.
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
