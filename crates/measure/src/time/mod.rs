//! Instants of a run, the clocks that return them, and the stages that a run consists of.

mod clock;
mod timeline;

pub use clock::{Clock, Instant, MonotonicClock};
pub use timeline::{INTERVAL, Stage, Timeline};
