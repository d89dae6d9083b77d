//! The emulation of one direction, as a pure function of time, frames and a seed.
//!
//! A [`Frame`] is the unit that the kernel passes to the device: one packet, or up to 64 KiB that represent many wire
//! segments. The [`Wire`] decides for each segment whether the queue has space for it, when it leaves the bottleneck,
//! whether it is lost, and when it arrives. The [`DelayLine`] stores the frames until they arrive. The caller passes
//! the time to both, so tests need neither a kernel nor a clock.

mod chance;
mod delay_line;
mod frame;
mod jitter;
mod wire;

#[cfg(test)]
mod tests;

pub use delay_line::{DelayLine, FRAME_MAX};
pub use frame::{FRAMING_BYTES, Frame};
pub use wire::{Piece, Tally, Wire};
