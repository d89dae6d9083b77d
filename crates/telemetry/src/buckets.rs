//! Histograms with fixed buckets.

use measure::Distribution;

/// First digits of the bounds in each decade, times ten.
const STEPS: [u64; 6] = [10, 15, 20, 30, 50, 70];
/// Number of decades, from 10 µs to 100 s.
const DECADES: usize = 7;
/// Unit of [`STEPS`] in the first decade, in nanoseconds.
const FIRST_UNIT: u64 = 1000;

/// Upper bounds of the buckets, in nanoseconds: six for each decade from 10 µs to 100 s. A bound is at most two thirds
/// above the previous one. A percentile computed from the buckets is therefore at most two thirds above the exact one.
pub const BOUNDS: [u64; STEPS.len() * DECADES + 1] = bounds();

const fn bounds() -> [u64; STEPS.len() * DECADES + 1] {
    let mut bounds = [0; STEPS.len() * DECADES + 1];
    let (mut index, mut unit) = (0, FIRST_UNIT);
    while index < bounds.len() {
        bounds[index] = STEPS[index % STEPS.len()] * unit;
        index += 1;
        if index.is_multiple_of(STEPS.len()) {
            unit *= 10;
        }
    }
    bounds
}

/// A histogram of times with the buckets of [`BOUNDS`]. Unlike a [`Distribution`], it has a small, constant size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketCounts {
    /// Number of values in each bucket, and above the last bound.
    counts: [u64; BOUNDS.len() + 1],
    count: u64,
    sum_nanos: u128,
}

impl Default for BucketCounts {
    fn default() -> Self {
        Self { counts: [0; BOUNDS.len() + 1], count: 0, sum_nanos: 0 }
    }
}

impl BucketCounts {
    /// Adds all values of a distribution of nanoseconds.
    pub fn add(&mut self, times: &Distribution) {
        let moments = times.moments();
        let mut bucket = 0;
        for (value, count) in times.recorded() {
            let value = value.clamp(moments.min, moments.max);
            while BOUNDS.get(bucket).is_some_and(|bound| value > *bound) {
                bucket += 1;
            }
            self.counts[bucket] = self.counts[bucket].saturating_add(count);
            self.count = self.count.saturating_add(count);
        }
        self.sum_nanos = self.sum_nanos.saturating_add(moments.sum);
    }

    /// Returns the number of values in each bucket, not cumulated. The last number counts the values above the last
    /// bound.
    #[must_use]
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Returns the number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the sum of the values, in seconds.
    #[must_use]
    pub fn sum_seconds(&self) -> f64 {
        self.sum_nanos as f64 / 1e9
    }
}

/// Returns the bounds in seconds.
pub(crate) fn bounds_in_seconds() -> impl Iterator<Item = f64> {
    BOUNDS.iter().map(|nanos| *nanos as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bounds_rise_by_at_most_two_thirds() {
        assert_eq!((BOUNDS[0], BOUNDS[BOUNDS.len() - 1]), (10_000, 100_000_000_000));
        for pair in BOUNDS.windows(2) {
            let ratio = pair[1] as f64 / pair[0] as f64;
            assert!(ratio > 1.0 && ratio < 1.67, "{pair:?}");
        }
    }

    proptest! {
        #[test]
        fn values_are_in_the_bucket_of_their_bound(values in prop::collection::vec(1_u64..200_000_000_000, 1..200)) {
            let mut times = Distribution::default();
            values.iter().for_each(|value| times.record(*value));
            let mut buckets = BucketCounts::default();
            // Adding the values in two steps gives the same counts.
            buckets.add(&times);
            buckets.add(&times);
            prop_assert_eq!(buckets.count(), 2 * values.len() as u64);
            prop_assert_eq!(buckets.counts().iter().sum::<u64>(), buckets.count());
            let exact: u128 = values.iter().map(|value| u128::from(*value)).sum();
            prop_assert!((buckets.sum_seconds() - 2.0 * exact as f64 / 1e9).abs() <= 1e-6 * buckets.sum_seconds());
            let mut below = 0;
            for (bound, count) in BOUNDS.iter().zip(buckets.counts()) {
                below += count;
                // Values are recorded to three significant digits, so only values just below a bound may be counted in
                // the next bucket.
                let certain = values.iter().filter(|value| **value as f64 * 1.002 + 64.0 <= *bound as f64).count() as u64;
                let possible = values.iter().filter(|value| *value <= bound).count() as u64;
                prop_assert!((2 * certain..=2 * possible).contains(&below), "{bound}: {below}, {certain}, {possible}");
            }
        }
    }
}
