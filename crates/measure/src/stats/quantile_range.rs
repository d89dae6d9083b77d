//! Range that contains the true percentile of the target. The exact percentile is unknown, because the measured times
//! may include delays by the client.
//!
//! The upper end is the percentile of all operations. For the lower end, operations that a client stall affected are
//! left out ([`super::affected_operations`]). In addition, the time that requests and responses spent inside the client
//! is subtracted ([`super::unread_responses`]).

use super::KindStats;
use crate::enumerated;
use crate::statistics::samples_needed;
use crate::values::Distribution;

enumerated! {
    /// Time of an operation that may include time added by the client.
    pub enum Timed {
        Response => "response", "from the intended start to the end";
        Service => "service", "from sending to the end";
        Ttfb => "ttfb", "from sending to the first byte";
    }
}

/// Range that contains the true percentile of the target, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuantileRange {
    /// Lower end: the percentile without the time that the client added. 0 if too few operations were unaffected.
    pub low: u64,
    /// Upper end: the percentile of all operations.
    pub high: u64,
}

/// Minimum width of a wide range, as a share of its lower end. The width must also exceed [`WIDE_NANOS`].
///
/// A difference of 10 % and 200 µs would mislead a reader. The thresholds are a fifth lower, because the client cannot
/// measure all delays, such as the path of a response through a busy kernel.
const WIDE_SHARE: f64 = 0.08;
/// Minimum width of a wide range, in nanoseconds.
const WIDE_NANOS: u64 = 160_000;

/// Minimum share of unaffected operations from which the lower end is computed. A smaller share may come from one short
/// part of the run, which may not be typical of the rest.
const UNAFFECTED_SHARE_MIN: f64 = 0.1;

/// Lower ends below this number of nanoseconds count as unknown. No exchange between two processes is faster, so the
/// time inside the client was most of the measured time.
const LOW_MIN: u64 = 1000;

/// Quantiles whose lower ends also apply to higher quantiles.
const LOWER_QUANTILES: [f64; 5] = [0.5, 0.9, 0.95, 0.99, 0.999];

impl QuantileRange {
    /// Returns the range of quantile `q` of `all`. Client stalls affected the values in `part`, a subset of `all`, and
    /// added at most `added_max` nanoseconds to each. `None` if there are no values.
    ///
    /// A stall can only add time, so the percentile of all operations is an upper bound for the target. If the
    /// unaffected operations happen to be slower than all operations together, both ends of the range are the
    /// percentile of all operations.
    #[must_use]
    pub fn of(all: &Distribution, part: &Distribution, added_max: u64, q: f64) -> Option<Self> {
        let high = all.quantile(q)?;
        if part.count() == 0 {
            return Some(Self { low: high, high });
        }
        let unaffected = all.without(part);
        let share = unaffected.count() as f64 / all.count() as f64;
        let enough = unaffected.count() >= samples_needed(q) && share >= UNAFFECTED_SHARE_MIN;
        let low = if enough { unaffected.quantile(q) } else { Some(0) };
        let low = low.unwrap_or(high).max(high.saturating_sub(added_max));
        Some(Self { low: low.min(high), high })
    }

    /// Returns whether the client may have changed the percentile so much that reports must show the range.
    #[must_use]
    pub fn is_wide(&self) -> bool {
        let width = self.high.saturating_sub(self.low);
        width > WIDE_NANOS && width as f64 > WIDE_SHARE * self.low as f64
    }
}

impl KindStats {
    /// Returns two distributions of a time. The first contains all operations that succeeded. The second contains only
    /// the affected ones among these operations.
    #[must_use]
    pub fn timed(&self, timed: Timed) -> (&Distribution, &Distribution) {
        match timed {
            Timed::Response => (&self.response, &self.affected.response),
            Timed::Service => (&self.service, &self.affected.service),
            Timed::Ttfb => (&self.ttfb, &self.affected.ttfb),
        }
    }

    /// Returns the range that contains quantile `q` of a time of the target. `None` if no operation succeeded.
    ///
    /// A quantile is never below a lower quantile. For example, p99 is at least p90, so the lower end of p90's range is
    /// also a lower end for p99. This matters for high quantiles, because their own lower ends can be computed only
    /// from many unaffected operations.
    #[must_use]
    pub fn quantile_range(&self, timed: Timed, q: f64) -> Option<QuantileRange> {
        let range = self.own_range(timed, q)?;
        if range.low == range.high {
            return Some(range);
        }
        let lower = LOWER_QUANTILES.into_iter().filter(|lower| *lower < q);
        let low = lower.filter_map(|lower| self.own_range(timed, lower)).map(|lower| lower.low).max();
        Some(QuantileRange { low: low.unwrap_or(0).max(range.low).min(range.high), ..range })
    }

    fn own_range(&self, timed: Timed, q: f64) -> Option<QuantileRange> {
        let (all, part) = self.timed(timed);
        let range = QuantileRange::of(all, part, self.affected.added_max, q)?;
        let low = range.low.min(range.high.saturating_sub(self.inside_client(timed, q)));
        // If both ends are equal, the percentile is known, even if it is below `LOW_MIN`.
        let is_known = low >= LOW_MIN || low == range.high;
        Some(QuantileRange { low: if is_known { low } else { 0 }, ..range })
    }

    /// Returns the time that the client added to quantile `q`, in nanoseconds. The client adds the time until the
    /// kernel had the request, and the time until the client read the response.
    fn inside_client(&self, timed: Timed, q: f64) -> u64 {
        match timed {
            Timed::Response => self.timestamped.inside_client(q),
            Timed::Service => self.timestamped.unread(q),
            // Only the end of a response has a timestamp. If the response arrives in one piece, the first byte has the
            // same timestamp.
            Timed::Ttfb if self.transfer.quantile(0.5) == Some(0) => self.timestamped.unread(q),
            Timed::Ttfb => 0,
        }
    }

    /// Returns the number of operations that took longer than `bound` only because of the time that they spent inside
    /// the client.
    #[must_use]
    pub fn beyond_inside(&self, timed: Timed, bound: f64) -> u64 {
        let values = self.timed(timed).0;
        let (all, beyond) = (values.count(), values.beyond(bound).0);
        if beyond == 0 || self.timestamped.is_empty() {
            return 0;
        }
        let is_beyond_without_client = |rank: &u64| {
            let q = *rank as f64 / all as f64;
            let value = values.quantile(q).unwrap_or(0);
            value.saturating_sub(self.inside_client(timed, q)) as f64 > bound
        };
        // Binary search assumes that the condition is true for all ranks above some rank. If the condition changes at
        // several ranks, the search finds one of these ranks.
        let (mut within, mut beyond_rank) = (all - beyond, all + 1);
        while beyond_rank - within > 1 {
            let rank = within.midpoint(beyond_rank);
            if is_beyond_without_client(&rank) { beyond_rank = rank } else { within = rank }
        }
        within - (all - beyond)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::distribution::of;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;
    const LONG: u64 = u64::MAX;

    #[test]
    fn percentiles_without_affected_operations_are_one_number() {
        let all = of(&[MS, 2 * MS, 90 * MS]);
        let range = QuantileRange::of(&all, &Distribution::default(), 0, 0.5).unwrap();
        assert_eq!((range.low, range.low == range.high, range.is_wide()), (all.quantile(0.5).unwrap(), true, false));
        assert_eq!(QuantileRange::of(&Distribution::default(), &Distribution::default(), 0, 0.5), None);
    }

    #[test]
    fn ranges_extend_from_unaffected_operations_to_all() {
        let mut all = Distribution::default();
        (0..900).for_each(|_| all.record(MS));
        let mut part = Distribution::default();
        (0..600).for_each(|_| part.record(26 * MS));
        all.merge(&part);
        let range = QuantileRange::of(&all, &part, LONG, 0.9).unwrap();
        assert!(range.low.abs_diff(MS) < MS / 100 && range.high.abs_diff(26 * MS) < MS / 10, "{range:?}");
        assert!(range.is_wide());
        assert!(!QuantileRange::of(&all, &part, LONG, 0.5).unwrap().is_wide(), "rare stalls do not change the median");
    }

    #[test]
    fn too_few_unaffected_operations_give_no_lower_end() {
        let (mut all, part) = (of(&[MS; 298]), of(&[50 * MS; 10]));
        all.merge(&part);
        assert_eq!(QuantileRange::of(&all, &part, LONG, 0.99).unwrap().low, 0, "p99 needs 299 samples");
        let (mut all, part) = (of(&[2 * MS; 990]), of(&[50 * MS; 9000]));
        all.merge(&of(&[MS]));
        all.merge(&part);
        assert_eq!(
            QuantileRange::of(&all, &part, LONG, 0.5).unwrap().low,
            0,
            "the range starts at 0 if less than a tenth is unaffected"
        );
        assert_eq!(
            QuantileRange::of(&part, &part, LONG, 0.5).unwrap().low,
            0,
            "the range starts at 0 if nothing was unaffected"
        );
    }

    #[test]
    fn lower_ends_increase_with_the_quantile() {
        // 298 unaffected operations of 5 ms are enough for the median, but not for p99.
        let mut stats = KindStats::default();
        (0..298).for_each(|_| stats.response.record(5 * MS));
        (0..50).for_each(|_| {
            stats.response.record(50 * MS);
            stats.affected.response.record(50 * MS);
        });
        stats.affected.added_max = LONG;
        assert_eq!(QuantileRange::of(&stats.response, &stats.affected.response, LONG, 0.99).unwrap().low, 0);
        let [median, high] = [0.5, 0.99].map(|q| stats.quantile_range(Timed::Response, q).unwrap());
        assert!(median.low == high.low && high.low > 4 * MS && high.high > 49 * MS, "{median:?}, {high:?}");
    }

    #[test]
    fn short_stalls_do_not_explain_long_times() {
        let all = of(&[5000 * MS; 400]);
        let range = QuantileRange::of(&all, &all, 6 * MS, 0.5).unwrap();
        assert!(range.high - range.low == 6 * MS && !range.is_wide(), "{range:?}");
    }

    #[test]
    fn small_differences_are_not_wide() {
        let range = |low, high| QuantileRange { low, high }.is_wide();
        assert!(!range(100_000, 250_000), "a width below 160 µs is not wide");
        assert!(!range(9_300_000, 10_000_000), "a width below 8 % is not wide");
        assert!(range(2_000_000, 2_180_000));
    }

    proptest! {
        #[test]
        fn ranges_are_ordered(values in prop::collection::vec((0_u64..1_000_000_000, any::<bool>()), 1..400), q in 0.0_f64..=1.0) {
            let (mut all, mut part) = (Distribution::default(), Distribution::default());
            for (value, affected) in values {
                all.record(value);
                if affected { part.record(value) }
            }
            let range = QuantileRange::of(&all, &part, LONG, q).unwrap();
            prop_assert!(range.low <= range.high);
            prop_assert_eq!(Some(range.high), all.quantile(q));
        }
    }
}
