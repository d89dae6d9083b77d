//! Staying awake until something is due, where nobody else wants the core.
//!
//! A thread that sleeps is woken late: by tens of microseconds on a virtual machine, whose idle cores the host takes away.
//! An open run waits before every operation, so it stays awake for the last part of each wait instead. That must not take
//! from others what they need (the target may be on this host), so the thread watches for how long it has to wait for its
//! core itself: when others want it, it sleeps as everybody does.

use crate::cgroup::CpuQuota;
use crate::watch::RunDelay;
use measure::Instant;
use std::time::Duration;

/// The last part of a wait, which is spent awake. Longer than it takes to be woken on most machines.
const AWAKE: Duration = Duration::from_micros(100);
/// How often the thread looks whether others want its core.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// They do when it had to wait for it for a larger share of that time: more than this program's own gathering thread takes.
const WANTED_SHARE: f64 = 0.1;
/// For how long the thread then sleeps as others do; longer each time.
const PAUSE_MIN: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// Decides for one thread, and counts what it spent awake.
#[derive(Debug)]
pub(crate) struct BusyWait {
    /// Awake from then on; never where the thread must not or need not be.
    from: Instant,
    pause: Duration,
    looked: Instant,
    /// For how long the thread had waited for a core when it looked.
    delay_nanos: u64,
    /// Time spent awake with nothing to do.
    pub spun_nanos: u64,
}

impl BusyWait {
    /// For a thread whose load has a schedule to keep, or not. Where its control group may use only so much of the
    /// processor, nothing is spent on waiting.
    pub fn new(scheduled: bool, now: Instant, delay: &mut RunDelay) -> Self {
        let from = if scheduled && CpuQuota::of_this_process().cores().is_none() { now } else { Instant::NEVER };
        let delay_nanos = if from == Instant::NEVER { 0 } else { delay.nanos() };
        Self { from, pause: PAUSE_MIN, looked: now, delay_nanos, spun_nanos: 0 }
    }

    /// From when on to stay awake in a wait that lasts until `until`; `None` when sleeping is right for all of it.
    pub fn awake_from(&mut self, now: Instant, until: Instant, delay: &mut RunDelay) -> Option<Instant> {
        if self.from == Instant::NEVER {
            return None;
        }
        if now.since(self.looked) >= LOOK_EVERY {
            self.look(now, delay.nanos());
        }
        (now >= self.from).then(|| earlier(until, AWAKE))
    }

    fn look(&mut self, now: Instant, delay_nanos: u64) {
        let waited = delay_nanos.saturating_sub(self.delay_nanos) as f64;
        let wanted = waited > WANTED_SHARE * now.nanos_since(self.looked) as f64;
        if wanted && now >= self.from {
            self.from = now + self.pause;
            self.pause = (self.pause * 2).min(PAUSE_MAX);
        }
        (self.looked, self.delay_nanos) = (now, delay_nanos);
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
        BusyWait { from, pause: PAUSE_MIN, looked: Instant::ZERO, delay_nanos: 0, spun_nanos: 0 }
    }

    #[test]
    fn without_a_schedule_nobody_stays_awake() {
        let mut delay = RunDelay::of_this_thread();
        let mut never = BusyWait::new(false, at(0), &mut delay);
        assert_eq!(never.awake_from(at(60_000), at(60_001), &mut delay), None);
    }

    #[test]
    fn a_thread_that_waits_for_its_core_sleeps_for_longer_each_time() {
        let (mut thread, mut delay) = (awake(at(0)), RunDelay::of_this_thread());
        assert_eq!(thread.awake_from(at(10), at(20), &mut delay), Some(earlier(at(20), AWAKE)));
        thread.look(at(250), 20_000_000);
        assert!(thread.awake_from(at(260), at(261), &mut delay).is_some(), "8 % of 250 ms is no reason");
        thread.look(at(500), 50_000_000);
        assert_eq!(thread.from, at(700));
        assert_eq!(thread.awake_from(at(510), at(511), &mut delay), None);
        thread.look(at(600), 150_000_000);
        assert_eq!(thread.from, at(700), "who sleeps takes nothing from others, however long it waits");
        thread.look(at(800), 200_000_000);
        assert_eq!(thread.from, at(1200));
        for _ in 0..20 {
            let now = thread.from;
            thread.look(now, thread.delay_nanos + 1_000_000_000);
        }
        assert_eq!(thread.pause, PAUSE_MAX);
    }
}
