//! `plimsoll run`: runs the study of a scenario file. A trial is a run of `get`, `put` or `mix`, a search for the load
//! line, or a fill. Every trial has its own directory. A study that was stopped can be resumed.

mod dry_run;
mod flag_mistakes;
mod hooks;
mod links;
mod machines;
mod run_trials;
mod served;
mod served_address;
mod target_process;
mod time_left;
mod validation;

use super::load_command::LoadCommand;
use crate::console;
use crate::failure::{Exit, Failure};
use crate::live_metrics;
use crate::load;
use crate::progress::{Progress, View};
use crate::saved::ci_output::CiOutput;
use crate::saved::{self, OutputFormat};
pub use machines::NAMING as MACHINE_FLAGS;
use machines::StudyMachines;
use measure::ExitStatus;
use measure::units::ByteSize;
use report::escape::escape;
use report::number::plural;
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use study::matrix::{self, Cell, TrialCommand};
use study::scenario::yaml::BYTES_MAX;
use study::scenario::{self, Diagnostic, Faulty, Rest, Scenario, Target, Variable};
use study::trial_order;

/// The flags of `run`.
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true, after_help = AFTER)]
pub struct Args {
    /// Scenario: a YAML file, or - for standard input.
    #[arg(value_name = "SCENARIO")]
    pub scenario: PathBuf,
    /// Set a variable of the scenario.
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    pub set: Vec<(String, String)>,
    /// Run only the trials with this value. AXIS is an axis, `part` or `target`. Repeat the flag for further axes or
    /// values.
    #[arg(long, value_name = "AXIS=VALUE", value_parser = pair)]
    pub only: Vec<(String, String)>,
    /// Print the cells with their expected times, but run nothing. A long list only has the parts of the study, unless
    /// --full is given.
    #[arg(long)]
    pub dry_run: bool,
    /// Print the variables of the scenario with their defaults, but run nothing.
    #[arg(long, conflicts_with_all = ["dry_run", "set", "only"])]
    pub list_vars: bool,
    /// Speed from which --dry-run estimates how long a trial takes, or how many bytes it transfers, e.g. 1.25GB/s.
    #[arg(long, value_name = "SPEED", value_parser = speed, requires = "dry_run")]
    pub assume: Option<f64>,
    /// Resume the study in this directory: run only the missing trials, and continue an unfinished fill.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "dry_run"])]
    pub resume: Option<PathBuf>,
    /// Directory in which to save the runs [default: runs/TIME-NAME].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
    /// Print all columns of the result. With --dry-run, print the command and the hooks of every cell.
    #[arg(long, conflicts_with = "json")]
    pub full: bool,
    /// Also write the result as an HTML file with charts, which opens offline [default: DIR/report.html].
    #[arg(long, value_name = "FILE", value_parser = load::output_file, num_args = 0..=1)]
    pub html: Option<Option<PathBuf>>,
    /// The machines that make the loads.
    #[command(flatten)]
    machines: machines::Args,
    /// The flags for CI systems.
    #[command(flatten)]
    pub ci: CiOutput,
    /// The flags for live metrics.
    #[command(flatten)]
    pub live_metrics: live_metrics::Args,
    /// Progress on a terminal: `full` for the matrix of cells and charts of the current trial (at least 80
    /// columns and 20 lines), `line` for one line, or `none` [default: full; line on a smaller terminal].
    #[arg(long, value_enum, value_name = "VIEW", hide_possible_values = true)]
    pub view: Option<View>,
    /// The flags for help.
    #[command(flatten)]
    help: load::Help,
}

const AFTER: &str = "A scenario has targets, settings (the flags of `get`, `put`, `mix` or `fill` without their dashes) and a matrix of \
    values; see docs/scenarios.md. `plimsoll report DIR` shows a study again, and `plimsoll report DIR/TRIAL` a single \
    run. --help-all prints every flag.";

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("`{text}` does not have the form NAME=VALUE"))?;
    Ok((name.to_owned(), value.to_owned()))
}

fn speed(text: &str) -> Result<f64, String> {
    let wrong = || format!("`{text}` is not a speed; use a form such as 1.25GB/s");
    let size: ByteSize = text.strip_suffix("/s").ok_or_else(wrong)?.parse().map_err(|_| wrong())?;
    if size.0 > 0 { Ok(size.0 as f64) } else { Err(wrong()) }
}

/// A trial with everything needed to run it.
#[derive(Clone)]
struct Planned {
    /// Index of the cell's part in the scenario.
    part: usize,
    cell: String,
    target: String,
    repeat: u32,
    directory: String,
    /// Numbers of its cell, target and repeat in the scenario, each from 1, as a plain name: `001-2-1`.
    numbers: String,
    command: TrialCommand,
    /// Environment variables for the trial's hooks.
    hook_environment: Vec<(String, String)>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let _ = sys::signals::catch_interrupts();
    let text = read(&args.scenario)?;
    let file = args.scenario.display().to_string();
    let faulty = |faults: Vec<Diagnostic>| {
        faults.iter().for_each(|fault| console::eprintln(&format!("{file}:{}", escape(&fault.to_string()))));
        Failure::usage(format!("{} in {file}", plural(faults.len() as u64, "mistake")))
    };
    if args.list_vars {
        let variables = scenario::variables(&text).map_err(|fault| faulty(vec![fault]))?;
        return console::print(&listed(&variables)).map(|()| ExitCode::SUCCESS);
    }
    let used = validation::set(&text, &args.set, &file);
    let (scenario, machines) = match parse(&text, args) {
        Ok(parsed) => parsed,
        Err(faults) => {
            used.unwrap_or_else(|unused| console::eprintln(&escape(&unused.into_message())));
            return Err(faulty(faults));
        }
    };
    used?;
    let planned = plan(&scenario, &args.only, &machines)?;
    if args.dry_run {
        return console::print(&dry_run::text(&scenario, &planned, args.assume, args.full)).map(|()| ExitCode::SUCCESS);
    }
    machines.refuse(&args.live_metrics)?;
    args.ci.check_files(args.html.as_ref(), args.out.as_deref().or(args.resume.as_deref()))?;
    links::gain_permissions(&planned)?;
    let _publishing = args.live_metrics.start()?;
    let mut study = run_trials::begin(args, (&scenario, &text), planned.len(), &machines)?;
    let progress = Progress::new(args.view.unwrap_or(View::Full));
    let ended = run_trials::run_all((&scenario, &machines), &planned, &mut study, &progress);
    drop(progress);
    let base = study.base;
    let broken_off = match &ended {
        Ok(exit) => exit.broken_off(),
        Err(_) => Some(ExitStatus::CouldNotRun),
    };
    let deserved = finish(args, &base, broken_off);
    match (ended, deserved) {
        (Ok(exit), Ok(deserved)) => Ok(exit.or_worse(deserved).into()),
        (Err(failure), Ok(_)) => {
            Err(failure.and(&format!("`plimsoll run {file} --resume {}` continues the study", base.display())))
        }
        // Print first that the results could not be shown. The last message is then the reason why the study stopped.
        (Err(failure), Err(unshown)) => {
            console::report(unshown);
            Err(failure)
        }
        (Ok(_), Err(unshown)) => Err(unshown),
    }
}

/// Parses a scenario, and finds the machines that make its loads. Returns all mistakes of the file: those of its structure,
/// and those in its settings, links and machines.
fn parse(text: &str, args: &Args) -> Result<(Scenario, StudyMachines), Vec<Diagnostic>> {
    let (mut faults, rest) = match Scenario::parse(text, &args.set, &|name| std::env::var(name).ok()) {
        Ok(scenario) => (Vec::new(), Some(Rest { scenario: Box::new(scenario), incomplete: Vec::new() })),
        Err(Faulty { diagnostics, rest }) => (diagnostics, rest),
    };
    let Some(rest) = rest else { return Err(faults) };
    let machines = StudyMachines::of(&rest.scenario, &args.machines);
    faults.extend(validation::mistakes(&rest, &args.only, machines.as_ref()));
    match machines {
        Ok(machines) if faults.is_empty() => Ok((*rest.scenario, machines)),
        _ => {
            faults.sort_by_key(|fault| fault.at);
            Err(faults)
        }
    }
}

/// Returns a list of variables with their defaults and descriptions.
fn listed(variables: &[Variable]) -> String {
    if variables.is_empty() {
        return "the scenario has no variables\n".to_owned();
    }
    let mut text = String::new();
    for variable in variables {
        let default = match &variable.default {
            Some(default) if crate::redact::is_secret(&variable.name, default) => " = (hidden)".to_owned(),
            Some(default) => format!(" = {}", escape(default)),
            None => " has no default; set it with --set, or in the environment".to_owned(),
        };
        text.push_str(&format!("{}{default}\n", escape(&variable.name)));
        if let Some(about) = &variable.about {
            text.push_str(&format!("    {}\n", escape(about)));
        }
    }
    text
}

/// Shows the results of the study so far, and returns their exit code.
fn finish(args: &Args, base: &Path, broken_off: Option<ExitStatus>) -> Result<Exit, Failure> {
    let records = store::read_study(base).map_err(|error| saved::cannot_read_back(&error))?;
    let (mut study, concluded) = saved::study::read(base, &records)?;
    study.study.broken_off = broken_off;
    saved::study::print(&study, OutputFormat::Text.or(args.json, args.full), false)?;
    if let Some(file) = &args.html {
        saved::study::write_html(&study, base, file.as_deref())?;
    }
    args.ci.write(base)?;
    console::eprintln(&format!("saved in {}", base.display()));
    Ok(concluded.conclude())
}

fn read(path: &Path) -> Result<String, Failure> {
    let failed = |error: std::io::Error| {
        Failure::usage(format!("cannot read {}: {error}; name a scenario file", path.display()))
    };
    let mut text = String::new();
    // Read one byte more than the maximum, so that the parser can detect a file that is too large.
    let most = BYTES_MAX as u64 + 1;
    match path.to_str() {
        Some("-") => std::io::stdin().take(most).read_to_string(&mut text).map_err(failed)?,
        _ => std::fs::File::open(path).map_err(failed)?.take(most).read_to_string(&mut text).map_err(failed)?,
    };
    Ok(text)
}

/// Returns the trials that `--only` selects, in order.
fn plan(scenario: &Scenario, only: &[(String, String)], machines: &StudyMachines) -> Result<Vec<Planned>, Failure> {
    let planned = select(scenario, only, machines).unwrap_or_default();
    if planned.is_empty() {
        let given: Vec<String> = only.iter().map(|(name, value)| format!("{name}={value}")).collect();
        return Err(Failure::usage(format!(
            "--only {} selects no trial: this scenario has {}",
            escape(&given.join(" --only ")),
            selectable(scenario)
        )));
    }
    Ok(planned)
}

/// Returns the trials that `only` selects, in order. Returns `None` if the matrix has too many cells.
fn select(scenario: &Scenario, only: &[(String, String)], machines: &StudyMachines) -> Option<Vec<Planned>> {
    let cells = matrix::cells(scenario)?;
    let is = |name: &str, value: &str, cell: &Cell, target: &str| match name {
        "target" => target == value,
        "part" => scenario.parts.get(cell.part).is_some_and(|part| part.name == value),
        axis => cell.values.iter().any(|(known, held)| known == axis && (held.label == value || held.value == value)),
    };
    // Several values of one name are alternatives.
    let wanted = |cell: &Cell, target: &str| {
        only.iter().all(|(name, _)| only.iter().any(|(other, value)| other == name && is(name, value, cell, target)))
    };
    // The repeats of a cell have the same command. Making it can read files.
    let mut commands: HashMap<(usize, usize), TrialCommand> = HashMap::new();
    let mut planned = Vec::new();
    for trial in trial_order::trials(scenario, cells.len()) {
        let (Some(cell), Some(target)) = (cells.get(trial.cell), scenario.targets.get(trial.target)) else { continue };
        if !wanted(cell, &target.name) {
            continue;
        }
        let of_target = matrix::directory_name(&target.name);
        planned.push(Planned {
            part: cell.part,
            cell: cell.label(scenario),
            target: target.name.clone(),
            repeat: trial.repeat,
            directory: format!("{:03}-{}/{of_target}-{}", trial.cell + 1, cell.directory(scenario), trial.repeat + 1),
            numbers: format!("{:03}-{}-{}", trial.cell + 1, trial.target + 1, trial.repeat + 1),
            command: commands
                .entry((trial.cell, trial.target))
                .or_insert_with(|| machines.command(command_of(scenario, cell, target)))
                .clone(),
            hook_environment: matrix::hook_environment(scenario, cell, target, trial.repeat),
        });
    }
    Some(planned)
}

/// Returns the command of a trial. The address of a server that the study starts is still a placeholder.
fn command_of(scenario: &Scenario, cell: &Cell, target: &Target) -> TrialCommand {
    let command = cell.command(scenario, target);
    match &target.server {
        Some(server) => served_address::with_placeholder(command, server),
        None => command,
    }
}

/// Returns the names and values that `--only` can select.
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

/// Parses the command of a trial.
fn command(trial: &TrialCommand) -> Result<LoadCommand, Failure> {
    if trial.name == "line" && trial.arguments.first().is_some_and(|load| load == "fill") {
        return Err(Failure::usage("`command`: a fill has no load line; write a number as `concurrency`"));
    }
    LoadCommand::parse(machines::words(trial).into_iter().map(Into::into))
}
