//! Operations that an open run offered and the target did not sustain.

use super::end_stall::EndStall;
use super::growth::Growth;
use crate::summary::Summary;

/// Maximum share of the offered operations that may be missing.
pub(super) const MISSED_MAX: f64 = 0.01;
/// Minimum number of waiting operations that counts as a pile-up.
const PILED_UP_MIN: u64 = 3;

/// Returns the number of measured operations that the target did not sustain. Dropped operations count, and so do the
/// operations that had piled up at the end of the schedule, even if they ended in the drain.
#[must_use]
pub fn not_sustained(summary: &Summary) -> u64 {
    let stalled = end_stall(summary).map_or(0, |stall| stall.waiting);
    let piled_up = growth(summary).map_or(0, |growth| growth.piled_up).max(stalled);
    let piled_up = if piled_up < PILED_UP_MIN { 0 } else { piled_up };
    summary.stats.measured.dropped.saturating_add(overdue(summary).max(piled_up))
}

/// Returns whether an open run missed its offered rate, because the target did not sustain enough of the operations.
#[must_use]
pub fn misses_offered_rate(summary: &Summary) -> bool {
    not_sustained(summary) as f64 > MISSED_MAX * summary.stats.measured.scheduled as f64
}

/// Returns the growth of response times over the measured window; `None` if they did not grow, or if the run is closed.
#[must_use]
pub fn growth(summary: &Summary) -> Option<Growth> {
    Growth::of_run(&summary.evidence, summary.schedule_seconds())
}

/// Returns the stall at the end of the schedule; `None` if there was none, or if the run is closed.
#[must_use]
pub fn end_stall(summary: &Summary) -> Option<EndStall> {
    EndStall::of(&summary.evidence.arrival_cohorts, summary.schedule_seconds())
}

/// Returns the number of unfinished operations that had already waited longer than successful operations usually take.
pub(super) fn overdue(summary: &Summary) -> u64 {
    let waits = &summary.all.unfinished_wait;
    let (overdue, _) = waits.beyond(overdue_from(summary));
    let healthy = waits.count() - overdue;
    summary.stats.measured.unfinished.saturating_sub(healthy)
}

/// Returns the wait after which an unfinished operation is overdue, in nanoseconds. If no operation succeeded, the
/// result is negative, so that every unfinished operation is overdue.
pub(super) fn overdue_from(summary: &Summary) -> f64 {
    summary.all.response.quantile(0.99).map_or(-1.0, |usual| 2.0 * usual as f64)
}
