//! The client stalls of a run. All threads of the run share this state.
//!
//! A client stall is a time in which a thread of this client acts later than it should. After the stall, the thread
//! catches up with a burst of requests. The burst queues at the target and also delays the operations of the other
//! threads. The effect of a stall therefore ends only when the number of operations in flight has returned to the level
//! before the stall (docs/measurement.md). A stall affects all threads, so they share its state. This state consists of
//! a few atomics, which a thread reads when an operation ends and once per step of its loop.

use measure::Instant;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Maximum duration of the recovery, as a multiple of the length of the stall. At a load of 99 % of the target's
/// capacity, the recovery takes 100 times as long as the stall. If too many operations are still in flight after this
/// time, the cause is the target and not the stall.
const RECOVERY_MAX: u64 = 100;
/// Maximum number of operations in flight at the end of a recovery, as a multiple of the number before the stall.
const LEVEL_SLACK: f64 = 1.05;
/// Value of `since` if there is no open stall.
const NONE: u64 = u64::MAX;
/// Number of counters of operations in flight. If there are more threads, several threads share a counter.
const GAUGES: usize = 64;

/// Counter of one thread's operations in flight, in its own cache line.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Gauge(AtomicU64);

/// The client stalls of one run.
#[derive(Debug)]
pub(crate) struct Stalls {
    /// Start of the open stall; [`NONE`] if no stall is open. If several stalls overlap, this is the earliest start.
    since: AtomicU64,
    /// End of the last recovery.
    recovered: AtomicU64,
    /// End of the latest stall, which is the instant until which a thread was late.
    late_until: AtomicU64,
    /// Length of the longest stall so far.
    longest: AtomicU64,
    /// Length of all stalls so far. Overlapping stalls count once.
    total: AtomicU64,
    /// Total length of the open stall and of the stalls after its start. Overlapping stalls count once.
    stood_still: AtomicU64,
    /// Mean number of operations in flight before the open stall, as the bits of a float. The value is infinite if the
    /// mean is not known.
    level: AtomicU64,
    in_flight: Box<[Gauge]>,
}

impl Default for Stalls {
    fn default() -> Self {
        Self {
            since: AtomicU64::new(NONE),
            recovered: AtomicU64::new(0),
            late_until: AtomicU64::new(0),
            longest: AtomicU64::new(0),
            total: AtomicU64::new(0),
            stood_still: AtomicU64::new(0),
            level: AtomicU64::new(0),
            in_flight: (0..GAUGES).map(|_| Gauge::default()).collect(),
        }
    }
}

impl Stalls {
    /// Records that a thread acted at `now` although it should have acted at `from`. `level` is the mean number of
    /// operations in flight before the stall. At the start of a run, when no level is known yet, `level` is `None`.
    #[cold]
    pub fn note(&self, from: Instant, now: Instant, level: Option<f64>) {
        let late_until = self.late_until.fetch_max(now.as_nanos(), Ordering::Relaxed);
        self.longest.fetch_max(now.nanos_since(from), Ordering::Relaxed);
        let more = now.as_nanos().saturating_sub(from.as_nanos().max(late_until));
        self.total.fetch_add(more, Ordering::Relaxed);
        if self.is_open() {
            self.stood_still.fetch_add(more, Ordering::Relaxed);
        } else {
            self.stood_still.store(now.nanos_since(from), Ordering::Relaxed);
            self.level.store(level.unwrap_or(f64::INFINITY).to_bits(), Ordering::Relaxed);
        }
        // Threads that stall at the same time store about the same value, so it does not matter whose value is kept.
        self.since.fetch_min(from.as_nanos(), Ordering::AcqRel);
    }

    /// Returns whether there is a stall from which client and target have not recovered yet.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.since.load(Ordering::Acquire) != NONE
    }

    /// Returns the length of all stalls so far, in nanoseconds.
    #[inline]
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// Returns the time, in nanoseconds, that stalls may have added to an operation after its start. Returns `None` if
    /// no stall affected the operation. The operation was due at `intended` and ends now. `total` is the length of all
    /// stalls before the operation started. Later stalls delayed the client's work on the operation. In addition, the
    /// longest stall delayed other operations, and this operation may have waited behind them at the target.
    #[inline]
    pub fn touch(&self, intended: Instant, total: u64) -> Option<u64> {
        let touched = self.is_open() || self.recovered.load(Ordering::Relaxed) > intended.as_nanos();
        touched.then(|| self.longest.load(Ordering::Relaxed).saturating_add(self.total().saturating_sub(total)))
    }

    /// Ends the open stall if client and target have recovered from it. `average` is the mean number of operations in
    /// flight since `from`. `none` means that no operation is in flight now.
    pub fn look(&self, from: Instant, now: Instant, average: Option<f64>, none: bool) {
        let since = self.since.load(Ordering::Acquire);
        let late_until = self.late_until.load(Ordering::Relaxed);
        if since == NONE || now.as_nanos() < late_until {
            return;
        }
        let level = f64::from_bits(self.level.load(Ordering::Relaxed));
        let back = average.is_some_and(|average| from.as_nanos() >= late_until && average <= level * LEVEL_SLACK);
        let stood_still = self.stood_still.load(Ordering::Relaxed);
        let over = now.as_nanos() - late_until > stood_still.saturating_mul(RECOVERY_MAX);
        if none || back || over {
            self.recovered.fetch_max(now.as_nanos(), Ordering::Relaxed);
            // This compare-and-exchange fails if another thread has recorded an earlier start in the meantime. The
            // stall then stays open.
            let _ = self.since.compare_exchange(since, NONE, Ordering::AcqRel, Ordering::Relaxed);
        }
    }

    /// Sets the number of operations in flight of a thread, for the other threads to read.
    #[inline]
    pub fn publish(&self, thread: u32, before: u64, in_flight: u64) {
        let gauge = &self.in_flight[thread as usize % GAUGES].0;
        gauge.fetch_add(in_flight.wrapping_sub(before), Ordering::Relaxed);
    }

    /// Returns the number of operations in flight in all threads.
    pub fn in_flight(&self, threads: u32) -> u64 {
        let gauges = &self.in_flight[..(threads as usize).min(GAUGES)];
        gauges.iter().fold(0, |sum, gauge| sum.wrapping_add(gauge.0.load(Ordering::Relaxed)))
    }

    /// Removes all stalls. Simulated threads need this reset, because they run one after the other and each thread
    /// starts at instant zero.
    pub fn forget(&self) {
        self.since.store(NONE, Ordering::Relaxed);
        for instant in [&self.recovered, &self.late_until, &self.longest, &self.total] {
            instant.store(0, Ordering::Relaxed);
        }
        self.in_flight.iter().for_each(|gauge| gauge.0.store(0, Ordering::Relaxed));
    }
}

/// Meter of the mean number of operations in flight. The meter measures this mean in short stretches of time. It keeps
/// the usual level, so that the level after a stall can be compared with it.
#[derive(Debug)]
pub(crate) struct LevelGauge {
    /// Start of the current stretch.
    from: Instant,
    /// Integral of the number of operations in flight since `from`, in operations times nanoseconds.
    area: f64,
    looked: Instant,
    in_flight: u64,
    level: Option<f64>,
    /// Number of stretches that will be skipped, because they are not representative.
    unsettled: u32,
}

/// Approximate length of the time over which the level before a stall is averaged, in nanoseconds.
const MEMORY_NANOS: f64 = 1e8;
/// Number of arrivals in a stretch. The length of a stretch is also limited by [`STRETCH_MIN`] and [`STRETCH_MAX`].
const STRETCH_ARRIVALS: f64 = 16.0;
/// Minimum length of a stretch.
const STRETCH_MIN: Duration = Duration::from_micros(200);
/// Maximum length of a stretch.
const STRETCH_MAX: Duration = Duration::from_millis(20);

/// Returns the length of a stretch at a given number of arrivals per second.
pub(crate) fn stretch(rate: f64) -> Duration {
    let nanos = if rate > 0.0 { STRETCH_ARRIVALS * 1e9 / rate } else { f64::INFINITY };
    Duration::from_nanos(nanos.min(STRETCH_MAX.as_nanos() as f64) as u64).max(STRETCH_MIN)
}

impl LevelGauge {
    pub fn new(now: Instant) -> Self {
        // The first stretch is skipped. A run starts with nothing in flight, which is not the usual level of the run.
        Self { from: now, area: 0.0, looked: now, in_flight: 0, level: None, unsettled: 1 }
    }

    /// Returns the current level, if it is known.
    pub fn level(&self) -> Option<f64> {
        self.level
    }

    /// Returns whether [`Self::see`] is due.
    #[inline]
    pub fn is_due(&self, now: Instant, stretch: Duration) -> bool {
        now.since(self.looked) * STRETCH_ARRIVALS as u32 >= stretch
    }

    /// Records the number of operations in flight at `now`. If a stretch has ended, returns its start and its mean.
    pub fn see(&mut self, now: Instant, in_flight: u64, stretch: Duration) -> Option<(Instant, f64)> {
        self.area += self.in_flight as f64 * now.nanos_since(self.looked) as f64;
        (self.looked, self.in_flight) = (now, in_flight);
        let nanos = now.nanos_since(self.from);
        if now.since(self.from) < stretch || nanos == 0 {
            return None;
        }
        let ended = (self.from, self.area / nanos as f64);
        (self.from, self.area) = (now, 0.0);
        Some(ended)
    }

    /// Updates the level with the mean and the length of a stretch without a stall.
    pub fn learn(&mut self, mean: f64, length: Duration) {
        if self.unsettled > 0 {
            self.unsettled -= 1;
            return;
        }
        let weight = (length.as_nanos() as f64 / MEMORY_NANOS).min(1.0);
        self.level = Some(self.level.map_or(mean, |level| level + weight * (mean - level)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn a_stall_lasts_until_in_flight_is_back_at_its_level() {
        let stalls = Stalls::default();
        assert_eq!(stalls.touch(at(0), 0), None);
        stalls.note(at(100), at(150), Some(2.0));
        assert!(stalls.touch(at(140), 0).is_some() && stalls.is_open());
        stalls.look(at(140), at(160), Some(1.0), false);
        assert!(stalls.is_open(), "the mean of a stretch in which the client was late must not count");
        stalls.look(at(150), at(160), Some(2.2), false);
        assert!(stalls.is_open());
        stalls.look(at(160), at(170), Some(2.05), false);
        assert!(!stalls.is_open());
        assert!(stalls.touch(at(169), 0).is_some(), "the operation was in flight during the recovery");
        assert_eq!(stalls.touch(at(170), 0), None);
    }

    #[test]
    fn nothing_in_flight_is_a_recovery_once_the_client_has_caught_up() {
        let stalls = Stalls::default();
        stalls.note(at(100), at(150), Some(0.0));
        stalls.look(at(100), at(149), None, true);
        assert!(stalls.is_open());
        stalls.look(at(100), at(151), None, true);
        assert!(!stalls.is_open());
    }

    #[test]
    fn where_no_level_is_known_catching_up_is_enough() {
        let stalls = Stalls::default();
        stalls.note(at(1), at(2), None);
        stalls.look(at(1), at(3), Some(7.0), false);
        assert!(stalls.is_open());
        stalls.look(at(2), at(3), Some(7.0), false);
        assert!(!stalls.is_open());
    }

    #[test]
    fn a_short_stall_does_not_mark_a_target_that_never_recovers() {
        let stalls = Stalls::default();
        // A single stall makes three operations late.
        for (from, now) in [(100, 102), (101, 102), (101, 103)] {
            stalls.note(at(from), at(now), Some(10.0));
        }
        stalls.look(at(400), at(402), Some(1000.0), false);
        assert!(stalls.is_open(), "the stalls take 3 ms in total");
        stalls.look(at(400), at(404), Some(1001.0), false);
        assert!(!stalls.is_open());
    }

    #[test]
    fn the_level_is_a_mean_over_time() {
        let ms = Duration::from_millis;
        let mut gauge = LevelGauge::new(at(0));
        assert_eq!(gauge.see(at(0), 4, ms(10)), None);
        assert_eq!(gauge.see(at(5), 2, ms(10)), None);
        assert_eq!(gauge.see(at(10), 0, ms(10)), Some((at(0), 3.0)));
        gauge.learn(1.0, ms(10));
        assert_eq!(gauge.level(), None, "the first stretch began with nothing in flight");
        gauge.learn(3.0, ms(10));
        gauge.learn(13.0, ms(10));
        assert_eq!(gauge.level(), Some(4.0), "the level is the mean over about 100 ms");
        assert_eq!(stretch(1000.0), ms(16));
        assert_eq!((stretch(0.0), stretch(1e9)), (STRETCH_MAX, STRETCH_MIN));
    }

    #[test]
    fn threads_add_what_they_have_in_flight() {
        let stalls = Stalls::default();
        stalls.publish(0, 0, 7);
        stalls.publish(1, 0, 5);
        stalls.publish(0, 7, 1);
        assert_eq!((stalls.in_flight(2), stalls.in_flight(1)), (6, 1));
        stalls.publish(64, 0, 3);
        assert_eq!(stalls.in_flight(65), 9, "threads beyond the number of gauges must share them");
    }
}
