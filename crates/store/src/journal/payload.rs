//! Fields of a payload. Numbers are LEB128. Texts and identifiers follow their length.

use unsigned_varint::{decode, encode};

/// The reason why a payload is not valid, as a noun phrase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

/// Appends a number as LEB128.
pub(crate) fn put_number(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(encode::u64(number, &mut encode::u64_buffer()));
}

/// Appends a signed number. Numbers near zero are short.
pub(crate) fn put_signed(out: &mut Vec<u8>, number: i64) {
    put_number(out, (number.cast_unsigned() << 1) ^ (number >> 63).cast_unsigned());
}

/// Appends the length of the bytes, then the bytes.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// The reader of the fields of a payload.
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload }
    }

    pub(crate) fn number(&mut self) -> Result<u64, Malformed> {
        let (number, rest) = decode::u64(self.rest).map_err(|_| Malformed("a number that is not valid LEB128"))?;
        self.rest = rest;
        Ok(number)
    }

    pub(crate) fn signed(&mut self) -> Result<i64, Malformed> {
        let number = self.number()?;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        u32::try_from(self.number()?).map_err(|_| Malformed("a number above 32 bits"))
    }

    /// Reads the number of entries that follow. Each takes at least one byte.
    pub(crate) fn count(&mut self, max: usize) -> Result<usize, Malformed> {
        let count = usize::try_from(self.number()?).unwrap_or(usize::MAX);
        if count > max || count > self.rest.len() {
            return Err(Malformed("too many entries"));
        }
        Ok(count)
    }

    pub(crate) fn bytes(&mut self, max: usize) -> Result<&'a [u8], Malformed> {
        let len = usize::try_from(self.number()?).unwrap_or(usize::MAX);
        if len > max {
            return Err(Malformed("a text above the size limit"));
        }
        let (bytes, rest) = self.rest.split_at_checked(len).ok_or(Malformed("a text that is cut off"))?;
        self.rest = rest;
        Ok(bytes)
    }

    pub(crate) fn text(&mut self, max: usize) -> Result<String, Malformed> {
        let bytes = self.bytes(max)?;
        std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| Malformed("a text that is not UTF-8"))
    }

    /// Reads the next bytes. `None` if fewer bytes are left.
    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*array)
    }

    /// Checks that no bytes are left.
    pub(crate) fn end(&self) -> Result<(), Malformed> {
        if self.rest.is_empty() { Ok(()) } else { Err(Malformed("bytes after the last field")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn fields_round_trip(number in any::<u64>(), signed in any::<i64>(), text in ".{0,40}") {
            let mut out = Vec::new();
            put_number(&mut out, number);
            put_signed(&mut out, signed);
            put_bytes(&mut out, text.as_bytes());
            let mut fields = Fields::new(&out);
            prop_assert_eq!((fields.number(), fields.signed(), fields.text(200)), (Ok(number), Ok(signed), Ok(text)));
            prop_assert_eq!(fields.end(), Ok(()));
        }
    }

    #[test]
    fn small_magnitudes_are_short() {
        for number in [0, 63, -64] {
            let mut out = Vec::new();
            put_signed(&mut out, number);
            assert_eq!(out.len(), 1, "{number}");
        }
    }

    #[test]
    fn lengths_and_counts_are_checked_before_anything_is_allocated() {
        let mut huge = Vec::new();
        put_number(&mut huge, u64::MAX);
        assert!(Fields::new(&huge).count(usize::MAX).is_err());
        assert!(Fields::new(&huge).bytes(1024).is_err());
        assert_eq!(Fields::new(&[5, b'a']).bytes(1024), Err(Malformed("a text that is cut off")));
        assert_eq!(Fields::new(&[1, 0xFF]).text(1024), Err(Malformed("a text that is not UTF-8")));
        assert!(Fields::new(&[0x80]).number().is_err());
        assert!(Fields::new(&[0]).end().is_err());
    }
}
