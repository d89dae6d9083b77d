//! doctor

use crate::failure::Failure;
use std::process::ExitCode;

/// Arguments.
#[derive(clap::Args, Debug)]
pub struct Args {}

/// Carries it out.
pub fn run(_: &Args) -> Result<ExitCode, Failure> {
    Err(Failure::could_not_run("doctor"))
}
