//! The commands, one file each.

pub mod demo;
pub mod doctor;
pub mod get;
mod get_plan;
pub mod report;
pub mod schema;
pub mod serve;

use crate::cli::Command;
use crate::failure::Failure;
use std::process::ExitCode;

/// Carries out a command.
pub fn run(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Demo(args) => demo::run(&args),
        Command::Get(args) => get::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Completions(args) => schema::completions(&args),
    }
}
