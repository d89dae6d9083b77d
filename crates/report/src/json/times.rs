//! Times and speeds of operations, in a [`JsonReport`](super::JsonReport).

use crate::percentile::{self, LADDER, Percentile};
use measure::Distribution;
use measure::objective::Timed;
use measure::stats::KindStats;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::SavedRun;

/// Times of operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Times {
    /// End − intended start, of successes.
    pub response: Spread,
    /// Percentiles of response time of all operations; failed and dropped ones count as beyond any time.
    pub response_with_failures: Vec<QuantileNanos>,
    /// End − sent, of successes.
    pub service: Spread,
    /// First byte − sent, of successes.
    pub ttfb: Spread,
    /// End − first byte, of successes.
    pub transfer: Spread,
    /// Wait for the server's `100 Continue` or its timeout, of successes that sent `Expect`.
    pub expect_continue: Spread,
    /// Last byte of the request − first, without that wait, of successful uploads.
    pub sending: Spread,
    /// End − last byte of the request, of successful uploads.
    pub waiting: Spread,
    /// Opening connections, of successes that opened one.
    pub connect: Spread,
    /// TLS handshakes, of successes that made one.
    pub handshake: Spread,
    /// Start − intended start, of all that started; empty unless the load has a schedule.
    pub lateness: Spread,
    /// Wait for a slot, of all that started and had to wait.
    pub slot_wait: Spread,
    /// Time until failure, of failed operations.
    pub failed_response: Spread,
}

/// A distribution of times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// Samples.
    pub count: u64,
    /// Smallest.
    pub min_nanos: Option<u64>,
    /// Arithmetic mean.
    pub mean_nanos: Option<f64>,
    /// Sample standard deviation.
    pub sd_nanos: Option<f64>,
    /// Largest.
    pub max_nanos: Option<u64>,
    /// Percentiles, ascending.
    pub quantiles: Vec<QuantileNanos>,
}

/// A quantile of a distribution of times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuantileNanos {
    /// Quantile, in 0..=1.
    pub q: f64,
    /// Its value; a lower bound if `state` is `longer_than`.
    pub nanos: Option<u64>,
    /// Lower end of the range in which the target's quantile lies: without delays by client stalls, and without time inside the
    /// client. The same as `nanos` if that makes no difference.
    pub low_nanos: Option<u64>,
    /// Meaning of `nanos`, or why it is null.
    pub state: QuantileState,
    /// Samples that are needed to show it.
    pub samples_needed: u64,
}

/// The meaning of a quantile's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuantileState {
    /// The value.
    Value,
    /// A lower bound: the quantile lies among unfinished operations.
    LongerThan,
    /// The quantile lies among failed or dropped operations.
    Failed,
    /// There are too few samples.
    TooFew,
    /// There are no samples.
    Empty,
}

/// A distribution of speeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Speeds {
    /// Samples.
    pub count: u64,
    /// p5; null with too few samples.
    pub p5_bytes_per_second: Option<u64>,
    /// Median.
    pub p50_bytes_per_second: Option<u64>,
    /// p95.
    pub p95_bytes_per_second: Option<u64>,
}

impl Times {
    pub(super) fn of(run: &SavedRun) -> Self {
        let (all, dropped) = (&run.summary().all, run.summary().stats.measured.dropped);
        let with_failures = |q: &f64| QuantileNanos::of(*q, percentile::of_all(all, dropped, *q));
        Self {
            response: Spread::timed(all, Timed::Response),
            response_with_failures: LADDER.iter().map(with_failures).collect(),
            service: Spread::timed(all, Timed::Service),
            ttfb: Spread::timed(all, Timed::Ttfb),
            transfer: Spread::of(&all.transfer),
            expect_continue: Spread::of(&all.expect_continue),
            sending: Spread::of(&all.sending),
            waiting: Spread::of(&all.waiting),
            connect: Spread::of(&all.connect),
            handshake: Spread::of(&all.handshake),
            lateness: Spread::of(&all.lateness),
            slot_wait: Spread::of(&all.slot_wait),
            failed_response: Spread::of(&all.failed_response),
        }
    }
}

impl Spread {
    pub(super) fn of(values: &Distribution) -> Self {
        Self::with(values, |q| percentile::of(values, q))
    }

    /// Returns the spread of a time of the target, which client stalls may have lengthened.
    pub(super) fn timed(stats: &KindStats, timed: Timed) -> Self {
        Self::with(stats.timed(timed).0, |q| percentile::timed(stats, timed, q))
    }

    fn with(values: &Distribution, shown: impl Fn(f64) -> Percentile) -> Self {
        Self {
            count: values.count(),
            min_nanos: values.min(),
            mean_nanos: values.moments().mean(),
            sd_nanos: values.moments().standard_deviation(),
            max_nanos: values.max(),
            quantiles: LADDER.iter().map(|q| QuantileNanos::of(*q, shown(*q))).collect(),
        }
    }
}

impl QuantileNanos {
    fn of(q: f64, shown: Percentile) -> Self {
        let low = if let Percentile::Between(low, _) = shown { Some(low) } else { None };
        let (nanos, state) = match shown {
            Percentile::Value(nanos) | Percentile::Between(_, nanos) => (Some(nanos), QuantileState::Value),
            Percentile::LongerThan(nanos) => (Some(nanos), QuantileState::LongerThan),
            Percentile::Failed => (None, QuantileState::Failed),
            Percentile::TooFew { .. } => (None, QuantileState::TooFew),
            Percentile::Empty => (None, QuantileState::Empty),
        };
        Self { q, nanos, low_nanos: low.or(nanos), state, samples_needed: percentile::samples_needed(q) }
    }
}

impl Speeds {
    pub(super) fn of(values: &Distribution) -> Self {
        let at = |q: f64| match percentile::of(values, q) {
            Percentile::Value(value) => Some(value),
            _ => None,
        };
        Self {
            count: values.count(),
            p5_bytes_per_second: at(0.05),
            p50_bytes_per_second: at(0.5),
            p95_bytes_per_second: at(0.95),
        }
    }
}
