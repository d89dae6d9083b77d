//! Safe wrappers of Linux system calls that the standard library does not offer.
//!
//! This is the only crate of the workspace that may contain `unsafe`. Its code does not depend on the purpose of the
//! calls, so nothing here is about HTTP, load or measurements. Errors of the kernel are returned as [`std::io::Error`].
//! The exception is name resolution, whose error codes are not errno values ([`resolve::ResolveError`]).
//!
//! Only Linux is supported. A port to another system would replace only this crate.

#[cfg(not(target_os = "linux"))]
compile_error!("Plimsoll's system call layer is written for Linux");

mod address;
pub mod arrival;
pub mod clock;
pub mod datagram;
pub mod file;
pub mod interface;
mod kernel_call;
pub mod limits;
pub mod memory;
pub mod namespace;
mod options;
pub mod path;
pub mod poll;
pub mod process;
pub mod resolve;
pub mod scheduling;
pub mod signals;
pub mod socket;
pub mod terminal;
pub mod tun;

pub use poll::{Events, Interest, Poller, Ready, Waker};
pub use socket::{Connected, Socket};
