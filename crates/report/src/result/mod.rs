//! The result of a saved run: PASS, FAIL, UNUSABLE or PARTIAL, and the reasons.
//!
//! [`measure::RunResult`] has the rules. Every format of a report shows the result of [`of`], so all formats agree.

pub(crate) mod joint;
mod outage;
mod record;
mod text;

pub(crate) use outage::whole_seconds;
pub use record::{NamedText, ResultName, ResultRecord};
pub use text::{first_missed, objective_outcome_text, text};

use measure::result::{CutOff, Ending, PathFacts, RunFacts};
use measure::{ResultWord, RunResult};
use std::time::Duration;
use store::{EndReason, SavedRun};

/// Returns the result of a saved run.
#[must_use]
pub fn of(run: &SavedRun) -> RunResult {
    RunResult::of(&RunFacts {
        summary: run.summary(),
        model: run.begin.model,
        objectives: &run.begin.objectives,
        ending: &ending(run),
        outage: outage::length(run),
        accept_not_enough_data: run.begin.accept_not_enough_data,
        path: run
            .begin
            .path
            .as_ref()
            .map(|path| PathFacts { differences: &path.differences, emulator: run.summary().path.emulator }),
    })
}

fn ending(run: &SavedRun) -> Ending {
    let Some(end) = &run.end else { return Ending::CutOff(CutOff::NoEnd) };
    match &end.reason {
        EndReason::Unreachable { detail } => Ending::Unreachable { detail: detail.clone() },
        EndReason::DiskFull => Ending::CutOff(CutOff::DiskFull),
        EndReason::Failed { detail } => Ending::CutOff(CutOff::Failed { detail: detail.clone() }),
        EndReason::Interrupted { .. } if run.damage.is_some() => Ending::CutOff(CutOff::Damaged),
        EndReason::Interrupted { signal } => Ending::CutOff(CutOff::Interrupted { signal: *signal }),
        EndReason::AgentsLost { lost, agents } => {
            Ending::CutOff(CutOff::AgentsLost { lost: lost.clone(), agents: *agents })
        }
        EndReason::StartsApart { .. } if run.damage.is_some() => Ending::CutOff(CutOff::Damaged),
        EndReason::StartsApart { spread_nanos, limit_nanos } => Ending::CutOff(CutOff::StartsApart {
            spread: Duration::from_nanos(*spread_nanos),
            limit: Duration::from_nanos(*limit_nanos),
        }),
        EndReason::Merged { runs } => Ending::CutOff(CutOff::Merged { runs: *runs }),
        _ if run.damage.is_some() => Ending::CutOff(CutOff::Damaged),
        EndReason::Aborted { condition } => Ending::Aborted { condition: condition.clone() },
        EndReason::Completed | EndReason::StoppedEarly { .. } => Ending::Completed,
    }
}

/// Checks that the numbers of a run are usable.
///
/// # Errors
/// Returns the first reason why the numbers must not be used, as a phrase.
pub fn usable(run: &SavedRun) -> Result<(), String> {
    let result = of(run);
    let unusable = result.reasons.iter().find(|reason| reason.word() == ResultWord::Unusable);
    unusable.map_or(Ok(()), |reason| Err(text(reason)))
}
