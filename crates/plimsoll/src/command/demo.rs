//! `plimsoll demo`: the first run. Nothing but this program is needed: it loads its own server.

use super::{embedded, get};
use crate::execute::{self, Output, Print};
use crate::failure::Failure;
use crate::say;
use report::number::plural;
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
    let (server, address) = embedded::start()?;
    let line = format!("{LOAD} http://{address}/blackhole/16KiB");
    say::note(&format!("loading the embedded server for 5 s, as this would do:\n  plimsoll {line}\n"));
    let load = get::Args::of_line(&line)?;
    let output = Output {
        directory: args.out.clone(),
        print: if args.json { Print::Json } else { Print::Text },
        live: true,
        repeat: 1,
        objectives: vec![measure::Objective::DEFAULT],
    };
    let exit = execute::run(get::plan::of(&load)?, &output);
    let ledger = server.stop();
    say::note(&format!(
        "the server's own books: {}, {} complete",
        plural(ledger.requests(), "request"),
        plural(ledger.complete.count, "answer")
    ));
    say::note("next: plimsoll get http://host:port/path, plimsoll doctor, plimsoll --help");
    exit
}
