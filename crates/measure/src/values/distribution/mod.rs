//! Distributions of measured values. A distribution is an HdrHistogram with exact moments.
//!
//! Threads, intervals and saved runs exchange histograms, because histograms can be added, but percentiles cannot.
//! Values are recorded to three significant digits. Count, sum, sum of squares, minimum and maximum are exact. The size
//! of a distribution depends on the range of its values, not on their number.

mod encoding;
mod moments;

pub use moments::Moments;

use hdrhistogram::Histogram;

/// Significant decimal digits of a recorded value.
pub const SIGNIFICANT_DIGITS: u8 = 3;
/// Largest error of a recorded value, as a share of the value. It follows from [`SIGNIFICANT_DIGITS`].
pub const RELATIVE_ERROR: f64 = 1e-3;
/// Smallest difference between recorded values, which is 64 ns for times and 64 B/s for speeds. Values below 64,000,
/// such as times below 64 µs, therefore have fewer than three significant digits.
pub const RESOLUTION: u64 = 64;

/// Recorded values, with quantiles to three significant digits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distribution {
    /// Histogram, created when the first value is recorded.
    histogram: Option<Box<Histogram<u64>>>,
    moments: Moments,
}

/// Quantile over all operations, including operations without a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantile {
    /// The quantile is this value.
    Value(u64),
    /// The rank falls among unfinished operations. The value is larger than the time that these operations had waited.
    Unfinished,
    /// The rank falls among failed or dropped operations, which count as +∞.
    Failed,
    /// There are no operations.
    Empty,
}

/// Reason why recording and merging cannot fail.
const GROWS: &str = "an auto-resizing histogram accepts any 64-bit value";

fn new_histogram(values: u64) -> Histogram<u64> {
    let highest = values.max(2 * RESOLUTION);
    let mut histogram = Histogram::new_with_bounds(RESOLUTION, highest, SIGNIFICANT_DIGITS)
        .expect("resolution and digits are constants that the histogram accepts");
    histogram.auto(true);
    histogram
}

impl Distribution {
    /// Returns whether there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.moments.count == 0
    }

    /// Records a value, which is a time in nanoseconds, or a speed in bytes per second.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.moments.record(value);
        let histogram = self.histogram.get_or_insert_with(|| Box::new(new_histogram(value)));
        histogram.record(value).expect(GROWS);
    }

    /// Records a value `count` times.
    pub fn record_many(&mut self, value: u64, count: u64) {
        if count == 0 {
            return;
        }
        let (each, n) = (u128::from(value), u128::from(count));
        let (sum, sum_of_squares) = (each.saturating_mul(n), (each * each).saturating_mul(n));
        self.moments = self.moments.merged(Moments { count, sum, sum_of_squares, min: value, max: value });
        let histogram = self.histogram.get_or_insert_with(|| Box::new(new_histogram(value)));
        histogram.record_n(value, count).expect(GROWS);
    }

    /// Records `count` zeros, for operations that did not wait for a connection.
    pub fn record_zeros(&mut self, count: u64) {
        self.record_many(0, count);
    }

    /// Adds all values of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.moments = self.moments.merged(other.moments);
        let Some(theirs) = &other.histogram else { return };
        match &mut self.histogram {
            Some(mine) => mine.add(theirs.as_ref()).expect(GROWS),
            mine @ None => *mine = Some(theirs.clone()),
        }
    }

    /// Returns the values that are not in `part`, which must be a subset of these values. Counts are subtracted bucket
    /// by bucket, and never become negative.
    ///
    /// Sum and sum of squares are exact if `part` is a true subset. Minimum and maximum are exact only to the bucket,
    /// because a histogram does not show which values of a bucket belong to the part.
    #[must_use]
    pub fn without(&self, part: &Self) -> Self {
        if part.histogram.is_none() {
            return self.clone();
        }
        let mut taken = part.recorded().peekable();
        let mut left = Self::default();
        for (value, count) in self.recorded() {
            while taken.next_if(|(other, _)| *other < value).is_some() {}
            let gone = taken.next_if(|(other, _)| *other == value).map_or(0, |(_, gone)| gone);
            left.keep(value, count.saturating_sub(gone), &self.moments);
        }
        if left.moments.count > 0 {
            left.moments.sum = self.moments.sum.saturating_sub(part.moments.sum);
            left.moments.sum_of_squares = self.moments.sum_of_squares.saturating_sub(part.moments.sum_of_squares);
        }
        left
    }

    /// Adds `count` values of a bucket that ends at `highest`. `from` contains the moments of the distribution from
    /// which the bucket comes. Buckets must be added in ascending order.
    fn keep(&mut self, highest: u64, count: u64, from: &Moments) {
        if count == 0 {
            return;
        }
        let histogram = self.histogram.get_or_insert_with(|| Box::new(new_histogram(highest)));
        histogram.record_n(highest, count).expect(GROWS);
        if self.moments.count == 0 {
            self.moments.min = histogram.lowest_equivalent(highest).max(from.min);
        }
        self.moments.max = highest.min(from.max);
        // A damaged record may have a minimum above some of its values.
        self.moments.min = self.moments.min.min(self.moments.max);
        self.moments.count = self.moments.count.saturating_add(count);
    }

    /// Returns the number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.moments.count
    }

    /// Returns the exact moments.
    #[must_use]
    pub fn moments(&self) -> &Moments {
        &self.moments
    }

    /// Returns the smallest value, exactly; `None` without values.
    #[must_use]
    pub fn min(&self) -> Option<u64> {
        (self.moments.count > 0).then_some(self.moments.min)
    }

    /// Returns the largest value, exactly; `None` without values.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        (self.moments.count > 0).then_some(self.moments.max)
    }

    /// Returns the value at quantile `q` in 0..=1. The value at quantile q is the smallest recorded value v such that
    /// at least q·n values are ≤ v. `None` without values.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<u64> {
        match self.quantile_of_all(q, 0, 0) {
            Quantile::Value(value) => Some(value),
            _ => None,
        }
    }

    /// Returns quantile `q` of these values together with `unfinished` operations, which exceed every value, and
    /// `failed` operations, which count as +∞.
    #[must_use]
    pub fn quantile_of_all(&self, q: f64, unfinished: u64, failed: u64) -> Quantile {
        // Sums of saved counts must not overflow, even if a record is damaged.
        let ended = self.moments.count.saturating_add(unfinished);
        let all = ended.saturating_add(failed);
        if all == 0 {
            return Quantile::Empty;
        }
        let rank = ((q.clamp(0.0, 1.0) * all as f64).ceil() as u64).clamp(1, all);
        if rank > ended {
            Quantile::Failed
        } else if rank > self.moments.count {
            Quantile::Unfinished
        } else {
            Quantile::Value(self.value_at_rank(rank))
        }
    }

    fn value_at_rank(&self, rank: u64) -> u64 {
        let Some(histogram) = &self.histogram else { return 0 };
        if rank == self.moments.count {
            return self.moments.max;
        }
        // Subtract half a rank, so that floating-point rounding cannot select the next rank.
        let value = histogram.value_at_quantile((rank as f64 - 0.5) / self.moments.count as f64);
        value.clamp(self.moments.min, self.moments.max)
    }

    /// Returns the number of values above a bound, and the number of values below the bound. As in quantiles, each
    /// value is represented by its bucket.
    #[must_use]
    pub fn beyond(&self, bound: f64) -> (u64, u64) {
        let value = |recorded: u64| recorded.clamp(self.moments.min, self.moments.max) as f64;
        self.recorded().fold((0, 0), |(above, below), (recorded, count)| {
            (
                above + if value(recorded) > bound { count } else { 0 },
                below + if value(recorded) < bound { count } else { 0 },
            )
        })
    }

    /// Returns the sum of the values above a bound. Values are represented by their buckets.
    #[must_use]
    pub fn sum_beyond(&self, bound: f64) -> u128 {
        let value = |recorded: u64| recorded.clamp(self.moments.min, self.moments.max);
        let above = self.recorded().filter(|(recorded, _)| value(*recorded) as f64 > bound);
        above.fold(0, |sum, (recorded, count)| sum + u128::from(value(recorded)) * u128::from(count))
    }

    /// Returns the histogram, for export to files; `None` without values.
    #[must_use]
    pub fn histogram(&self) -> Option<&Histogram<u64>> {
        self.histogram.as_deref()
    }

    /// Returns the histogram of a distribution without values.
    #[must_use]
    pub fn empty_histogram() -> Histogram<u64> {
        new_histogram(0)
    }

    /// Returns pairs of value and count, in ascending order. Each value is the highest of its bucket.
    pub fn recorded(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.histogram
            .iter()
            .flat_map(|histogram| histogram.iter_recorded())
            .map(|step| (step.value_iterated_to(), step.count_at_value()))
    }
}

#[cfg(test)]
pub(crate) fn of(values: &[u64]) -> Distribution {
    let mut distribution = Distribution::default();
    values.iter().for_each(|value| distribution.record(*value));
    distribution
}

#[cfg(test)]
mod tests;
