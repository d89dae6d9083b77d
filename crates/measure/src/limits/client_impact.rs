//! Time that the client itself added to operations.

use super::{MOST, OPERATIONS_MIN};
use crate::stats::quantile_range::{QuantileRange, Timed};
use crate::summary::Summary;

/// Share of the operations of an open run that client stalls may affect before the client is reported as the limit.
pub(super) const AFFECTED_MAX: f64 = 0.05;
/// Maximum mean wait of unread responses that is ignored, in nanoseconds. Every client needs about this time to wake
/// up.
const UNREAD_MIN: f64 = 200_000.0;
/// Minimum number of samples of unread responses.
const SAMPLES_MIN: u64 = 20;
/// Quantile at which the client's effect on times is checked. This quantile corresponds to [`AFFECTED_MAX`]. A higher
/// quantile is unsuitable, because one stall of a healthy client can make up most of the p99.
const SHOWN: f64 = 1.0 - AFFECTED_MAX;

/// Time that the client added to operations, as measured in the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClientImpact {
    /// Share of service time for which responses waited unread, in 0..=1. The share is 0 if the wait is too short to
    /// matter, and `None` if the wait was not measured.
    pub service_share: Option<f64>,
    /// Share of the operations that a client stall delayed, in 0..=1. A stall delays operations directly, or through
    /// the queue that builds up during the stall. The share is 0 unless stalls explain most of the p95.
    pub affected_share: f64,
    /// Time that stalls added to operations, as a share of the sum of all response times, in 0..=1.
    pub stalled_share: f64,
}

impl ClientImpact {
    /// Returns the time that the client added to the operations of a run.
    #[must_use]
    pub fn of(summary: &Summary) -> Self {
        let all = &summary.all;
        let mean_service = all.service.moments().mean().unwrap_or_default();
        let of_service = |share: f64| if share * mean_service > UNREAD_MIN { share } else { 0.0 };
        let service_share = summary.client_share().filter(|share| share.samples >= SAMPLES_MIN);
        let explains =
            |range: QuantileRange| range.is_wide() && (range.high - range.low) as f64 > MOST * range.high as f64;
        let (times, part) = all.timed(Timed::Response);
        let shows = QuantileRange::of(times, part, all.affected.added_max, SHOWN).is_some_and(explains);
        let ended = all.ok.saturating_add(all.failed).max(1) as f64;
        let affected = all.affected.ok.saturating_add(all.affected.failed) as f64 / ended;
        Self {
            service_share: service_share.map(|share| of_service(share.share)),
            affected_share: if shows && all.ok >= OPERATIONS_MIN { affected } else { 0.0 },
            stalled_share: stalled_share(summary),
        }
    }

    /// Returns whether responses waited unread for most of the service time; false if this was not measured.
    #[must_use]
    pub fn reads_late(&self) -> bool {
        self.service_share.is_some_and(|share| share > MOST)
    }
}

/// Returns the time that stalls added to the affected operations, as a share of the sum of all response times. In a
/// short run, the affected operations may also be slow for other reasons. The result is therefore limited to the time
/// that the stalls can have added.
fn stalled_share(summary: &Summary) -> f64 {
    let (all, part) = summary.all.timed(Timed::Response);
    let (sum, affected) = (all.moments().sum as f64, part.moments().sum as f64);
    let operations = part.count() as f64;
    // The live view computes this share several times per second. Subtracting `part` from `all` would take too long, so
    // this function uses only their sums.
    let unaffected = all.count().saturating_sub(part.count()).max(1) as f64;
    let usual = (sum - affected).max(0.0) / unaffected;
    let added = (affected - operations * usual).clamp(0.0, operations * summary.all.affected.added_max as f64);
    if sum > 0.0 { added / sum } else { 0.0 }
}
