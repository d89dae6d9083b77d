//! Fault injection: selects the requests and bodies with a fault, and the time at which the server stalls.
//!
//! Threads use shared counters only if a configured fault needs them, because shared counters cost time on every
//! request.

pub(crate) mod body;
pub(crate) mod counts;

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::config::faults::{CountedRequests, Delay, Faults, RefusedRequests, StallFrom};
use body::BodyFaults;
use counts::{Counts, FaultCounts, count_if};

/// The fault injector of one server.
#[derive(Debug)]
pub(crate) struct FaultInjector {
    pub(crate) config: Faults,
    started: Duration,
    /// Time at which the first request was read, in nanoseconds of the monotonic clock; 0 before that.
    first_request: AtomicU64,
    /// The number of requests so far. Some faults affect every n-th request.
    requests: AtomicU64,
    /// The number of bodies with content so far. Some faults affect every n-th body.
    bodies: AtomicU64,
    /// The number of stored objects so far. The fault that loses objects affects every n-th object.
    stored: AtomicU64,
    in_service: AtomicU64,
    /// The number of requests that arrived while the capacity was exceeded.
    above: AtomicU64,
    counts: Counts,
}

/// The faults of one request.
#[derive(Debug)]
pub(crate) struct RequestFaults {
    pub(crate) delay: Duration,
    pub(crate) error: bool,
    /// `true` if the request is refused because too many are in service.
    pub(crate) refused: bool,
    /// A guard that counts the request as in service until the response has ended.
    pub(crate) in_service: InService,
}

/// A guard that counts a request as in service until the guard is dropped. If no capacity is configured, nothing is
/// counted.
#[derive(Debug)]
pub(crate) struct InService(Option<Arc<FaultInjector>>);

impl Drop for InService {
    fn drop(&mut self) {
        if let Some(injector) = &self.0 {
            injector.in_service.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl FaultInjector {
    /// Creates the injector of a server that started at the time `started` of the monotonic clock.
    pub(crate) fn new(config: Faults, started: Duration) -> Self {
        let zero = || AtomicU64::new(0);
        let (first_request, in_service, above) = (zero(), zero(), zero());
        let (requests, bodies, stored, counts) = (zero(), zero(), zero(), Counts::default());
        Self { config, started, first_request, requests, bodies, stored, in_service, above, counts }
    }

    /// Records that a request was read, because a stall may be configured to begin some time after the first request.
    #[inline]
    pub(crate) fn note_request_read(&self, now: Duration) {
        if self.config.stall.is_some() && self.first_request.load(Ordering::Relaxed) == 0 {
            let now = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
            // Only the first thread succeeds in setting the value.
            let _ = self.first_request.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Returns the beginning and end of the stall, if one is configured and its beginning is known.
    pub(crate) fn stall(&self) -> Option<(Duration, Duration)> {
        let stall = self.config.stall?;
        let from = match stall.from {
            StallFrom::Start => self.started,
            StallFrom::FirstRequest => match self.first_request.load(Ordering::Relaxed) {
                0 => return None,
                nanos => Duration::from_nanos(nanos),
            },
        };
        let begin = from.saturating_add(stall.at);
        Some((begin, begin.saturating_add(stall.length)))
    }

    /// Returns the faults of the next request. `ranged` is true if the request has a `Range`.
    pub(crate) fn next_request(self: &Arc<Self>, ranged: bool) -> RequestFaults {
        let config = &self.config;
        let numbered = config.error_every.is_some() || matches!(config.delay, Delay::Bimodal { .. });
        let ordinal = if numbered { self.requests.fetch_add(1, Ordering::Relaxed) + 1 } else { 0 };
        let mut delay = match config.delay {
            Delay::None => Duration::ZERO,
            Delay::Constant(delay) => delay,
            Delay::Bimodal { slow, every, .. } if ordinal.is_multiple_of(every.get()) => {
                count_if(true, &self.counts.slow);
                slow
            }
            Delay::Bimodal { fast, .. } => fast,
        };
        let mut guard = InService(None);
        let mut refused = false;
        if let Some(capacity) = config.capacity.filter(|capacity| capacity.counted == CountedRequests::All || ranged) {
            let in_service = self.in_service.fetch_add(1, Ordering::Relaxed) + 1;
            guard = InService(Some(Arc::clone(self)));
            let above = in_service.saturating_sub(capacity.concurrency);
            refused = above > 0 && self.refuses(capacity.refused, above, capacity.concurrency);
            let above = u32::try_from(above).unwrap_or(u32::MAX);
            delay = delay.saturating_add(capacity.slowdown.saturating_mul(above));
        }
        let error = config.error_every.is_some_and(|every| ordinal.is_multiple_of(every.get()));
        count_if(refused, &self.counts.refused);
        count_if(error && !refused, &self.counts.errors);
        RequestFaults { delay, error, refused, in_service: guard }
    }

    /// Returns whether to refuse a request that raises the number of requests in service to `above` more than the
    /// capacity. [`RefusedRequests::Share`] refuses a share of `above / (above + 2 capacity)`. Multiples of the golden
    /// ratio spread the refusals evenly over the requests.
    fn refuses(&self, refused: RefusedRequests, above: u64, capacity: u64) -> bool {
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        match refused {
            RefusedRequests::None => false,
            RefusedRequests::All => true,
            RefusedRequests::Share => {
                let fraction = self.above.fetch_add(1, Ordering::Relaxed).wrapping_mul(GOLDEN);
                let all = u128::from(above) + 2 * u128::from(capacity);
                (u128::from(fraction) * all) >> 64 < u128::from(above)
            }
        }
    }

    /// Returns the faults of the next body with content.
    pub(crate) fn next_body(&self) -> BodyFaults {
        let Faults { truncate, flip, .. } = self.config;
        if truncate.is_none() && flip.is_none() {
            return BodyFaults::default();
        }
        let ordinal = self.bodies.fetch_add(1, Ordering::Relaxed) + 1;
        let is_due = |every: NonZeroU64| ordinal.is_multiple_of(every.get());
        BodyFaults {
            cut: truncate.filter(|cut| is_due(cut.every)).map(|cut| cut.after),
            flip: flip.filter(|flip| is_due(flip.every)).map(|flip| flip.at),
        }
    }

    /// Returns whether the next stored object is lost.
    pub(crate) fn loses_next_object(&self) -> bool {
        let Some(every) = self.config.lose_every else { return false };
        let loses = (self.stored.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(every.get());
        count_if(loses, &self.counts.lost);
        loses
    }

    /// Counts the faults that took effect in a body of `length` bytes, of which `sent` bytes were passed on for
    /// sending.
    #[inline]
    pub(crate) fn note_sent(&self, body_faults: BodyFaults, length: Option<u64>, sent: u64) {
        if body_faults != BodyFaults::default() {
            count_if(body_faults.breaks_at(length) == Some(sent), &self.counts.broken_off);
            count_if(body_faults.wrong_byte(length).is_some_and(|wrong| wrong < sent), &self.counts.wrong_bytes);
        }
    }

    /// Returns the counts of faults so far.
    pub(crate) fn counts(&self) -> FaultCounts {
        self.counts.read()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::faults::{Capacity, Flip, Stall, Truncate};

    const MS: Duration = Duration::from_millis(1);

    fn injector(faults: Faults) -> Arc<FaultInjector> {
        Arc::new(FaultInjector::new(faults, 100 * MS))
    }

    #[test]
    fn faults_of_every_nth_request_hit_every_nth_request() {
        let every = NonZeroU64::new(3).unwrap();
        let delay = Delay::Bimodal { fast: MS, slow: 50 * MS, every };
        let injector = injector(Faults { delay, error_every: NonZeroU64::new(2), ..Faults::default() });
        let faults: Vec<_> =
            (0..6).map(|_| injector.next_request(false)).map(|faults| (faults.delay, faults.error)).collect();
        let (fast, slow) = (MS, 50 * MS);
        let expected = [(fast, false), (fast, true), (slow, false), (fast, true), (fast, false), (slow, true)];
        assert_eq!(faults, expected);
        assert_eq!(injector.counts(), FaultCounts { errors: 3, slow: 2, ..FaultCounts::default() });
    }

    #[test]
    fn capacity_counts_requests_in_service() {
        let capacity = Capacity::slowing(2, 10 * MS);
        let injector = injector(Faults { capacity: Some(capacity), ..Faults::default() });
        let faults: Vec<RequestFaults> = (0..4).map(|_| injector.next_request(false)).collect();
        let delays: Vec<Duration> = faults.iter().map(|faults| faults.delay).collect();
        assert_eq!(delays, [Duration::ZERO, Duration::ZERO, 10 * MS, 20 * MS]);
        drop(faults);
        assert_eq!(injector.next_request(false).delay, Duration::ZERO);
    }

    #[test]
    fn refused_share_grows_with_ranges_above_the_capacity() {
        let capacity = Capacity {
            concurrency: 300,
            slowdown: MS,
            counted: CountedRequests::Ranges,
            refused: RefusedRequests::Share,
        };
        let injector = injector(Faults { capacity: Some(capacity), ..Faults::default() });
        assert!((0..2000).all(|_| !injector.next_request(false).refused));
        let kept: Vec<RequestFaults> = (0..300).map(|_| injector.next_request(true)).collect();
        assert!(kept.iter().all(|faults| !faults.refused && faults.delay.is_zero()));
        let others: Vec<RequestFaults> = (0..700).map(|_| injector.next_request(true)).collect();
        let all_refused = others.iter().filter(|faults| faults.refused).count();
        // The refused share grows from 0 to 54 % (700 / 1300) while the number of requests in service grows to 1000.
        assert!((210..260).contains(&all_refused), "{all_refused} of 700");
        let at_1000 = (0..2000).filter(|_| injector.next_request(true).refused).count();
        assert!((1060..1090).contains(&at_1000), "{at_1000} of 2000");
    }

    #[test]
    fn bodies_and_stored_objects_are_counted_separately() {
        let every = NonZeroU64::new(2).unwrap();
        let (truncate, flip) = (Some(Truncate { every, after: 7 }), Some(Flip { every: NonZeroU64::MIN, at: 3 }));
        let injector = injector(Faults { truncate, flip, lose_every: Some(every), ..Faults::default() });
        let faults: Vec<_> =
            (0..4).map(|_| injector.next_body()).map(|body_faults| (body_faults.cut, body_faults.flip)).collect();
        assert_eq!(faults, [(None, Some(3)), (Some(7), Some(3)), (None, Some(3)), (Some(7), Some(3))]);
        assert_eq!(
            [injector.loses_next_object(), injector.loses_next_object(), injector.loses_next_object()],
            [false, true, false]
        );
        let both = BodyFaults { cut: Some(7), flip: Some(3) };
        // Four bodies: one is complete, one is cut at the intended offset, one is abandoned by the client before the
        // wrong byte, and one is too short to be cut.
        for (body_faults, length, sent) in [(BodyFaults::default(), 9, 9), (both, 9, 7), (both, 9, 3), (both, 5, 5)] {
            injector.note_sent(body_faults, Some(length), sent);
        }
        assert_eq!(injector.counts(), FaultCounts { broken_off: 1, wrong_bytes: 2, lost: 1, ..FaultCounts::default() });
    }

    #[test]
    fn stall_begins_relative_to_its_origin() {
        let stall = Stall { from: StallFrom::Start, at: 5 * MS, length: 10 * MS };
        let at_start = injector(Faults { stall: Some(stall), ..Faults::default() });
        assert_eq!(at_start.stall(), Some((105 * MS, 115 * MS)));
        let stall = Stall { from: StallFrom::FirstRequest, ..stall };
        let at_first = injector(Faults { stall: Some(stall), ..Faults::default() });
        assert_eq!(at_first.stall(), None);
        at_first.note_request_read(200 * MS);
        at_first.note_request_read(300 * MS);
        assert_eq!(at_first.stall(), Some((205 * MS, 215 * MS)));
        assert_eq!(injector(Faults::default()).stall(), None);
    }
}
