//! Instants of a run, the clocks that return them, and the stages of a run.

mod clock;
mod timeline;

pub use clock::{Clock, Instant, MonotonicClock};
pub use timeline::{INTERVAL, Stage, Timeline};
