//! Interrupts that are only counted: whoever runs the loop asks, and ends in good order.

use std::io;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

use crate::check;

static COUNT: AtomicUsize = AtomicUsize::new(0);
/// The number of the last signal; 0 before the first.
static LAST: AtomicI32 = AtomicI32::new(0);

/// A signal that asks the process to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// SIGHUP: the terminal has gone away.
    HangUp,
}

impl Signal {
    /// Its number, which a shell adds to 128 for an exit code.
    #[must_use]
    pub fn number(self) -> i32 {
        match self {
            Self::Interrupt => libc::SIGINT,
            Self::Terminate => libc::SIGTERM,
            Self::HangUp => libc::SIGHUP,
        }
    }
}

/// What has come since [`catch_interrupts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interrupts {
    /// How many signals.
    pub count: usize,
    /// The latest.
    pub last: Option<Signal>,
}

/// From now on SIGINT, SIGTERM and SIGHUP are counted instead of ending the process. A SIGHUP that was ignored before, as
/// `nohup` arranges it, stays so: such a run survives its terminal. A [`crate::Poller::wait`] that a signal meets returns
/// early.
pub fn catch_interrupts() -> io::Result<()> {
    let handler = count_signal as extern "C" fn(libc::c_int) as libc::sighandler_t;
    install(libc::SIGINT, handler)?;
    install(libc::SIGTERM, handler)?;
    if is_ignored(libc::SIGHUP)? {
        return Ok(());
    }
    install(libc::SIGHUP, handler)
}

/// From now on a write beyond the limit on the size of files is refused, instead of ending the process.
pub fn refuse_files_too_large() -> io::Result<()> {
    install(libc::SIGXFSZ, libc::SIG_IGN)
}

/// The signals caught so far.
pub fn interrupts() -> Interrupts {
    let last = match LAST.load(Ordering::Acquire) {
        libc::SIGINT => Some(Signal::Interrupt),
        libc::SIGTERM => Some(Signal::Terminate),
        libc::SIGHUP => Some(Signal::HangUp),
        _ => None,
    };
    Interrupts { count: COUNT.load(Ordering::Acquire), last }
}

/// Runs inside a signal handler: nothing but atomics.
extern "C" fn count_signal(signal: libc::c_int) {
    LAST.store(signal, Ordering::Release);
    COUNT.fetch_add(1, Ordering::AcqRel);
}

fn is_ignored(signal: libc::c_int) -> io::Result<bool> {
    // SAFETY: all-zero bytes are a valid `sigaction`, and it is only written to.
    let mut present: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: without a new action the call only fills `present`.
    check(unsafe { libc::sigaction(signal, ptr::null(), &raw mut present) })?;
    Ok(present.sa_sigaction == libc::SIG_IGN)
}

fn install(signal: libc::c_int, handler: libc::sighandler_t) -> io::Result<()> {
    // SAFETY: all-zero bytes are a valid `sigaction` (default action, empty mask, no flags).
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler;
    // File and socket calls that block go on; epoll returns whatever this says.
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: `action` is complete, and its handler does only what a handler may.
    check(unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Events, Poller};
    use std::time::Duration;

    fn raise(signal: libc::c_int) {
        // SAFETY: the handlers are installed, so that the signal only counts.
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
        // Under `nohup` it would be ignored, and this test must hold there too.
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
        let before = interrupts().count;

        // A wait that a signal meets has no events and no error.
        let poller = Poller::new().unwrap();
        // SAFETY: the call takes nothing and cannot fail.
        let waiting = unsafe { libc::pthread_self() };
        let signaller = std::thread::spawn(move || {
            // Sent until the wait has met one: there is no way to see from outside that it has begun.
            while interrupts().count < before + 1 {
                // SAFETY: the waiting thread lives until it has joined this one.
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
