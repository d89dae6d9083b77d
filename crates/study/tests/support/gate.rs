//! A server that lets operations pass one after the other at a known rate, with a queue before it: where its load line lies.

use std::time::Duration;

/// A server that lets operations pass at a rate.
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    /// Operations per second.
    pub per_second: f64,
    /// Whether they pass at exponentially distributed intervals, not at equal ones.
    pub random: bool,
}

impl Gate {
    /// The load line under `response p99 <= bound`, for operations that arrive at equal intervals. Intervals of the gate that are equal
    /// leave nobody waiting below its capacity. With random ones the wait W is that of a D/M/1 queue, P(W > x) = σ exp(−µ (1 − σ) x) with
    /// σ = exp(−(1 − σ) µ / λ) (L. Kleinrock, "Queueing Systems" 1, 1975, §6.4).
    pub fn line(self, bound: Option<Duration>) -> f64 {
        let Some(bound) = bound.filter(|_| self.random) else { return self.per_second };
        let late = |load: f64| {
            let sigma = (0..20_000).fold(0.5_f64, |sigma, _| (-(1.0 - sigma) / load).exp());
            sigma * (-self.per_second * (1.0 - sigma) * bound.as_secs_f64()).exp()
        };
        let (mut low, mut high) = (0.01, 1.0);
        for _ in 0..40 {
            let middle = f64::midpoint(low, high);
            if late(middle) <= 0.01 { low = middle } else { high = middle }
        }
        low * self.per_second
    }
}
