//! What the commands that make load have in common: their flags, and what follows from them.

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

/// Runs the plan as the flags say.
pub fn run(plan: Plan, args: &Args) -> Result<ExitCode, Failure> {
    carry_out(plan, args).map(|(_, exit)| exit.into())
}

/// As [`run`], and gives the saved runs with the exit code that they deserve.
pub fn carry_out(plan: Plan, args: &Args) -> Result<(Vec<SavedRun>, Exit), Failure> {
    let mut output = output(args);
    let directory = execute::directory(&plan, &output);
    output.directory = Some(directory.clone());
    let (runs, exit) = execute::carry_out(plan, &output)?;
    // The flag does not go with --repeat: there is one run.
    if let (Some(file), Some(run)) = (&args.shown.html, runs.first()) {
        html::write_beside(&report::html(run), &directory, file.as_deref())?;
    }
    Ok((runs, exit))
}
