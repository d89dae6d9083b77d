//! Maintainer tasks. `cargo xtask bench …` measures Plimsoll, and compares the results with other load testers and with
//! goals. `cargo xtask crash` kills fills, and checks that nothing is lost.
//!
//! All load stays on this machine and is limited in time. Every task ends the processes that it started, and removes
//! the files that it wrote, even after Ctrl-C.

mod bench;
mod console;
mod crash;
mod embedded_server;
mod failure;
mod goal;
mod host;
mod median;
mod nginx;
mod pictures;
mod plimsoll;
mod process;
mod shuffle;

use clap::{Parser, Subcommand};
use failure::{Context, Failure, Result};
use std::process::ExitCode;

/// Maintainer tasks.
#[derive(Parser, Debug)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

/// The tasks.
#[derive(Subcommand, Debug)]
enum Task {
    /// Measure Plimsoll on this machine.
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Kill fills and their servers at random times, and check that nothing is lost.
    Crash(crash::Args),
    /// Draw the pictures of README.
    Pictures(pictures::Args),
}

fn main() -> ExitCode {
    let Cli { task } = Cli::parse();
    let run = || match &task {
        Task::Bench(bench) => bench::run(bench),
        Task::Crash(args) => crash::run(args),
        Task::Pictures(args) => pictures::run(args),
    };
    match prepare().and_then(|()| run()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            console::note(format_args!("xtask: {failure}"));
            ExitCode::from(if matches!(failure, Failure::Interrupted) { 130 } else { 4 })
        }
    }
}

/// Catches Ctrl-C, so that an interrupted task cleans up. Raises the limit on open files for child processes, because
/// some clients open a thousand connections.
fn prepare() -> Result<()> {
    sys::signals::catch_interrupts().cannot("catch Ctrl-C")?;
    sys::limits::raise_descriptor_limit().cannot("raise the limit on open files")?;
    Ok(())
}
