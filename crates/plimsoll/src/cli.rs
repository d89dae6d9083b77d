//! The command line: all commands, their help texts, and the functions that run them.

use crate::command::load_command::LoadCommand;
use crate::command::{
    agent, cleanup, collect, compare, demo, doctor, export, fill, fleet, generate, get, line, link, merge, mix, owners,
    prepare, put, redirects, report, run, schema, serve,
};
use crate::emulated_link::{self, LinkName};
use crate::failure::Failure;
use crate::hosts;
use crate::load::machines;
use crate::usage_errors;
use clap::{CommandFactory, Parser, Subcommand};
use std::ffi::OsString;
use std::process::ExitCode;

/// Finds the load line of HTTP storage: the highest load at which the storage stays fast and correct.
#[derive(Parser, Debug)]
#[command(name = "plimsoll", version, max_term_width = 110, disable_help_subcommand = true, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 PASS, or PARTIAL · 1 FAIL · 2 bad usage · 3 UNUSABLE · 4 could not run
            129/130/143 interrupted (a report is still written)";

/// A command of the program.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Finds the load line of an embedded server, for a first try without any other server.
    Demo(demo::Args),
    #[command(flatten)]
    Load(LoadCommand),
    /// Runs the study in a scenario file: several targets and settings, in a fair order.
    Run(Box<run::Args>),
    /// Writes a dataset to a target, once.
    Prepare(Box<prepare::Args>),
    /// Deletes what `prepare` and `mix` wrote to a target, and nothing else.
    Cleanup(Box<cleanup::Args>),
    /// Writes a dataset to disk: files of any sizes with reproducible content.
    Generate(Box<generate::Args>),
    /// Finds which server of a redirecting cluster owns each object, and writes lists for `get`.
    Owners(Box<owners::Args>),
    /// Measures the cost of redirects: reads the same objects through one server and from their owners.
    Redirects(Box<redirects::Args>),
    /// Polls metrics of systems, hosts and processes, into a table or a time series.
    Collect(Box<collect::Args>),
    /// Emulates the network between a client and a target: rate, delay, loss.
    Link(link::Args),
    /// Serves files and blackhole objects, with optional delays, stalls and faults.
    Serve(Box<serve::Args>),
    /// Prints the report of a saved run, even of one in progress or interrupted.
    Report(report::Args),
    /// Compares two sets of saved runs: each metric is worse, better, equivalent or inconclusive.
    Compare(compare::Args),
    /// Merges runs that several machines made at the same time.
    Merge(merge::Args),
    /// Exports saved runs for other programs: CSV, Parquet, HdrHistogram, Markdown.
    Export(export::Args),
    /// Checks limits, ports, buffers, clocks and maximum load of this host, and prints fixes.
    Doctor(doctor::Args),
    /// Waits for runs on several hosts (`--fleet`), and makes a part of each.
    Agent(agent::Args),
    /// Sets up a message bus for `--fleet`, and collects runs whose command was killed.
    Fleet(fleet::Args),
    /// Prints JSON Schemas of the `--json` outputs and of scenarios.
    Schema(schema::Args),
    /// Prints completions for a shell.
    Completions(schema::Completions),
}

/// Parses the command line.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Command, Failure> {
    let parser = Cli::command();
    let words = usage_errors::with_help_flag(words.into_iter().collect(), &parser);
    usage_errors::check_single_dashes(&words, &parser)?;
    let cli = Cli::try_parse_from(&words).map_err(|error| usage_errors::explain::<Cli>(&error, &words))?;
    let mut command = cli.command;
    if let Command::Load(load) = &mut command {
        usage_errors::check_scheme(load)?;
    }
    Ok(command)
}

impl Command {
    /// Runs the command.
    pub fn run(self) -> Result<ExitCode, Failure> {
        match self {
            Self::Demo(args) => demo::run(&args),
            Self::Load(command) => run_load(command),
            Self::Run(args) => run::run(&args),
            Self::Prepare(args) => machines::refuse(&args.common)
                .and_then(|()| through(args.common.connections.link, || prepare::run(&args))),
            Self::Cleanup(args) => machines::refuse(&args.common)
                .and_then(|()| through(args.common.connections.link, || cleanup::run(&args))),
            Self::Generate(args) => generate::run(&args),
            Self::Owners(args) => owners::run(&args),
            Self::Redirects(args) => redirects::run(&args),
            Self::Collect(args) => collect::run(&args),
            Self::Link(args) => link::run(&args),
            Self::Serve(args) => serve::run(&args),
            Self::Report(args) => report::run(&args),
            Self::Compare(args) => compare::run(&args),
            Self::Merge(args) => merge::run(&args),
            Self::Export(args) => export::run(&args),
            Self::Doctor(args) => doctor::run(&args),
            Self::Agent(args) => agent::run(&args),
            Self::Fleet(args) => fleet::run(&args),
            Self::Schema(args) => schema::run(&args, &Cli::command()),
            Self::Completions(args) => schema::completions(&args, &mut Cli::command()),
        }
    }
}

/// Runs a command that makes load: on several hosts, or on this one.
fn run_load(command: LoadCommand) -> Result<ExitCode, Failure> {
    if let Some(machines) = command.common().fleet.machines() {
        return hosts::run(command, machines);
    }
    let link = emulated_link::prepare(command.link())?;
    // Live metrics are published on the network of this host, even if the load is made through a link.
    let _publishing = command.common().output.live_metrics.start()?;
    emulated_link::within(link.as_ref(), || match command {
        LoadCommand::Get(args) => get::run(&args),
        LoadCommand::Put(args) => put::run(&args),
        LoadCommand::Mix(args) => mix::run(&args),
        LoadCommand::Line(args) => line::run(*args),
        LoadCommand::Fill(args) => fill::run(&args),
    })
}

/// Runs a command through a link, if a flag names one.
fn through(
    name: Option<LinkName>,
    work: impl FnOnce() -> Result<ExitCode, Failure> + Send,
) -> Result<ExitCode, Failure> {
    emulated_link::within(emulated_link::prepare(name)?.as_ref(), work)
}
