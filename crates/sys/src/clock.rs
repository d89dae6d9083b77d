//! The kernel's clocks, and sleep with nanosecond precision.

use std::io;
use std::time::Duration;

use crate::kernel_call::{check, timespec};

/// Returns the time since a fixed but arbitrary moment (`CLOCK_MONOTONIC`). This clock is never set, and stops while
/// the system is suspended.
pub fn monotonic() -> Duration {
    read(libc::CLOCK_MONOTONIC)
}

/// Returns the wall time since 1970 (`CLOCK_REALTIME`). This clock jumps when the system clock is set.
pub fn realtime() -> Duration {
    read(libc::CLOCK_REALTIME)
}

/// Returns the CPU time of the calling thread in user and kernel mode.
pub fn thread_cpu_time() -> Duration {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Returns the CPU time of all threads of this process in user and kernel mode.
pub fn process_cpu_time() -> Duration {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}

fn read(clock: libc::clockid_t) -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is valid for writing. The call cannot fail, because these clocks exist in every supported kernel.
    unsafe { libc::clock_gettime(clock, &raw mut now) };
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// Sets the timer slack: the maximum time by which the kernel may delay the end of a wait of the calling thread, to
/// combine several wake-ups. The system's default is 50 µs, and the minimum is 1 ns.
pub fn set_timer_slack(slack: Duration) -> io::Result<()> {
    // Zero would restore the default.
    let nanoseconds = libc::c_ulong::try_from(slack.as_nanos()).unwrap_or(libc::c_ulong::MAX).max(1);
    // SAFETY: this prctl takes a number, so it accesses no memory.
    check(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, nanoseconds) })?;
    Ok(())
}

/// Sleeps until [`monotonic`] reaches `instant`. Returns immediately if `instant` is in the past. Signals do not
/// shorten the sleep.
pub fn sleep_until(instant: Duration) {
    let until = timespec(instant);
    // SAFETY: `until` lives during the call. With an absolute time, the kernel does not use the remainder pointer, so
    // it may be null.
    let nap = || unsafe {
        libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &raw const until, std::ptr::null_mut())
    };
    while nap() == libc::EINTR {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_go_forward_and_sleep_is_never_short() {
        set_timer_slack(Duration::from_nanos(1)).unwrap();
        let until = monotonic() + Duration::from_micros(1_500);
        sleep_until(until);
        assert!(monotonic() >= until);
        let past = monotonic() - Duration::from_millis(1);
        sleep_until(past);
        assert!(monotonic() >= past);
    }

    #[test]
    fn cpu_time_counts_work() {
        // The process time is read first. If the thread time were read first, CPU time that this thread uses between
        // the two reads would count for the thread but not for the process.
        let process = process_cpu_time();
        let thread = thread_cpu_time();
        let mut sum = 0_u64;
        while thread_cpu_time() < thread + Duration::from_millis(2) {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(process_cpu_time() >= process + Duration::from_millis(2));
    }
}
