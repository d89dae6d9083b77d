//! Planted faults at work: which request meets which, and when the server stands still.
//!
//! What the threads share here is touched only when a fault that needs it is planted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::config::{Delay, Faults, StallFrom};

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
}

/// What one request meets.
#[derive(Debug)]
pub(crate) struct Met {
    pub(crate) delay: Duration,
    pub(crate) error: bool,
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
        Self { faults, started, first_request: zero(), ordinal: zero(), in_service: zero() }
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

    /// What the next request meets.
    pub(crate) fn meet(self: &Arc<Self>) -> Met {
        let faults = &self.faults;
        let numbered = faults.error_every.is_some() || matches!(faults.delay, Delay::Bimodal { .. });
        let ordinal = if numbered { self.ordinal.fetch_add(1, Ordering::Relaxed) + 1 } else { 0 };
        let mut delay = match faults.delay {
            Delay::None => Duration::ZERO,
            Delay::Constant(delay) => delay,
            Delay::Bimodal { slow, every, .. } if ordinal.is_multiple_of(every.get()) => slow,
            Delay::Bimodal { fast, .. } => fast,
        };
        let mut service = InService(None);
        if let Some(capacity) = faults.capacity {
            let in_service = self.in_service.fetch_add(1, Ordering::Relaxed) + 1;
            service = InService(Some(Arc::clone(self)));
            let above = u32::try_from(in_service.saturating_sub(capacity.concurrency)).unwrap_or(u32::MAX);
            delay = delay.saturating_add(capacity.slowdown.saturating_mul(above));
        }
        let error = faults.error_every.is_some_and(|every| ordinal.is_multiple_of(every.get()));
        Met { delay, error, service }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Capacity, Stall};
    use std::num::NonZeroU64;

    const MS: Duration = Duration::from_millis(1);

    fn planted(faults: Faults) -> Arc<Planted> {
        Arc::new(Planted::new(faults, 100 * MS))
    }

    #[test]
    fn every_nth_is_every_nth() {
        let every = NonZeroU64::new(3).unwrap();
        let delay = Delay::Bimodal { fast: MS, slow: 50 * MS, every };
        let planted = planted(Faults { delay, error_every: NonZeroU64::new(2), ..Faults::default() });
        let met: Vec<_> = (0..6).map(|_| planted.meet()).map(|met| (met.delay, met.error)).collect();
        let (fast, slow) = (MS, 50 * MS);
        let expected = [(fast, false), (fast, true), (slow, false), (fast, true), (fast, false), (slow, true)];
        assert_eq!(met, expected);
    }

    #[test]
    fn the_cliff_counts_requests_in_service() {
        let capacity = Capacity { concurrency: 2, slowdown: 10 * MS };
        let planted = planted(Faults { capacity: Some(capacity), ..Faults::default() });
        let met: Vec<Met> = (0..4).map(|_| planted.meet()).collect();
        let delays: Vec<Duration> = met.iter().map(|met| met.delay).collect();
        assert_eq!(delays, [Duration::ZERO, Duration::ZERO, 10 * MS, 20 * MS]);
        drop(met);
        assert_eq!(planted.meet().delay, Duration::ZERO);
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
