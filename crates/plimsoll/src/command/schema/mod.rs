//! `plimsoll schema` and `plimsoll completions`: output for editors and shells.

pub mod scenario;

use crate::console;
use crate::failure::Failure;
use clap::ValueEnum;
use clap_complete::Shell;
use std::process::ExitCode;

/// The documents that have a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum What {
    /// The output of `--json` for a run.
    Report,
    /// The output of `--repeat --json`: several runs in one document.
    Repeats,
    /// The output of `compare --json`.
    Comparison,
    /// The output of `line --json`.
    Line,
    /// The output of `run --json`.
    Study,
    /// The output of `fill --json`.
    Fill,
    /// The output of `prepare --json`.
    Prepare,
    /// The output of `cleanup --json`.
    Cleanup,
    /// A scenario file.
    Scenario,
}

/// The flags of `schema`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Document for which to print the schema.
    #[arg(value_enum, default_value = "report")]
    pub what: What,
}

/// Prints a JSON Schema. `command` is the parser of the command line.
pub fn run(args: &Args, command: &clap::Command) -> Result<ExitCode, Failure> {
    let schema = match args.what {
        What::Report => report::schema(),
        What::Repeats => report::repeats_schema(),
        What::Comparison => report::comparison_schema(),
        What::Line => report::load_line::schema(),
        What::Study => report::study::schema(),
        What::Fill => report::fill_schema(),
        What::Prepare => report::prepared_schema(),
        What::Cleanup => report::cleaned_schema(),
        What::Scenario => scenario::schema(command),
    };
    let schema = serde_json::to_string_pretty(&schema)
        .map_err(|error| Failure::could_not_run(format!("cannot write the schema: {error}")))?;
    console::print(&(schema + "\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// The flags of `completions`.
#[derive(clap::Args, Debug)]
pub struct Completions {
    /// Shell for which to print completions.
    pub shell: Shell,
}

/// Prints completions that a shell can source.
pub fn completions(args: &Completions, command: &mut clap::Command) -> Result<ExitCode, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, command, "plimsoll", &mut text);
    console::print(&String::from_utf8_lossy(&text))?;
    Ok(ExitCode::SUCCESS)
}
