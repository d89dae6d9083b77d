//! A run over time, in a [`JsonReport`](super::JsonReport).

use measure::Enumerated;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::Point;

/// An interval of the run. Its length is 1 s, but 10 s or 60 s in the older part of a long run. Rates are averages over
/// the interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesPoint {
    /// Start of the interval, from the start of the run.
    pub start_nanos: u64,
    /// Length of the interval.
    pub length_nanos: u64,
    /// `warmup`, `measured` or `drain`.
    pub stage: String,
    /// Measured operations that succeeded in the interval.
    pub ok: u64,
    /// Measured operations that failed in the interval.
    pub failed: u64,
    /// Measured operations that were dropped in the interval.
    pub dropped: u64,
    /// Body bytes received in the interval.
    pub body_bytes: u64,
    /// Body bytes of requests that were sent in the interval.
    pub sent_body_bytes: u64,
    /// Median response time of the interval's successes.
    pub response_p50_nanos: Option<u64>,
    /// 99th percentile of the response time of the interval's successes. With few samples, it is the largest value.
    pub response_p99_nanos: Option<u64>,
    /// Operations in flight at the end of the interval.
    pub in_flight: u64,
    /// Busy share of the client's busiest thread.
    pub client_busy_share: f64,
}

impl SeriesPoint {
    pub(super) fn of(point: &Point) -> Self {
        Self {
            start_nanos: point.start.as_nanos(),
            length_nanos: point.end.nanos_since(point.start),
            stage: point.stage.name().into(),
            ok: point.ok,
            failed: point.failed,
            dropped: point.dropped,
            body_bytes: point.body_bytes,
            sent_body_bytes: point.sent_body_bytes,
            response_p50_nanos: point.response_p50_nanos,
            response_p99_nanos: point.response_p99_nanos,
            in_flight: point.in_flight,
            client_busy_share: point.client.busy,
        }
    }
}
