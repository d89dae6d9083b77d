//! What a stall of the client did to percentiles: the operations that it affected, and the range that a percentile of
//! the target can lie in.
//!
//! The run loop marks an operation as affected when it was due or in flight between the start of a client stall and the
//! recovery from it (docs/measurement.md). A percentile of all operations includes what the client added. A percentile of
//! the unaffected operations includes none of it.
//!
//! Stalls add no more to an operation than its lateness, those since its start, and the longest one: a target that takes requests in
//! order is done with each of them later by at most the longest time by which any of them came later. Where it had to wait for a
//! slot, each stall since there were none left may have kept a slot taken for so much longer.

use crate::distribution::Distribution;
use crate::enumerated;
use crate::outcome::{AttemptClass, AttemptOutcome, Cause, OpOutcome};
use crate::sample::OpSample;
use crate::statistics::samples_needed;
use crate::stats::KindStats;
use serde::{Deserialize, Serialize};

/// The operations of one kind that a client stall affected. A subset of the [`KindStats`] that it belongs to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Affected {
    /// Succeeded.
    pub ok: u64,
    /// Failed in a way that a stall can cause: by a timeout, or after a stall for which a server may have closed the connection.
    pub failed: u64,
    /// Response time of those that succeeded, in nanoseconds.
    pub response: Distribution,
    /// Service time of those that succeeded, in nanoseconds.
    pub service: Distribution,
    /// TTFB of those that succeeded, in nanoseconds.
    pub ttfb: Distribution,
    /// The most that stalls can have added to a time of one of them, in nanoseconds.
    #[serde(default = "unknown")]
    pub added_max: u64,
}

/// Of runs that were saved before this was.
fn unknown() -> u64 {
    u64::MAX
}

/// Whether an operation to which stalls added so many nanoseconds may have failed for that reason.
fn may_be_from_delay(how: AttemptOutcome, added: u64) -> bool {
    use AttemptClass::{ClosedEarly, Incomplete, Indeterminate, Reset, StaleReuse};
    use AttemptClass::{ConnectTimeout, TimeoutHead, TimeoutIdle, TimeoutTotal};
    match how.class {
        // A write that ran into its timeout.
        Indeterminate if matches!(how.cause, Cause::HeadTimedOut | Cause::TotalTimedOut) => true,
        ConnectTimeout | TimeoutHead | TimeoutIdle | TimeoutTotal => true,
        ClosedEarly | StaleReuse | Reset | Incomplete | Indeterminate => added >= CLOSED_AFTER,
        _ => false,
    }
}

impl Affected {
    /// Whether no operation was affected.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ok == 0 && self.failed == 0
    }

    /// Adds one operation that ended, and to which stalls can have added so many nanoseconds, its lateness apart.
    pub(crate) fn add(&mut self, sample: &OpSample, added: u64) {
        let added = added.saturating_add(sample.lateness_nanos());
        self.added_max = self.added_max.max(added);
        match sample.outcome {
            OpOutcome::Ok => {
                self.ok += 1;
                self.response.record(sample.response_nanos());
                sample.service_nanos().into_iter().for_each(|nanos| self.service.record(nanos));
                sample.ttfb_nanos().into_iter().for_each(|nanos| self.ttfb.record(nanos));
            }
            OpOutcome::Failed(how) if may_be_from_delay(how, added) => self.failed += 1,
            OpOutcome::Failed(_) | OpOutcome::Unfinished | OpOutcome::CutOff => {}
        }
    }

    /// Adds the operations of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.ok = self.ok.saturating_add(other.ok);
        self.failed = self.failed.saturating_add(other.failed);
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.ttfb.merge(&other.ttfb);
        self.added_max = self.added_max.max(other.added_max);
    }
}

enumerated! {
    /// A time that client stalls can lengthen.
    pub enum Timed {
        Response => "response", "from the intended start to the end";
        Service => "service", "from sending to the end";
        Ttfb => "ttfb", "from sending to the first byte";
    }
}

/// Where a percentile of the target lies, in nanoseconds: from that of the unaffected operations to that of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuantileRange {
    /// Lower end. 0 where too few operations were unaffected to tell.
    pub low: u64,
    /// Upper end.
    pub high: u64,
}

/// A range is wide from this share of its lower end on, and from this many nanoseconds.
///
/// 10 % and 200 µs would mislead a reader. A fifth of that is left for what the client cannot see, such as the way of a response
/// through a busy kernel.
const WIDE_SHARE: f64 = 0.08;
const WIDE_NANOS: u64 = 160_000;

/// No server closes a connection on which nothing moves for less than this, in nanoseconds.
const CLOSED_AFTER: u64 = 1_000_000_000;

/// Where fewer are unaffected, they are one short stretch of the run, which says nothing of the rest.
const UNAFFECTED_SHARE_MIN: f64 = 0.1;

impl QuantileRange {
    /// The range of quantile `q` of `all`, of which client stalls affected `part`, adding at most `added_max` nanoseconds to
    /// each. `None` without values.
    ///
    /// A stall only ever adds time, so the percentile of all operations bounds that of the target from above. Where the
    /// unaffected operations happen to be slower than all together, that is no reason to widen the range.
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

    /// Whether the client may have changed the percentile by more than a reader should overlook.
    #[must_use]
    pub fn is_wide(&self) -> bool {
        let width = self.high.saturating_sub(self.low);
        width > WIDE_NANOS && width as f64 > WIDE_SHARE * self.low as f64
    }
}

impl KindStats {
    /// All values of a time, and those of the affected operations among them.
    #[must_use]
    pub fn timed(&self, timed: Timed) -> (&Distribution, &Distribution) {
        match timed {
            Timed::Response => (&self.response, &self.affected.response),
            Timed::Service => (&self.service, &self.affected.service),
            Timed::Ttfb => (&self.ttfb, &self.affected.ttfb),
        }
    }

    /// Where quantile `q` of a time of the target lies. `None` when no operation succeeded.
    #[must_use]
    pub fn quantile_range(&self, timed: Timed, q: f64) -> Option<QuantileRange> {
        let (all, part) = self.timed(timed);
        let range = QuantileRange::of(all, part, self.affected.added_max, q)?;
        Some(QuantileRange { low: range.low.min(range.high.saturating_sub(self.inside(timed, q))), ..range })
    }

    /// By how much time inside the client lengthened quantile `q`, in nanoseconds: before the kernel had the request, and until the
    /// response was read.
    fn inside(&self, timed: Timed, q: f64) -> u64 {
        match timed {
            Timed::Response => self.dated.inside(q),
            Timed::Service => self.dated.waited(q),
            // The end is dated, which comes with the first byte only where a response comes as one.
            Timed::Ttfb if self.transfer.quantile(0.5) == Some(0) => self.dated.waited(q),
            Timed::Ttfb => 0,
        }
    }

    /// Of the operations whose time is beyond the bound, those that may be so only for the time inside the client.
    #[must_use]
    pub fn beyond_inside(&self, timed: Timed, bound: f64) -> u64 {
        let values = self.timed(timed).0;
        let (all, beyond) = (values.count(), values.beyond(bound).0);
        if beyond == 0 || self.dated.is_empty() {
            return 0;
        }
        let came_later = |rank: &u64| {
            let q = *rank as f64 / all as f64;
            let value = values.quantile(q).unwrap_or(0);
            value.saturating_sub(self.inside(timed, q)) as f64 > bound
        };
        // By halves, as if later ranks also came later: where they do not, by the rank that is met.
        let (mut within, mut later) = (all - beyond, all + 1);
        while later - within > 1 {
            let rank = within.midpoint(later);
            if came_later(&rank) { later = rank } else { within = rank }
        }
        within - (all - beyond)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::of;
    use crate::outcome::Phase;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;
    const LONG: u64 = u64::MAX;

    #[test]
    fn without_affected_operations_a_percentile_is_one_number() {
        let all = of(&[MS, 2 * MS, 90 * MS]);
        let range = QuantileRange::of(&all, &Distribution::default(), 0, 0.5).unwrap();
        assert_eq!((range.low, range.low == range.high, range.is_wide()), (all.quantile(0.5).unwrap(), true, false));
        assert_eq!(QuantileRange::of(&Distribution::default(), &Distribution::default(), 0, 0.5), None);
    }

    #[test]
    fn the_range_leads_from_the_unaffected_to_all() {
        let mut all = Distribution::default();
        (0..900).for_each(|_| all.record(MS));
        let mut part = Distribution::default();
        (0..600).for_each(|_| part.record(26 * MS));
        all.merge(&part);
        let range = QuantileRange::of(&all, &part, LONG, 0.9).unwrap();
        assert!(range.low.abs_diff(MS) < MS / 100 && range.high.abs_diff(26 * MS) < MS / 10, "{range:?}");
        assert!(range.is_wide());
        assert!(!QuantileRange::of(&all, &part, LONG, 0.5).unwrap().is_wide(), "the median is not touched");
    }

    #[test]
    fn too_few_unaffected_operations_leave_the_lower_end_open() {
        let (mut all, part) = (of(&[MS; 298]), of(&[50 * MS; 10]));
        all.merge(&part);
        assert_eq!(QuantileRange::of(&all, &part, LONG, 0.99).unwrap().low, 0, "298 samples are not enough for p99");
        let (mut all, part) = (of(&[2 * MS; 990]), of(&[50 * MS; 9000]));
        all.merge(&of(&[MS]));
        all.merge(&part);
        assert_eq!(QuantileRange::of(&all, &part, LONG, 0.5).unwrap().low, 0, "less than a tenth is unaffected");
        assert_eq!(QuantileRange::of(&part, &part, LONG, 0.5).unwrap().low, 0, "nothing was unaffected");
    }

    #[test]
    fn a_short_stall_does_not_explain_long_times() {
        let all = of(&[5000 * MS; 400]);
        let range = QuantileRange::of(&all, &all, 6 * MS, 0.5).unwrap();
        assert!(range.high - range.low == 6 * MS && !range.is_wide(), "{range:?}");
    }

    #[test]
    fn small_differences_are_not_wide() {
        let range = |low, high| QuantileRange { low, high }.is_wide();
        assert!(!range(100_000, 250_000), "below 160 µs");
        assert!(!range(9_300_000, 10_000_000), "below 8 %");
        assert!(range(2_000_000, 2_180_000));
    }

    /// A target that refuses is to blame, however long the client stood still.
    #[test]
    fn a_stall_explains_timeouts_and_after_a_second_lost_connections() {
        use AttemptClass::{Http5xx, Indeterminate, Reset, TimeoutHead};
        let explained = |(class, cause)| {
            let how = AttemptOutcome::failed(class, cause, Phase::Head);
            [MS, 1100 * MS].map(|added| may_be_from_delay(how, added))
        };
        let of = |class| explained((class, Cause::None));
        assert_eq!([TimeoutHead, Reset, Http5xx].map(of), [[true, true], [false, true], [false, false]]);
        assert_eq!(explained((Indeterminate, Cause::HeadTimedOut)), [true, true], "a write that timed out");
        assert_eq!(explained((Indeterminate, Cause::ResetInHead)), [false, true]);
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
