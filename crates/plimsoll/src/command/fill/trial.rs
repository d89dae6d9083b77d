//! A fill as a trial of a study. The directory of the fill is inside the directory of the study. The journal of the
//! fill shows which work is left.

use super::budget::Budget;
use super::objects::Objects;
use super::{Args, Ended, run_session};
use crate::execute;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::progress::state::study::TrialResult;
use crate::saved;
use report::FillReport;
use report::fill::Costs;
use std::path::Path;
use store::journal::SessionEnd;

/// Checks the flags of a fill that has not started, without sending a request.
pub fn check(args: &Args) -> Result<(), Failure> {
    args.check()?;
    Budget::of(args)?;
    Objects::of(args, None).map(|_| ())
}

/// Starts or continues the fill in this directory. Returns a summary of the fill, or `None` if the user interrupted the
/// fill.
///
/// # Errors
/// Fails also if the disk of this host is full or the files to upload cannot be read. The trial is then not finished.
pub fn run(args: &Args, directory: &Path, progress: &Progress) -> Result<Option<TrialResult>, Failure> {
    execute::prepare_process();
    let objects = Objects::of(args, Some(directory))?;
    let Ended { reason, result, .. } = run_session(args, objects, &mut Budget::of(args)?, directory, progress)?;
    if reason == SessionEnd::Interrupted {
        return Ok(None);
    }
    result?;
    let fill = FillReport::of(&saved::fill::read(directory)?, &Costs::none());
    match reason {
        SessionEnd::DiskFull | SessionEnd::Failed => {
            let reasons = fill.fill.reasons.join("; ");
            Err(Failure::could_not_run(format!("the fill in {} could not continue: {reasons}", directory.display())))
        }
        _ => {
            let text = fill.first_line();
            Ok(Some(TrialResult { word: fill.fill.result, text }))
        }
    }
}
