//! Variation of the delay over time.

use measure::time::Instant;
use measure::values::random::mix;
use std::time::Duration;

/// Distance between two knots, as a multiple of the jitter.
///
/// From one knot to the next, the deviation changes by at most twice the jitter. At a distance of 4 jitters, the delay
/// therefore shrinks by at most half a second per second, so no segment overtakes an earlier one.
const KNOT_DISTANCE: u64 = 4;

/// The deviation of the delay, which changes slowly between −jitter and +jitter.
///
/// The deviation is uniformly distributed at regular instants (knots), and is interpolated linearly between them. The
/// deviation depends only on the seed and the time. If each segment had an independent deviation, as with `tc`, almost
/// all segments of a fast link would arrive in a different order.
#[derive(Clone, Copy, Debug)]
pub struct Jitter {
    nanos: u64,
    seed: u64,
}

impl Jitter {
    /// Creates the deviation for a seed.
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

    /// Returns the deviation at a knot as a multiple of the jitter, from −1 to 1.
    fn unit(&self, knot: u64) -> f64 {
        let bits = mix(mix(self.seed) ^ knot) >> 11;
        bits as f64 / (1_u64 << 52) as f64 - 1.0
    }
}
