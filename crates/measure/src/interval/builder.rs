//! Joins slices of a run to form the intervals that are saved.

use super::Interval;
use crate::time::INTERVAL;

/// Builder that joins consecutive slices to form intervals of at most [`INTERVAL`].
#[derive(Debug, Default)]
pub struct IntervalBuilder {
    open: Option<Interval>,
}

impl IntervalBuilder {
    /// Adds the next slice. Calls `hand_on` with each interval that becomes complete.
    pub fn add(&mut self, slice: Interval, mut hand_on: impl FnMut(Interval)) {
        let fits = |open: &&mut Interval| {
            open.stage == slice.stage && open.end == slice.start && slice.end.since(open.start) <= INTERVAL
        };
        match self.open.as_mut().filter(fits) {
            Some(open) => open.append(&slice),
            None => {
                if let Some(complete) = self.open.replace(slice) {
                    hand_on(complete);
                }
            }
        }
        if self.open.as_ref().is_some_and(|open| open.end.since(open.start) >= INTERVAL) {
            self.rest().into_iter().for_each(hand_on);
        }
    }

    /// Removes and returns the incomplete interval, to which slices are being added.
    pub fn rest(&mut self) -> Option<Interval> {
        self.open.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::{Instant, Timeline};
    use proptest::prelude::*;
    use std::time::Duration;

    /// Returns the slices of a run. The number of operations in each slice equals the length of the slice in
    /// nanoseconds.
    fn slices(timeline: &Timeline, until: Instant) -> Vec<Interval> {
        let mut at = Instant::ZERO;
        let mut slices = Vec::new();
        while at < until {
            let end = timeline.interval_end(at).min(until);
            let mut slice = Interval::new(timeline.stage(at), at, end);
            slice.stats.measured.ok = end.nanos_since(at);
            slice.in_flight = slices.len() as u64;
            slice.client.busy = 0.25;
            slices.push(slice);
            at = end;
        }
        slices
    }

    proptest! {
        #[test]
        fn slices_join_to_the_intervals_of_a_run_without_slices(warmup in 0_u64..3000, window in 1_u64..4000, drain in 0_u64..2500) {
            let ms = Duration::from_millis;
            let timeline = Timeline::new(Instant::ZERO, ms(warmup), Some(ms(window)));
            let until = timeline.window_end() + ms(drain);
            let (mut builder, mut made) = (IntervalBuilder::default(), Vec::new());
            for slice in slices(&timeline.in_slices(ms(100)), until) {
                builder.add(slice, |interval| made.push(interval));
            }
            made.extend(builder.rest());
            let expected = slices(&timeline, until);
            prop_assert_eq!(made.len(), expected.len());
            for (made, expected) in made.iter().zip(&expected) {
                prop_assert_eq!((made.stage, made.start, made.end), (expected.stage, expected.start, expected.end));
                prop_assert_eq!(made.stats.measured.ok, expected.stats.measured.ok);
                prop_assert!((made.client.busy - 0.25).abs() < 1e-9);
            }
        }
    }
}
