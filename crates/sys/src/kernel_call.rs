//! Conversions of arguments and results of system calls.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// Converts the result of a call that returns −1 on failure.
pub(crate) fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Converts the result of a call that returns a byte count, or -1 on failure.
pub(crate) fn check_size(result: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// Takes ownership of a descriptor that a call has just created, or returns the error of the call.
pub(crate) fn own(result: libc::c_int) -> io::Result<OwnedFd> {
    let fd: RawFd = check(result)?;
    // SAFETY: the kernel has just created this descriptor for this process, and nothing else knows its number.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Returns the size of a type as the kernel's `socklen_t`. Only used with small C structures, whose sizes always fit.
pub(crate) const fn socklen_of<T>() -> libc::socklen_t {
    size_of::<T>() as libc::socklen_t
}

/// Converts a duration for the kernel. Durations above the maximum of 292 billion years become this maximum.
pub(crate) fn timespec(duration: Duration) -> libc::timespec {
    libc::timespec {
        tv_sec: libc::time_t::try_from(duration.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}
