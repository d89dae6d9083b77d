//! `plimsoll get`: a read load on one or more URLs.

mod args;
pub mod plan;
pub mod read;
pub mod urls;

pub use args::Args;

use super::load;
use crate::failure::Failure;
use std::process::ExitCode;

/// Runs the command.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    load::run(plan::of(args)?, &args.common)
}
