//! Busy waiting until an operation is due, where no other thread wants the core.
//!
//! A thread that sleeps wakes up late: by tens of microseconds on a virtual machine, whose idle cores the host uses for others.
//! An open run waits before every operation, so it busy-waits for the last part of each wait instead. That must not slow down
//! other processes (the target may be on this host). So the thread checks how long it has to wait for its core itself. When
//! others want the core, it sleeps.

use crate::cgroup::CpuQuota;
use crate::watch::RunDelay;
use measure::Instant;
use std::time::Duration;

/// The last part of a wait, which is spent awake. It is longer than waking up takes on most machines.
const AWAKE: Duration = Duration::from_micros(100);
/// How often the thread checks whether others want its core.
const CHECK_EVERY: Duration = Duration::from_millis(250);
/// Others want the core when the thread waited for it for more than this share of the time: more than this program's own
/// gathering thread causes.
const WANTED_SHARE: f64 = 0.1;
/// How long the thread then sleeps instead. The pause doubles each time.
const PAUSE_MIN: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// Decides when one thread busy-waits, and counts the time.
#[derive(Debug)]
pub(crate) struct BusyWait {
    /// The thread busy-waits from this instant on; `NEVER` when it must not or need not.
    from: Instant,
    pause: Duration,
    checked: Instant,
    /// How long the thread had waited for a core at the last check.
    delay_nanos: u64,
    /// Time spent busy waiting, in nanoseconds.
    pub spun_nanos: u64,
}

impl BusyWait {
    /// Returns the state for a thread. Only threads with a schedule busy-wait, and only without a CPU quota.
    pub fn new(scheduled: bool, now: Instant, delay: &mut RunDelay) -> Self {
        let from = if scheduled && CpuQuota::of_this_process().cores().is_none() { now } else { Instant::NEVER };
        let delay_nanos = if from == Instant::NEVER { 0 } else { delay.nanos() };
        Self { from, pause: PAUSE_MIN, checked: now, delay_nanos, spun_nanos: 0 }
    }

    /// Returns from when on to busy-wait in a wait until `until`; `None` to sleep for all of it.
    pub fn awake_from(&mut self, now: Instant, until: Instant, delay: &mut RunDelay) -> Option<Instant> {
        if self.from == Instant::NEVER {
            return None;
        }
        if now.since(self.checked) >= CHECK_EVERY {
            self.check(now, delay.nanos());
        }
        (now >= self.from).then(|| earlier(until, AWAKE))
    }

    fn check(&mut self, now: Instant, delay_nanos: u64) {
        let waited = delay_nanos.saturating_sub(self.delay_nanos) as f64;
        let wanted = waited > WANTED_SHARE * now.nanos_since(self.checked) as f64;
        if wanted && now >= self.from {
            self.from = now + self.pause;
            self.pause = (self.pause * 2).min(PAUSE_MAX);
        }
        (self.checked, self.delay_nanos) = (now, delay_nanos);
    }
}

fn earlier(instant: Instant, by: Duration) -> Instant {
    Instant::from_nanos(instant.as_nanos().saturating_sub(by.as_nanos() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn awake(from: Instant) -> BusyWait {
        BusyWait { from, pause: PAUSE_MIN, checked: Instant::ZERO, delay_nanos: 0, spun_nanos: 0 }
    }

    #[test]
    fn without_a_schedule_threads_sleep() {
        let mut delay = RunDelay::of_this_thread();
        let mut never = BusyWait::new(false, at(0), &mut delay);
        assert_eq!(never.awake_from(at(60_000), at(60_001), &mut delay), None);
    }

    #[test]
    fn a_thread_that_waits_for_its_core_sleeps_for_longer_each_time() {
        let (mut thread, mut delay) = (awake(at(0)), RunDelay::of_this_thread());
        assert_eq!(thread.awake_from(at(10), at(20), &mut delay), Some(earlier(at(20), AWAKE)));
        thread.check(at(250), 20_000_000);
        assert!(thread.awake_from(at(260), at(261), &mut delay).is_some(), "8 % of 250 ms is no reason");
        thread.check(at(500), 50_000_000);
        assert_eq!(thread.from, at(700));
        assert_eq!(thread.awake_from(at(510), at(511), &mut delay), None);
        thread.check(at(600), 150_000_000);
        assert_eq!(thread.from, at(700), "who sleeps takes nothing from others, however long it waits");
        thread.check(at(800), 200_000_000);
        assert_eq!(thread.from, at(1200));
        for _ in 0..20 {
            let now = thread.from;
            thread.check(now, thread.delay_nanos + 1_000_000_000);
        }
        assert_eq!(thread.pause, PAUSE_MAX);
    }
}
