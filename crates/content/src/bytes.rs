//! The bytes of objects. The bytes of an object are a keystream of AES-128 in counter mode, so they can be generated
//! from any offset.
//!
//! The key depends only on the seed and is expanded once. Each object has its own initial counter. Counters are 128-bit
//! big-endian numbers that wrap around. The `aes` crate selects the widest instructions of the processor at run time
//! (VAES-512, VAES-256, AES-NI, ARMv8, or portable code).

use aes::Aes128Enc;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit, array::typenum::U16};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;

/// The seed of all content. Different seeds produce unrelated content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(pub u64);

/// Identifies the formula that computes the bytes. If the formula changes, the label must change too.
const CONTENT_LABEL: &[u8] = b"plimsoll content 1";
const BLOCK: usize = 16;
/// Number of bytes generated at a time. A batch is small enough to stay in the L1 cache from the moment its counters
/// are written until they are encrypted. The batch size is a multiple of 64 blocks, the largest number of blocks that
/// any AES backend encrypts at once.
const BATCH: usize = 4096;

type Block = Array<u8, U16>;

/// The content of all objects with one seed. Cloning is cheap (a few hundred bytes), so each thread can own a copy.
#[derive(Clone)]
pub struct Content {
    seed: Seed,
    cipher: Aes128Enc,
}

/// The content of one object. The content has no end. Only the caller knows the size of the object.
#[derive(Clone, Copy)]
pub struct ObjectContent<'c> {
    cipher: &'c Aes128Enc,
    start: u128,
}

/// Returns AES-128 with the key SHA-256(`label` ‖ seed as 8 bytes, big-endian)\[..16].
pub(crate) fn cipher(label: &[u8], seed: Seed) -> Aes128Enc {
    let hash = Sha256::new().chain_update(label).chain_update(seed.0.to_be_bytes()).finalize();
    Aes128Enc::new(&first_half(&hash).to_be_bytes().into())
}

/// Encrypts one block. [`ObjectContent::fill`] is much faster for many blocks.
pub(crate) fn encrypt(cipher: &Aes128Enc, value: u128) -> [u8; BLOCK] {
    let mut block = Block::from(value.to_be_bytes());
    cipher.encrypt_block(&mut block);
    block.into()
}

/// Returns the first 16 bytes of `hash` as a big-endian number.
fn first_half(hash: &[u8]) -> u128 {
    hash.iter().take(BLOCK).fold(0, |value, byte| value << 8 | u128::from(*byte))
}

impl Content {
    /// Creates the content of `seed`.
    #[must_use]
    pub fn new(seed: Seed) -> Self {
        Self { seed, cipher: cipher(CONTENT_LABEL, seed) }
    }

    /// Returns the seed.
    #[must_use]
    pub fn seed(&self) -> Seed {
        self.seed
    }

    /// Returns the content of the object with this key. Each call computes the SHA-256 hash of the key.
    #[must_use]
    pub fn object(&self, key: &str) -> ObjectContent<'_> {
        ObjectContent { cipher: &self.cipher, start: first_half(&Sha256::digest(key.as_bytes())) }
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
        let mut counter = self.start.wrapping_add(u128::from(offset) / BLOCK as u128);
        let (head, body) = out.split_at_mut(bytes_to_next_block(offset).min(out.len()));
        if !head.is_empty() {
            let block = encrypt(self.cipher, counter);
            let skipped = (offset % BLOCK as u64) as usize;
            head.copy_from_slice(&block[skipped..skipped + head.len()]);
            counter = counter.wrapping_add(1);
        }
        for batch in body.chunks_mut(BATCH) {
            let (blocks, tail) = Block::slice_as_chunks_mut(batch);
            for block in blocks.iter_mut() {
                *block = counter.to_be_bytes().into();
                counter = counter.wrapping_add(1);
            }
            self.cipher.encrypt_blocks(blocks);
            if !tail.is_empty() {
                tail.copy_from_slice(&encrypt(self.cipher, counter)[..tail.len()]);
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn starting_at(self, start: u128) -> Self {
        Self { start, ..self }
    }
}

/// Returns the number of bytes from `offset` to the next block boundary.
pub(crate) fn bytes_to_next_block(offset: u64) -> usize {
    (offset.wrapping_neg() % BLOCK as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Computes one byte directly from the definition of the content, without batches.
    fn byte_by_definition(object: &ObjectContent, offset: u64) -> u8 {
        let counter = object.start.wrapping_add(u128::from(offset / 16));
        encrypt(object.cipher, counter)[(offset % 16) as usize]
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
        fn the_counter_wraps_at_the_end_of_128_bits(back in 0_u128..600, offset in 0_u64..64, length in 0_usize..10_000) {
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
