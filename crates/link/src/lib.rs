//! Emulated network paths between a client and a target.
//!
//! A [`LinkSpec`] describes both directions of a path: rate, delay, jitter, loss, reordering and queue. The module
//! [`emulate`] computes what happens to each frame, on any clock and without I/O.

pub mod emulate;
pub mod packet;
pub mod spec;

pub use spec::{DirectionSpec, LinkSpec, SpecError};
