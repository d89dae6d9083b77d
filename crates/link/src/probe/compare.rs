//! Comparison of a measured path with its description.

use super::{Measured, MeasuredDirection};
use crate::spec::{Direction, LinkSpec};
use measure::statistics::binomial::at_least;
use measure::units::DataRate;
use std::fmt;
use std::time::Duration;

/// Maximum relative difference between a path's rate or round trip and its description. Above this, the path counts as
/// different.
pub(super) const TOLERANCE: f64 = 0.05;
/// Difference of the round trip that is always accepted, because each direction may be half a millisecond late.
const ROUND_TRIP_TOLERANCE: Duration = Duration::from_millis(1);
/// A number of lost datagrams counts as a difference if a number at least as extreme has a probability below this
/// value.
const LOSS_TAIL: f64 = 1e-4;

/// A property of a path that differs from its description.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Difference {
    /// The round trip.
    RoundTrip {
        /// The round trip of the description, plus the serialization time of a small segment.
        asked: Duration,
        /// The measured round trip.
        measured: Duration,
    },
    /// The rate of a direction.
    Rate {
        /// The direction.
        direction: Direction,
        /// The described rate.
        asked: DataRate,
        /// The measured rate.
        measured: DataRate,
    },
    /// The loss of a direction.
    Loss {
        /// The direction.
        direction: Direction,
        /// The described probability.
        asked: f64,
        /// Datagrams that were sent.
        sent: u64,
        /// Number of the sent datagrams that were lost.
        lost: u64,
    },
}

impl fmt::Display for Difference {
    /// Formats the difference as a clause: `rate down: asked 1Gbit/s, measured 910Mbit/s (-9.0 %)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RoundTrip { asked, measured } => {
                let millis = |time: &Duration| time.as_secs_f64() * 1e3;
                write!(f, "round trip: asked {:.2} ms, measured {:.2} ms", millis(asked), millis(measured))
            }
            Self::Rate { direction, asked, measured } => {
                let percent = (measured.as_bits() as f64 / asked.as_bits() as f64 - 1.0) * 100.0;
                let megabits = measured.as_bits() as f64 / 1e6;
                write!(f, "rate {direction}: asked {asked}, measured {megabits:.1}Mbit/s ({percent:+.1} %)")
            }
            Self::Loss { direction, asked, sent, lost } => {
                let measured = *lost as f64 / *sent as f64 * 100.0;
                write!(f, "loss {direction}: asked {} %, measured {measured:.3} % ({lost} of {sent})", asked * 100.0)
            }
        }
    }
}

impl Measured {
    /// Returns one direction.
    #[must_use]
    pub fn direction(&self, direction: Direction) -> &MeasuredDirection {
        match direction {
            Direction::Down => &self.down,
            Direction::Up => &self.up,
        }
    }

    /// Returns the properties that differ from the description. A rate or a round trip differs if its relative
    /// difference exceeds 5 %. The loss differs if the described loss would produce the number of lost datagrams, or a
    /// more extreme number, with a probability of less than 0.01 %.
    #[must_use]
    pub fn differences(&self, spec: &LinkSpec) -> Vec<Difference> {
        let directions = [Direction::Down, Direction::Up];
        let rates = directions.iter().filter_map(|direction| self.rate_difference(spec, *direction));
        let losses = directions.iter().filter_map(|direction| self.loss_difference(spec, *direction));
        self.round_trip_difference(spec).into_iter().chain(rates).chain(losses).collect()
    }

    fn round_trip_difference(&self, spec: &LinkSpec) -> Option<Difference> {
        let small = (super::HEADER_BYTES + 8) as f64 * 8.0;
        let rates = [spec.down.rate, spec.up.rate].into_iter().flatten();
        let serialization: f64 = rates.map(|rate| small / rate.as_bits() as f64).sum();
        let asked = spec.round_trip() + Duration::from_secs_f64(serialization);
        let tolerance = asked.mul_f64(TOLERANCE).max(ROUND_TRIP_TOLERANCE) + spec.down.jitter + spec.up.jitter;
        let measured = self.round_trip;
        (measured.abs_diff(asked) > tolerance).then_some(Difference::RoundTrip { asked, measured })
    }

    fn rate_difference(&self, spec: &LinkSpec, direction: Direction) -> Option<Difference> {
        let (asked, measured) = (spec.direction(direction).rate?, self.direction(direction).rate?);
        let ratio = measured.as_bits() as f64 / asked.as_bits() as f64;
        ((ratio - 1.0).abs() > TOLERANCE).then_some(Difference::Rate { direction, asked, measured })
    }

    fn loss_difference(&self, spec: &LinkSpec, direction: Direction) -> Option<Difference> {
        let asked = spec.direction(direction).loss;
        let MeasuredDirection { sent, lost, .. } = *self.direction(direction);
        let is_likely = at_least(lost, sent, asked) >= LOSS_TAIL && 1.0 - at_least(lost + 1, sent, asked) >= LOSS_TAIL;
        (sent > 0 && !is_likely).then_some(Difference::Loss { direction, asked, sent, lost })
    }
}
