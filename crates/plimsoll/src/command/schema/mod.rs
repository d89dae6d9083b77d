//! `plimsoll schema` and `plimsoll completions`: what other programs read.

pub mod scenario;

use crate::failure::Failure;
use crate::say;
use clap::ValueEnum;
use clap_complete::Shell;
use std::process::ExitCode;

/// What has a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum What {
    /// What `--json` prints of a run.
    Report,
    /// What `--repeat --json` prints: several runs in one document.
    Repeats,
    /// What `compare --json` prints.
    Comparison,
    /// What `line --json` prints.
    Line,
    /// What `run --json` prints.
    Study,
    /// What `prepare --json` prints.
    Prepare,
    /// What `cleanup --json` prints.
    Cleanup,
    /// What a scenario file holds.
    Scenario,
}

/// Which schema.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// What the schema is of.
    #[arg(value_enum, default_value = "report")]
    pub what: What,
}

/// Prints a JSON Schema; `command` is the whole command line.
pub fn run(args: &Args, command: &clap::Command) -> Result<ExitCode, Failure> {
    let schema = match args.what {
        What::Report => report::schema(),
        What::Repeats => report::repeats_schema(),
        What::Comparison => report::comparison_schema(),
        What::Line => report::load_line::schema(),
        What::Study => report::study::schema(),
        What::Prepare => report::prepared_schema(),
        What::Cleanup => report::cleaned_schema(),
        What::Scenario => scenario::schema(command),
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
