//! Tasks of those who work on Plimsoll: `cargo xtask bench …` measures it, against other load testers and against the
//! numbers that it must reach.
//!
//! Load goes to this machine alone and is bounded in time. Whatever is started or written is ended and removed again,
//! also after Ctrl-C.

mod bench;
mod clients;
mod failure;
mod host;
mod nginx;
mod order;
mod process;
mod program;
mod say;
mod statistics;
mod stops;
mod verdict;
mod work;

use clap::{Parser, Subcommand};
use failure::{Failure, Result, While};
use std::process::ExitCode;

/// Tasks of those who work on Plimsoll.
#[derive(Parser, Debug)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

/// What can be done.
#[derive(Subcommand, Debug)]
enum Task {
    /// Measures the program on this machine, against nginx on loopback.
    #[command(subcommand)]
    Bench(bench::Bench),
}

fn main() -> ExitCode {
    let Cli { task: Task::Bench(bench) } = Cli::parse();
    match prepare().and_then(|()| bench::run(&bench)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            say::note(format_args!("xtask: {failure}"));
            ExitCode::from(if matches!(failure, Failure::Interrupted) { 130 } else { 4 })
        }
    }
}

/// Clients with a thousand connections need descriptors, which they inherit; an interrupted task still has to clean up.
fn prepare() -> Result<()> {
    sys::signals::catch_interrupts().cannot("catch Ctrl-C")?;
    sys::limits::raise_descriptor_limit().cannot("raise the limit on open files")?;
    Ok(())
}
