//! The few Linux system calls that Plimsoll needs and the standard library does not offer, behind safe functions.
//!
//! This is the only crate of the workspace that may contain `unsafe`. It must never know what its calls are *for*:
//! there is no HTTP here, no load, no measurement. Every error is the kernel's own, as [`std::io::Error`], except
//! name resolution, whose codes are not errno values ([`resolve::ResolveError`]).
//!
//! Linux is what is promised. A port to another system replaces this crate and nothing else.

#[cfg(not(target_os = "linux"))]
compile_error!("Plimsoll's system call layer is written for Linux");

mod address;
pub mod arrival;
pub mod clock;
pub mod file;
pub mod limits;
pub mod memory;
mod options;
pub mod path;
pub mod poll;
pub mod process;
pub mod resolve;
pub mod scheduling;
pub mod signals;
pub mod socket;

pub use poll::{Events, Interest, Poller, Ready, Waker};
pub use socket::{Connected, Socket};

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// The result of a call that answers -1 on failure.
fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// The result of a call that answers a byte count, or -1 on failure.
fn check_size(result: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// Takes ownership of a descriptor that a call has just made, or of that call's error.
fn own(result: libc::c_int) -> io::Result<OwnedFd> {
    let fd: RawFd = check(result)?;
    // SAFETY: the kernel has just made this descriptor for us, and nobody else knows its number.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The size of a type as the kernel's `socklen_t`. Only used with the few small C structures of this crate.
const fn socklen_of<T>() -> libc::socklen_t {
    size_of::<T>() as libc::socklen_t
}
