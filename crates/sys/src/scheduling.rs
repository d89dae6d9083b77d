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
    // SAFETY: `attributes` lives over the call, and says itself how large it is.
    let answer = unsafe { libc::syscall(libc::SYS_sched_setattr, SELF, &raw const attributes, 0) };
    check(answer as libc::c_int)?;
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

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
