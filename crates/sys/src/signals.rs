//! Counts interrupt signals, so that the program can shut down properly.

use std::io;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

use crate::kernel_call::check;

static COUNT: AtomicUsize = AtomicUsize::new(0);
/// Number of counted signals that did not arrive, but were added with [`count_as_received`].
static ORDERED: AtomicUsize = AtomicUsize::new(0);
/// Number of the last signal; 0 before the first.
static LAST: AtomicI32 = AtomicI32::new(0);

/// A signal that requests the end of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// SIGHUP: the terminal was closed.
    HangUp,
}

impl Signal {
    /// Returns the signal number. Shells add it to 128 for the exit code.
    #[must_use]
    pub fn number(self) -> i32 {
        match self {
            Self::Interrupt => libc::SIGINT,
            Self::Terminate => libc::SIGTERM,
            Self::HangUp => libc::SIGHUP,
        }
    }
}

/// The signals caught since [`catch_interrupts`] was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interrupts {
    /// Number of signals.
    pub count: usize,
    /// The last signal.
    pub last: Option<Signal>,
}

/// Starts counting SIGINT, SIGTERM and SIGHUP, so these signals no longer end the process. If SIGHUP is ignored, for
/// example by `nohup`, it stays ignored. The process then survives the end of its terminal. A signal ends a
/// [`crate::Poller::wait`] early.
pub fn catch_interrupts() -> io::Result<()> {
    let handler = count_signal as extern "C" fn(libc::c_int) as libc::sighandler_t;
    install(libc::SIGINT, handler)?;
    install(libc::SIGTERM, handler)?;
    if is_ignored(libc::SIGHUP)? {
        return Ok(());
    }
    install(libc::SIGHUP, handler)
}

/// Makes later writes above the file size limit return an error instead of ending the process.
pub fn refuse_files_too_large() -> io::Result<()> {
    install(libc::SIGXFSZ, libc::SIG_IGN)
}

/// Returns the signals caught so far.
pub fn interrupts() -> Interrupts {
    let last = match LAST.load(Ordering::Acquire) {
        libc::SIGINT => Some(Signal::Interrupt),
        libc::SIGTERM => Some(Signal::Terminate),
        libc::SIGHUP => Some(Signal::HangUp),
        _ => None,
    };
    Interrupts { count: COUNT.load(Ordering::Acquire), last }
}

/// Counts a signal as if it had arrived. A request from elsewhere can thus end the work of this process in the same way
/// as a signal.
pub fn count_as_received(signal: Signal) {
    ORDERED.fetch_add(1, Ordering::AcqRel);
    count_signal(signal.number());
}

/// Returns the number of signals that really arrived.
pub fn arrived() -> usize {
    let ordered = ORDERED.load(Ordering::Acquire);
    COUNT.load(Ordering::Acquire).saturating_sub(ordered)
}

/// Forgets the signals that [`count_as_received`] has counted, so that they do not end the next work of this process.
pub fn forget_ordered() {
    let ordered = ORDERED.swap(0, Ordering::AcqRel);
    COUNT.fetch_sub(ordered, Ordering::AcqRel);
}

/// The signal handler, which may use only atomics.
extern "C" fn count_signal(signal: libc::c_int) {
    LAST.store(signal, Ordering::Release);
    COUNT.fetch_add(1, Ordering::AcqRel);
}

pub(crate) fn is_ignored(signal: libc::c_int) -> io::Result<bool> {
    // SAFETY: all-zero bytes are a valid `sigaction`, which is only written to.
    let mut present: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: without a new action, the call only fills in `present`.
    check(unsafe { libc::sigaction(signal, ptr::null(), &raw mut present) })?;
    Ok(present.sa_sigaction == libc::SIG_IGN)
}

pub(crate) fn install(signal: libc::c_int, handler: libc::sighandler_t) -> io::Result<()> {
    // SAFETY: all-zero bytes are a valid `sigaction` (default action, empty mask, no flags).
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler;
    // With this flag, blocking file and socket calls continue after a signal. Calls that wait with epoll return
    // nevertheless.
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: `action` is complete, and its handler only does what a signal handler may do.
    check(unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Events, Poller};
    use std::time::Duration;

    fn raise(signal: libc::c_int) {
        // SAFETY: the handlers are installed, so the signal is only counted.
        assert_eq!(unsafe { libc::raise(signal) }, 0);
    }

    #[test]
    fn signals_are_counted_and_do_not_end_the_process() {
        catch_interrupts().unwrap();
        let before = interrupts().count;
        raise(libc::SIGINT);
        assert_eq!(interrupts(), Interrupts { count: before + 1, last: Some(Signal::Interrupt) });
        raise(libc::SIGTERM);
        assert_eq!(interrupts(), Interrupts { count: before + 2, last: Some(Signal::Terminate) });
        // Ignore SIGHUP as `nohup` does, so that this test passes both with and without `nohup`.
        install(libc::SIGHUP, libc::SIG_IGN).unwrap();
        catch_interrupts().unwrap();
        raise(libc::SIGHUP);
        assert_eq!(interrupts().count, before + 2);
        install(libc::SIGHUP, libc::SIG_DFL).unwrap();
        catch_interrupts().unwrap();
        raise(libc::SIGHUP);
        assert_eq!(interrupts(), Interrupts { count: before + 3, last: Some(Signal::HangUp) });
        for signal in [Signal::Interrupt, Signal::Terminate, Signal::HangUp] {
            raise(signal.number());
            assert_eq!(interrupts().last, Some(signal));
        }
        let (before, real) = (interrupts().count, arrived());
        count_as_received(Signal::Interrupt);
        assert_eq!((interrupts().count, arrived()), (before + 1, real));
        forget_ordered();
        assert_eq!((interrupts().count, arrived()), (before, real));

        // An interrupted wait has no events and no error.
        let poller = Poller::new().unwrap();
        // SAFETY: the call has no arguments and cannot fail.
        let waiting = unsafe { libc::pthread_self() };
        let signaller = std::thread::spawn(move || {
            // Send signals until one interrupts the wait, because the beginning of the wait is not visible from
            // outside.
            while interrupts().count < before + 1 {
                // SAFETY: the waiting thread lives at least until it has joined this one.
                unsafe { libc::pthread_kill(waiting, libc::SIGINT) };
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let mut events = Events::with_capacity(1);
        poller.wait(&mut events, Some(Duration::from_secs(10))).unwrap();
        assert!(events.is_empty());
        signaller.join().unwrap();
        assert!(interrupts().count > before);
    }
}
