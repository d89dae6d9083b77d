//! Random numbers as pure functions of seed and object index. The random numbers of an object are one block of AES-128
//! output.
//!
//! The generation of content needs this cipher anyway. AES is fast enough for hundreds of millions of objects. The
//! output of AES has no patterns, unlike the output of some simple hashes.

use crate::bytes::{Seed, cipher, encrypt};
use aes::Aes128Enc;

/// Label of the formula for the random numbers. If the formula changes, the label must change too.
const DATASET_LABEL: &[u8] = b"plimsoll dataset 1";

/// The random numbers of one dataset.
#[derive(Clone)]
pub(crate) struct Draws {
    cipher: Aes128Enc,
}

/// The random numbers of one object: two independent numbers, each uniform over all 64-bit values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draw {
    /// The number that determines the size.
    pub(crate) size: u64,
    /// The number that determines the directory.
    pub(crate) directory: u64,
}

impl Draws {
    pub(crate) fn new(seed: Seed) -> Self {
        Self { cipher: cipher(DATASET_LABEL, seed) }
    }

    /// Returns the random numbers of object `index`.
    pub(crate) fn of(&self, index: u64) -> Draw {
        let bits = u128::from_be_bytes(encrypt(&self.cipher, u128::from(index)));
        Draw { size: (bits >> 64) as u64, directory: bits as u64 }
    }
}

/// Scales `bits` to 0..`bound`. Also returns the remainder, which can serve as another uniform random number. The
/// method is that of D. Lemire, "Fast random integer generation in an interval", 2019, without the rejection step. The
/// bias of the result is below `bound` / 2⁶⁴.
pub(crate) fn scale(bits: u64, bound: u64) -> (u64, u64) {
    let product = u128::from(bits) * u128::from(bound);
    ((product >> 64) as u64, product as u64)
}

/// Converts `bits` to a number strictly between 0 and 1: (k + ½) / 2⁵², where k is the upper 52 bits.
pub(crate) fn open_unit(bits: u64) -> f64 {
    ((bits >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_numbers_are_uniform_and_independent() {
        let draws = Draws::new(Seed(7));
        let mut bins = [[0_u32; 8]; 8];
        for index in 0..64_000 {
            let draw = draws.of(index);
            bins[scale(draw.size, 8).0 as usize][scale(draw.directory, 8).0 as usize] += 1;
        }
        // Each bin contains 1,000 draws on average. The tolerance is 5 standard deviations.
        assert!(bins.as_flattened().iter().all(|count| (842..=1158).contains(count)), "seed 7: {bins:?}");
    }

    #[test]
    fn the_remainder_after_scaling_is_uniform() {
        let draws = Draws::new(Seed(8));
        let mut bins = [[0_u32; 4]; 10];
        for index in 0..40_000 {
            let (which, rest) = scale(draws.of(index).size, 10);
            bins[which as usize][scale(rest, 4).0 as usize] += 1;
        }
        assert!(bins.as_flattened().iter().all(|count| (842..=1158).contains(count)), "seed 8: {bins:?}");
    }

    #[test]
    fn the_unit_interval_is_open() {
        assert!(open_unit(0) > 0.0 && open_unit(u64::MAX) < 1.0);
        assert_eq!(open_unit(1 << 63), 0.5 + 0.5 / (1_u64 << 52) as f64);
    }
}
