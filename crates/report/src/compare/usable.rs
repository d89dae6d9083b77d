//! The conditions that a run must meet to be compared.

use crate::number::{count, seconds};
use crate::result;
use measure::statistics::shares::Share;
use std::time::Duration;
use store::{EndReason, SavedRun};

/// Checks that a run can be compared. The result of the run must not be UNUSABLE, and the run must have a measured
/// window.
///
/// # Errors
/// Returns the reason why the run cannot be compared, as a phrase.
pub fn is_usable(run: &SavedRun) -> Result<(), String> {
    result::usable(run)?;
    if run.summary().measured.seconds > 0.0 { Ok(()) } else { Err("it ended before its measured window began".into()) }
}

/// Returns a phrase about the early end of a run, or `None` if the run reached its planned end.
#[must_use]
pub fn cut_off(run: &SavedRun) -> Option<String> {
    let how = match run.end.as_ref().map(|end| &end.reason) {
        None => "it was cut off",
        Some(EndReason::Interrupted { .. }) => "it was interrupted",
        Some(EndReason::StoppedEarly { .. }) => "it was stopped early, because its results were certain,",
        Some(EndReason::Aborted { .. }) => "it was aborted by --abort-when",
        Some(EndReason::DiskFull) => "it was cut off by a full disk",
        Some(EndReason::Unreachable { .. }) => "it was stopped by an unreachable target",
        Some(EndReason::Failed { .. }) => "it could not go on",
        Some(EndReason::AgentsLost { .. }) => "it lost agents",
        Some(EndReason::StartsApart { .. }) => "its agents did not start together",
        Some(EndReason::Completed | EndReason::Merged { .. }) if run.damage.is_some() => "its records are damaged",
        Some(EndReason::Completed | EndReason::Merged { .. }) => return None,
    };
    let lasted = seconds(run.summary().measured.seconds);
    let asked = run.begin.duration_ms.map(|asked| seconds(Duration::from_millis(asked).as_secs_f64()));
    Some(match asked {
        Some(asked) => format!("{how} after {lasted} of {asked}"),
        None => format!("{how} after {lasted}"),
    })
}

/// Returns whether a run has operations that count, but no operation succeeded.
#[must_use]
pub fn nothing_succeeded(run: &SavedRun) -> bool {
    let Share { ok, of } = counts(run);
    ok == 0.0 && of > 0.0
}

/// Returns a phrase about a run in which nothing succeeded, or `None` if an operation succeeded.
pub(crate) fn no_success(run: &SavedRun) -> Option<String> {
    nothing_succeeded(run).then(|| format!("nothing succeeded (0 of {} operations)", count(counts(run).of as u64)))
}

/// Returns the successful operations as a share of all operations that count.
#[must_use]
pub fn counts(run: &SavedRun) -> Share {
    let tally = &run.summary().stats.measured;
    let judged = tally.completed().saturating_add(tally.dropped).saturating_add(run.summary().all.hanging());
    Share { ok: tally.ok as f64, of: judged as f64 }
}
