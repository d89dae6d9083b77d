//! Temporary use of the whole terminal.
//!
//! The program may draw on a terminal, but must restore its earlier content at the end, after a panic, and while Ctrl-Z
//! stops the process. Only the echo of typed characters is turned off, so Ctrl-C and Ctrl-Z still send signals.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::kernel_call::check;
use crate::signals::{install, is_ignored};

/// The terminal as it was when the process used it for the first time.
struct Terminal {
    descriptor: RawFd,
    settings: libc::termios,
    /// Bytes that restore the earlier content of the terminal.
    farewell: &'static [u8],
}

static TERMINAL: OnceLock<Terminal> = OnceLock::new();
/// `true` while the process uses the terminal.
static IS_USED: AtomicBool = AtomicBool::new(false);

/// Returns whether this process belongs to the foreground job of a terminal. A process in the background must not draw
/// on the terminal. If a background process changes the terminal's settings, the kernel stops the process.
#[must_use]
pub fn is_in_foreground(terminal: BorrowedFd<'_>) -> bool {
    belongs_to_foreground(terminal.as_raw_fd())
}

fn belongs_to_foreground(terminal: RawFd) -> bool {
    // SAFETY: the call only reads the state of a descriptor. The call fails if the descriptor is not a terminal.
    let foreground = unsafe { libc::tcgetpgrp(terminal) };
    // SAFETY: the call has no arguments and cannot fail.
    let own = unsafe { libc::getpgrp() };
    foreground == own
}

/// Begins to use a terminal, which must stay open for as long as the process runs. `farewell` contains the bytes that
/// restore the terminal's earlier content. If Ctrl-Z stops the process, the terminal is given back first, and
/// [`is_used`] returns `false` when the process continues.
///
/// # Errors
/// Fails if the descriptor is not a terminal.
pub fn begin_use(terminal: BorrowedFd<'_>, farewell: &'static [u8]) -> io::Result<()> {
    let descriptor = terminal.as_raw_fd();
    let before = match TERMINAL.get() {
        Some(before) => before,
        None => {
            let settings = settings(descriptor)?;
            TERMINAL.get_or_init(|| Terminal { descriptor, settings, farewell })
        }
    };
    let mut without_echo = before.settings;
    without_echo.c_lflag &= !libc::ECHO;
    set(before.descriptor, &without_echo)?;
    if !is_ignored(libc::SIGTSTP)? {
        install(libc::SIGTSTP, give_back_and_stop as extern "C" fn(libc::c_int) as libc::sighandler_t)?;
    }
    IS_USED.store(true, Ordering::Release);
    Ok(())
}

/// Returns whether the process uses the terminal.
#[must_use]
pub fn is_used() -> bool {
    IS_USED.load(Ordering::Acquire)
}

/// Gives the terminal back, if the process uses it. Errors are ignored, because the terminal may be gone.
pub fn end_use() {
    if give_back()
        && let Ok(false) = is_ignored(libc::SIGTSTP)
    {
        let _ = install(libc::SIGTSTP, libc::SIG_DFL);
    }
}

/// Gives the terminal back. Returns whether the process used it. A signal handler may call this function.
fn give_back() -> bool {
    let Some(Terminal { descriptor, settings, farewell }) = TERMINAL.get() else { return false };
    if !IS_USED.swap(false, Ordering::AcqRel) {
        return false;
    }
    let mut left = *farewell;
    while !left.is_empty() {
        // SAFETY: pointer and length describe a slice.
        let written = unsafe { libc::write(*descriptor, left.as_ptr().cast(), left.len()) };
        match usize::try_from(written) {
            Ok(written @ 1..) => left = left.get(written..).unwrap_or_default(),
            _ => break,
        }
    }
    if belongs_to_foreground(*descriptor) {
        let _ = set(*descriptor, settings);
    }
    true
}

/// The handler of Ctrl-Z. Gives the terminal back, and stops the process as the default handler would. After the
/// process continues, the next Ctrl-Z stops it immediately, unless the process uses the terminal again.
extern "C" fn give_back_and_stop(signal: libc::c_int) {
    // SAFETY: the call returns the address of this thread's error code, which is always valid.
    let error = unsafe { libc::__errno_location() };
    // SAFETY: the address is valid. The interrupted code may need the value of `errno`.
    let before = unsafe { *error };
    give_back();
    let _ = install(signal, libc::SIG_DFL);
    // SAFETY: the call has no memory arguments. The signal stays pending until this handler returns, because it is
    // blocked until then.
    unsafe { libc::raise(signal) };
    // SAFETY: the address is still valid.
    unsafe { *error = before };
}

fn settings(terminal: RawFd) -> io::Result<libc::termios> {
    // SAFETY: all-zero bytes are a valid `termios`, which the next call overwrites.
    let mut settings: libc::termios = unsafe { std::mem::zeroed() };
    // SAFETY: `settings` outlives the call, which only writes to it.
    check(unsafe { libc::tcgetattr(terminal, &raw mut settings) })?;
    Ok(settings)
}

fn set(terminal: RawFd, settings: &libc::termios) -> io::Result<()> {
    // SAFETY: `settings` outlives the call, which only reads it.
    check(unsafe { libc::tcsetattr(terminal, libc::TCSANOW, settings) }).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel_call::own;
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::{AsFd, OwnedFd};

    /// Opens a pseudo-terminal. Returns its two ends.
    fn open() -> (File, OwnedFd) {
        let (mut master, mut terminal) = (-1, -1);
        let (name, settings, size) = (std::ptr::null_mut(), std::ptr::null(), std::ptr::null());
        // SAFETY: both descriptors outlive the call. The other arguments may be null.
        check(unsafe { libc::openpty(&raw mut master, &raw mut terminal, name, settings, size) }).unwrap();
        (own(master).unwrap().into(), own(terminal).unwrap())
    }

    fn echoes(terminal: &OwnedFd) -> bool {
        settings(terminal.as_raw_fd()).unwrap().c_lflag & libc::ECHO != 0
    }

    #[test]
    fn a_terminal_is_given_back_once() {
        let (mut master, terminal) = open();
        assert!(echoes(&terminal) && !is_used());
        begin_use(terminal.as_fd(), b"farewell").unwrap();
        assert!(!echoes(&terminal) && is_used());
        end_use();
        end_use();
        assert!(!is_used());
        let mut written = [0; 100];
        let count = master.read(&mut written).unwrap();
        assert_eq!(&written[..count], b"farewell");
        // The terminal belongs to another process, so this process does not change its settings.
        assert!(!is_in_foreground(terminal.as_fd()) && !echoes(&terminal));
    }

    #[test]
    fn files_are_no_terminals() {
        let file = File::open("/dev/null").unwrap();
        assert!(!is_in_foreground(file.as_fd()));
        assert!(settings(file.as_raw_fd()).is_err());
    }
}
