//! Distributions of measured values: an HdrHistogram with exact moments.
//!
//! Threads, intervals and saved runs exchange histograms because histograms can be added, which percentiles cannot.
//! Values keep three significant digits. Count, sum, sum of squares, minimum and maximum are exact. A distribution
//! grows with the range of its values and never holds samples.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer as HdrReader, Serializer as _, V2Serializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Significant decimal digits of a recorded value.
pub const SIGNIFICANT_DIGITS: u8 = 3;
/// Smallest difference between values that is kept: 64 ns for times (so three digits hold from 64 µs on), 64 B/s for
/// speeds.
pub const RESOLUTION: u64 = 64;

/// Exact moments of the recorded values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moments {
    /// Number of values.
    pub count: u64,
    /// Sum of the values.
    #[serde(with = "decimal")]
    pub sum: u128,
    /// Sum of their squares.
    #[serde(with = "decimal")]
    pub sum_of_squares: u128,
    /// Smallest value; meaningless while `count` is 0.
    pub min: u64,
    /// Largest value; meaningless while `count` is 0.
    pub max: u64,
}

impl Moments {
    #[inline]
    fn record(&mut self, value: u64) {
        self.min = if self.count == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.count = self.count.saturating_add(1);
        self.sum = self.sum.saturating_add(u128::from(value));
        self.sum_of_squares = self.sum_of_squares.saturating_add(u128::from(value) * u128::from(value));
    }

    /// Returns the moments of these values and those of `other` together.
    #[must_use]
    pub fn merged(self, other: Self) -> Self {
        match (self.count, other.count) {
            (_, 0) => self,
            (0, _) => other,
            _ => Self {
                count: self.count.saturating_add(other.count),
                sum: self.sum.saturating_add(other.sum),
                sum_of_squares: self.sum_of_squares.saturating_add(other.sum_of_squares),
                min: self.min.min(other.min),
                max: self.max.max(other.max),
            },
        }
    }

    /// Returns the arithmetic mean; `None` without values.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Returns the sample standard deviation (divisor n − 1); `None` below two values.
    ///
    /// It is computed from exact integer sums, n·Σx² − (Σx)², so that no digits cancel.
    #[must_use]
    pub fn standard_deviation(&self) -> Option<f64> {
        if self.count < 2 {
            return None;
        }
        let n = u128::from(self.count);
        let spread = match (n.checked_mul(self.sum_of_squares), self.sum.checked_mul(self.sum)) {
            (Some(left), Some(right)) => left.saturating_sub(right) as f64,
            _ => (n as f64 * self.sum_of_squares as f64 - (self.sum as f64).powi(2)).max(0.0),
        };
        Some((spread / (n as f64 * (n - 1) as f64)).sqrt())
    }
}

/// Recorded values, with quantiles to three significant digits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distribution {
    /// Created with the first value.
    histogram: Option<Box<Histogram<u64>>>,
    moments: Moments,
}

/// Quantile of a distribution that includes operations without a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantile {
    /// The value.
    Value(u64),
    /// The rank falls among unfinished operations: the value is larger than what they had waited.
    Unfinished,
    /// The rank falls among failed or dropped operations, which count as +∞.
    Failed,
    /// There are no operations.
    Empty,
}

/// Reason why recording and adding cannot fail.
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

    /// Records a value: nanoseconds of a time, bytes per second of a speed.
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

    /// Records zero `count` times, for operations that did not wait for a connection.
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

    /// Returns the values that are not in `part`, a subset of these: bucket by bucket, never below zero.
    ///
    /// Sum and sum of squares are exact for a true subset. Minimum and maximum are exact to their buckets, because a
    /// histogram does not show which of the values in a bucket belong to the part.
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

    /// Adds `count` values of a bucket of a distribution with the moments `from`. Buckets are added in ascending order.
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

    /// Returns the value at quantile `q` in 0..=1: the smallest recorded value v such that at least q·n values are ≤ v.
    /// `None` without values.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<u64> {
        match self.quantile_of_all(q, 0, 0) {
            Quantile::Value(value) => Some(value),
            _ => None,
        }
    }

    /// Returns quantile `q` of these values together with `unfinished` operations, which exceed every value, and
    /// `failed` ones, which are +∞.
    #[must_use]
    pub fn quantile_of_all(&self, q: f64, unfinished: u64, failed: u64) -> Quantile {
        // The sums of saved counts must not overflow, whatever a damaged record contains.
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
        // Half a rank lower, so that rounding in the floating-point quantile cannot move to the next rank.
        let value = histogram.value_at_quantile((rank as f64 - 0.5) / self.moments.count as f64);
        value.clamp(self.moments.min, self.moments.max)
    }

    /// Returns how many values are above a bound and how many are below it, by the values of their buckets as in
    /// quantiles.
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

    /// Returns the sum of the values above a bound, by the values of their buckets.
    #[must_use]
    pub fn sum_beyond(&self, bound: f64) -> u128 {
        let value = |recorded: u64| recorded.clamp(self.moments.min, self.moments.max);
        let above = self.recorded().filter(|(recorded, _)| value(*recorded) as f64 > bound);
        above.fold(0, |sum, (recorded, count)| sum + u128::from(value(recorded)) * u128::from(count))
    }

    /// Returns the histogram, for files that contain one; `None` without values.
    #[must_use]
    pub fn histogram(&self) -> Option<&Histogram<u64>> {
        self.histogram.as_deref()
    }

    /// Returns the histogram of a distribution without values.
    #[must_use]
    pub fn empty_histogram() -> Histogram<u64> {
        new_histogram(0)
    }

    /// Returns recorded values and their counts, ascending; each value is the highest of its bucket.
    pub fn recorded(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.histogram
            .iter()
            .flat_map(|histogram| histogram.iter_recorded())
            .map(|step| (step.value_iterated_to(), step.count_at_value()))
    }
}

#[derive(Serialize, Deserialize)]
struct Record {
    #[serde(flatten)]
    moments: Moments,
    /// HdrHistogram V2 encoding, in base64.
    hdr: String,
}

impl Serialize for Distribution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        if let Some(histogram) = &self.histogram {
            V2Serializer::new().serialize(histogram.as_ref(), &mut bytes).map_err(serde::ser::Error::custom)?;
        }
        Record { moments: self.moments, hdr: BASE64.encode(bytes) }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Distribution {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let record = Record::deserialize(deserializer)?;
        let bytes = BASE64.decode(record.hdr).map_err(D::Error::custom)?;
        if bytes.is_empty() && record.moments.count == 0 {
            return Ok(Self::default());
        }
        check_encoding(&bytes).map_err(D::Error::custom)?;
        let mut histogram: Histogram<u64> = HdrReader::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|error| D::Error::custom(format!("not an HdrHistogram: {error:?}")))?;
        histogram.auto(true);
        let Moments { count, min, max, .. } = record.moments;
        if count > COUNT_MAX {
            return Err(D::Error::custom("more values than an interval can hold"));
        }
        if histogram.len() != count || min > max || !histogram.equivalent(histogram.max(), max) {
            return Err(D::Error::custom("histogram and moments hold different values"));
        }
        Ok(Self { histogram: Some(Box::new(histogram)), moments: record.moments })
    }
}

/// Length of the V2 header in bytes: cookie, length of the payload, offset, digits, lowest and highest value, ratio.
const HEADER_BYTES: usize = 40;
/// Most values in one saved distribution. No client records that many in a second, and the sum over all kinds and
/// intervals of a run still fits 64 bits, as the histogram's own sums require.
const COUNT_MAX: u64 = 1 << 36;

/// Rejects encodings that this module never writes and that would cost the decoder gigabytes or a panic.
fn check_encoding(bytes: &[u8]) -> Result<(), &'static str> {
    let (header, payload) = bytes.split_at_checked(HEADER_BYTES).ok_or("the histogram has no header")?;
    // The decoder allocates the payload that the header announces before it checks that the payload exists.
    let length = u32::try_from(payload.len()).map_err(|_| "the histogram is too long")?;
    if header[4..8] != length.to_be_bytes() {
        return Err("the histogram's length differs from its header");
    }
    // More digits, or a lower resolution, would take gigabytes of counters.
    if header[12..16] != u32::from(SIGNIFICANT_DIGITS).to_be_bytes() || header[16..24] != RESOLUTION.to_be_bytes() {
        return Err("the histogram has other digits or another resolution than three significant digits and 64");
    }
    // The one number that the decoder cannot negate. No count up to `COUNT_MAX` has that many such bytes in a row.
    if payload.windows(9).any(|window| window == [0xFF; 9]) {
        return Err("the histogram has an impossible count");
    }
    Ok(())
}

/// Sums too large for JSON numbers, as decimal strings.
mod decimal {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(value: &u128, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
pub(crate) fn of(values: &[u64]) -> Distribution {
    let mut distribution = Distribution::default();
    values.iter().for_each(|value| distribution.record(*value));
    distribution
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(found: u64, truth: u64) -> bool {
        found.abs_diff(truth) as f64 <= (truth as f64 * 1e-3).max(RESOLUTION as f64)
    }

    #[test]
    fn wrong_minimums_are_corrected() {
        let text = serde_json::to_string(&of(&[10_000, 1_000_000])).unwrap();
        let damaged = text.replace("\"min\":10000", "\"min\":900000");
        assert_ne!(text, damaged);
        let whole: Distribution = serde_json::from_str(&damaged).unwrap();
        let left = whole.without(&of(&[1_000_000]));
        assert_eq!((left.count(), left.quantile(0.1), left.quantile(1.0)), (1, left.max(), left.max()));
    }

    proptest! {
        #[test]
        fn quantiles_agree_with_the_sorted_values(
            mut values in prop::collection::vec(0_u64..100_000_000_000, 1..300), q in 0.0_f64..=1.0,
        ) {
            let distribution = of(&values);
            values.sort_unstable();
            let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let found = distribution.quantile(q).unwrap();
            prop_assert!(close(found, values[rank - 1]), "found {found}, truth {}", values[rank - 1]);
        }

        #[test]
        fn merging_the_parts_of_any_split_gives_the_whole(values in prop::collection::vec(any::<u32>(), 0..200), cut in 0_usize..200) {
            let values: Vec<u64> = values.into_iter().map(u64::from).collect();
            let (left, right) = values.split_at(cut.min(values.len()));
            let (mut a, mut b) = (of(left), of(right));
            a.merge(&of(right));
            b.merge(&of(left));
            let whole = of(&values);
            for merged in [a, b] {
                prop_assert_eq!(merged.moments(), whole.moments());
                prop_assert!(merged.recorded().eq(whole.recorded()));
            }
        }

        #[test]
        fn subtracting_a_part_leaves_the_other_part(
            values in prop::collection::vec(0_u64..100_000_000_000, 0..200), cut in 0_usize..200, q in 0.0_f64..=1.0,
        ) {
            let (left, right) = values.split_at(cut.min(values.len()));
            let (part, expected) = (of(left), of(right));
            let found = of(&values).without(&part);
            prop_assert!(found.recorded().eq(expected.recorded()));
            prop_assert_eq!(found.moments().sum, expected.moments().sum);
            prop_assert_eq!(found.moments().sum_of_squares, expected.moments().sum_of_squares);
            prop_assert_eq!(found.count(), expected.count());
            match (found.quantile(q), expected.quantile(q)) {
                (Some(found), Some(expected)) => prop_assert!(close(found, expected), "{found}, truth {expected}"),
                (found, expected) => prop_assert_eq!(found, expected),
            }
            let text = serde_json::to_string(&found).unwrap();
            prop_assert!(serde_json::from_str::<Distribution>(&text).is_ok(), "the rest can be saved and read");
        }

        #[test]
        fn subtracting_more_than_there_is_leaves_nothing(
            values in prop::collection::vec(any::<u64>(), 0..50), part in prop::collection::vec(any::<u64>(), 0..50),
        ) {
            let mut more = of(&part);
            more.merge(&of(&values));
            more.merge(&of(&values));
            let found = of(&values).without(&more);
            prop_assert_eq!((found.count(), found.moments().sum, found.quantile(0.5)), (0, 0, None));
        }

        #[test]
        fn records_round_trip(values in prop::collection::vec(0_u64..86_400_000_000_000, 0..100)) {
            let distribution = of(&values);
            let text = serde_json::to_string(&distribution).unwrap();
            let back: Distribution = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(back.moments(), distribution.moments());
            prop_assert!(back.recorded().eq(distribution.recorded()));
        }

        #[test]
        fn moments_agree_with_a_direct_computation(values in prop::collection::vec(0_u64..1_000_000_000_000, 2..100)) {
            let n = values.len() as f64;
            let mean = values.iter().map(|v| *v as f64).sum::<f64>() / n;
            let variance = values.iter().map(|v| (*v as f64 - mean).powi(2)).sum::<f64>() / (n - 1.0);
            let moments = *of(&values).moments();
            prop_assert!((moments.mean().unwrap() - mean).abs() <= mean * 1e-9 + 1e-9);
            prop_assert!((moments.standard_deviation().unwrap() - variance.sqrt()).abs() <= variance.sqrt() * 1e-6 + 1e-3);
        }
    }

    #[test]
    fn failed_and_unfinished_operations_exceed_all_values() {
        let distribution = of(&[10_000, 20_000, 30_000, 40_000]);
        assert!(matches!(distribution.quantile_of_all(0.4, 1, 1), Quantile::Value(v) if close(v, 30_000)));
        assert_eq!(distribution.quantile_of_all(0.8, 1, 1), Quantile::Unfinished);
        assert_eq!(distribution.quantile_of_all(1.0, 1, 1), Quantile::Failed);
        assert_eq!(Distribution::default().quantile_of_all(0.5, 0, 0), Quantile::Empty);
        assert_eq!(Distribution::default().quantile_of_all(0.5, 0, 3), Quantile::Failed);
    }

    #[test]
    fn averaging_percentiles_would_be_wrong_and_merging_is_right() {
        // A quiet client and a stalled one.
        let mut quiet = of(&(0..10_000).map(|i| 1_000_000 + i * 100).collect::<Vec<_>>());
        let stalled =
            of(&(0..1_000).map(|i| if i < 50 { 500_000_000 } else { 1_000_000 + i * 100 }).collect::<Vec<_>>());
        let average = (quiet.quantile(0.99).unwrap() + stalled.quantile(0.99).unwrap()) / 2;
        quiet.merge(&stalled);
        let pooled = quiet.quantile(0.99).unwrap();
        assert!(average > 100 * pooled, "average {average}, pooled {pooled}");
    }

    #[test]
    fn damaged_records_are_rejected() {
        let mut text = serde_json::to_string(&of(&[1, 2, 3])).unwrap();
        let sound = text.clone();
        assert!(serde_json::from_str::<Distribution>(&sound).is_ok());
        for (from, to) in [("\"count\":3", "\"count\":4"), ("\"min\":1", "\"min\":9"), ("\"max\":3", "\"max\":900")] {
            text = sound.replace(from, to);
            assert!(text != sound && serde_json::from_str::<Distribution>(&text).is_err(), "{to}");
        }
        let rejected = |count: u64, bytes: &[u8]| {
            let hdr = BASE64.encode(bytes);
            let text = format!(
                "{{\"count\":{count},\"sum\":\"6\",\"sum_of_squares\":\"14\",\"min\":0,\"max\":3,\"hdr\":\"{hdr}\"}}"
            );
            serde_json::from_str::<Distribution>(&text).expect_err(&text).to_string()
        };
        let bytes = BASE64.decode(sound.split("\"hdr\":\"").nth(1).unwrap().trim_end_matches("\"}")).unwrap();
        let with = |at: usize, value: u8| {
            let mut bytes = bytes.clone();
            bytes[at] = value;
            bytes
        };
        assert!(rejected(3, &with(15, 5)).contains("three significant digits"));
        assert!(rejected(3, &with(23, 1)).contains("another resolution"));
        // Four gigabytes are announced but missing.
        assert!(rejected(3, &with(4, 0xFF)).contains("differs from its header"));
        assert!(rejected(3, &bytes[..20]).contains("has no header"));
        assert!(rejected(3, &[]).contains("has no header"));
    }

    #[test]
    fn absurd_counts_are_rejected_before_they_overflow() {
        let with_payload = |payload: &[u8]| {
            let mut bytes = Vec::new();
            V2Serializer::new().serialize(&new_histogram(0), &mut bytes).unwrap();
            bytes.truncate(HEADER_BYTES);
            bytes[4..8].copy_from_slice(&(payload.len() as u32).to_be_bytes());
            bytes.extend_from_slice(payload);
            bytes
        };
        // Zigzag numbers in base 128: i64::MIN, which has no positive counterpart, and i64::MAX twice.
        let least = with_payload(&[0xFF; 9]);
        let most = with_payload(&[[0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]; 2].concat());
        for (bytes, count, why) in
            [(least, 1, "an impossible count"), (most, u64::MAX - 1, "more values than an interval can hold")]
        {
            let record = Record { moments: Moments { count, ..Moments::default() }, hdr: BASE64.encode(bytes) };
            let text = serde_json::to_string(&record).unwrap();
            let rejected = serde_json::from_str::<Distribution>(&text).unwrap_err().to_string();
            assert!(rejected.contains(why), "{rejected}");
        }
    }

    #[test]
    fn sums_of_absurd_counts_saturate() {
        let mut distribution = of(&[10_000]);
        distribution.record_zeros(u64::MAX - 1);
        assert_eq!(distribution.quantile_of_all(1.0, u64::MAX, u64::MAX), Quantile::Value(10_000));
        distribution.record(7);
        distribution.merge(&distribution.clone());
        assert_eq!(distribution.count(), u64::MAX);
    }
}
