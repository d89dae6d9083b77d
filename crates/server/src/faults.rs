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
    /// Bodies with content so far, likewise.
    bodies: AtomicU64,
    /// Objects stored so far, likewise.
    stored: AtomicU64,
    in_service: AtomicU64,
    /// Requests that found the capacity exceeded.
    above: AtomicU64,
    counts: Counts,
}

/// Faults that took place, planted or asked for by a query: what clients can have met.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FaultCounts {
    /// Requests that were answered with a planted error.
    pub errors: u64,
    /// Requests that were refused because there were too many at once.
    pub refused: u64,
    /// Requests that met the slow one of two delays.
    pub slow: u64,
    /// Bodies that were broken off.
    pub broken_off: u64,
    /// Bodies whose wrong byte was handed over.
    pub wrong_bytes: u64,
    /// Objects whose storing was acknowledged, and that were not stored.
    pub lost: u64,
}

impl FaultCounts {
    pub(crate) fn add(&mut self, other: &Self) {
        self.errors += other.errors;
        self.refused += other.refused;
        self.slow += other.slow;
        self.broken_off += other.broken_off;
        self.wrong_bytes += other.wrong_bytes;
        self.lost += other.lost;
    }
}

/// [`FaultCounts`] that all threads add to.
#[derive(Debug, Default)]
struct Counts {
    errors: AtomicU64,
    refused: AtomicU64,
    slow: AtomicU64,
    broken_off: AtomicU64,
    wrong_bytes: AtomicU64,
    lost: AtomicU64,
}

fn count_if(happened: bool, count: &AtomicU64) {
    if happened {
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// What one request meets.
#[derive(Debug)]
pub(crate) struct Met {
    pub(crate) delay: Duration,
    pub(crate) error: bool,
    /// It is refused because there are too many.
    pub(crate) refused: bool,
    /// Kept until the answer has ended.
    pub(crate) service: InService,
}

/// What is wrong with one body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Spoil {
    /// Body bytes after which it breaks off.
    pub(crate) cut: Option<u64>,
    /// The body byte that is wrong; the last one of a body that is known to be shorter.
    pub(crate) flip: Option<u64>,
}

impl Spoil {
    /// These faults, and those of `other` where there are none.
    pub(crate) fn or(self, other: Self) -> Self {
        Self { cut: self.cut.or(other.cut), flip: self.flip.or(other.flip) }
    }

    /// Body bytes after which a body of `length` bytes breaks off, if it does. Without a length, it may end before that.
    pub(crate) fn breaks_at(self, length: Option<u64>) -> Option<u64> {
        self.cut.filter(|cut| length.is_none_or(|length| *cut < length))
    }

    /// The byte of a body of `length` bytes that is wrong.
    fn wrong_byte(self, length: Option<u64>) -> Option<u64> {
        let last = length.map_or(u64::MAX, |length| length.saturating_sub(1));
        self.flip.map(|wrong| wrong.min(last))
    }

    /// Turns the wrong byte over if it lies in `piece`, which begins at byte `at` of a body of `length` bytes.
    pub(crate) fn apply(self, at: u64, length: Option<u64>, piece: &mut [u8]) {
        let Some(wrong) = self.wrong_byte(length) else { return };
        let index = wrong.checked_sub(at).and_then(|index| usize::try_from(index).ok());
        if let Some(byte) = index.and_then(|index| piece.get_mut(index)) {
            *byte = !*byte;
        }
    }
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
        let (first_request, in_service, above) = (zero(), zero(), zero());
        let (ordinal, bodies, stored, counts) = (zero(), zero(), zero(), Counts::default());
        Self { faults, started, first_request, ordinal, bodies, stored, in_service, above, counts }
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
        let numbered = faults.error_every.is_some() || matches!(faults.delay, Delay::Bimodal { .. });
        let ordinal = if numbered { self.ordinal.fetch_add(1, Ordering::Relaxed) + 1 } else { 0 };
        let mut delay = match faults.delay {
            Delay::None => Duration::ZERO,
            Delay::Constant(delay) => delay,
            Delay::Bimodal { slow, every, .. } if ordinal.is_multiple_of(every.get()) => {
                count_if(true, &self.counts.slow);
                slow
            }
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
        let error = faults.error_every.is_some_and(|every| ordinal.is_multiple_of(every.get()));
        count_if(refused, &self.counts.refused);
        count_if(error && !refused, &self.counts.errors);
        Met { delay, error, refused, service }
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

    /// What is wrong with the next body that holds content.
    pub(crate) fn spoil(&self) -> Spoil {
        let Faults { truncate, flip, .. } = self.faults;
        if truncate.is_none() && flip.is_none() {
            return Spoil::default();
        }
        let ordinal = self.bodies.fetch_add(1, Ordering::Relaxed) + 1;
        let meets = |every: NonZeroU64| ordinal.is_multiple_of(every.get());
        Spoil {
            cut: truncate.filter(|cut| meets(cut.every)).map(|cut| cut.after),
            flip: flip.filter(|flip| meets(flip.every)).map(|flip| flip.at),
        }
    }

    /// Whether the next object that is stored is to be lost.
    pub(crate) fn loses(&self) -> bool {
        let Some(every) = self.faults.lose_every else { return false };
        let loses = (self.stored.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(every.get());
        count_if(loses, &self.counts.lost);
        loses
    }

    /// Counts what was wrong with a body of `length` bytes of which `sent` were handed over before its answer ended.
    #[inline]
    pub(crate) fn note_sent(&self, spoil: Spoil, length: Option<u64>, sent: u64) {
        if spoil != Spoil::default() {
            count_if(spoil.breaks_at(length) == Some(sent), &self.counts.broken_off);
            count_if(spoil.wrong_byte(length).is_some_and(|wrong| wrong < sent), &self.counts.wrong_bytes);
        }
    }

    /// What has taken place so far.
    pub(crate) fn counts(&self) -> FaultCounts {
        let Counts { errors, refused, slow, broken_off, wrong_bytes, lost } = &self.counts;
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        FaultCounts {
            errors: of(errors),
            refused: of(refused),
            slow: of(slow),
            broken_off: of(broken_off),
            wrong_bytes: of(wrong_bytes),
            lost: of(lost),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Capacity, Flip, Stall, Truncate};

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
        assert_eq!(planted.counts(), FaultCounts { errors: 3, slow: 2, ..FaultCounts::default() });
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
    fn bodies_and_stored_objects_are_counted_for_themselves() {
        let every = NonZeroU64::new(2).unwrap();
        let (truncate, flip) = (Some(Truncate { every, after: 7 }), Some(Flip { every: NonZeroU64::MIN, at: 3 }));
        let planted = planted(Faults { truncate, flip, lose_every: Some(every), ..Faults::default() });
        let met: Vec<_> = (0..4).map(|_| planted.spoil()).map(|spoil| (spoil.cut, spoil.flip)).collect();
        assert_eq!(met, [(None, Some(3)), (Some(7), Some(3)), (None, Some(3)), (Some(7), Some(3))]);
        assert_eq!([planted.loses(), planted.loses(), planted.loses()], [false, true, false]);
        let both = Spoil { cut: Some(7), flip: Some(3) };
        // Whole; broken off where it should; left before the wrong byte; the cut lies behind the end.
        for (spoil, length, sent) in [(Spoil::default(), 9, 9), (both, 9, 7), (both, 9, 3), (both, 5, 5)] {
            planted.note_sent(spoil, Some(length), sent);
        }
        assert_eq!(planted.counts(), FaultCounts { broken_off: 1, wrong_bytes: 2, lost: 1, ..FaultCounts::default() });
    }

    #[test]
    fn one_byte_is_wrong_wherever_the_pieces_lie() {
        for (flip, wrong) in [(0, 0), (4, 4), (5, 5), (9, 9), (10, 9), (u64::MAX, 9)] {
            let spoil = Spoil { flip: Some(flip), ..Spoil::default() };
            let mut body = [0_u8; 10];
            let (first, second) = body.split_at_mut(5);
            spoil.apply(0, Some(10), first);
            spoil.apply(5, Some(10), second);
            let changed: Vec<usize> = (0..10).filter(|at| body[*at] != 0).collect();
            assert_eq!((changed, body[wrong]), (vec![wrong], 0xff), "{flip}");
        }
        let cut = Spoil { cut: Some(3), flip: None };
        let lengths = [Some(10), Some(4), Some(3), Some(0), None];
        assert_eq!(lengths.map(|length| cut.breaks_at(length)), [Some(3), Some(3), None, None, Some(3)]);
        assert_eq!(Spoil::default().breaks_at(None), None);
        assert_eq!(Spoil::default().or(cut), cut);
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
