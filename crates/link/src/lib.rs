//! Emulated network paths between a client and a target.
//!
//! A [`LinkSpec`] describes both directions of a path: rate, delay, jitter, loss, reordering and queue. Three back ends make
//! such a path:
//!
//! * [`tun`]: an emulator in user space between two network namespaces. It needs root, or user namespaces and access to
//!   `/dev/net/tun`.
//! * [`tc`]: the kernel's emulator netem, where the kernel has it. This crate only builds its commands.
//! * [`relay`]: a TCP relay that needs no rights, and reproduces only rate and delay.
//!
//! The module [`emulate`] computes what happens to each frame, on any clock and without I/O. [`packet`] reads frames and
//! cuts segments out of them. [`probe`] measures a path before it is used, [`state`] keeps a record of each link, to clean
//! up after a crash, and [`session`] joins all of these.

pub mod emulate;
mod error;
pub mod packet;
pub mod probe;
pub mod relay;
pub mod rights;
pub mod session;
pub mod spec;
pub mod state;
pub mod tc;
pub mod tun;

pub use error::{LinkError, MissingRight};
pub use spec::{DirectionSpec, LinkSetting, LinkSpec, SpecError};
