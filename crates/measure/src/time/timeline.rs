//! The stages of a run, which are warm-up, measured window, and drain.
//!
//! The intended start of an operation decides whether the operation belongs to the measured window. The bytes of an
//! operation are counted when they arrive, and its sample belongs to the interval in which the operation ended
//! (docs/measurement.md). The end of the measured window may be unknown during the run, because a run with a fixed
//! number of operations ends with its last operation. An interrupt may end the measured window earlier.

use crate::enumerated;
use crate::time::Instant;
use std::time::Duration;

enumerated! {
    /// Stage of a run.
    pub enum Stage {
        Warmup => "warmup", "load before the measurement";
        Measured => "measured", "the measured window";
        Drain => "drain", "no new operations; those in flight may finish";
    }
}

/// Maximum length of an interval that is saved.
pub const INTERVAL: Duration = Duration::from_secs(1);

/// Start and end of the stages of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeline {
    start: Instant,
    window_start: Instant,
    window_end: Instant,
    interval: Duration,
}

impl Timeline {
    /// Returns the timeline of a run that starts at `start`, warms up for `warmup`, and is then measured for `window`.
    /// If `window` is `None`, the run is measured until [`Self::end_window`] is called.
    #[must_use]
    pub fn new(start: Instant, warmup: Duration, window: Option<Duration>) -> Self {
        let window_start = start + warmup;
        let window_end = window.map_or(Instant::NEVER, |window| window_start + window);
        Self { start, window_start, window_end, interval: INTERVAL }
    }

    /// Returns the same timeline with intervals of `length`. [`INTERVAL`] must be a multiple of `length`.
    #[must_use]
    pub fn in_slices(self, length: Duration) -> Self {
        debug_assert!(!length.is_zero() && INTERVAL.as_nanos().is_multiple_of(length.as_nanos()));
        Self { interval: length, ..self }
    }

    /// Returns the start of the run.
    #[must_use]
    pub fn start(&self) -> Instant {
        self.start
    }

    /// Returns the start of the measured window.
    #[must_use]
    pub fn window_start(&self) -> Instant {
        self.window_start
    }

    /// Returns the end of the measured window; [`Instant::NEVER`] while it is unknown.
    #[must_use]
    pub fn window_end(&self) -> Instant {
        self.window_end
    }

    /// Ends the measured window at `at`, unless the window ends earlier.
    pub fn end_window(&mut self, at: Instant) {
        self.window_end = self.window_end.min(at);
    }

    /// Returns the stage at an instant.
    #[must_use]
    pub fn stage(&self, at: Instant) -> Stage {
        if at >= self.window_end {
            Stage::Drain
        } else if at >= self.window_start {
            Stage::Measured
        } else {
            Stage::Warmup
        }
    }

    /// Returns whether an operation with this intended start is measured.
    #[must_use]
    pub fn measures(&self, intended: Instant) -> bool {
        self.stage(intended) == Stage::Measured
    }

    /// Returns the part of the time `from..to` that lies inside the measured window, in nanoseconds.
    #[must_use]
    pub fn overlap_nanos(&self, from: Instant, to: Instant) -> u64 {
        to.min(self.window_end).nanos_since(from.max(self.window_start))
    }

    /// Returns the end of the interval that starts at `from`. The end is the next full second (or slice) of the stage,
    /// or the end of the stage.
    #[must_use]
    pub fn interval_end(&self, from: Instant) -> Instant {
        let (origin, limit) = match self.stage(from) {
            Stage::Warmup => (self.start, self.window_start.min(self.window_end)),
            Stage::Measured => (self.window_start, self.window_end),
            Stage::Drain => (self.window_end, Instant::NEVER),
        };
        let length = self.interval.as_nanos() as u64;
        let index = from.nanos_since(origin) / length;
        (origin + Duration::from_nanos((index + 1) * length)).min(limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn intervals_tile_the_run_and_never_cross_a_stage(warmup_ms in 0_u64..3000, window_ms in 1_u64..5000) {
            let timeline = Timeline::new(Instant::ZERO, Duration::from_millis(warmup_ms), Some(Duration::from_millis(window_ms)));
            let mut at = Instant::ZERO;
            let mut measured = 0;
            while at < timeline.window_end() + Duration::from_secs(2) {
                let end = timeline.interval_end(at);
                prop_assert!(end > at && end.since(at) <= INTERVAL);
                prop_assert_eq!(timeline.stage(at), timeline.stage(Instant::from_nanos(end.as_nanos() - 1)));
                measured += if timeline.stage(at) == Stage::Measured { end.nanos_since(at) } else { 0 };
                at = end;
            }
            prop_assert_eq!(measured, window_ms * 1_000_000);
        }
    }

    #[test]
    fn interrupts_in_the_warm_up_leave_no_window() {
        let mut timeline = Timeline::new(Instant::ZERO, Duration::from_secs(5), None);
        timeline.end_window(Instant::from_nanos(2_000_000_000));
        assert_eq!(timeline.stage(Instant::from_nanos(1_900_000_000)), Stage::Warmup);
        assert_eq!(timeline.stage(Instant::from_nanos(2_000_000_000)), Stage::Drain);
        assert_eq!(timeline.overlap_nanos(Instant::ZERO, Instant::from_nanos(9_000_000_000)), 0);
    }
}
