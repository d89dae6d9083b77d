//! Plimsoll finds the load line of systems that store and serve files over HTTP.
//!
//! This is the program: the only place with flags, colours and exit codes. Commands are in [`command`], one file each;
//! [`execute`] carries out a plan and saves and shows what came of it.

mod cli;
mod command;
mod credentials;
mod execute;
mod failure;
mod foreign;
mod redact;
mod say;
mod typed;

use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default();
        say::note(&format!("plimsoll: a defect in this program{place}. Please report it with the command line."));
    }));
    let _ = sys::signals::refuse_files_too_large();
    match cli::parse(std::env::args_os()) {
        Ok(command) => command.run().unwrap_or_else(Failure::tell),
        Err(failure) => Failure::tell(failure),
    }
}
