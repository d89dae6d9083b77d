//! Emulated network paths between a client and a target.
//!
//! A [`LinkSpec`] describes both directions of a path: rate, delay, jitter, loss, reordering and queue. There are three
//! back ends:
//!
//! * [`tun`]: an emulator in user space between two network namespaces. This back end needs root, or user namespaces
//!   and access to `/dev/net/tun`.
//! * [`tc`]: netem, the emulator in the kernel, if the kernel contains it. This crate only builds its commands.
//! * [`relay`]: a TCP relay, which needs no permission, but reproduces only rate and delay.
//!
//! The module [`emulate`] computes the fate of each frame from instants that the caller passes in, without I/O.
//! [`packet`] parses frames and splits them into segments. [`probe`] measures a path before it is used. [`state`] keeps
//! a record of each link, so that links can be cleaned up after a crash. [`session`] combines these modules.

pub mod emulate;
mod error;
mod mark;
pub mod packet;
pub mod permissions;
pub mod probe;
pub mod relay;
pub mod session;
pub mod spec;
pub mod state;
pub mod tc;
pub mod tun;

pub use error::{LinkError, MissingPermission};
pub use spec::{DirectionSpec, LinkSetting, LinkSpec, SpecError};
