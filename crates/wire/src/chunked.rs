//! The chunked transfer coding (RFC 9112 §7.1). The reader handles framing byte by byte and data in whole pieces.
//!
//! The reader is strict, because leniency enables request smuggling. For example, lines must end in CR LF. The bytes of
//! extensions and trailers are counted, passed to an observer, and then dropped.

use std::ops::Range;

/// Maximum total size of the chunk extensions of a body.
pub(crate) const MAX_EXTENSION_BYTES: u32 = 16 * 1024;
/// Maximum total size of the trailer fields, including line endings.
pub(crate) const MAX_TRAILER_BYTES: u32 = 16 * 1024;
/// Maximum number of hexadecimal digits of a size. Sixteen digits fill 64 bits. No honest peer sends more digits, not
/// even leading zeros.
const MAX_SIZE_DIGITS: u8 = 16;

/// The reader of a chunked body.
#[derive(Debug)]
pub(crate) struct ChunkReader {
    /// Number of remaining data bytes of the current chunk. While the digits of the size are being read, this is the
    /// value of the digits so far.
    size: u64,
    extension_bytes: u32,
    trailer_bytes: u32,
    digits: u8,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Size,
    /// Whitespace between the size and its extension or line ending.
    Whitespace,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    TrailerStart,
    Trailer,
    TrailerLf,
    EndLf,
}

/// The result of one call of the reader.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The reader consumed all input and the body continues.
    NeedMore,
    /// Data at this range of the input. The reader consumed the input up to the end of this range.
    Data(Range<usize>),
    /// The body and its trailers end after this many bytes of the input.
    End(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChunkError {
    Syntax,
    ExtensionsTooLarge,
    TrailersTooLarge,
}

/// A receiver of the framing of chunks. Most callers do not need one and pass `()`.
pub(crate) trait Observer {
    /// Receives a byte of the chunk extensions, including the semicolon before them.
    fn extension(&mut self, byte: u8);
    /// Receives the size of a chunk at the end of its size line. The last chunk has size 0.
    fn size_line(&mut self, size: u64);
    /// Receives a byte of the trailer fields, including the carriage return but not the line feed that ends a line.
    fn trailer(&mut self, byte: u8);
}

impl Observer for () {
    fn extension(&mut self, _: u8) {}
    fn size_line(&mut self, _: u64) {}
    fn trailer(&mut self, _: u8) {}
}

impl ChunkReader {
    pub(crate) fn new() -> Self {
        Self { size: 0, extension_bytes: 0, trailer_bytes: 0, digits: 0, state: State::Size }
    }

    /// Returns the number of data bytes before the next bytes of framing.
    pub(crate) fn opaque_bytes(&self) -> u64 {
        if self.state == State::Data { self.size } else { 0 }
    }

    /// Skips data bytes that are not passed to this reader, at most [`Self::opaque_bytes`].
    pub(crate) fn skip(&mut self, bytes: u64) {
        debug_assert!(bytes <= self.opaque_bytes(), "bytes other than data were skipped");
        self.size -= bytes;
        if self.size == 0 {
            self.state = State::DataCr;
        }
    }

    /// Resets the count of extension bytes. Call this when the observer has accepted the extensions so far.
    pub(crate) fn reset_extension_count(&mut self) {
        self.extension_bytes = 0;
    }

    pub(crate) fn in_trailers(&self) -> bool {
        matches!(self.state, State::TrailerStart | State::Trailer | State::TrailerLf | State::EndLf)
    }

    /// Reads until the next step is known, and passes the framing to `observer`. In one step, `observer` gets at most
    /// one size line.
    pub(crate) fn read_observed(&mut self, input: &[u8], observer: &mut impl Observer) -> Result<Step, ChunkError> {
        for (at, byte) in input.iter().enumerate() {
            if self.state == State::Data {
                let available = (input.len() - at) as u64;
                let taken = available.min(self.size);
                self.skip(taken);
                // This cannot overflow, because `taken` is at most the length of the rest of `input`.
                return Ok(Step::Data(at..at + taken as usize));
            }
            if self.state == State::EndLf {
                return if *byte == b'\n' { Ok(Step::End(at + 1)) } else { Err(ChunkError::Syntax) };
            }
            self.state = self.after(*byte, observer)?;
        }
        Ok(Step::NeedMore)
    }

    /// Returns the state after one byte of framing.
    fn after(&mut self, byte: u8, observer: &mut impl Observer) -> Result<State, ChunkError> {
        match self.state {
            State::Size => self.after_size_byte(byte, observer),
            State::Whitespace => self.after_size(byte, observer),
            State::Extension => match byte {
                b'\r' => Ok(State::SizeLf),
                _ => self.count_extension_byte(byte, observer),
            },
            State::SizeLf if byte == b'\n' => {
                self.digits = 0;
                observer.size_line(self.size);
                Ok(if self.size == 0 { State::TrailerStart } else { State::Data })
            }
            State::DataCr if byte == b'\r' => Ok(State::DataLf),
            State::DataLf if byte == b'\n' => Ok(State::Size),
            State::TrailerStart if byte == b'\r' => Ok(State::EndLf),
            State::TrailerStart | State::Trailer => {
                let next = if byte == b'\r' { State::TrailerLf } else { State::Trailer };
                self.count_trailer_byte(byte, next, observer)
            }
            State::TrailerLf if byte == b'\n' => self.count_trailer_byte(b' ', State::TrailerStart, &mut ()),
            _ => Err(ChunkError::Syntax),
        }
    }

    fn after_size_byte(&mut self, byte: u8, observer: &mut impl Observer) -> Result<State, ChunkError> {
        if let Some(digit) = char::from(byte).to_digit(16) {
            if self.digits == MAX_SIZE_DIGITS {
                return Err(ChunkError::Syntax);
            }
            self.digits += 1;
            // This cannot overflow, because there are at most sixteen digits of four bits.
            self.size = (self.size << 4) | u64::from(digit);
            return Ok(State::Size);
        }
        if self.digits == 0 { Err(ChunkError::Syntax) } else { self.after_size(byte, observer) }
    }

    /// Returns the state after the first byte that follows the digits of a size.
    fn after_size(&mut self, byte: u8, observer: &mut impl Observer) -> Result<State, ChunkError> {
        match byte {
            b'\r' => Ok(State::SizeLf),
            b';' => self.count_extension_byte(byte, observer),
            b' ' | b'\t' => self.count_extension_byte(byte, &mut ()).map(|_| State::Whitespace),
            _ => Err(ChunkError::Syntax),
        }
    }

    fn count_extension_byte(&mut self, byte: u8, observer: &mut impl Observer) -> Result<State, ChunkError> {
        self.extension_bytes += 1;
        observer.extension(byte);
        if !is_text(byte) {
            Err(ChunkError::Syntax)
        } else if self.extension_bytes > MAX_EXTENSION_BYTES {
            Err(ChunkError::ExtensionsTooLarge)
        } else {
            Ok(State::Extension)
        }
    }

    fn count_trailer_byte(&mut self, byte: u8, next: State, observer: &mut impl Observer) -> Result<State, ChunkError> {
        self.trailer_bytes += 1;
        observer.trailer(byte);
        if !is_text(byte) && byte != b'\r' {
            Err(ChunkError::Syntax)
        } else if self.trailer_bytes > MAX_TRAILER_BYTES {
            Err(ChunkError::TrailersTooLarge)
        } else {
            Ok(next)
        }
    }
}

/// Returns whether a field value may contain the byte. Control characters are not allowed, except for the tab.
fn is_text(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a whole body. Returns the data and the number of bytes up to its end.
    fn read_all(input: &[u8]) -> Result<(Vec<u8>, usize), ChunkError> {
        let (mut reader, mut data, mut at) = (ChunkReader::new(), Vec::new(), 0);
        loop {
            match reader.read_observed(&input[at..], &mut ())? {
                Step::NeedMore => return Ok((data, usize::MAX)),
                Step::Data(range) => {
                    data.extend_from_slice(&input[at + range.start..at + range.end]);
                    at += range.end;
                }
                Step::End(taken) => return Ok((data, at + taken)),
            }
        }
    }

    #[test]
    fn the_largest_sizes_do_not_overflow() {
        let mut reader = ChunkReader::new();
        assert_eq!(reader.read_observed(b"ffffffffffffffff\r\n", &mut ()), Ok(Step::NeedMore));
        assert_eq!(reader.opaque_bytes(), u64::MAX);
        assert_eq!(reader.read_observed(b"abc", &mut ()), Ok(Step::Data(0..3)));
        assert_eq!(reader.opaque_bytes(), u64::MAX - 3);
        assert_eq!(read_all(b"10000000000000000\r\n"), Err(ChunkError::Syntax));
        assert_eq!(read_all(b"00000000000000000\r\n"), Err(ChunkError::Syntax));
    }

    #[test]
    fn framing_is_strict() {
        assert_eq!(
            read_all(b"A ; name=\"x\"\r\n0123456789\r\n00\r\nx: y\r\n\r\nNEXT"),
            Ok((b"0123456789".to_vec(), 38))
        );
        let bad: [&[u8]; 12] = [
            b"\r\n",
            b";x\r\n",
            b"-1\r\n",
            b"0x1\r\n",
            b"g\r\n",
            b"1\nx",
            b"1\r\nxy",
            b"1\r\nx\n",
            b"1;\x00\r\n",
            b"0\r\nx\ny",
            b"0\r\nx\r\r",
            b"0\r\n\rx",
        ];
        for input in bad {
            assert_eq!(read_all(input), Err(ChunkError::Syntax), "{:?}", String::from_utf8_lossy(input));
        }
    }

    #[test]
    fn extensions_and_trailers_are_limited_exactly() {
        let limit = MAX_EXTENSION_BYTES as usize;
        let extension = |bytes: usize| format!("1;{}\r\nx\r\n0;\r\n\r\n", "e".repeat(bytes - 2));
        assert!(read_all(extension(limit).as_bytes()).is_ok());
        assert_eq!(read_all(extension(limit + 1).as_bytes()), Err(ChunkError::ExtensionsTooLarge));
        let limit = MAX_TRAILER_BYTES as usize;
        let trailer = |bytes: usize| format!("0\r\n{}\r\n\r\n", "t".repeat(bytes - 2));
        assert!(read_all(trailer(limit).as_bytes()).is_ok());
        assert_eq!(read_all(trailer(limit + 1).as_bytes()), Err(ChunkError::TrailersTooLarge));
    }
}
