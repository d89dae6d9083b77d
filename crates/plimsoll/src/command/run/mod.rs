//! `plimsoll run`: a whole study from one file. Every trial is a run of `get`, `put` or `mix`, or a search for the load line, with a
//! directory of its own, and a study that was stopped goes on where it was.

mod check;
mod differing;
mod dry;
mod hooks;
mod measure;
pub mod saved;
mod show;

use crate::cli::{self, Command};
use crate::execute::{self, Print};
use crate::failure::{Exit, Failure};
use crate::say;
use ::measure::ExitStatus;
use ::measure::units::ByteSize;
use report::escape::escape;
use report::number::plural;
pub use show::{show, write_html};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use study::document::BYTES_MAX;
use study::matrix::{self, Cell, Words};
use study::{Fault, Scenario, trials};

/// Which study, and how much of it.
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER)]
pub struct Args {
    /// The scenario: a YAML file, or - for standard input.
    #[arg(value_name = "SCENARIO")]
    pub scenario: PathBuf,
    /// Set a variable of the scenario.
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    pub set: Vec<(String, String)>,
    /// Only trials with this value of an axis, or of `part` or `target`; several times.
    #[arg(long, value_name = "AXIS=VALUE", value_parser = pair)]
    pub only: Vec<(String, String)>,
    /// Print cells, trials and their projected time, and run nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// The speed that --dry-run reckons with, like 1.25GB/s: the time of cells that end by operations, the bytes of others.
    #[arg(long, value_name = "SPEED", value_parser = speed, requires = "dry_run")]
    pub assume: Option<f64>,
    /// Go on with the study in this directory: trials that are there are not run again.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "dry_run"])]
    pub resume: Option<PathBuf>,
    /// Where the runs are saved [default: runs/TIME-NAME].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
    /// Write the result as an HTML file with charts as well, which opens offline [default: DIR/report.html].
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    pub html: Option<Option<PathBuf>>,
}

const AFTER: &str = "A scenario names targets, settings (the flags of `get`, `put` or `mix` without their dashes) and a matrix of values;
docs/scenarios.md has all of it. `plimsoll report DIR` shows a study again, `plimsoll report DIR/TRIAL` one run.";

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("`{text}` is not like name=value"))?;
    Ok((name.to_owned(), value.to_owned()))
}

fn speed(text: &str) -> Result<f64, String> {
    let wrong = || format!("`{text}` is no speed: write it like 1.25GB/s");
    let size: ByteSize = text.strip_suffix("/s").ok_or_else(wrong)?.parse().map_err(|_| wrong())?;
    if size.0 > 0 { Ok(size.0 as f64) } else { Err(wrong()) }
}

/// A trial with all that it needs.
struct Planned {
    cell: String,
    target: String,
    repeat: u32,
    directory: String,
    words: Words,
    /// What its hooks are told.
    told: Vec<(String, String)>,
}

/// Carries it out.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let _ = sys::signals::catch_interrupts();
    let text = read(&args.scenario)?;
    let file = args.scenario.display().to_string();
    let faulty = |faults: Vec<Fault>| {
        faults.iter().for_each(|fault| say::note(&format!("{file}:{}", escape(&fault.to_string()))));
        Failure::usage(format!("{} in {file}", plural(faults.len() as u64, "mistake")))
    };
    check::set(&text, &args.set, &file)?;
    let scenario = Scenario::parse(&text, &args.set, &|name| std::env::var(name).ok()).map_err(faulty)?;
    let faults = check::names(&scenario);
    if !faults.is_empty() {
        return Err(faulty(faults));
    }
    let planned = plan(&scenario, args)?;
    let faults = check::settings(&planned);
    if !faults.is_empty() {
        return Err(faulty(faults));
    }
    if args.dry_run {
        return say::out(&dry::text(&scenario, &planned, args.assume)).map(|()| ExitCode::SUCCESS);
    }
    let (base, mut log, done) = measure::begin(args, &scenario, &text, planned.len())?;
    let ended = measure::all(&planned, &base, &mut log, &done);
    let broken_off = match &ended {
        Ok(exit) => exit.broken_off(),
        Err(_) => Some(ExitStatus::CouldNotRun),
    };
    let deserved = finish(args, &base, broken_off);
    match (ended, deserved) {
        (Ok(exit), Ok(deserved)) => Ok(execute::worse(exit, deserved).into()),
        (Err(failure), Ok(_)) => {
            Err(failure.and(&format!("`plimsoll run {file} --resume {}` goes on", base.display())))
        }
        // Why it broke off comes last.
        (Err(failure), Err(unshown)) => {
            unshown.tell();
            Err(failure)
        }
        (Ok(_), Err(unshown)) => Err(unshown),
    }
}

/// Shows what is there of a study, and gives the exit code that its trials deserve.
fn finish(args: &Args, base: &Path, broken_off: Option<ExitStatus>) -> Result<Exit, Failure> {
    let records = store::read_study(base).map_err(|error| execute::unread_again(&error))?;
    let (mut study, deserved) = saved::read(base, &records)?;
    study.measured.broken_off = broken_off;
    show(&study, if args.json { Print::Json } else { Print::Text })?;
    if let Some(file) = &args.html {
        write_html(&study, base, file.as_deref())?;
    }
    say::note(&format!("saved in {}", base.display()));
    Ok(deserved)
}

fn read(path: &Path) -> Result<String, Failure> {
    let failed = |error: std::io::Error| {
        Failure::usage(format!("{} can not be read: {error}; name a scenario file", path.display()))
    };
    let mut text = String::new();
    // One byte more than allowed, so that a file that is too large is told by its reader.
    let most = BYTES_MAX as u64 + 1;
    match path.to_str() {
        Some("-") => std::io::stdin().take(most).read_to_string(&mut text).map_err(failed)?,
        _ => std::fs::File::open(path).map_err(failed)?.take(most).read_to_string(&mut text).map_err(failed)?,
    };
    Ok(text)
}

/// All trials that are asked for, in order.
fn plan(scenario: &Scenario, args: &Args) -> Result<Vec<Planned>, Failure> {
    let cells = matrix::cells(scenario).ok_or_else(|| {
        Failure::usage(format!("the matrix has more than {} cells: leave out values or axes", matrix::CELLS_MAX))
    })?;
    let wanted = |cell: &Cell, target: &str| {
        args.only.iter().all(|(name, value)| match name.as_str() {
            "target" => target == value,
            "part" => scenario.parts.get(cell.part).is_some_and(|part| part.name == *value),
            axis => {
                cell.values.iter().any(|(known, held)| known == axis && (held.label == *value || held.value == *value))
            }
        })
    };
    let mut planned = Vec::new();
    for trial in trials::trials(scenario, cells.len()) {
        let (Some(cell), Some(target)) = (cells.get(trial.cell), scenario.targets.get(trial.target)) else { continue };
        if !wanted(cell, &target.name) {
            continue;
        }
        let of_target = matrix::directory_name(&target.name);
        planned.push(Planned {
            cell: cell.label(scenario),
            target: target.name.clone(),
            repeat: trial.repeat,
            directory: format!("{:03}-{}/{of_target}-{}", trial.cell + 1, cell.directory(scenario), trial.repeat + 1),
            words: cell.words(scenario, target),
            told: study::hooks::environment(scenario, cell, target, trial.repeat),
        });
    }
    if planned.is_empty() {
        let asked: Vec<String> = args.only.iter().map(|(name, value)| format!("{name}={value}")).collect();
        return Err(Failure::usage(format!(
            "--only {} leaves no trial: there are {}",
            escape(&asked.join(" --only ")),
            selectable(scenario)
        )));
    }
    Ok(planned)
}

/// What `--only` can name, with the values that there are.
fn selectable(scenario: &Scenario) -> String {
    let mut all: Vec<(&str, Vec<&str>)> =
        vec![("target", scenario.targets.iter().map(|target| target.name.as_str()).collect())];
    let parts: Vec<&str> =
        scenario.parts.iter().map(|part| part.name.as_str()).filter(|name| !name.is_empty()).collect();
    all.extend((!parts.is_empty()).then_some(("part", parts)));
    for axis in scenario.parts.iter().flat_map(|part| &part.axes) {
        let place = all.iter().position(|(name, _)| *name == axis.name).unwrap_or_else(|| {
            all.push((&axis.name, Vec::new()));
            all.len() - 1
        });
        for label in axis.values.iter().map(|value| value.label.as_str()) {
            if !all[place].1.contains(&label) {
                all[place].1.push(label);
            }
        }
    }
    let shown = |(name, values): &(&str, Vec<&str>)| format!("{name} ({})", values.join(", "));
    all.iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// The command of a trial, as it would be typed.
fn command(words: &Words) -> Result<Command, Failure> {
    let typed = ["plimsoll".to_owned(), words.command.clone()].into_iter().chain(words.words.iter().cloned());
    cli::parse(typed.map(Into::into))
}
