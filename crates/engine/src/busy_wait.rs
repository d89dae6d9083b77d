//! Busy waiting until an operation is due, as long as no other thread needs the core.
//!
//! A sleeping thread wakes up late. On a virtual machine, the delay is tens of microseconds, because the host uses idle
//! cores for other machines. An open run waits before every operation. During the last part of each wait, the thread
//! therefore stays busy instead of sleeping. Busy waiting must not slow down other processes, because the target may be
//! on this host. If other threads need the same core, this thread sometimes has to wait for the core. The thread
//! therefore measures these waits. If the waits are long, the thread sleeps instead of waiting busily.

use crate::cgroup::CpuQuota;
use crate::watch::RunDelay;
use measure::Instant;
use std::time::Duration;

/// Length of the last part of a wait, in which the thread stays awake. On most machines, a thread wakes up in less than
/// this time.
const AWAKE: Duration = Duration::from_micros(100);
/// Interval between checks of whether other threads need this core.
const CHECK_EVERY: Duration = Duration::from_millis(250);
/// Maximum share of time that a thread may wait for its core. A larger share means that other threads need the core.
/// The gathering thread of this program alone causes a smaller share.
const WANTED_SHARE: f64 = 0.1;
/// Length of the first pause from busy waiting. The pause begins when other threads need the core. Each further pause
/// is twice as long, up to [`PAUSE_MAX`].
const PAUSE_MIN: Duration = Duration::from_millis(200);
/// Maximum length of a pause from busy waiting.
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// State of busy waiting of one thread. The state decides when the thread waits busily, and measures the time spent
/// busy waiting.
#[derive(Debug)]
pub(crate) struct BusyWait {
    /// Instant from which the thread may wait busily; `NEVER` if the thread must not or need not wait busily.
    from: Instant,
    pause: Duration,
    checked: Instant,
    /// Total time that the thread had waited for a core, read at the last check.
    delay_nanos: u64,
    /// Time spent busy waiting, in nanoseconds.
    pub spun_nanos: u64,
}

impl BusyWait {
    /// Returns the state for a thread. Busy waiting is used only for threads with a schedule, and only without a CPU
    /// quota.
    pub fn new(scheduled: bool, now: Instant, delay: &mut RunDelay) -> Self {
        let from = if scheduled && CpuQuota::of_this_process().cores().is_none() { now } else { Instant::NEVER };
        let delay_nanos = if from == Instant::NEVER { 0 } else { delay.nanos() };
        Self { from, pause: PAUSE_MIN, checked: now, delay_nanos, spun_nanos: 0 }
    }

    /// Returns the instant from which the thread waits busily, if it must wait until `until`. `None` means that the
    /// thread sleeps during the whole wait.
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
        assert!(
            thread.awake_from(at(260), at(261), &mut delay).is_some(),
            "waiting for 8 % of 250 ms is no reason to sleep"
        );
        thread.check(at(500), 50_000_000);
        assert_eq!(thread.from, at(700));
        assert_eq!(thread.awake_from(at(510), at(511), &mut delay), None);
        thread.check(at(600), 150_000_000);
        assert_eq!(thread.from, at(700), "a thread that sleeps takes no core from others, so its waits do not count");
        thread.check(at(800), 200_000_000);
        assert_eq!(thread.from, at(1200));
        for _ in 0..20 {
            let now = thread.from;
            thread.check(now, thread.delay_nanos + 1_000_000_000);
        }
        assert_eq!(thread.pause, PAUSE_MAX);
    }
}
