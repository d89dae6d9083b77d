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
    /// Response time of successes: from the intended start to the end.
    pub response: Spread,
    /// Response time percentiles over all operations. Failed and dropped operations count as infinitely long.
    pub response_with_failures: Vec<QuantileNanos>,
    /// Service time of successes: from the sending of the request to the end.
    pub service: Spread,
    /// Time to first byte of successes: from the sending of the request to the first byte of the response.
    pub ttfb: Spread,
    /// Transfer time of successes: from the first byte of the response to the end.
    pub transfer: Spread,
    /// Wait for `100 Continue`, or until the timeout of this wait, for successes that sent `Expect`.
    pub expect_continue: Spread,
    /// Time to send the request, from its first byte to its last, for successful uploads. The time does not include the
    /// wait for `100 Continue`.
    pub sending: Spread,
    /// Wait for the response of successful uploads: from the last byte of the request to the end of the response.
    pub waiting: Spread,
    /// Time to open a connection, for successes that opened a new connection.
    pub connect: Spread,
    /// Time of the TLS handshake, for successes on a new TLS connection.
    pub handshake: Spread,
    /// Delay between the intended start and the actual start, for all operations that started. Empty unless the load
    /// follows a schedule.
    pub lateness: Spread,
    /// Wait for a free slot, for operations that could not start at once.
    pub slot_wait: Spread,
    /// Time from the intended start to the failure, for failed operations.
    pub failed_response: Spread,
}

/// A distribution of times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// Number of samples.
    pub count: u64,
    /// Shortest time.
    pub min_nanos: Option<u64>,
    /// Arithmetic mean.
    pub mean_nanos: Option<f64>,
    /// Sample standard deviation.
    pub sd_nanos: Option<f64>,
    /// Longest time.
    pub max_nanos: Option<u64>,
    /// Percentiles in ascending order.
    pub quantiles: Vec<QuantileNanos>,
}

/// A quantile of a distribution of times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuantileNanos {
    /// The quantile, from 0 to 1.
    pub q: f64,
    /// Value of the quantile. The value is a lower bound if `state` is `longer_than`.
    pub nanos: Option<u64>,
    /// Lower end of the range that contains the quantile of the target alone. It leaves out time that the client itself
    /// may have added, for example in stalls. Equal to `nanos` if the client added no time that matters.
    pub low_nanos: Option<u64>,
    /// Meaning of `nanos`, or the reason why `nanos` is null.
    pub state: QuantileState,
    /// Number of samples needed to show this quantile.
    pub samples_needed: u64,
}

/// The meaning of `nanos` in a quantile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuantileState {
    /// `nanos` is the value of the quantile.
    Value,
    /// `nanos` is a lower bound, because the operation at this quantile had not ended when the run ended.
    LongerThan,
    /// `nanos` is null, because the operation at this quantile failed or was dropped.
    Failed,
    /// `nanos` is null, because there are too few samples.
    TooFew,
    /// `nanos` is null, because there are no samples.
    Empty,
}

/// A distribution of speeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Speeds {
    /// Number of samples.
    pub count: u64,
    /// 5th percentile; null if there are too few samples.
    pub p5_bytes_per_second: Option<u64>,
    /// Median.
    pub p50_bytes_per_second: Option<u64>,
    /// 95th percentile; null if there are too few samples.
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

    /// Returns the distribution of one of the target's times. Each quantile has a range, because client stalls may have
    /// increased the measured times.
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
