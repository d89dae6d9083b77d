//! `plimsoll get`: a quick read load, with the flags that users of ab, wrk, hey and httpbench have in their fingers.

mod args;
pub mod plan;
pub mod read;
mod urls;

pub use args::{Args, count, seed};

use crate::execute::{self, Output, Print};
use crate::failure::Failure;
use std::process::ExitCode;

/// Carries it out.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let output = Output {
        directory: args.out.clone(),
        print: if args.json { Print::Json } else { args.print },
        live: !args.more.quiet,
        repeat: args.repeat.get(),
        objective: measure::Objective::SuccessAtLeast(args.more.success / 100.0),
    };
    execute::run(plan::of(args)?, &output)
}
