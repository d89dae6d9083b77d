//! `plimsoll demo`: the first run. Nothing but this program is needed: it loads its own server.

use super::get_plan;
use crate::cli;
use crate::execute::{self, Output, Print};
use crate::failure::Failure;
use crate::say;
use server::{Config, Server};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

/// How the demonstration is shown.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Where the run is saved [default: runs/TIME-TARGET].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the report as JSON.
    #[arg(long)]
    pub json: bool,
}

/// What the demonstration does, as a user would type it.
const LOAD: &str = "get -c 32 -d 5s";

/// Starts the server, loads it, prints the report.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    // One thread is enough for the server, and leaves the other cores to the client.
    let config = Config { threads: NonZeroUsize::new(1), ..Config::default() };
    let server = Server::start(&config)
        .map_err(|error| Failure::could_not_run(format!("the embedded server can not start: {error}")))?;
    let address = server
        .addresses()
        .first()
        .copied()
        .ok_or_else(|| Failure::could_not_run("the embedded server has no address"))?;
    let line = format!("plimsoll {LOAD} http://{address}/blackhole/16KiB");
    say::note(&format!("loading the embedded server for 5 s, as this would do:\n  {line}\n"));
    let get = cli::parse_get(line.split(' ').map(Into::into))?;
    let output = Output {
        directory: args.out.clone(),
        print: if args.json { Print::Json } else { Print::Text },
        live: true,
        repeat: 1,
        objective: measure::Objective::DEFAULT,
    };
    let exit = execute::run(get_plan::of(&get)?, &output);
    let ledger = server.stop();
    say::note(&format!(
        "the server's own books: {} requests, {} answers complete",
        ledger.requests(),
        ledger.complete.count
    ));
    say::note("next: plimsoll get http://host:port/path, plimsoll doctor, plimsoll --help");
    exit
}
