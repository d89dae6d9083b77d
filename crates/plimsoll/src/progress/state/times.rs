//! Response times in buckets, small enough to keep for many intervals.

use measure::Distribution;

/// Number of buckets over which times double. A bucket is 4.4 % wide, which is less than a chart on a terminal shows.
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
        for (nanos, count) in recorded.recorded() {
            let bucket = ((nanos.max(1) as f64).log2() * PER_OCTAVE) as u16;
            match times.buckets.last_mut() {
                Some((last, known)) if *last == bucket => *known = known.saturating_add(count),
                _ => times.buckets.push((bucket, count)),
            }
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
        self.buckets().find_map(|bucket| {
            below = below.saturating_add(bucket.count);
            (below >= rank).then_some(bucket.end)
        })
    }

    /// Returns the buckets with a count above 0, in ascending order.
    pub fn buckets(&self) -> impl DoubleEndedIterator<Item = Bucket> + '_ {
        let edge = |bucket: u16| (f64::from(bucket) / PER_OCTAVE).exp2();
        self.buckets.iter().map(move |(bucket, count)| Bucket {
            start: edge(*bucket),
            end: edge(bucket.saturating_add(1)),
            count: *count,
        })
    }
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
