//! Incremental verification of received bytes against the content of an object.

use crate::bytes::ObjectContent;
use std::fmt;

const EXCERPT_MAX: usize = 16;

/// A comparison of a stream with the content of an object. A verifier stores only a position and does not allocate.
#[derive(Clone, Copy, Debug)]
pub struct Verifier<'c> {
    object: ObjectContent<'c>,
    offset: u64,
}

impl<'c> ObjectContent<'c> {
    /// Returns a verifier for received bytes that start at `offset` in the object.
    #[must_use]
    pub fn verifier(self, offset: u64) -> Verifier<'c> {
        Verifier::new(self, offset)
    }

    /// Returns the first difference between `received` and the bytes of the object, starting at `offset`. There must be
    /// a difference.
    #[cold]
    fn mismatch(&self, offset: u64, received: &[u8]) -> Mismatch {
        let mut expected = vec![0; received.len()];
        self.fill(offset, &mut expected);
        Mismatch::within(offset, &expected, received)
    }
}

/// The first difference between received bytes and the content of the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The offset in the object of the first byte that differs.
    pub offset: u64,
    /// The correct bytes of the object, starting at `offset`.
    pub expected: Excerpt,
    /// The received bytes at the same offset. `received` has the same length as `expected`.
    pub got: Excerpt,
}

/// Up to 16 bytes, displayed as hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Excerpt {
    bytes: [u8; EXCERPT_MAX],
    length: usize,
}

impl<'c> Verifier<'c> {
    pub(crate) fn new(object: ObjectContent<'c>, offset: u64) -> Self {
        Self { object, offset }
    }

    /// Returns the offset in the object of the next byte to compare.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Compares `received` with the next bytes of the object. The position advances past these bytes, even if they
    /// differ.
    ///
    /// # Errors
    /// Returns the first difference.
    pub fn check(&mut self, received: &[u8]) -> Result<(), Mismatch> {
        let offset = self.offset;
        self.offset = offset.wrapping_add(received.len() as u64);
        if self.object.matches(offset, received) { Ok(()) } else { Err(self.object.mismatch(offset, received)) }
    }
}

impl Mismatch {
    /// Returns the first difference between two pieces of the same length, which start at `offset` in the object.
    #[must_use]
    pub fn find(offset: u64, expected: &[u8], got: &[u8]) -> Option<Self> {
        (expected != got).then(|| Self::within(offset, expected, got))
    }

    #[cold]
    fn within(offset: u64, expected: &[u8], got: &[u8]) -> Self {
        let at = expected.iter().zip(got).position(|(a, b)| a != b).unwrap_or(0);
        Self {
            offset: offset.wrapping_add(at as u64),
            expected: Excerpt::of(&expected[at..]),
            got: Excerpt::of(&got[at..]),
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: expected {}, got {}", self.offset, self.expected, self.got)
    }
}

impl Excerpt {
    fn of(bytes: &[u8]) -> Self {
        let length = bytes.len().min(EXCERPT_MAX);
        let mut kept = [0; EXCERPT_MAX];
        kept[..length].copy_from_slice(&bytes[..length]);
        Self { bytes: kept, length }
    }

    /// Returns the bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Excerpt({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Content, Seed};
    use proptest::prelude::*;

    /// Checks `bytes` piece by piece. The pieces have the lengths in `pieces`, which are used in turn.
    fn check(object: ObjectContent, offset: u64, bytes: &[u8], pieces: &[usize]) -> Result<(), Mismatch> {
        let mut verifier = object.verifier(offset);
        let mut rest = bytes;
        for piece in pieces.iter().cycle() {
            let (now, behind) = rest.split_at((*piece).min(rest.len()));
            verifier.check(now)?;
            rest = behind;
            if rest.is_empty() {
                break;
            }
        }
        assert_eq!(verifier.offset(), offset + bytes.len() as u64);
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn true_bytes_pass_and_a_flipped_bit_is_found_where_it_is(
            offset in prop_oneof![0_u64..100, any::<u64>().prop_map(|offset| offset >> 1)],
            length in 1_usize..9_000,
            at in any::<prop::sample::Index>(),
            bit in 0_u8..8,
            pieces in prop::collection::vec(1_usize..5_000, 1..6),
        ) {
            let content = Content::new(Seed(3));
            let object = content.object("k");
            let mut bytes = vec![0; length];
            object.fill(offset, &mut bytes);
            prop_assert_eq!(check(object, offset, &bytes, &pieces), Ok(()));

            let at = at.index(length);
            let right = bytes[at];
            bytes[at] ^= 1 << bit;
            let mismatch = check(object, offset, &bytes, &pieces).unwrap_err();
            prop_assert_eq!(mismatch.offset, offset + at as u64);
            prop_assert_eq!(mismatch.expected.as_bytes()[0], right);
            prop_assert_eq!(mismatch.got.as_bytes()[0], bytes[at]);
            prop_assert_eq!(mismatch.expected.as_bytes().len(), mismatch.got.as_bytes().len());
            prop_assert!(mismatch.got.as_bytes().len() <= 16);
        }
    }

    #[test]
    fn every_byte_of_a_block_is_compared() {
        let content = Content::new(Seed(3));
        let object = content.object("all");
        let mut bytes = vec![0; 2 * 4096 + 40];
        object.fill(5, &mut bytes);
        for at in 0..bytes.len() {
            bytes[at] ^= 0x80;
            let mismatch = object.verifier(5).check(&bytes).unwrap_err();
            assert_eq!(mismatch.offset, 5 + at as u64);
            bytes[at] ^= 0x80;
        }
        assert_eq!(object.verifier(5).check(&bytes), Ok(()));
        assert_eq!(object.verifier(5).check(&[]), Ok(()));
    }

    #[test]
    fn a_check_continues_after_a_mismatch() {
        let content = Content::new(Seed(3));
        let object = content.object("on");
        let mut bytes = [0; 64];
        object.fill(0, &mut bytes);
        let mut verifier = object.verifier(0);
        assert!(verifier.check(&[!bytes[0]]).is_err());
        assert_eq!(verifier.check(&bytes[1..]), Ok(()));
    }

    #[test]
    fn a_mismatch_is_displayed_in_hexadecimal() {
        let content = Content::new(Seed(3));
        let mismatch = content.object("x").verifier(7).check(b"\x1b[2Jevil, and more than 16 bytes").unwrap_err();
        let text = mismatch.to_string();
        assert!(
            text.starts_with("byte 7: expected ") && text.ends_with("got 1b5b324a6576696c2c20616e64206d6f"),
            "{text}"
        );
    }
}
