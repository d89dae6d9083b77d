//! For how long bytes had waited when they were read, on a sample of the reads.
//!
//! The kernel dates what comes on the system's wall clock, which can be stepped; the run counts on a monotonic one. The
//! difference of the two is kept, and a sample across which it changed is discarded. A dated read costs two more calls
//! than another, so where there are many reads, few are dated, and the kernel dates by [`turns`].

use measure::{Clock, Instant, MonotonicClock, ReadSample};
use std::time::Duration;
use turns::Turns;

mod turns;

/// Of more reads than these in a second, a part is dated.
const DATED_RATE: f64 = 2000.0;
/// At least one read of so many is.
const EVERY_MAX: u32 = 64;
/// How many reads are dated before the part is set anew.
const BLOCK: u32 = 32;
/// The clocks may drift apart by so much, and by one part in so many of the time between two looks: what adjusting the
/// clock slowly does, and what lies between reading the one and the other.
const DRIFT: Duration = Duration::from_micros(100);
const DRIFT_PART: u32 = 1000;

/// Chooses the reads of one thread that are dated, and keeps what was found of the last one.
#[derive(Debug)]
pub(crate) struct Dating {
    turns: Turns,
    every: u32,
    /// Number of reads until the next check whether one is to be dated.
    countdown: u32,
    /// Number of checks until `every` is computed again.
    left: u32,
    block_began: Instant,
    sample: Option<ReadSample>,
    clocks: Clocks,
}

impl Dating {
    /// For the reads of the calling thread.
    pub fn start(clock: &MonotonicClock) -> Self {
        let now = clock.now();
        Self {
            turns: Turns::start(),
            every: 1,
            countdown: 1,
            left: BLOCK,
            block_began: now,
            sample: None,
            clocks: Clocks::new(now, sys::clock::realtime()),
        }
    }

    /// Returns whether the date of the read that follows is to be asked for.
    #[inline]
    pub fn is_due(&mut self, clock: &MonotonicClock) -> bool {
        self.sample = None;
        self.countdown -= 1;
        self.countdown == 0 && self.look(clock.now())
    }

    #[cold]
    fn look(&mut self, now: Instant) -> bool {
        let may_have_date = self.turns.look(now, self.every);
        self.left -= 1;
        if self.left == 0 {
            let seconds = now.since(self.block_began).as_secs_f64().max(1e-9);
            let rate = f64::from(BLOCK * self.every) / seconds;
            self.every = (rate / DATED_RATE).clamp(1.0, f64::from(EVERY_MAX)) as u32;
            (self.left, self.block_began) = (BLOCK, now);
        }
        self.countdown = self.every;
        may_have_date
    }

    /// A read has brought bytes, the newest of which came at that wall time, if that is known.
    pub fn read(&mut self, came: Option<Duration>, clock: &MonotonicClock) {
        let now = clock.now();
        let waited = self.clocks.waited(now, sys::clock::realtime(), came);
        self.sample = match (came, waited) {
            (None, _) => None,
            (Some(_), None) => Some(ReadSample::Discarded),
            (Some(_), Some(waited)) => {
                let came = Instant::from_nanos(now.as_nanos().saturating_sub(waited.as_nanos() as u64));
                let stands_for = self.turns.stands_for(came, self.every);
                stands_for.map(|stands_for| ReadSample::Timestamped { nanos: waited.as_nanos() as u64, stands_for })
            }
        };
    }

    /// What was found out about the last read.
    #[inline]
    pub fn sample(&self) -> Option<ReadSample> {
        self.sample
    }
}

/// How the wall clock and the run's clock go together.
#[derive(Debug)]
struct Clocks {
    looked: Instant,
    /// Wall time at the run's zero, as it was at the last look, in nanoseconds.
    zero: i128,
    /// Since when the wall clock has not been stepped.
    steady_since: Instant,
}

/// Wall time at the run's zero.
fn zero(now: Instant, wall: Duration) -> i128 {
    i128::from(wall.as_secs()) * 1_000_000_000 + i128::from(wall.subsec_nanos()) - i128::from(now.as_nanos())
}

impl Clocks {
    fn new(now: Instant, wall: Duration) -> Self {
        Self { looked: now, zero: zero(now, wall), steady_since: now }
    }

    /// For how long something had waited that came at wall time `came`; `None` when the clock may have been stepped
    /// meanwhile.
    fn waited(&mut self, now: Instant, wall: Duration, came: Option<Duration>) -> Option<Duration> {
        let zero = zero(now, wall);
        let allowed = DRIFT + now.since(self.looked) / DRIFT_PART;
        if (zero - self.zero).unsigned_abs() > allowed.as_nanos() {
            self.steady_since = now;
        }
        (self.looked, self.zero) = (now, zero);
        let waited = wall.checked_sub(came?)?;
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
    fn waits_are_counted_on_the_wall_clock() {
        let mut clocks = Clocks::new(at(0), WALL);
        assert_eq!(clocks.waited(at(500), WALL + us(500), Some(WALL + us(450))), Some(us(50)));
        assert_eq!(clocks.waited(at(900), WALL + us(900), None), None);
        assert_eq!(clocks.waited(at(1000), WALL + us(1000), Some(WALL + us(1001))), None, "later than its read");
    }

    #[test]
    fn a_stepped_clock_dates_nothing_that_came_before() {
        for step in [3_600_000_000, 5_000] {
            let mut clocks = Clocks::new(at(0), WALL);
            let ahead = WALL + us(step);
            assert_eq!(clocks.waited(at(1000), ahead + us(1000), Some(WALL + us(900))), None);
            assert_eq!(clocks.waited(at(1200), ahead + us(1200), Some(ahead + us(900))), None, "it came before");
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
    fn many_reads_are_dated_in_part() {
        let clock = MonotonicClock::start();
        let mut dating = Dating::start(&clock);
        let looked = (0..20_000).filter(|_| dating.is_due(&clock)).count();
        assert!((20_000 / 64..5000).contains(&looked), "{looked}");
    }
}
