//! Response times in buckets, small enough to keep for many intervals.

use measure::Distribution;

/// Number of buckets in an octave, over which times double. A bucket is 4.4 % wide. A chart on a terminal cannot show
/// smaller differences.
const PER_OCTAVE: f64 = 16.0;

/// Counts of response times by bucket.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Times {
    /// Buckets with a count above 0, in ascending order.
    buckets: Vec<(u16, u64)>,
}

/// A bucket of response times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket {
    /// Lower end in nanoseconds.
    pub start: f64,
    /// Upper end in nanoseconds.
    pub end: f64,
    /// Number of operations.
    pub count: u64,
}

impl Times {
    /// Returns the buckets of recorded times.
    pub fn of(recorded: &Distribution) -> Self {
        let mut times = Self::default();
        let (Some(histogram), Some(min), Some(max)) = (recorded.histogram(), recorded.min(), recorded.max()) else {
            return times;
        };
        // Returns the end of the last histogram value that lies completely in a bucket. Returns at least the end of the
        // value that starts at `first`.
        let last_in = |bucket: u16, first: u64| {
            let last = (end(bucket).ceil() as u64).saturating_sub(1);
            let is_whole = histogram.highest_equivalent(last) <= last;
            let whole = if is_whole { last } else { histogram.lowest_equivalent(last).saturating_sub(1) };
            whole.max(histogram.highest_equivalent(first))
        };
        // Add ranges of counts, because this is much faster than iterating over the counts of the histogram.
        let mut first = histogram.lowest_equivalent(min);
        while first <= max {
            let bucket = bucket_of(histogram.highest_equivalent(first));
            let last = last_in(bucket, first);
            let count = histogram.count_between(first, last);
            if count > 0 {
                times.buckets.push((bucket, count));
            }
            first = last.saturating_add(1);
        }
        times
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        let Self { buckets } = other;
        for (bucket, count) in buckets {
            match self.buckets.binary_search_by_key(bucket, |(known, _)| *known) {
                Ok(index) => self.buckets[index].1 = self.buckets[index].1.saturating_add(*count),
                Err(index) => self.buckets.insert(index, (*bucket, *count)),
            }
        }
    }

    /// Returns the number of operations.
    pub fn count(&self) -> u64 {
        self.buckets.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// Returns the upper end of the bucket that contains a quantile, in nanoseconds. `None` without operations.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let rank = ((self.count() as f64 * q).ceil() as u64).max(1);
        let mut below = 0_u64;
        self.buckets.iter().find_map(|(bucket, count)| {
            below = below.saturating_add(*count);
            (below >= rank).then(|| end(*bucket))
        })
    }

    /// Returns the buckets with a count above 0, in ascending order.
    pub fn buckets(&self) -> impl DoubleEndedIterator<Item = Bucket> + '_ {
        self.buckets.iter().map(|(bucket, count)| Bucket { start: start(*bucket), end: end(*bucket), count: *count })
    }
}

/// Returns the bucket that contains a time in nanoseconds.
fn bucket_of(nanos: u64) -> u16 {
    ((nanos.max(1) as f64).log2() * PER_OCTAVE) as u16
}

/// Returns the lower end of a bucket in nanoseconds.
fn start(bucket: u16) -> f64 {
    (f64::from(bucket) / PER_OCTAVE).exp2()
}

/// Returns the upper end of a bucket in nanoseconds.
fn end(bucket: u16) -> f64 {
    start(bucket.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(nanos: &[u64]) -> Times {
        let mut recorded = Distribution::default();
        nanos.iter().for_each(|nanos| recorded.record(*nanos));
        Times::of(&recorded)
    }

    #[test]
    fn quantiles_are_exact_to_a_bucket() {
        let nanos: Vec<u64> = (1..=1000).map(|number| number * 10_000).collect();
        let times = of(&nanos);
        for q in [0.01, 0.5, 0.99, 1.0] {
            let (found, truth) = (times.quantile(q).unwrap(), q * 10_000_000.0);
            assert!(found >= truth * 0.999 && found <= truth * 1.05, "{q}: {found} instead of {truth}");
        }
        assert_eq!(Times::default().quantile(0.5), None);
    }

    #[test]
    fn no_time_is_lost_and_each_is_in_its_bucket() {
        let mut nanos = 1_u64;
        let mut recorded = Distribution::default();
        // Test times of all magnitudes, for which buckets are narrower or wider than a value of the histogram.
        for number in 0..5_000_u64 {
            nanos = nanos.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            recorded.record((nanos >> 20) >> (number % 44));
        }
        let mut wanted = Times::default();
        for (nanos, count) in recorded.recorded() {
            match wanted.buckets.last_mut() {
                Some((last, known)) if *last == bucket_of(nanos) => *known += count,
                _ => wanted.buckets.push((bucket_of(nanos), count)),
            }
        }
        assert_eq!(Times::of(&recorded), wanted);
        assert_eq!(Times::of(&recorded).count(), 5_000);
        assert_eq!(Times::of(&Distribution::default()), Times::default());
    }

    #[test]
    fn merged_times_are_those_of_all_operations() {
        let (odd, even) = (of(&[1, 1_000_003, 5_000_000_000]), of(&[2_000, 1_000_000]));
        let mut merged = odd.clone();
        merged.merge(&even);
        let mut again = even;
        again.merge(&odd);
        assert_eq!(merged, again);
        assert_eq!(merged, of(&[1, 2_000, 1_000_000, 1_000_003, 5_000_000_000]));
        assert_eq!(merged.count(), 5);
    }
}
