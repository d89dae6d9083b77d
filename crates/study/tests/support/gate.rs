//! A server with a known load line. The server has a queue, and admits one operation after the other at a given rate.

use std::time::Duration;

/// A server that admits operations at a given rate.
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    /// Capacity in operations per second.
    pub per_second: f64,
    /// `true` if the intervals between admissions are exponentially distributed, `false` if they are equal.
    pub random: bool,
}

impl Gate {
    /// Returns the load line for the objective `response p99 <= bound`, in operations per second, if operations arrive
    /// at equal intervals. If the intervals between admissions are also equal, no operation waits below the capacity.
    /// If the intervals between admissions are exponential, the wait W is the wait in a D/M/1 queue:
    /// P(W > x) = σ exp(−µ (1 − σ) x), where σ = exp(−(1 − σ) µ / λ) (L. Kleinrock, "Queueing Systems" 1, 1975, §6.4).
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
