//! The command line: what can be asked for, and what is said when it can not be understood.

use crate::command::load;
use crate::command::{
    cleanup, compare, demo, doctor, export, generate, get, line, merge, mix, owners, prepare, put, redirects, report,
    run, schema, serve,
};
use crate::execute::Output;
use crate::failure::Failure;
use crate::{foreign, redact};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};
use engine::plan::Plan;
use std::ffi::OsString;
use std::process::ExitCode;

/// Finds the load line of storage: how much load a system that serves files over HTTP carries while it stays fast and correct.
#[derive(Parser, Debug)]
#[command(name = "plimsoll", version, max_term_width = 110, disable_help_subcommand = true, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 PASS, or PARTIAL · 1 FAIL · 2 bad usage · 3 UNUSABLE · 4 could not run
            129/130/143 interrupted (a report is still written)";

/// What the program does.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// First run: starts the embedded server, finds its load line, prints the report.
    Demo(demo::Args),
    /// Loads one or more URLs with reads and prints figures that can be trusted.
    Get(Box<get::Args>),
    /// Writes objects, made as they are sent or read from files.
    Put(Box<put::Args>),
    /// Loads a prepared dataset with a mix of reads, heads, writes, deletions and listings.
    Mix(Box<mix::Args>),
    /// Runs a study from a scenario file: targets, a matrix of settings, repeats in a fair order.
    Run(run::Args),
    /// Finds the load line: the highest load at which all objectives are met.
    #[command(visible_alias = "capacity")]
    Line(Box<line::Args>),
    /// Makes a dataset on a target, once.
    Prepare(Box<prepare::Args>),
    /// Deletes what `prepare` and `mix` made on a target, and nothing else.
    Cleanup(Box<cleanup::Args>),
    /// Writes a dataset to disk: files of any sizes, whose bytes follow from a seed.
    Generate(Box<generate::Args>),
    /// Asks a redirecting cluster which server owns which object, and writes lists for `get`.
    Owners(Box<owners::Args>),
    /// Measures what redirects cost: the same objects through one server and at their owners.
    Redirects(Box<redirects::Args>),
    /// Serves files and blackhole objects, with delays, stalls and faults on request.
    Serve(Box<serve::Args>),
    /// Prints the report of a saved run, also of one that is still going on or was killed.
    Report(report::Args),
    /// Compares two sets of saved runs: what got worse, what better, and what can not be told.
    Compare(compare::Args),
    /// Makes one run of those that several machines made at the same time.
    Merge(merge::Args),
    /// Writes saved runs as other programs read them: CSV, Parquet, HdrHistogram, Markdown.
    Export(export::Args),
    /// Checks this host: limits, ports, buffers, clocks, its own ceiling; says how to mend each.
    Doctor(doctor::Args),
    /// Prints JSON Schemas: of `--json`, and of scenarios.
    Schema(schema::Args),
    /// Prints completions for a shell.
    Completions(schema::Completions),
}

/// Reads the command line.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Command, Failure> {
    let words: Vec<OsString> = words.into_iter().collect();
    Cli::try_parse_from(&words).map(|cli| cli.command).map_err(|error| explain(&error, &words))
}

impl Command {
    /// What all commands that make load have in common; `None` for the others.
    pub fn common(&self) -> Option<&load::Args> {
        match self {
            Self::Get(args) => Some(&args.common),
            Self::Put(args) => Some(&args.common),
            Self::Mix(args) => Some(&args.common),
            _ => None,
        }
    }

    /// What a command that makes load would carry out.
    pub fn plan(&self) -> Result<(Plan, Output), Failure> {
        let plan = match self {
            Self::Get(args) => get::plan::of(args)?,
            Self::Put(args) => put::plan(args)?,
            Self::Mix(args) => mix::plan(args)?,
            _ => return Err(Failure::usage("`command` is get, put or mix")),
        };
        let output = self.common().map(load::output);
        output.map(|output| (plan, output)).ok_or_else(|| Failure::usage("`command` is get, put or mix"))
    }

    /// Whether it makes load and could be carried out, as far as that is known without asking a target.
    pub fn check(&self) -> Result<(), Failure> {
        match self {
            // Its dataset is asked for where it lies.
            Self::Mix(_) => Ok(()),
            Self::Line(args) => line::check(args),
            _ => self.plan().map(|_| ()),
        }
    }

    /// Carries it out.
    pub fn run(self) -> Result<ExitCode, Failure> {
        match self {
            Self::Demo(args) => demo::run(&args),
            Self::Get(args) => get::run(&args),
            Self::Put(args) => put::run(&args),
            Self::Mix(args) => mix::run(&args),
            Self::Run(args) => run::run(&args),
            Self::Line(args) => line::run(*args),
            Self::Prepare(args) => prepare::run(&args),
            Self::Cleanup(args) => cleanup::run(&args),
            Self::Generate(args) => generate::run(&args),
            Self::Owners(args) => owners::run(&args),
            Self::Redirects(args) => redirects::run(&args),
            Self::Serve(args) => serve::run(&args),
            Self::Report(args) => report::run(&args),
            Self::Compare(args) => compare::run(&args),
            Self::Merge(args) => merge::run(&args),
            Self::Export(args) => export::run(&args),
            Self::Doctor(args) => doctor::run(&args),
            Self::Schema(args) => schema::run(&args, &Cli::command()),
            Self::Completions(args) => schema::completions(&args, &mut Cli::command()),
        }
    }
}

/// What clap refuses, in one line: what, where, and how to mend it.
fn explain(error: &clap::Error, words: &[OsString]) -> Failure {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let argument = context(ContextKind::InvalidArg);
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => return Failure::Shown(error.render().to_string()),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            return Failure::Unasked(format!("no command given\n\n{}", error.render()));
        }
        ErrorKind::InvalidSubcommand => {
            let word = redact::url_text(context(ContextKind::InvalidSubcommand).unwrap_or_default());
            let mend = match error.get(ContextKind::SuggestedSubcommand) {
                _ if word.contains("://") => format!("write `plimsoll get {word}`"),
                Some(ContextValue::Strings(near)) if !near.is_empty() => format!("did you mean {}?", near.join(" or ")),
                _ => "`plimsoll --help` names all".to_owned(),
            };
            return Failure::usage(format!("there is no command `{word}`: {mend}"));
        }
        ErrorKind::UnknownArgument | ErrorKind::ValueValidation => {
            let typed = words.iter().filter_map(|word| word.to_str());
            let foreign = typed.filter_map(foreign::long_hint).next();
            if let Some(hint) = foreign {
                return Failure::usage(hint);
            }
        }
        ErrorKind::InvalidUtf8 => {
            // Not shown: it may hold a secret.
            let at = words.iter().position(|word| word.to_str().is_none()).unwrap_or_default();
            return Failure::usage(format!("argument {at} is not UTF-8: write such bytes of a URL as %XX"));
        }
        ErrorKind::MissingRequiredArgument => {
            if let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg) {
                return Failure::usage(format!("missing: {}; {}", missing.join(", "), help(words)));
            }
        }
        _ => {}
    }
    match (error.kind(), argument) {
        (ErrorKind::UnknownArgument, Some(argument)) => {
            // Hardly anybody mistypes the first letter; what differs there is another word.
            let first = |flag: &str| flag.trim_start_matches('-').chars().next();
            let nearest = context(ContextKind::SuggestedArg).filter(|flag| first(flag) == first(argument));
            let told = below_zero(argument, words).or_else(|| foreign::hint(argument));
            Failure::usage(told.unwrap_or_else(|| unknown(argument, nearest, words)))
        }
        (ErrorKind::ValueValidation, Some(argument)) => {
            let flag = argument.split(' ').next().unwrap_or(argument);
            let why = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
            let value = context(ContextKind::InvalidValue).unwrap_or_default();
            // Most messages repeat the value themselves.
            let shown = if why.contains(&format!("`{value}`")) || why.starts_with(value) {
                String::new()
            } else {
                format!(" {value}")
            };
            Failure::usage(format!("{flag}{shown}: {why}"))
        }
        _ => Failure::usage(one_line(error)),
    }
}

/// Where the command that was typed is explained.
fn help(words: &[OsString]) -> String {
    let command = words.get(1).and_then(|word| word.to_str()).filter(|word| !word.starts_with('-'));
    match command {
        Some("get") => "`plimsoll get --help-all` names all flags".to_owned(),
        Some(command) => format!("`plimsoll {command} --help` names all flags"),
        None => "`plimsoll --help` names the commands".to_owned(),
    }
}

/// What to say about a negative value, which looks like a flag: `-d -1s`. No more of it is shown than clap takes for one.
fn below_zero(argument: &str, words: &[OsString]) -> Option<String> {
    let is_negative =
        |word: &str| word.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let is_its = |flag: &str, value: &str| flag.starts_with('-') && !is_negative(flag) && value.starts_with(argument);
    let mut pairs = words.iter().zip(words.iter().skip(1)).filter(|_| is_negative(argument));
    let flag =
        pairs.find_map(|(flag, value)| flag.to_str().filter(|flag| is_its(flag, value.to_str().unwrap_or(""))))?;
    Some(format!("{flag}: a value that begins with `{argument}` is below 0: leave out the minus sign"))
}

/// A word that nothing is known by.
fn unknown(argument: &str, nearest: Option<&str>, words: &[OsString]) -> String {
    let help = help(words);
    if !argument.starts_with('-') {
        return format!("`{}` is one word too many: {help}", redact::url_text(argument));
    }
    match nearest {
        Some(flag) => format!("there is no flag `{argument}`: did you mean {flag}? {help}"),
        None => format!("there is no flag `{argument}`: {help}"),
    }
}

/// clap's message without its usage block: what, where, and the suggestion when it has one.
fn one_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let wanted = lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"));
    wanted.collect::<Vec<_>>().join(" ").replacen("error: ", "", 1)
}
