//! The exit code of a saved run.

use crate::console;
use crate::failure::Exit;
use measure::RunResult;
use measure::result::{CutOff, Reason};
use report::number::plural;
use store::{EndReason, SavedRun};

/// Maximum number of reasons in the line on standard error, after the first one.
const FURTHER_REASONS_MAX: usize = 2;

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

/// Returns a result that is not PASS, with its main reasons. Returns `None` if the user interrupted the run, because the
/// user knows this reason.
pub fn reason(result: &RunResult) -> Option<String> {
    let (first, others) = result.reasons.split_first()?;
    if matches!(first, Reason::CutOff(CutOff::Interrupted { .. })) {
        return None;
    }
    let (named, rest) = others.split_at(others.len().min(FURTHER_REASONS_MAX));
    let mut text = format!("{}: {}", result.word.text(), report::result::text(first));
    text.extend(named.iter().map(|reason| format!("; also: {}", report::result::text(reason))));
    if !rest.is_empty() {
        text += &format!("; {}", plural(rest.len() as u64, "more reason"));
    }
    Some(text)
}

/// Returns whether the user interrupted a saved run.
pub fn was_interrupted(run: &SavedRun) -> bool {
    matches!(run.end.as_ref().map(|end| &end.reason), Some(EndReason::Interrupted { .. }))
}
