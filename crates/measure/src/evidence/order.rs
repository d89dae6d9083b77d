//! How often operations in flight overtake each other.
//!
//! Of an operation that is marked when it starts, those that were in flight already and are still in flight when it ends
//! have been overtaken. Where response times have nothing to do with each other, that happens as often as their spread
//! says: `E[(R′ − R)⁺] / E[R]`, which is their Gini coefficient, whatever their distribution (the rest of an operation in
//! flight has the equilibrium distribution of the renewal process, Cox 1962, §5). In one queue it happens less.

use crate::clock::Instant;
use crate::distribution::Distribution;
use crate::sample::OpSample;
use serde::{Deserialize, Serialize};

/// Marked operations and what they overtook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Operations that were marked, and ended.
    pub marked: u64,
    /// Operations of the same thread that were in flight when they started.
    pub ahead: u64,
    /// Those of them that were still in flight when they ended.
    pub overtaken: u64,
}

impl Order {
    /// Whether nothing was marked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.marked == 0
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.marked = self.marked.saturating_add(other.marked);
        self.ahead = self.ahead.saturating_add(other.ahead);
        self.overtaken = self.overtaken.saturating_add(other.overtaken);
    }
}

/// The operation of one thread that is marked.
#[derive(Debug, Default)]
pub(super) struct Tag {
    marked: Option<Marked>,
    last_start: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Marked {
    at: Instant,
    ahead: u64,
    ended: u64,
}

impl Tag {
    /// An operation starts. It is known again by its instant, so that no other one may start at the same.
    #[inline]
    pub fn started(&mut self, now: Instant, in_flight: u64) {
        let alone = self.last_start.replace(now) != Some(now);
        match self.marked {
            None if alone && in_flight > 0 => self.marked = Some(Marked { at: now, ahead: in_flight, ended: 0 }),
            Some(marked) if marked.at == now => self.marked = None,
            _ => {}
        }
    }

    /// An operation ended. One that was in flight while the target paused is not counted.
    #[inline]
    pub fn ended(&mut self, order: &mut Order, sample: &OpSample, paused: bool) {
        let Some(marked) = &mut self.marked else { return };
        if sample.started < marked.at {
            marked.ended += 1;
        } else if sample.started == marked.at {
            if !paused {
                order.marked += 1;
                order.ahead += marked.ahead;
                order.overtaken += marked.ahead.saturating_sub(marked.ended);
            }
            self.marked = None;
        }
    }
}

/// The Gini coefficient of what a distribution was drawn from, in 0..=1; `None` below ten values.
#[must_use]
pub fn spread(times: &Distribution) -> Option<f64> {
    let count = times.count() as f64;
    if times.count() < 10 {
        return None;
    }
    // Σ over pairs of |x − y|, over values in ascending order: each adds to those below what it is above them.
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
    fn the_spread_is_that_of_the_distribution() {
        let of = |values: &mut dyn Iterator<Item = f64>| {
            let mut times = Distribution::default();
            values.for_each(|value| times.record((value * 1e9) as u64));
            spread(&times).unwrap()
        };
        assert!(of(&mut (0..1000).map(|_| 0.01)) < 1e-3);
        // Uniform on 0..1: 1/3. Exponential: 1/2.
        let uniform = of(&mut (0..10_000).map(|at| (f64::from(at) + 0.5) / 1e4));
        assert!((uniform - 1.0 / 3.0).abs() < 0.002, "{uniform}");
        let exponential = of(&mut (0..10_000).map(|at| -((f64::from(at) + 0.5) / 1e4).ln()));
        assert!((exponential - 0.5).abs() < 0.002, "{exponential}");
        assert_eq!(spread(&Distribution::default()), None);
    }
}
