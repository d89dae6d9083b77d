//! Planted faults at work: which request meets which, and when the server stands still.
//!
//! What the threads share here is touched only when a fault that needs it is planted.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::config::{Counted, Delay, Faults, Refused, StallFrom};

/// The faults of one server.
#[derive(Debug)]
pub(crate) struct Planted {
    pub(crate) faults: Faults,
    started: Duration,
    /// When the first request was read, in nanoseconds of the monotonic clock; 0 before.
    first_request: AtomicU64,
    /// Requests so far, counted for faults that meet every n-th.
    ordinal: AtomicU64,
    in_service: AtomicU64,
    /// Requests that found the capacity exceeded.
    above: AtomicU64,
}

/// What one request meets.
#[derive(Debug)]
pub(crate) struct Met {
    pub(crate) delay: Duration,
    pub(crate) error: bool,
    /// Its body breaks off.
    pub(crate) cut: bool,
    /// It is refused because there are too many.
    pub(crate) refused: bool,
    /// Kept until the answer has ended.
    pub(crate) service: InService,
}

/// A request in service, when that is counted.
#[derive(Debug)]
pub(crate) struct InService(Option<Arc<Planted>>);

impl Drop for InService {
    fn drop(&mut self) {
        if let Some(planted) = &self.0 {
            planted.in_service.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Planted {
    pub(crate) fn new(faults: Faults, started: Duration) -> Self {
        let zero = || AtomicU64::new(0);
        Self { faults, started, first_request: zero(), ordinal: zero(), in_service: zero(), above: zero() }
    }

    /// Notes that a request has been read.
    #[inline]
    pub(crate) fn request_read(&self, now: Duration) {
        if self.faults.stall.is_some() && self.first_request.load(Ordering::Relaxed) == 0 {
            let now = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
            // Whoever is first wins; the others find it done.
            let _ = self.first_request.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// When the present or next stall begins and ends, if there is to be one.
    pub(crate) fn stall(&self) -> Option<(Duration, Duration)> {
        let stall = self.faults.stall?;
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

    /// What the next request meets, which has a range or not.
    pub(crate) fn meet(self: &Arc<Self>, ranged: bool) -> Met {
        let faults = &self.faults;
        let numbered =
            faults.error_every.is_some() || faults.cut_every.is_some() || matches!(faults.delay, Delay::Bimodal { .. });
        let ordinal = if numbered { self.ordinal.fetch_add(1, Ordering::Relaxed) + 1 } else { 0 };
        let mut delay = match faults.delay {
            Delay::None => Duration::ZERO,
            Delay::Constant(delay) => delay,
            Delay::Bimodal { slow, every, .. } if ordinal.is_multiple_of(every.get()) => slow,
            Delay::Bimodal { fast, .. } => fast,
        };
        let mut service = InService(None);
        let mut refused = false;
        if let Some(capacity) = faults.capacity.filter(|capacity| capacity.counted == Counted::All || ranged) {
            let in_service = self.in_service.fetch_add(1, Ordering::Relaxed) + 1;
            service = InService(Some(Arc::clone(self)));
            let above = in_service.saturating_sub(capacity.concurrency);
            refused = above > 0 && self.refuses(capacity.refused, above, capacity.concurrency);
            let above = u32::try_from(above).unwrap_or(u32::MAX);
            delay = delay.saturating_add(capacity.slowdown.saturating_mul(above));
        }
        let meets = |every: Option<NonZeroU64>| every.is_some_and(|every| ordinal.is_multiple_of(every.get()));
        Met { delay, error: meets(faults.error_every), cut: meets(faults.cut_every), refused, service }
    }

    /// Whether a request that finds `above` more than the capacity is refused. A share of `above / (above + 2 capacity)`
    /// is spread evenly: multiples of the golden ratio lie evenly between 0 and 1.
    fn refuses(&self, refused: Refused, above: u64, capacity: u64) -> bool {
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        match refused {
            Refused::None => false,
            Refused::All => true,
            Refused::Share => {
                let place = self.above.fetch_add(1, Ordering::Relaxed).wrapping_mul(GOLDEN);
                let all = u128::from(above) + 2 * u128::from(capacity);
                (u128::from(place) * all) >> 64 < u128::from(above)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Capacity, Stall};

    const MS: Duration = Duration::from_millis(1);

    fn planted(faults: Faults) -> Arc<Planted> {
        Arc::new(Planted::new(faults, 100 * MS))
    }

    #[test]
    fn every_nth_is_every_nth() {
        let every = NonZeroU64::new(3).unwrap();
        let delay = Delay::Bimodal { fast: MS, slow: 50 * MS, every };
        let planted = planted(Faults { delay, error_every: NonZeroU64::new(2), ..Faults::default() });
        let met: Vec<_> = (0..6).map(|_| planted.meet(false)).map(|met| (met.delay, met.error)).collect();
        let (fast, slow) = (MS, 50 * MS);
        let expected = [(fast, false), (fast, true), (slow, false), (fast, true), (fast, false), (slow, true)];
        assert_eq!(met, expected);
    }

    #[test]
    fn the_cliff_counts_requests_in_service() {
        let capacity = Capacity::slowing(2, 10 * MS);
        let planted = planted(Faults { capacity: Some(capacity), ..Faults::default() });
        let met: Vec<Met> = (0..4).map(|_| planted.meet(false)).collect();
        let delays: Vec<Duration> = met.iter().map(|met| met.delay).collect();
        assert_eq!(delays, [Duration::ZERO, Duration::ZERO, 10 * MS, 20 * MS]);
        drop(met);
        assert_eq!(planted.meet(false).delay, Duration::ZERO);
    }

    #[test]
    fn a_share_of_the_ranges_above_is_refused() {
        let capacity = Capacity { concurrency: 300, slowdown: MS, counted: Counted::Ranges, refused: Refused::Share };
        let planted = planted(Faults { capacity: Some(capacity), ..Faults::default() });
        assert!((0..2000).all(|_| !planted.meet(false).refused));
        let kept: Vec<Met> = (0..300).map(|_| planted.meet(true)).collect();
        assert!(kept.iter().all(|met| !met.refused && met.delay.is_zero()));
        let others: Vec<Met> = (0..700).map(|_| planted.meet(true)).collect();
        let all_refused = others.iter().filter(|met| met.refused).count();
        // The share grows from 0 to 700 / 1300 on the way; kept at 1000 in service it is 54 %.
        assert!((210..260).contains(&all_refused), "{all_refused} of 700");
        let at_1000 = (0..2000).filter(|_| planted.meet(true).refused).count();
        assert!((1060..1090).contains(&at_1000), "{at_1000} of 2000");
    }

    #[test]
    fn a_stall_counts_from_where_it_is_told() {
        let stall = Stall { from: StallFrom::Start, at: 5 * MS, length: 10 * MS };
        let at_start = planted(Faults { stall: Some(stall), ..Faults::default() });
        assert_eq!(at_start.stall(), Some((105 * MS, 115 * MS)));
        let stall = Stall { from: StallFrom::FirstRequest, ..stall };
        let at_first = planted(Faults { stall: Some(stall), ..Faults::default() });
        assert_eq!(at_first.stall(), None);
        at_first.request_read(200 * MS);
        at_first.request_read(300 * MS);
        assert_eq!(at_first.stall(), Some((205 * MS, 215 * MS)));
        assert_eq!(planted(Faults::default()).stall(), None);
    }
}
