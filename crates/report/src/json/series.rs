//! A run over time, in a [`JsonReport`](super::JsonReport).

use measure::Enumerated;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::Point;

/// An interval of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesPoint {
    /// Its begin, from the start of the run.
    pub start_nanos: u64,
    /// Its length.
    pub length_nanos: u64,
    /// `warmup`, `measured` or `drain`.
    pub stage: String,
    /// Measured operations that succeeded in it.
    pub ok: u64,
    /// Measured operations that failed in it.
    pub failed: u64,
    /// Measured operations that were dropped in it.
    pub dropped: u64,
    /// Body bytes that arrived in it.
    pub body_bytes: u64,
    /// Body bytes of requests that were sent in it.
    pub sent_body_bytes: u64,
    /// Median response time of its successes.
    pub response_p50_nanos: Option<u64>,
    /// p99 of the same; with few samples, the largest.
    pub response_p99_nanos: Option<u64>,
    /// Operations in flight at its end.
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
