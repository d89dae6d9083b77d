//! Random numbers as a function of (seed, stream, index).
//!
//! The generator has no state. The choice for operation n is therefore the same in every thread, no matter when it is
//! made. With the same seed, two targets get the same sequence of objects and ranges. SplitMix64's finalizer mixes
//! seed, stream and index.

use measure::values::random::mix;

/// Purpose for which a random number is drawn. Numbers for different purposes are independent of each other.
#[derive(Clone, Copy, Debug)]
pub enum Stream {
    /// Object that an operation requests.
    Object,
    /// Start of the range that an operation requests.
    Offset,
    /// Request of the plan's mix of requests that an operation makes.
    Request,
    /// Origin that an operation uses.
    Origin,
    /// Gaps between the arrivals of one thread.
    Arrivals(u32),
    /// Pause before a retry. Part 0 means a request that does not upload a part.
    Pause {
        /// Number of the part of a multipart upload.
        part: u32,
    },
}

impl Stream {
    fn number(self) -> u64 {
        match self {
            Self::Object => 1,
            Self::Offset => 2,
            Self::Request => 3,
            Self::Origin => 4,
            Self::Arrivals(thread) => 0x1_0000_0000 | u64::from(thread),
            Self::Pause { part } => 0x2_0000_0000 | u64::from(part),
        }
    }
}

/// Returns number `index` of a stream, uniform over all 64-bit values.
#[must_use]
pub fn bits(seed: u64, stream: Stream, index: u64) -> u64 {
    mix(mix(mix(seed) ^ stream.number()) ^ index)
}

/// Returns number `index` of a stream, uniform in 0..`bound`. With Lemire's multiplication, the bias is below `bound` /
/// 2⁶⁴.
#[must_use]
pub fn below(seed: u64, stream: Stream, index: u64, bound: u64) -> u64 {
    ((u128::from(bits(seed, stream, index)) * u128::from(bound)) >> 64) as u64
}

/// Returns number `index` of a stream, exponentially distributed with mean 1.
#[must_use]
pub fn exponential(seed: u64, stream: Stream, index: u64) -> f64 {
    // This number is uniform in (0, 1]. Adding 1 to the 53 random bits avoids 0.
    let uniform = ((bits(seed, stream, index) >> 11) + 1) as f64 / (1_u64 << 53) as f64;
    -uniform.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_spread_evenly() {
        let mut bins = [0_u32; 16];
        for index in 0..160_000 {
            bins[below(7, Stream::Object, index, 16) as usize] += 1;
        }
        for count in bins {
            assert!((9_500..10_500).contains(&count), "{bins:?}");
        }
        assert_ne!(bits(7, Stream::Object, 1), bits(7, Stream::Offset, 1));
        assert_ne!(bits(7, Stream::Object, 1), bits(8, Stream::Object, 1));
    }

    #[test]
    fn exponential_gaps_have_mean_and_deviation_one() {
        let n = 100_000;
        let draws: Vec<f64> = (0..n).map(|index| exponential(3, Stream::Arrivals(0), index)).collect();
        let mean = draws.iter().sum::<f64>() / n as f64;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64;
        assert!((mean - 1.0).abs() < 0.02 && (variance - 1.0).abs() < 0.05, "mean {mean}, variance {variance}");
    }
}
