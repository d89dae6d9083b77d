//! Percentiles, and the number of samples that each percentile needs.

use crate::number::time;
use measure::objective::Timed;
pub use measure::statistics::samples_needed;
use measure::values::sum;
use measure::{Distribution, KindStats, Quantile};

/// Quantiles in every report, in ascending order. The list has ab's quantiles, p99.9 and p99.99. The quantile 1 is the
/// largest value.
pub const LADDER: [f64; 11] = [0.5, 0.66, 0.75, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999, 0.9999, 1.0];

/// A percentile, as precisely as the samples allow. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Percentile {
    /// The value.
    Value(u64),
    /// The lower and upper end of a range that contains the percentile. The exact value is not known, because client
    /// stalls or late reads may have increased the times ([`measure::QuantileRange`]).
    Between(u64, u64),
    /// A lower bound, because the operation at the percentile had not ended when the run ended.
    LongerThan(u64),
    /// No value, because the operation at the percentile failed or was dropped.
    Failed,
    /// No value, because there are too few samples.
    TooFew {
        /// Number of samples needed.
        needed: u64,
    },
    /// No value, because there are no samples.
    Empty,
}

/// Returns quantile `q` of recorded values.
#[must_use]
pub fn of(values: &Distribution, q: f64) -> Percentile {
    judged(values, &Distribution::default(), 0, q)
}

/// Returns quantile `q` of a time of successes. The result is a range if client stalls made a large difference.
#[must_use]
pub fn timed(stats: &KindStats, timed: Timed, q: f64) -> Percentile {
    let (all, _) = stats.timed(timed);
    match (of(all, q), stats.quantile_range(timed, q)) {
        (Percentile::Value(_), Some(range)) if range.is_wide() => {
            Percentile::Between(range.low.max(shown_below(stats, timed, q)).min(range.high), range.high)
        }
        (shown, _) => shown,
    }
}

/// Returns the lowest allowed beginning for the range of `q`. The range must not begin below a value that the report
/// shows for a lower quantile, since percentiles never decrease. If the range of a lower quantile is wide, this value
/// is its lower end. Otherwise, the report shows only the upper end.
fn shown_below(stats: &KindStats, timed: Timed, q: f64) -> u64 {
    let mut most = 0;
    for lower in LADDER.into_iter().rev().filter(|lower| *lower < q) {
        match stats.quantile_range(timed, lower) {
            Some(range) if range.is_wide() => most = range.low.max(most),
            // The values shown for even lower quantiles are at most this upper end.
            Some(range) => return range.high.max(most),
            None => {}
        }
    }
    most
}

/// Returns the lower and the upper end of quantile `q` of a time of successes, in nanoseconds. Both ends are equal if
/// client stalls made no difference. Returns `None` if there are too few samples.
#[must_use]
pub fn ends(stats: &KindStats, time: Timed, q: f64) -> Option<(u64, u64)> {
    match timed(stats, time, q) {
        Percentile::Value(nanos) => Some((nanos, nanos)),
        Percentile::Between(low, high) => Some((low, high)),
        _ => None,
    }
}

/// Returns quantile `q` of the response times of all operations. Failed and dropped operations count as infinitely
/// long. Unfinished operations count as longer than their wait so far.
#[must_use]
pub fn of_all(stats: &KindStats, dropped: u64, q: f64) -> Percentile {
    judged(&stats.response, &stats.unfinished_wait, sum([stats.failed, dropped]), q)
}

/// Returns quantile `q` of the times to first byte of all operations. For operations that failed, were dropped or never
/// ended, the time counts as infinite.
#[must_use]
pub fn ttfb_of_all(stats: &KindStats, dropped: u64, q: f64) -> Percentile {
    judged(&stats.ttfb, &Distribution::default(), sum([stats.failed, dropped, stats.unfinished]), q)
}

/// Returns quantile `q` of a time over all operations, including failed ones, like [`of_all`] and [`ttfb_of_all`]. The result
/// is a range if client stalls made a large difference.
#[must_use]
pub fn range_of_all(stats: &KindStats, time: Timed, dropped: u64, q: f64) -> Percentile {
    let of = if time == Timed::Ttfb { ttfb_of_all } else { of_all };
    let shown = of(stats, dropped, q);
    let (successes, _) = stats.timed(time);
    let others = sum([stats.failed, dropped, stats.unfinished]);
    // Failed operations count as slower than all successes. Quantile `q` of all operations is therefore the higher
    // quantile `among` of the successes.
    let among = q * (successes.count().saturating_add(others)) as f64 / successes.count().max(1) as f64;
    match (shown, stats.quantile_range(time, among.min(1.0))) {
        (Percentile::Value(high), Some(range)) if range.is_wide() => {
            Percentile::Between(range.low.max(shown_below(stats, time, among)).min(high), high)
        }
        (shown, _) => shown,
    }
}

fn judged(values: &Distribution, waits: &Distribution, failed: u64, q: f64) -> Percentile {
    let needed = samples_needed(q);
    let all = sum([values.count(), waits.count(), failed]);
    if all > 0 && all < needed {
        return Percentile::TooFew { needed };
    }
    match values.quantile_of_all(q, waits.count(), failed) {
        Quantile::Value(value) => Percentile::Value(value),
        Quantile::Unfinished => Percentile::LongerThan(bound(values, waits, failed, q)),
        Quantile::Failed => Percentile::Failed,
        Quantile::Empty => Percentile::Empty,
    }
}

/// Returns a lower bound of the quantile, computed as if every unfinished operation had ended at the end of the run.
fn bound(values: &Distribution, waits: &Distribution, failed: u64, q: f64) -> u64 {
    let mut together = values.clone();
    together.merge(waits);
    match together.quantile_of_all(q, 0, failed) {
        Quantile::Value(value) => value,
        _ => together.max().unwrap_or(0),
    }
}

/// Formats a range: `1.03 … 26.0 ms`, `812 µs … 26.0 ms`, or `≤ 26.0 ms` if the lower end is unknown.
#[must_use]
pub fn range(low: u64, high: u64) -> String {
    let (from, to) = (time(low as f64), time(high as f64));
    match (from.split_once(' '), to.split_once(' ')) {
        _ if low == 0 => format!("≤ {to}"),
        (Some((number, unit)), Some((_, same))) if unit == same => format!("{number} … {to}"),
        _ => format!("{from} … {to}"),
    }
}

/// Formats a quantile of a time of successes. The text is a range if client stalls made a difference, and `n/a` if
/// there are too few samples.
#[must_use]
pub fn text(stats: &KindStats, time: Timed, q: f64) -> String {
    ends(stats, time, q).map_or_else(|| "n/a".into(), |(low, high)| between(Some(low as f64), high as f64))
}

/// Formats the time `high`, or the range from `low` to `high` if `low` is lower.
#[must_use]
pub fn between(low: Option<f64>, high: f64) -> String {
    match low {
        Some(low) if low < high => range(low as u64, high as u64),
        _ => time(high),
    }
}

/// Explanation of ranges, shown below a table.
pub(crate) const ABOUT_RANGES: &str = "a … b: delays of this client (stalls, late requests, late reads) may have \
     raised the percentile from a to b; ≤ b: too few operations without such delays ended to compute a";

/// Returns the label of a quantile, such as `p99.9`. The label of 1 is `max`.
#[must_use]
pub fn label(q: f64) -> String {
    // Round, because 0.66 has no exact binary form. Every quantile here has at most two decimals in percent.
    let text = format!("{:.2}", q * 100.0);
    if q >= 1.0 { "max".into() } else { format!("p{}", text.trim_end_matches('0').trim_end_matches('.')) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels() {
        assert_eq!(LADDER.map(label).join(" "), "p50 p66 p75 p80 p90 p95 p98 p99 p99.9 p99.99 max");
    }

    #[test]
    fn a_percentile_that_client_stalls_lengthened_is_a_range() {
        let mut stats = KindStats::default();
        (0..1000).for_each(|_| stats.response.record(1_000_000));
        (0..100).for_each(|_| stats.response.record(50_000_000));
        (0..100).for_each(|_| stats.affected.response.record(50_000_000));
        stats.affected.added_max = 80_000_000;
        let Percentile::Between(low, high) = timed(&stats, Timed::Response, 0.99) else { panic!("no range") };
        assert!(low.abs_diff(1_000_000) < 1_000 && high.abs_diff(50_000_000) < 50_000, "{low} {high}");
        assert!(matches!(timed(&stats, Timed::Response, 0.5), Percentile::Value(_)));
    }

    /// The p99 is shown as one value, because a range that is only 5 % wide is too narrow. The range of the maximum
    /// then starts at this value.
    #[test]
    fn ranges_do_not_start_below_a_lower_percentile() {
        let mut stats = KindStats::default();
        (0..2000).for_each(|_| stats.response.record(10_000_000));
        (0..400).for_each(|_| {
            stats.response.record(10_500_000);
            stats.affected.response.record(10_500_000);
        });
        stats.response.record(60_000_000);
        stats.affected.response.record(60_000_000);
        stats.affected.added_max = 80_000_000;
        let Percentile::Value(p99) = timed(&stats, Timed::Response, 0.99) else { panic!("a range") };
        let Percentile::Between(low, _) = timed(&stats, Timed::Response, 1.0) else { panic!("no range") };
        assert!(low >= p99, "{low} {p99}");
    }

    #[test]
    fn failed_operations_count_as_slower_than_unfinished_ones() {
        let mut stats = KindStats { failed: 5, ..KindStats::default() };
        for _ in 0..80 {
            stats.response.record(1_000_000);
        }
        for wait in 1..=10_u64 {
            stats.unfinished_wait.record(wait * 1_000_000_000);
        }
        assert!(matches!(of_all(&stats, 5, 0.5), Percentile::Value(_)));
        // Of 100 operations, rank 81 is the first unfinished one. This operation has waited for one second.
        let Percentile::LongerThan(nanos) = of_all(&stats, 5, 0.805) else { panic!("not unfinished") };
        assert!(nanos.abs_diff(1_000_000_000) < 1_000_000, "{nanos}");
        assert_eq!(of_all(&stats, 5, 0.95), Percentile::Failed);
        assert_eq!(of_all(&stats, 5, 0.99), Percentile::TooFew { needed: 299 });
        assert_eq!(of(&Distribution::default(), 0.5), Percentile::Empty);
    }
}
