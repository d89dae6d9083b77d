//! The exit code of a saved run.

use crate::console;
use crate::failure::Exit;
use measure::RunResult;
use measure::result::{CutOff, Reason};
use store::{EndReason, SavedRun};

/// Returns the exit code of a saved run. If the result is not PASS, also prints the reason to standard error.
pub fn conclude(run: &SavedRun) -> Exit {
    let result = report::result::of(run);
    if let Some(reason) = reason(&result) {
        announce(&reason, result.exit.into());
    }
    result.exit.into()
}

/// Prints a result that is not PASS to standard error, as one line with the exit code.
pub fn announce(result: &str, exit: Exit) {
    console::eprintln(&format!("plimsoll: {result} (exit code {})", exit.code()));
}

/// Returns a result that is not PASS, with its first reason. Returns `None` if the user interrupted the run, because the
/// user knows this reason.
pub fn reason(result: &RunResult) -> Option<String> {
    let shown = |reason: &&Reason| !matches!(reason, Reason::CutOff(CutOff::Interrupted { .. }));
    let reason = result.reasons.first().filter(shown)?;
    Some(format!("{}: {}", result.word.text(), report::result::text(reason)))
}

/// Returns whether the user interrupted a saved run.
pub fn was_interrupted(run: &SavedRun) -> bool {
    matches!(run.end.as_ref().map(|end| &end.reason), Some(EndReason::Interrupted { .. }))
}
