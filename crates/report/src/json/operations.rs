//! Operations of the measured window: all together, by kind, and by label, in a [`JsonReport`](super::JsonReport).

use super::times::Spread;
use crate::escape::escape;
use measure::objective::Timed;
use measure::stats::{Group, KindStats};
use measure::{Enumerated, Label, OpKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::SavedRun;

/// Operations and attempts of the measured window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Operations {
    /// Length of the window, in seconds.
    pub window_seconds: f64,
    /// Operations that the load model offered.
    pub offered: u64,
    /// Operations that the client started.
    pub started: u64,
    /// Operations that ended, successful or not.
    pub completed: u64,
    /// Operations that succeeded.
    pub ok: u64,
    /// Operations that failed.
    pub failed: u64,
    /// Operations that were offered but never started.
    pub dropped: u64,
    /// Operations still in flight at the end of the drain.
    pub unfinished: u64,
    /// Number of attempts. An attempt is one request.
    pub attempts: u64,
    /// Attempts that followed a redirect.
    pub hops: u64,
    /// Attempts that sent a request again because the server had closed the reused connection.
    pub resends: u64,
    /// Attempts that sent a failed request again after a pause. Measured load has none.
    #[serde(default)]
    pub retries: u64,
    /// Offered operations per second; null if the run has no measured window.
    pub offered_per_second: Option<f64>,
    /// Started rate.
    pub started_per_second: Option<f64>,
    /// Completed rate.
    pub completed_per_second: Option<f64>,
    /// Rate of successful operations.
    pub ok_per_second: Option<f64>,
    /// Successful operations, as a share of all operations that completed, were dropped, or hung until the end.
    pub success_share: Option<f64>,
    /// Mean number of operations in flight over the window.
    pub in_flight_mean: Option<f64>,
    /// Largest number of operations in flight at any instant of the window. With several threads, this is an upper
    /// bound.
    pub in_flight_peak: u64,
}

/// Operations of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KindMetrics {
    /// Kind of operation, such as `get` or `put`.
    pub kind: String,
    /// Operations that succeeded.
    pub ok: u64,
    /// Operations that failed.
    pub failed: u64,
    /// Operations still in flight at the end of the drain.
    pub unfinished: u64,
    /// Body bytes of successes. Uploads count the bodies of their requests, and other operations count the bodies of
    /// their responses.
    pub ok_body_bytes: u64,
    /// Response time of successes: from the intended start to the end.
    pub response: Spread,
    /// Service time of successes: from the sending of the request to the end.
    pub service: Spread,
}

/// Operations that share a label.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupMetrics {
    /// Property that the label describes: `host`, `size`, `header` or `access`.
    pub dimension: String,
    /// Text of the label. A value can have the same text as the labels `(absent)` and `other`, so check `kind`.
    pub label: String,
    /// Kind of the label: a value, `(absent)` or `other`.
    pub kind: LabelKind,
    /// Operations that succeeded.
    pub ok: u64,
    /// Operations that failed or did not end.
    pub not_ok: u64,
    /// Body bytes of successes.
    pub ok_body_bytes: u64,
    /// Response time of successes.
    pub response: Spread,
}

/// The kind of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LabelKind {
    /// A value.
    Value,
    /// The response had no value.
    Absent,
    /// The row for all further values, because there were too many values for separate rows.
    Other,
}

impl Operations {
    pub(super) fn of(run: &SavedRun) -> Self {
        let summary = run.summary();
        let tally = &summary.stats.measured;
        Self {
            window_seconds: summary.measured.seconds,
            offered: tally.scheduled,
            started: tally.started,
            completed: tally.completed(),
            ok: tally.ok,
            failed: tally.failed,
            dropped: tally.dropped,
            unfinished: tally.unfinished,
            attempts: tally.attempts,
            hops: tally.hops,
            resends: tally.resends,
            retries: tally.retries,
            offered_per_second: summary.offered_rate(),
            started_per_second: summary.started_rate(),
            completed_per_second: summary.completed_rate(),
            ok_per_second: summary.ok_rate(),
            success_share: summary.success(),
            in_flight_mean: summary.mean_in_flight(),
            in_flight_peak: summary.in_flight_peak,
        }
    }
}

impl KindMetrics {
    pub(super) fn of((kind, stats): &(OpKind, KindStats)) -> Self {
        Self {
            kind: kind.name().into(),
            ok: stats.ok,
            failed: stats.failed,
            unfinished: stats.unfinished,
            ok_body_bytes: stats.ok_bytes,
            response: Spread::timed(stats, Timed::Response),
            service: Spread::timed(stats, Timed::Service),
        }
    }
}

impl GroupMetrics {
    pub(super) fn of(group: &Group) -> Self {
        let (kind, label) = match &group.label {
            Label::Value(value) => (LabelKind::Value, escape(value)),
            Label::Absent => (LabelKind::Absent, "(absent)".into()),
            Label::Other => (LabelKind::Other, "other".into()),
        };
        Self {
            dimension: group.dimension.name().into(),
            label,
            kind,
            ok: group.stats.ok,
            not_ok: group.stats.failed,
            ok_body_bytes: group.stats.ok_bytes,
            response: Spread::of(&group.stats.response),
        }
    }
}
