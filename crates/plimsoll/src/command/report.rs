//! `plimsoll report`: the report of a saved run, at any time.

use crate::execute::{self, Print};
use crate::failure::Failure;
use std::path::PathBuf;
use std::process::ExitCode;
use store::SavedRun;

/// Which run, and how.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The run directory.
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Print as JSON.
    #[arg(long, conflicts_with = "print")]
    pub json: bool,
    /// Print as text, or as ab or httpbench would.
    #[arg(long, value_enum, default_value = "text", value_name = "FORM")]
    pub print: Print,
}

/// Prints it. The exit code is that of the run.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let saved = SavedRun::read(&args.directory).map_err(|error| {
        Failure::usage(format!("{error}: name the directory of a run, like runs/20261121-023000-localhost_8080"))
    })?;
    execute::show(&saved, if args.json { Print::Json } else { args.print })?;
    Ok(execute::judge(&saved).into())
}
