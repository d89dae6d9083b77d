//! The bytes of objects. The bytes can be generated from any offset, at the speed of copying memory.
//!
//! Each seed has its own pool of random bytes, which is a keystream of AES-128 in counter mode. An object is divided
//! into pages. A page consists of a piece of the pool, combined by XOR with a repeated mask of 16 bytes. The start of
//! the piece and the mask are taken from one block of AES-128 output, whose input is the page number. A page therefore
//! costs one block of AES and one pass over memory. A page of AES keystream would cost 256 blocks.

use aes::Aes128Enc;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit, array::typenum::U16};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// The seed of all content. Different seeds produce unrelated content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(pub u64);

/// Label of the formula that computes the bytes. If the formula changes, the label must change too.
const CONTENT_LABEL: &[u8] = b"plimsoll content 2";
const BLOCK: usize = 16;
/// Size of a page. A smaller page would need more blocks of AES.
const PAGE: usize = 4096;
/// Size of the pool. The pool stays in the first-level cache of a core while a piece of a body is generated. With a
/// pool of 128 KiB, generating took a third longer, because sending evicts the pool even from the second-level cache. A
/// small pool is enough, because the masks hide its repetitions from compressors.
const POOL: usize = 16 << 10;

type Block = Array<u8, U16>;

/// The content of all objects with one seed. Cloning is cheap, because the clones share the pool.
#[derive(Clone)]
pub struct Content {
    seed: Seed,
    cipher: Aes128Enc,
    /// The pool, followed by a copy of its first page, so that no page wraps around.
    pool: Arc<[u8]>,
}

/// The content of one object. The content has no end. The caller must check offsets, because only the caller knows the
/// size of the object.
#[derive(Clone, Copy)]
pub struct ObjectContent<'c> {
    content: &'c Content,
    start: u128,
}

/// Returns AES-128 with the key SHA-256(`label` ‖ seed as 8 bytes, big-endian)\[..16].
pub(crate) fn cipher(label: &[u8], seed: Seed) -> Aes128Enc {
    let hash = Sha256::new().chain_update(label).chain_update(seed.0.to_be_bytes()).finalize();
    Aes128Enc::new(&first_half(&hash).to_be_bytes().into())
}

/// Encrypts one block.
pub(crate) fn encrypt(cipher: &Aes128Enc, value: u128) -> [u8; BLOCK] {
    let mut block = Block::from(value.to_be_bytes());
    cipher.encrypt_block(&mut block);
    block.into()
}

/// Returns the first 16 bytes of `hash` as a big-endian number.
fn first_half(hash: &[u8]) -> u128 {
    hash.iter().take(BLOCK).fold(0, |value, byte| value << 8 | u128::from(*byte))
}

/// Returns [`POOL`] bytes, followed by a copy of their first page. The bytes are the AES encryption of the numbers 0,
/// 1, 2 and so on.
fn pool(cipher: &Aes128Enc) -> Arc<[u8]> {
    let mut blocks: Vec<Block> = (0..(POOL / BLOCK) as u128).map(|number| number.to_be_bytes().into()).collect();
    cipher.encrypt_blocks(&mut blocks);
    blocks.extend_from_within(..PAGE / BLOCK);
    Array::slice_as_flattened(&blocks).into()
}

impl Content {
    /// Creates the content of `seed`. Creating the pool takes a few microseconds.
    #[must_use]
    pub fn new(seed: Seed) -> Self {
        let cipher = cipher(CONTENT_LABEL, seed);
        Self { seed, pool: pool(&cipher), cipher }
    }

    /// Returns the seed.
    #[must_use]
    pub fn seed(&self) -> Seed {
        self.seed
    }

    /// Returns the content of the object with this key. Each call computes the SHA-256 hash of the key.
    #[must_use]
    pub fn object(&self, key: &str) -> ObjectContent<'_> {
        ObjectContent { content: self, start: first_half(&Sha256::digest(key.as_bytes())) }
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Content").field("seed", &self.seed.0).finish_non_exhaustive()
    }
}

impl fmt::Debug for ObjectContent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectContent").field("start", &self.start).finish_non_exhaustive()
    }
}

impl<'c> ObjectContent<'c> {
    /// Fills `out` with the bytes of the object, starting at `offset`.
    pub fn fill(&self, offset: u64, out: &mut [u8]) {
        for piece in self.pieces(offset, out.len()) {
            piece.write(&mut out[piece.place.clone()]);
        }
    }

    /// Returns whether `bytes` are the bytes of the object, starting at `offset`.
    pub(crate) fn matches(&self, offset: u64, bytes: &[u8]) -> bool {
        self.pieces(offset, bytes.len()).all(|piece| piece.equals(&bytes[piece.place.clone()]))
    }

    /// Splits `length` bytes, starting at `offset`, at the page boundaries.
    fn pieces(&self, offset: u64, length: usize) -> impl Iterator<Item = Piece<'c>> {
        let mut done = 0;
        std::iter::from_fn(move || {
            // The content has no end, so offsets wrap around.
            let offset = offset.wrapping_add(done as u64);
            let in_page = (offset % PAGE as u64) as usize;
            let end = length.min(done + PAGE - in_page);
            let place = done..end;
            done = end;
            (!place.is_empty()).then(|| self.piece(offset / PAGE as u64, in_page, place))
        })
    }

    /// Returns the piece that starts `in_page` bytes after the start of page `number`.
    fn piece(&self, number: u64, in_page: usize, place: Range<usize>) -> Piece<'c> {
        let block = encrypt(&self.content.cipher, self.start.wrapping_add(u128::from(number)));
        let page = BLOCK * (usize::from(u16::from_be_bytes([block[14], block[15]])) % (POOL / BLOCK));
        let bytes = &self.content.pool[page + in_page..][..place.len()];
        let turn = 8 * (in_page % BLOCK) as u32;
        Piece { place, bytes, mask: u128::from_le_bytes(block).rotate_right(turn) }
    }

    #[cfg(test)]
    pub(crate) fn starting_at(self, start: u128) -> Self {
        Self { start, ..self }
    }
}

/// Bytes of one page.
struct Piece<'c> {
    /// Position of these bytes in the requested range.
    place: Range<usize>,
    /// Bytes of the pool.
    bytes: &'c [u8],
    /// The mask, rotated so that its first byte belongs to the first byte of the piece. The first byte of the mask is
    /// the least significant byte of the number.
    mask: u128,
}

impl Piece<'_> {
    fn write(&self, out: &mut [u8]) {
        let (to, to_rest) = out.as_chunks_mut::<BLOCK>();
        let (from, from_rest) = self.bytes.as_chunks::<BLOCK>();
        for (to, from) in to.iter_mut().zip(from) {
            *to = (u128::from_le_bytes(*from) ^ self.mask).to_le_bytes();
        }
        for ((to, from), mask) in to_rest.iter_mut().zip(from_rest).zip(self.mask.to_le_bytes()) {
            *to = from ^ mask;
        }
    }

    fn equals(&self, bytes: &[u8]) -> bool {
        let (got, got_rest) = bytes.as_chunks::<BLOCK>();
        let (own, own_rest) = self.bytes.as_chunks::<BLOCK>();
        // Without an early exit, the compiler can use vector instructions.
        let different = got.iter().zip(own).fold(0, |different, (got, own)| {
            different | (u128::from_le_bytes(*got) ^ u128::from_le_bytes(*own) ^ self.mask)
        });
        let rest = got_rest.iter().zip(own_rest).zip(self.mask.to_le_bytes());
        different == 0 && rest.fold(0, |different, ((got, own), mask)| different | (got ^ own ^ mask)) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Computes one byte directly from the definition of the content, without a pool.
    fn byte_by_definition(object: &ObjectContent, offset: u64) -> u8 {
        let cipher = &object.content.cipher;
        let block = encrypt(cipher, object.start.wrapping_add(u128::from(offset / 4096)));
        let from = u64::from(u16::from_be_bytes([block[14], block[15]])) * 16;
        let position = (from + offset % 4096) % (16 << 10);
        encrypt(cipher, u128::from(position / 16))[(position % 16) as usize] ^ block[(offset % 16) as usize]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_range_is_the_slice_of_the_whole(key in ".{0,40}", seed in any::<u64>(), from in 0_usize..20_000, length in 0_usize..20_000) {
            let content = Content::new(Seed(seed));
            let object = content.object(&key);
            let mut whole = vec![0; 20_000];
            object.fill(0, &mut whole);
            let to = (from + length).min(whole.len());
            let mut range = vec![0xaa; to - from];
            object.fill(from as u64, &mut range);
            prop_assert_eq!(&range[..], &whole[from..to]);
        }

        #[test]
        fn bytes_far_out_are_those_of_the_definition(offset in any::<u64>(), length in 0_usize..300) {
            let content = Content::new(Seed(9));
            let object = content.object("far");
            let offset = offset.min(u64::MAX - length as u64);
            let mut out = vec![0; length];
            object.fill(offset, &mut out);
            for (at, byte) in out.iter().enumerate() {
                prop_assert_eq!(*byte, byte_by_definition(&object, offset + at as u64));
            }
        }

        #[test]
        fn the_number_of_a_page_wraps_at_the_end_of_128_bits(back in 0_u128..6, offset in 0_u64..9_000, length in 0_usize..20_000) {
            let content = Content::new(Seed(4));
            let object = content.object("").starting_at(u128::MAX - back);
            let mut out = vec![0; length];
            object.fill(offset, &mut out);
            for (at, byte) in out.iter().enumerate() {
                prop_assert_eq!(*byte, byte_by_definition(&object, offset + at as u64));
            }
        }
    }

    #[test]
    fn different_seeds_and_keys_give_different_bytes() {
        let bytes = |seed, key| {
            let mut out = [0; 64];
            Content::new(Seed(seed)).object(key).fill(0, &mut out);
            out
        };
        assert_eq!(bytes(1, "a"), bytes(1, "a"));
        assert_ne!(bytes(1, "a"), bytes(1, "b"));
        assert_ne!(bytes(1, "a"), bytes(2, "a"));
    }

    #[test]
    fn debug_output_is_short() {
        let content = Content::new(Seed(5));
        assert_eq!(format!("{content:?}"), "Content { seed: 5, .. }");
        assert!(format!("{:?}", content.object("a")).starts_with("ObjectContent { start: "));
    }
}
