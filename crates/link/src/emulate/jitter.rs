//! Variation of the delay over time.

use measure::time::Instant;
use measure::values::random::mix;
use std::time::Duration;

/// Ratio of the distance between two knots to the jitter.
///
/// Between two knots, the deviation changes by at most twice the jitter. With a ratio of 4, the delay shrinks by at most
/// half a second per second, so a later segment never overtakes an earlier one.
const KNOT_DISTANCE: u64 = 4;

/// A deviation that changes slowly between −jitter and +jitter.
///
/// It is uniformly distributed at regular instants (knots), and linear between them. It is a function of seed and time
/// alone. Independent deviations per segment, as `tc` draws them, would reorder almost all segments of a fast link.
#[derive(Clone, Copy, Debug)]
pub struct Jitter {
    nanos: u64,
    seed: u64,
}

impl Jitter {
    /// Creates the function that belongs to a seed.
    pub fn new(jitter: Duration, seed: u64) -> Self {
        Self { nanos: u64::try_from(jitter.as_nanos()).unwrap_or(u64::MAX / 8), seed }
    }

    /// Returns the deviation at an instant, in nanoseconds.
    pub fn at(&self, instant: Instant) -> i64 {
        if self.nanos == 0 {
            return 0;
        }
        let distance = self.nanos * KNOT_DISTANCE;
        let (knot, into) = (instant.as_nanos() / distance, instant.as_nanos() % distance);
        let (from, to) = (self.unit(knot), self.unit(knot + 1));
        let unit = from + (to - from) * (into as f64 / distance as f64);
        (unit * self.nanos as f64) as i64
    }

    /// Returns the deviation at a knot, from −1 to 1.
    fn unit(&self, knot: u64) -> f64 {
        let bits = mix(mix(self.seed) ^ knot) >> 11;
        bits as f64 / (1_u64 << 52) as f64 - 1.0
    }
}
