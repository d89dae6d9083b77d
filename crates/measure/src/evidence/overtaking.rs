//! Counts how often operations in flight overtake each other.
//!
//! The recorder marks one operation at a time, at the start of the operation. The marked operation overtakes every
//! operation that is in flight both when the marked operation starts and when it ends. Suppose that service times are
//! independent of each other, and let R and R′ be two of them. The expected share of overtaken operations is then
//! `E[(R′ − R)⁺] / E[R]`. This share is the Gini coefficient of the service times. The formula is true for any
//! distribution, because the remaining time of an operation in flight has the equilibrium distribution of the renewal
//! process (Cox 1962, §5). Operations that wait in one queue overtake each other less often.

use crate::sample::OpSample;
use crate::time::Instant;
use crate::values::{Distribution, add};
use serde::{Deserialize, Serialize};

/// Number of marked operations, and number of operations that they overtook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overtaking {
    /// Number of marked operations that have ended.
    pub marked: u64,
    /// Number of operations of the same thread that were in flight when the marked operations started.
    pub ahead: u64,
    /// Number of operations in [`Self::ahead`] that were still in flight when the marked operations ended.
    pub overtaken: u64,
}

impl Overtaking {
    /// Returns whether no operation was marked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.marked == 0
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        let Self { marked, ahead, overtaken } = *other;
        add(&mut self.marked, marked);
        add(&mut self.ahead, ahead);
        add(&mut self.overtaken, overtaken);
    }
}

/// Marked operation of one thread.
#[derive(Debug, Default)]
pub(super) struct OvertakingWatch {
    marked: Option<Marked>,
    last_start: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Marked {
    at: Instant,
    ahead: u64,
    ended: u64,
}

impl OvertakingWatch {
    /// Marks an operation that starts at `now`, unless another operation is already marked. The mark is the instant of
    /// the start. If two operations start at the same instant, the mark is removed, because it no longer identifies a
    /// single operation.
    #[inline]
    pub fn started(&mut self, now: Instant, in_flight: u64) {
        let alone = self.last_start.replace(now) != Some(now);
        match self.marked {
            None if alone && in_flight > 0 => self.marked = Some(Marked { at: now, ahead: in_flight, ended: 0 }),
            Some(marked) if marked.at == now => self.marked = None,
            _ => {}
        }
    }

    /// Records the end of an operation. A marked operation that was in flight while the target paused does not count.
    #[inline]
    pub fn ended(&mut self, overtaking: &mut Overtaking, sample: &OpSample, paused: bool) {
        let Some(marked) = &mut self.marked else { return };
        if sample.started < marked.at {
            marked.ended += 1;
        } else if sample.started == marked.at {
            if !paused {
                overtaking.marked += 1;
                overtaking.ahead += marked.ahead;
                overtaking.overtaken += marked.ahead.saturating_sub(marked.ended);
            }
            self.marked = None;
        }
    }
}

/// Returns the Gini coefficient of a distribution, in 0..=1; `None` if there are fewer than ten values.
#[must_use]
pub fn spread(times: &Distribution) -> Option<f64> {
    let count = times.count() as f64;
    if times.count() < 10 {
        return None;
    }
    // Sum of |x − y| over all pairs of values. The loop visits the values in ascending order. Each value adds its
    // differences from all lower values.
    let (mut below, mut sum_below, mut differences) = (0.0, 0.0, 0.0);
    for (value, here) in times.recorded() {
        let (value, here) = (value as f64, here as f64);
        differences += here * (value * below - sum_below);
        below += here;
        sum_below += here * value;
    }
    (sum_below > 0.0).then(|| differences / (count - 1.0) / sum_below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_agrees_with_known_distributions() {
        let of = |values: &mut dyn Iterator<Item = f64>| {
            let mut times = Distribution::default();
            values.for_each(|value| times.record((value * 1e9) as u64));
            spread(&times).unwrap()
        };
        assert!(of(&mut (0..1000).map(|_| 0.01)) < 1e-3);
        // Known Gini coefficients: 1/3 for the uniform distribution on 0..1, 1/2 for the exponential distribution.
        let uniform = of(&mut (0..10_000).map(|at| (f64::from(at) + 0.5) / 1e4));
        assert!((uniform - 1.0 / 3.0).abs() < 0.002, "{uniform}");
        let exponential = of(&mut (0..10_000).map(|at| -((f64::from(at) + 0.5) / 1e4).ln()));
        assert!((exponential - 0.5).abs() < 0.002, "{exponential}");
        assert_eq!(spread(&Distribution::default()), None);
    }
}
