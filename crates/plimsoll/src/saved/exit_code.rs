//! The exit code of a saved run.

use crate::console;
use crate::failure::Exit;
use measure::result::{CutOff, Reason};
use store::{EndReason, SavedRun};

/// Returns the exit code of a saved run. If the result is not PASS, also prints the reason to standard error.
pub fn conclude(run: &SavedRun) -> Exit {
    let result = report::result::of(run);
    let shown = |reason: &Reason| !matches!(reason, Reason::CutOff(CutOff::Interrupted { .. }));
    if let Some(reason) = result.reasons.first().filter(|reason| shown(reason)) {
        let (word, code) = (result.word.text(), result.exit.code());
        console::eprintln(&format!("plimsoll: {word}: {} (exit code {code})", report::result::text(reason)));
    }
    result.exit.into()
}

/// Returns whether the user interrupted a saved run.
pub fn was_interrupted(run: &SavedRun) -> bool {
    matches!(run.end.as_ref().map(|end| &end.reason), Some(EndReason::Interrupted { .. }))
}
