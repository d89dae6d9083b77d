//! Clocks of two machines, and the offset between them.
//!
//! Each process counts nanoseconds on its own monotonic clock, with an unknown zero. The instants of coordinator and
//! agent have different types, so they cannot be mixed. Setting the wall clock changes neither of them.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// An instant on an agent's monotonic clock, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AgentTime(pub u64);

/// An instant on the coordinator's monotonic clock, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CoordinatorTime(pub u64);

impl AgentTime {
    /// Returns the instant `span` later.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(nanos(span)))
    }
}

impl CoordinatorTime {
    /// Returns the instant `span` later.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(nanos(span)))
    }
}

pub(crate) fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// The four instants of a probe and its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The coordinator sent the probe.
    pub sent: CoordinatorTime,
    /// The agent received the probe.
    pub received: AgentTime,
    /// The agent sent the reply.
    pub replied: AgentTime,
    /// The coordinator received the reply.
    pub returned: CoordinatorTime,
}

/// The offset of an agent's clock, and the largest error of this offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    /// Agent's clock minus coordinator's clock, in nanoseconds.
    nanos: i128,
    uncertainty: Duration,
}

impl Offset {
    /// Computes the offset from one probe. Returns `None` if the instants are impossible, because a clock went
    /// backwards, or because the agent kept the probe for longer than the round trip took.
    #[must_use]
    pub fn of(probe: &Probe) -> Option<Self> {
        let away = probe.returned.0.checked_sub(probe.sent.0)?;
        let kept = probe.replied.0.checked_sub(probe.received.0)?;
        let round_trip = away.checked_sub(kept)?;
        let there = i128::from(probe.received.0) - i128::from(probe.sent.0);
        let back = i128::from(probe.replied.0) - i128::from(probe.returned.0);
        // Halves are rounded: the offset towards negative infinity, and its error up. So the error remains an upper
        // bound.
        let nanos = (there + back).div_euclid(2);
        Some(Self { nanos, uncertainty: Duration::from_nanos(round_trip.div_ceil(2)) })
    }

    /// Returns the more exact of two offsets, which is the one whose probe had the shorter round trip.
    #[must_use]
    pub fn better(self, other: Self) -> Self {
        if other.uncertainty < self.uncertainty { other } else { self }
    }

    /// Returns how far the agent's clock has drifted from the coordinator's between `earlier` and this offset.
    #[must_use]
    pub fn drift_since(self, earlier: Self) -> Drift {
        let nanos = i64::try_from(self.nanos - earlier.nanos).unwrap_or(i64::MAX);
        Drift { nanos, error: self.uncertainty.saturating_add(earlier.uncertainty) }
    }

    /// Returns the largest possible error of the offset. This bound also holds if one direction is slower than the
    /// other.
    #[must_use]
    pub fn uncertainty(self) -> Duration {
        self.uncertainty
    }

    /// Converts an instant to the agent's clock. Returns `None` if that clock cannot express the instant.
    #[must_use]
    pub fn to_agent(self, at: CoordinatorTime) -> Option<AgentTime> {
        u64::try_from(i128::from(at.0) + self.nanos).ok().map(AgentTime)
    }

    /// Converts an instant to the coordinator's clock. Returns `None` if that clock cannot express the instant.
    #[must_use]
    pub fn to_coordinator(self, at: AgentTime) -> Option<CoordinatorTime> {
        u64::try_from(i128::from(at.0) - self.nanos).ok().map(CoordinatorTime)
    }
}

/// The change of an offset during a run: how much more time has passed on the agent's clock than on the coordinator's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drift {
    /// The change, in nanoseconds.
    pub nanos: i64,
    /// The largest possible error of the change.
    pub error: Duration,
}

impl Drift {
    /// Returns the smallest drift that fits the measurement, in nanoseconds and without its sign.
    #[must_use]
    pub fn certain(self) -> u64 {
        self.nanos.unsigned_abs().saturating_sub(nanos(self.error))
    }

    /// Returns the drift that is certainly larger. If none is certain, returns the more exact one.
    #[must_use]
    pub fn larger(self, other: Self) -> Self {
        let key = |drift: Self| (drift.certain(), std::cmp::Reverse(drift.error));
        if key(other) > key(self) { other } else { self }
    }
}

/// Returns how far apart two starts can be if each agent starts exactly at T0 in its own clock: the sum of the two
/// largest errors, because one agent may be early and the other late.
#[must_use]
pub fn expected_spread(offsets: &[Offset]) -> Duration {
    let mut errors: Vec<Duration> = offsets.iter().map(|offset| offset.uncertainty).collect();
    errors.sort_unstable_by(|a, b| b.cmp(a));
    if errors.len() < 2 { Duration::ZERO } else { errors.iter().take(2).sum() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a probe of a clock that is `ahead` nanoseconds ahead. `there` and `back` are the delays of the two
    /// directions.
    fn probe(ahead: i64, there: u64, back: u64) -> Probe {
        let on_agent = |at: u64| AgentTime(at.checked_add_signed(ahead).expect("in range"));
        let sent = 10_000_000_000;
        Probe {
            sent: CoordinatorTime(sent),
            received: on_agent(sent + there),
            replied: on_agent(sent + there + 500),
            returned: CoordinatorTime(sent + there + 500 + back),
        }
    }

    #[test]
    fn equal_ways_give_the_exact_offset() {
        for ahead in [5_000_000_000, -3_000_000_000, 1_000_000_000, 0] {
            let offset = Offset::of(&probe(ahead, 1000, 1000)).expect("possible");
            assert_eq!(offset.nanos, i128::from(ahead));
            assert_eq!(offset.uncertainty(), Duration::from_nanos(1000));
            let at = CoordinatorTime(20_000_000_000);
            let there = offset.to_agent(at).expect("in range");
            assert_eq!(offset.to_coordinator(there), Some(at));
        }
    }

    #[test]
    fn the_error_never_exceeds_the_uncertainty() {
        for there in [0, 1, 2, 999, 4_000_001] {
            for back in [0, 1, 3, 1000, 9_000_000] {
                let offset = Offset::of(&probe(-7, there, back)).expect("possible");
                let error = (offset.nanos + 7).unsigned_abs();
                assert!(error <= offset.uncertainty().as_nanos(), "{there} {back}: {error}");
            }
        }
    }

    #[test]
    fn the_smaller_round_trip_wins() {
        let slow = Offset::of(&probe(100, 9000, 10)).expect("possible");
        let fast = Offset::of(&probe(100, 20, 20)).expect("possible");
        assert_eq!(slow.better(fast), fast);
        assert_eq!(fast.better(slow), fast);
    }

    #[test]
    fn a_drift_is_the_change_of_the_offset_and_counts_as_far_as_it_is_certain() {
        let of = |ahead: i64, there: u64, back: u64| Offset::of(&probe(ahead, there, back)).expect("possible");
        let first = of(1000, 50, 50);
        let slower = of(-9000, 100, 100).drift_since(first);
        assert_eq!((slower.nanos, slower.error), (-10_000, Duration::from_nanos(150)));
        assert_eq!(slower.certain(), 9850);
        let unsure = of(1000, 70_000, 10).drift_since(first);
        assert_eq!(unsure.certain(), 0, "the slow way there looks like a drift of {} ns", unsure.nanos);
        let none = of(1000, 20, 20).drift_since(first);
        assert_eq!((slower.larger(unsure), unsure.larger(slower), unsure.larger(none)), (slower, slower, none));
    }

    #[test]
    fn impossible_instants_have_no_offset() {
        let good = probe(0, 1000, 1000);
        assert_eq!(Offset::of(&Probe { returned: CoordinatorTime(0), ..good }), None);
        assert_eq!(Offset::of(&Probe { replied: AgentTime(0), ..good }), None);
        assert_eq!(Offset::of(&Probe { replied: AgentTime(u64::MAX), ..good }), None);
    }

    #[test]
    fn the_spread_is_the_sum_of_the_two_largest_errors() {
        let of = |error: u64| Offset::of(&probe(0, error, error)).expect("possible");
        assert_eq!(expected_spread(&[]), Duration::ZERO);
        assert_eq!(expected_spread(&[of(7)]), Duration::ZERO);
        assert_eq!(expected_spread(&[of(2), of(9), of(4)]), Duration::from_nanos(13));
    }
}
