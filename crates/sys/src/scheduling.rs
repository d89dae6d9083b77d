//! Scheduling parameters of threads.

use std::io;
use std::time::Duration;

use crate::kernel_call::check;

/// Thread ID that means the calling thread.
const SELF: libc::pid_t = 0;

/// Requests time slices of this length for the calling thread. With shorter slices, the thread gets a core sooner after
/// a wait. The thread's share of the CPU time does not change. The kernel accepts lengths from 0.1 ms to 100 ms. The
/// default is about 3 ms. Kernels before 6.12 ignore the request.
///
/// # Errors
/// Fails with errors of the kernel, for example if such calls are not allowed.
pub fn set_slice(slice: Duration) -> io::Result<()> {
    let mut attributes = attributes()?;
    attributes.sched_runtime = u64::try_from(slice.as_nanos()).unwrap_or(u64::MAX);
    set(&attributes)
}

/// Runs `work` with the scheduling policy `SCHED_BATCH`. If the calling thread wakes up during the work, it does not
/// preempt a running thread. It waits until the running thread sleeps or has used up its time slice. Threads and
/// processes that are started during the work keep this policy. After the work, the calling thread returns to its
/// earlier policy.
///
/// If the thread does not have the default policy, or if such calls are not allowed, the work runs with the current
/// policy.
pub fn behind_others<R>(work: impl FnOnce() -> R) -> R {
    let usual = attributes().ok().filter(|usual| {
        let behind = libc::sched_attr { sched_policy: libc::SCHED_BATCH as u32, ..*usual };
        usual.sched_policy == libc::SCHED_OTHER as u32 && set(&behind).is_ok()
    });
    let done = work();
    if let Some(usual) = usual {
        // Changing between these two policies is always allowed. If this change fails, the thread keeps its low
        // priority, which does no harm.
        let _ = set(&usual);
    }
    done
}

/// Sets the policy `SCHED_IDLE` for the calling thread. While another thread needs its core, the thread then runs
/// hardly at all.
///
/// # Errors
/// Fails with errors of the kernel, for example if such calls are not allowed.
pub fn only_when_idle() -> io::Result<()> {
    let attributes = attributes()?;
    set(&libc::sched_attr { sched_policy: libc::SCHED_IDLE as u32, sched_nice: 0, sched_runtime: 0, ..attributes })
}

/// Sets the nice value of the calling thread, from -20 (most CPU time) to 19. A thread with -15 gets about 28 times the
/// share of a thread with the default of 0.
///
/// # Errors
/// Fails with errors of the kernel. Lowering the value needs `CAP_SYS_NICE` in the user namespace of the host.
pub fn set_nice(nice: i32) -> io::Result<()> {
    let attributes = attributes()?;
    set(&libc::sched_attr { sched_nice: nice, ..attributes })
}

/// Gives the calling thread the lowest real-time priority (`SCHED_RR`). The thread then runs before all threads with
/// the usual policies. Use it only for threads that sleep often. If a real-time thread never sleeps, the kernel stops
/// it for 5 % of the time.
///
/// # Errors
/// Fails with errors of the kernel. The call needs `CAP_SYS_NICE` in the user namespace of the host.
pub fn run_before_others() -> io::Result<()> {
    let attributes = attributes()?;
    let policy = libc::SCHED_RR as u32;
    set(&libc::sched_attr { sched_policy: policy, sched_nice: 0, sched_priority: 1, sched_runtime: 0, ..attributes })
}

/// Returns the scheduling attributes of the calling thread.
fn attributes() -> io::Result<libc::sched_attr> {
    let mut attributes = libc::sched_attr {
        size: 0,
        sched_policy: 0,
        sched_flags: 0,
        sched_nice: 0,
        sched_priority: 0,
        sched_runtime: 0,
        sched_deadline: 0,
        sched_period: 0,
    };
    let size = size_of::<libc::sched_attr>() as libc::c_uint;
    // SAFETY: there is space for `size` bytes, and the kernel writes no more.
    let result = unsafe { libc::syscall(libc::SYS_sched_getattr, SELF, &raw mut attributes, size, 0) };
    check(result as libc::c_int)?;
    Ok(attributes)
}

fn set(attributes: &libc::sched_attr) -> io::Result<()> {
    // SAFETY: `attributes` lives during the call, and contains its own size.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, SELF, &raw const *attributes, 0) };
    check(result as libc::c_int)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_the_batch_policy_only_during_the_work() {
        let thread = std::thread::spawn(|| {
            let policy = || attributes().unwrap().sched_policy as libc::c_int;
            (policy(), behind_others(policy), policy())
        });
        let (before, meanwhile, after) = thread.join().unwrap();
        assert_eq!(before, after);
        // The tests themselves may run with a policy other than the default.
        assert_eq!(meanwhile, if before == libc::SCHED_OTHER { libc::SCHED_BATCH } else { before });
    }

    #[test]
    fn a_thread_can_leave_the_cores_to_all_others() {
        let thread = std::thread::spawn(|| only_when_idle().and_then(|()| attributes()).unwrap().sched_policy);
        assert_eq!(thread.join().unwrap(), libc::SCHED_IDLE as u32);
    }

    #[test]
    fn the_nice_value_of_a_thread_rises() {
        let thread = std::thread::spawn(|| {
            let before = attributes()?.sched_nice;
            set_nice(19)?;
            io::Result::Ok((before, attributes()?.sched_nice))
        });
        let (before, after) = thread.join().unwrap().unwrap();
        assert!(before <= 19 && after == 19, "{before} {after}");
    }

    #[test]
    fn a_thread_can_run_before_others() {
        let thread = std::thread::spawn(|| run_before_others().and_then(|()| attributes()));
        match thread.join().unwrap() {
            Ok(attributes) => assert_eq!(attributes.sched_policy, libc::SCHED_RR as u32),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied),
        }
    }

    #[test]
    fn only_the_slice_of_a_thread_changes() {
        // A new thread is used, so that other threads of this process keep their policy.
        let thread = std::thread::spawn(|| {
            let before = attributes()?;
            set_slice(Duration::from_micros(200))?;
            let after = attributes()?;
            assert_eq!((before.sched_policy, before.sched_nice), (after.sched_policy, after.sched_nice));
            io::Result::Ok(after.sched_runtime)
        });
        // Kernels that ignore the request do not report slices.
        let slice = thread.join().unwrap().unwrap();
        assert!(matches!(slice, 0 | 200_000), "{slice}");
    }
}
