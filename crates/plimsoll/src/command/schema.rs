//! `plimsoll schema` and `plimsoll completions`: what other programs read.

use crate::failure::Failure;
use crate::say;
use clap_complete::Shell;
use std::process::ExitCode;

/// Which schema.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The schema of what --repeat prints: several runs in one document.
    #[arg(long)]
    pub repeats: bool,
    /// The schema of what `compare --json` prints.
    #[arg(long, conflicts_with = "repeats")]
    pub comparison: bool,
}

/// Prints the JSON Schema of the report.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let schema = match args {
        Args { repeats: true, .. } => report::repeats_schema(),
        Args { comparison: true, .. } => report::comparison_schema(),
        Args { .. } => report::schema(),
    };
    let schema = serde_json::to_string_pretty(&schema)
        .map_err(|error| Failure::could_not_run(format!("the schema can not be written: {error}")))?;
    say::out(&(schema + "\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// Which shell.
#[derive(clap::Args, Debug)]
pub struct Completions {
    /// The shell.
    pub shell: Shell,
}

/// Prints completions, to be sourced by the shell.
pub fn completions(args: &Completions, command: &mut clap::Command) -> Result<ExitCode, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, command, "plimsoll", &mut text);
    say::out(&String::from_utf8_lossy(&text))?;
    Ok(ExitCode::SUCCESS)
}
