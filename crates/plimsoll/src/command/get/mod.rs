//! `plimsoll get`: a quick read load, with the flags that users of ab, wrk, hey and httpbench have in their fingers.

mod args;
pub mod plan;
pub mod read;
pub mod urls;

pub use args::Args;

use super::load;
use crate::failure::Failure;
use std::process::ExitCode;

/// Carries it out.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    load::run(plan::of(args)?, &args.common)
}
