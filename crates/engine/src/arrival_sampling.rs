//! Samples of how long received bytes waited before this client read them.
//!
//! The kernel's arrival timestamps are wall-clock times, and somebody may set the wall clock during a run. The run
//! itself uses a monotonic clock. The sampler therefore keeps the difference between the two clocks. If this difference
//! has changed since the bytes arrived, the sampler discards the sample. A read that also returns the timestamp costs
//! two additional system calls. At high read rates, only some of the reads are therefore sampled, and the kernel takes
//! timestamps for only part of the time (see [`turns`]).

use crate::plan::ArrivalTimes;
use measure::{Clock, Instant, MonotonicClock, ReadSample};
use std::time::Duration;
use turns::Turns;

mod turns;

/// Maximum number of reads per second at which every read is sampled. At higher rates, only some of the reads are
/// sampled.
const FULL_RATE: f64 = 2000.0;
/// Maximum value of `every`. Even at the highest rates, at least one in this many reads is sampled.
const EVERY_MAX: u32 = 64;
/// Number of sampling decisions that use the same value of `every`. After that, the value is computed again.
const BLOCK: u32 = 32;
/// Maximum change of the offset between the wall clock and the clock of the run, from one check to the next. If the
/// checks are far apart, a larger change is allowed: the time between them, divided by [`DRIFT_PART`], is added. This
/// tolerance covers slow adjustments of a clock, and the short time between the readings of the two clocks.
const DRIFT: Duration = Duration::from_micros(100);
const DRIFT_PART: u32 = 1000;

/// Sampler of the reads of one thread. The sampler chooses the reads to sample, and keeps the sample of the last read.
#[derive(Debug)]
pub(crate) struct ArrivalSampling {
    turns: Turns,
    /// Sampling interval. The sampler samples one of `every` reads.
    every: u32,
    /// Number of reads until the next sampling decision.
    countdown: u32,
    /// Number of sampling decisions until `every` is computed again.
    left: u32,
    block_began: Instant,
    sample: Option<ReadSample>,
    clocks: Clocks,
}

impl ArrivalSampling {
    /// Starts sampling the reads of the calling thread.
    pub fn start(clock: &MonotonicClock, arrival_times: ArrivalTimes) -> Self {
        let now = clock.now();
        Self {
            turns: Turns::start(arrival_times),
            every: 1,
            countdown: 1,
            left: BLOCK,
            block_began: now,
            sample: None,
            clocks: Clocks::new(now, sys::clock::realtime()),
        }
    }

    /// Returns whether to sample the next read. Removes the sample of the last read.
    #[inline]
    pub fn is_due(&mut self, clock: &MonotonicClock) -> bool {
        self.sample = None;
        self.countdown -= 1;
        self.countdown == 0 && self.check(clock.now())
    }

    #[cold]
    fn check(&mut self, now: Instant) -> bool {
        let may_have_timestamp = self.turns.advance(now, self.every);
        self.left -= 1;
        if self.left == 0 {
            let seconds = now.since(self.block_began).as_secs_f64().max(1e-9);
            let rate = f64::from(BLOCK * self.every) / seconds;
            self.every = (rate / FULL_RATE).clamp(1.0, f64::from(EVERY_MAX)) as u32;
            (self.left, self.block_began) = (BLOCK, now);
        }
        self.countdown = self.every;
        may_have_timestamp
    }

    /// Adds a sampled read. `arrived` is the wall time at which the newest byte of the read arrived, if the kernel has
    /// recorded this time.
    pub fn add(&mut self, arrived: Option<Duration>, clock: &MonotonicClock) {
        let now = clock.now();
        let waited = self.clocks.waited(now, sys::clock::realtime(), arrived);
        self.sample = match (arrived, waited) {
            (None, _) => None,
            (Some(_), None) => Some(ReadSample::Discarded),
            (Some(_), Some(waited)) => {
                let arrived = Instant::from_nanos(now.as_nanos().saturating_sub(waited.as_nanos() as u64));
                let stands_for = self.turns.stands_for(arrived, self.every);
                stands_for.map(|stands_for| ReadSample::Timestamped { nanos: waited.as_nanos() as u64, stands_for })
            }
        };
    }

    /// Returns the sample of the last read, if it was sampled.
    #[inline]
    pub fn sample(&self) -> Option<ReadSample> {
        self.sample
    }
}

/// Relation between the wall clock and the clock of the run.
#[derive(Debug)]
struct Clocks {
    /// Time of the last check.
    checked: Instant,
    /// Wall time, in nanoseconds, at which the run's clock was zero. The value was computed at the last check.
    zero: i128,
    /// Instant since which nobody has set the wall clock.
    steady_since: Instant,
}

/// Returns the wall time, in nanoseconds, at which the run's clock is zero.
fn zero(now: Instant, wall: Duration) -> i128 {
    i128::from(wall.as_secs()) * 1_000_000_000 + i128::from(wall.subsec_nanos()) - i128::from(now.as_nanos())
}

impl Clocks {
    fn new(now: Instant, wall: Duration) -> Self {
        Self { checked: now, zero: zero(now, wall), steady_since: now }
    }

    /// Returns how long the bytes of a read waited, given that they arrived at wall time `arrived`. Returns `None` if
    /// the wall clock may have been stepped in the meantime.
    fn waited(&mut self, now: Instant, wall: Duration, arrived: Option<Duration>) -> Option<Duration> {
        let zero = zero(now, wall);
        let allowed = DRIFT + now.since(self.checked) / DRIFT_PART;
        if (zero - self.zero).unsigned_abs() > allowed.as_nanos() {
            self.steady_since = now;
        }
        (self.checked, self.zero) = (now, zero);
        let waited = wall.checked_sub(arrived?)?;
        (now.since(self.steady_since) > waited).then_some(waited)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WALL: Duration = Duration::from_secs(1_700_000_000);

    fn at(us: u64) -> Instant {
        Instant::from_nanos(us * 1000)
    }

    fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    #[test]
    fn waits_are_measured_on_the_wall_clock() {
        let mut clocks = Clocks::new(at(0), WALL);
        assert_eq!(clocks.waited(at(500), WALL + us(500), Some(WALL + us(450))), Some(us(50)));
        assert_eq!(clocks.waited(at(900), WALL + us(900), None), None);
        assert_eq!(
            clocks.waited(at(1000), WALL + us(1000), Some(WALL + us(1001))),
            None,
            "bytes cannot arrive after they were read"
        );
    }

    #[test]
    fn arrivals_before_a_step_of_the_clock_are_discarded() {
        for step in [3_600_000_000, 5_000] {
            let mut clocks = Clocks::new(at(0), WALL);
            let ahead = WALL + us(step);
            assert_eq!(clocks.waited(at(1000), ahead + us(1000), Some(WALL + us(900))), None);
            assert_eq!(
                clocks.waited(at(1200), ahead + us(1200), Some(ahead + us(900))),
                None,
                "the bytes arrived before the step"
            );
            assert_eq!(clocks.waited(at(1500), ahead + us(1500), Some(ahead + us(1400))), Some(us(100)));
        }
    }

    #[test]
    fn a_clock_that_is_adjusted_slowly_is_not_stepped() {
        let mut clocks = Clocks::new(at(0), WALL);
        for second in 1..100_u64 {
            let wall = WALL + us(second * 1_000_500);
            assert_eq!(clocks.waited(at(second * 1_000_000), wall, Some(wall - us(70))), Some(us(70)));
        }
    }

    #[test]
    fn only_a_part_of_many_reads_is_sampled() {
        let clock = MonotonicClock::start();
        let mut sampling = ArrivalSampling::start(&clock, ArrivalTimes::Sampled);
        let sampled = (0..20_000).filter(|_| sampling.is_due(&clock)).count();
        assert!((20_000 / 64..5000).contains(&sampled), "{sampled}");
    }
}
