//! Plimsoll finds the load line of systems that store and serve files over HTTP.
//!
//! This crate is the program. Flags, colors and exit codes are defined only here. Each command is a module of
//! [`command`]. [`execute`] runs a plan and records its results. [`saved`] reads and shows saved runs.

mod cli;
mod collectors;
mod command;
mod console;
mod credentials;
#[cfg(test)]
mod documented_commands;
mod embedded_server;
mod emulated_link;
mod execute;
mod failure;
mod hosts;
mod input_file;
mod live_metrics;
mod load;
mod prices;
mod progress;
mod redact;
mod saved;
mod secret_reference;
mod shell;
mod single_request;
mod usage_errors;

use std::process::ExitCode;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|info| {
        console::overlay::remove_forever();
        let location = info.location().map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default();
        console::eprintln(&format!("plimsoll: internal error{location}; please report it, with the command line"));
    }));
    let _ = sys::signals::refuse_files_too_large();
    let exit = match cli::parse(std::env::args_os()) {
        Ok(command) => command.run().unwrap_or_else(console::report),
        Err(failure) => console::report(failure),
    };
    console::overlay::remove_forever();
    exit
}
