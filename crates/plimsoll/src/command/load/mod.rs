//! The flags that the commands that make load share, and the plan that they result in.

mod args;
pub mod dialect;
mod headers;
pub mod place;
mod plan;
pub mod retry;
pub mod s3;
pub mod stored;

pub use args::{Args, Help, count, percent, seed};
pub use headers::{checks, headers};
pub use plan::{Asked, aside, beside, output, plan};

use crate::execute::{self, html};
use crate::failure::{Exit, Failure};
use engine::plan::Plan;
use std::process::ExitCode;
use store::SavedRun;

/// Runs the plan as the flags specify, and shows the results.
pub fn run(plan: Plan, args: &Args) -> Result<ExitCode, Failure> {
    carry_out(plan, args).map(|(_, exit)| exit.into())
}

/// As [`run`], but returns the saved runs and the exit code.
pub fn carry_out(plan: Plan, args: &Args) -> Result<(Vec<SavedRun>, Exit), Failure> {
    let mut output = output(args);
    let directory = execute::directory(&plan, &output);
    output.directory = Some(directory.clone());
    let (runs, exit) = execute::carry_out(plan, &output)?;
    // --html conflicts with --repeat, so there is one run.
    if let (Some(file), Some(run)) = (&args.shown.html, runs.first()) {
        html::write_beside(&report::html(run), &directory, file.as_deref())?;
    }
    Ok((runs, exit))
}
