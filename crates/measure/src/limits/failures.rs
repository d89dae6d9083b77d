//! Share of a run that is spent on failing operations.

use super::MOST;
use super::offered_load::{overdue, overdue_from};
use crate::sample::outcome::AttemptClass;
use crate::summary::{Model, Summary};
use crate::values::sum;

/// Maximum share of failed operations. Above this share, a run has many failures.
const FAILED_MAX: f64 = 0.1;
/// Maximum share of the time of all slots that is spent on failing operations and on the pauses after them. Above this
/// share, a run has many failures.
const FAILING_MAX: f64 = 0.25;

/// Returns whether the target failed most of the operations that ended. If any operation succeeded, timeouts do not
/// count, because a slow client may have caused them.
#[must_use]
pub fn mostly_fails(summary: &Summary) -> bool {
    let tally = &summary.stats.measured;
    let (failed, ended) = failed_and_ended(summary);
    if tally.ok == 0 {
        return failed > 0;
    }
    let timeouts = [
        AttemptClass::ConnectTimeout,
        AttemptClass::TimeoutHead,
        AttemptClass::TimeoutIdle,
        AttemptClass::TimeoutTotal,
    ];
    let timed_out = sum(timeouts.map(|class| tally.classes.get(class)));
    let refused = tally.failed.min(failed).saturating_sub(timed_out);
    refused as f64 > MOST * ended as f64
}

/// Returns two numbers: the operations that failed at the target or were overdue, and all operations that ended or were
/// overdue.
fn failed_and_ended(summary: &Summary) -> (u64, u64) {
    let (tally, overdue) = (&summary.stats.measured, overdue(summary));
    // An operation whose local file cannot be read shows nothing about the target.
    let by_target = tally.failed.saturating_sub(tally.classes.get(AttemptClass::LocalFile));
    (by_target.saturating_add(overdue), tally.completed().saturating_add(overdue))
}

/// Returns whether failing operations take much of the run. One dead endpoint can limit the run even if all other
/// endpoints are healthy. Slots that wait for this endpoint, or pause after its failures, do no other work.
#[must_use]
pub fn has_many_failures(summary: &Summary, model: &Model) -> bool {
    let (failed, ended) = failed_and_ended(summary);
    let slots_fail = failed > 0 && failing_share(summary, model) > FAILING_MAX;
    failed as f64 > FAILED_MAX * ended as f64 || slots_fail
}

/// Returns the share of the time of all slots, in 0..=1, that was spent on operations that failed or were overdue, and
/// on pauses after them. The share is 0 in an open run.
#[must_use]
pub fn failing_share(summary: &Summary, model: &Model) -> f64 {
    let Model::Closed { concurrency } = *model else { return 0.0 };
    let all = &summary.all;
    let overdue = all.unfinished_wait.sum_beyond(overdue_from(summary));
    let failing = [all.failed_response.moments().sum, overdue, summary.stats.back_off_nanos.into()];
    let time = failing.into_iter().fold(0, u128::saturating_add);
    let slots = concurrency as f64 * summary.measured.seconds * 1e9;
    if slots > 0.0 { (time as f64 / slots).min(1.0) } else { 0.0 }
}
