//! How the kernel shares a core among threads.

use std::io;
use std::time::Duration;

use crate::check;

/// The calling thread itself, to calls that take a thread.
const SELF: libc::pid_t = 0;

/// Asks for turns on the core of that length for the calling thread: it gets no more time than others, but gets it in
/// smaller pieces, and sooner after it has waited for something. The kernel takes 0.1 ms to 100 ms (its own choice is
/// about 3 ms); those before 6.12 take no notice.
///
/// # Errors
/// The kernel's, where calls of this kind are not allowed.
pub fn set_slice(slice: Duration) -> io::Result<()> {
    let mut attributes = attributes()?;
    attributes.sched_runtime = u64::try_from(slice.as_nanos()).unwrap_or(u64::MAX);
    set(&attributes)
}

/// Does some work behind other threads (`SCHED_BATCH`): when the calling thread is woken meanwhile, it takes no core from one
/// that runs, but waits until that one sleeps, or until the kernel shares out the core the next time. Threads and processes that
/// it starts meanwhile are scheduled so for good. Afterwards it is scheduled as before.
///
/// Only a wish: a thread whose way of being scheduled somebody has chosen keeps it, and where calls of this kind are not
/// allowed the work is done as any other.
pub fn behind_others<R>(work: impl FnOnce() -> R) -> R {
    let usual = attributes().ok().filter(|usual| {
        let behind = libc::sched_attr { sched_policy: libc::SCHED_BATCH as u32, ..*usual };
        usual.sched_policy == libc::SCHED_OTHER as u32 && set(&behind).is_ok()
    });
    let done = work();
    if let Some(usual) = usual {
        // Between these two policies a thread may always change; if not, it goes on a little behind others.
        let _ = set(&usual);
    }
    done
}

/// How the calling thread is scheduled.
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
    // SAFETY: there is room for `size` bytes, and the kernel writes no more.
    let answer = unsafe { libc::syscall(libc::SYS_sched_getattr, SELF, &raw mut attributes, size, 0) };
    check(answer as libc::c_int)?;
    Ok(attributes)
}

fn set(attributes: &libc::sched_attr) -> io::Result<()> {
    // SAFETY: `attributes` lives over the call, and says itself how large it is.
    let answer = unsafe { libc::syscall(libc::SYS_sched_setattr, SELF, &raw const *attributes, 0) };
    check(answer as libc::c_int)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_behind_others_only_for_its_work() {
        let told = std::thread::spawn(|| {
            let policy = || attributes().unwrap().sched_policy as libc::c_int;
            (policy(), behind_others(policy), policy())
        });
        let (before, meanwhile, after) = told.join().unwrap();
        assert_eq!(before, after);
        // Whoever runs the tests may have chosen another policy.
        assert_eq!(meanwhile, if before == libc::SCHED_OTHER { libc::SCHED_BATCH } else { before });
    }

    #[test]
    fn a_thread_keeps_all_but_its_slice() {
        // Its own thread: the others of this process are scheduled as before.
        let told = std::thread::spawn(|| {
            let before = attributes()?;
            set_slice(Duration::from_micros(200))?;
            let after = attributes()?;
            assert_eq!((before.sched_policy, before.sched_nice), (after.sched_policy, after.sched_nice));
            io::Result::Ok(after.sched_runtime)
        });
        // Kernels that take no notice say nothing of slices.
        let slice = told.join().unwrap().unwrap();
        assert!(matches!(slice, 0 | 200_000), "{slice}");
    }
}
