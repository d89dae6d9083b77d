//! Pseudorandom numbers from a seed. The numbers are the same on every machine.
//!
//! The algorithm is SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
//! [`mix`] computes a number from an index. The sequence of [`Random`] is used for resampling.

/// Increment of the state in each step.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns the output of one step of SplitMix64 from the state `value`.
#[inline]
#[must_use]
pub fn mix(mut value: u64) -> u64 {
    value = value.wrapping_add(STEP);
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Sequence of pseudorandom numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates the sequence that belongs to a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next number, uniform over all 64-bit values.
    pub fn bits(&mut self) -> u64 {
        let bits = mix(self.0);
        self.0 = self.0.wrapping_add(STEP);
        bits
    }

    /// Returns the next number, uniform in 0..`bound`. The method is Lemire's multiplication, whose bias is below
    /// `bound` / 2⁶⁴.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }

    /// Returns the next number, strictly between 0 and 1.
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_agrees_with_the_reference() {
        // First numbers of the reference implementation of SplitMix64, from the state 1234567.
        let mut random = Random::new(1_234_567);
        let drawn = [(); 3].map(|()| random.bits());
        assert_eq!(drawn, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn numbers_below_a_bound_are_uniform() {
        let mut random = Random::new(7);
        let mut bins = [0_u32; 16];
        for _ in 0..160_000 {
            bins[random.below(16)] += 1;
        }
        assert!(bins.iter().all(|count| (9_500..10_500).contains(count)), "seed 7: {bins:?}");
        assert!((0..1000).map(|_| random.unit()).all(|unit| unit > 0.0 && unit < 1.0));
    }
}
