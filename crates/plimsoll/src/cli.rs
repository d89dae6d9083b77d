//! The command line: what can be asked for, and what is said when it can not be understood.

use crate::command::{demo, doctor, get, report, schema, serve};
use crate::failure::Failure;
use crate::foreign;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};
use std::ffi::OsString;
use std::process::ExitCode;

/// Finds the load line of storage: how much load a system that serves files over HTTP carries while it stays fast and correct.
#[derive(Parser, Debug)]
#[command(name = "plimsoll", version, max_term_width = 110, disable_help_subcommand = true, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 ran and the objectives held · 1 objectives failed · 2 bad usage · 3 ran, but the result must not be used
            4 could not run · 130/143 interrupted (a report is still written)";

/// What the program does.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// First run: starts the embedded server, loads it for a few seconds, prints the report.
    Demo(demo::Args),
    /// Loads one or more URLs with reads and prints figures that can be trusted.
    Get(Box<get::Args>),
    /// Serves files and blackhole objects, with delays, stalls and faults on request.
    Serve(Box<serve::Args>),
    /// Prints the report of a saved run, also of one that is still going on or was killed.
    Report(report::Args),
    /// Checks this host: limits, ports, buffers, clocks, its own ceiling; says how to mend each.
    Doctor(doctor::Args),
    /// Prints the JSON Schema of `--json`.
    Schema(schema::Args),
    /// Prints completions for a shell.
    Completions(schema::Completions),
}

/// Reads the command line.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Command, Failure> {
    Cli::try_parse_from(words).map(|cli| cli.command).map_err(|error| explain(&error))
}

impl Command {
    /// Carries it out.
    pub fn run(self) -> Result<ExitCode, Failure> {
        match self {
            Self::Demo(args) => demo::run(&args),
            Self::Get(args) => get::run(&args),
            Self::Serve(args) => serve::run(&args),
            Self::Report(args) => report::run(&args),
            Self::Doctor(args) => doctor::run(&args),
            Self::Schema(args) => schema::run(&args),
            Self::Completions(args) => schema::completions(&args, &mut Cli::command()),
        }
    }
}

fn explain(error: &clap::Error) -> Failure {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return Failure::Shown(error.render().to_string());
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Failure::usage(format!("no command given\n\n{}", error.render()));
    }
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let argument = context(ContextKind::InvalidArg);
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(hint) = argument.and_then(foreign::hint)
    {
        return Failure::usage(hint);
    }
    if let (ErrorKind::UnknownArgument, Some(argument)) = (error.kind(), argument) {
        let nearest =
            context(ContextKind::SuggestedArg).map(|flag| format!(", did you mean {flag}")).unwrap_or_default();
        return Failure::usage(format!(
            "there is no flag `{argument}`{nearest}? --help names the usual ones, `plimsoll get --help-all` all"
        ));
    }
    Failure::usage(one_line(error))
}

/// clap's message without its usage block: what, where, and the suggestion when it has one.
fn one_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let wanted = lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"));
    wanted.collect::<Vec<_>>().join(" ").replacen("error: ", "", 1)
}
