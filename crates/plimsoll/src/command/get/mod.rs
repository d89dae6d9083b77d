//! `plimsoll get`: a read load on one or more URLs.

mod args;
pub mod plan;
pub mod urls;

pub use args::Args;

use crate::failure::Failure;
use crate::load;
use std::process::ExitCode;

/// Runs the command.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    load::run_and_show(plan::of(args)?, &args.common)
}
