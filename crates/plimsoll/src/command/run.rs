//! `plimsoll run`: a whole study from one file. Every trial is a run of `get`, `put` or `mix`, or a search for the load line, with a
//! directory of its own, and a study that was stopped goes on where it was.

pub(super) mod differing;
mod hooks;

use super::{line, saved_study};
use crate::cli::{self, Command};
use crate::execute::{self, Output, Print, html};
use crate::failure::{Exit, Failure};
use crate::say;
use measure::load_line::Found;
use measure::units::format_span;
use report::escape::escape;
use report::number::{byte_rate, plural, rate};
use std::collections::HashSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use store::{StoreError, StudyLog, StudyRecord};
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
    let scenario = Scenario::parse(&text, &args.set, &|name| std::env::var(name).ok()).map_err(faulty)?;
    let planned = plan(&scenario, args)?;
    let faults = check(&planned);
    if !faults.is_empty() {
        return Err(faulty(faults));
    }
    if args.dry_run {
        return say::out(&dry(&scenario, &planned)).map(|()| ExitCode::SUCCESS);
    }
    let (base, mut log, done) = begin(args, &scenario, &text)?;
    let exit = measure_all(&planned, &base, &mut log, &done)?;
    let records = store::read_study(&base).map_err(|error| execute::unread_again(&error))?;
    let shown = show(&base, &records, if args.json { Print::Json } else { Print::Text })?;
    if let Some(file) = &args.html {
        write_html(&base, &records, file.as_deref())?;
    }
    say::note(&format!("saved in {}", base.display()));
    Ok(execute::worse(exit, shown).into())
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
            axis => cell.values.iter().any(|(known, held, _)| known == axis && held == value),
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
        return Err(Failure::usage("--only leaves no trial: name an axis with one of its values, a part or a target"));
    }
    Ok(planned)
}

/// The command of a trial, as it would be typed.
fn command(words: &Words) -> Result<Command, Failure> {
    let typed = ["plimsoll".to_owned(), words.command.clone()].into_iter().chain(words.words.iter().cloned());
    cli::parse(typed.map(Into::into))
}

/// What is wrong with the settings of the trials, each mistake once.
fn check(planned: &[Planned]) -> Vec<Fault> {
    let mut faults: Vec<Fault> = Vec::new();
    // All repeats of a cell are the same command.
    for trial in planned.iter().filter(|trial| trial.repeat == 0) {
        let checked = command(&trial.words).and_then(|command| command.check());
        let Err(failure) = checked else { continue };
        let message = failure.into_message();
        // The setting that the message speaks of; else the first one.
        let place = |flag: &str| message.contains(&format!("--{flag}")) || message.contains(&format!("`{flag}`"));
        let named = trial.words.places.iter().rev().find(|(name, _)| place(name));
        let short = message.starts_with('-').then(|| short(&message)).flatten();
        let by_letter = trial.words.places.iter().rev().find(|(name, _)| Some(name.as_str()) == short);
        let url = trial.words.places.iter().find(|(name, _)| name == "url");
        let at = named.or(by_letter).or(url).map_or(study::Position::START, |(_, at)| *at);
        let fault = Fault::new(at, message);
        if !faults.contains(&fault) {
            faults.push(fault);
        }
    }
    faults.sort_by_key(|fault| fault.at);
    faults
}

/// The setting whose letter a message begins with.
fn short(message: &str) -> Option<&'static str> {
    match message.get(..2)? {
        "-c" => Some("concurrency"),
        "-n" => Some("requests"),
        "-d" => Some("duration"),
        "-R" => Some("rate"),
        "-H" => Some("header"),
        _ => None,
    }
}

/// How long a trial takes, where its end is a matter of time.
fn projected(words: &Words) -> Option<Duration> {
    match command(words).ok()? {
        Command::Line(_) => None,
        // Its plan needs the dataset, which is asked for where it lies.
        Command::Mix(args) => args.common.load.duration.map(|duration| duration + args.common.load.warmup),
        command => command.plan().ok().and_then(|(plan, _)| Some(plan.stop.time? + plan.warmup)),
    }
}

/// What would be run.
fn dry(scenario: &Scenario, planned: &[Planned]) -> String {
    let mut text = format!("{}: {}\n\n", scenario.name, plural(planned.len() as u64, "trial"));
    let repeats = scenario.repeats.get();
    let (mut sum, mut open) = (Duration::ZERO, false);
    for trial in planned.iter().filter(|trial| trial.repeat == 0) {
        let time = projected(&trial.words);
        sum += time.unwrap_or_default() * repeats;
        open |= time.is_none();
        let of: Vec<String> = trial.words.words.iter().map(|word| quoted(&crate::redact::url_text(word))).collect();
        let time = time.map_or_else(|| "until done".to_owned(), format_span);
        text.push_str(&format!(
            "  {}, {}: {repeats} × {time}\n    plimsoll {} {}\n",
            escape(&trial.cell),
            escape(&trial.target),
            trial.words.command,
            escape(&of.join(" "))
        ));
        let hooks = &trial.words.hooks;
        for (name, command) in [("before", &hooks.before), ("check", &hooks.check), ("after", &hooks.after)] {
            if let Some(command) = command {
                text.push_str(&format!("    {name}: {}\n", escape(command)));
            }
        }
    }
    let more = if open { ", and what those take that end when they are done" } else { "" };
    text.push_str(&format!("\nprojected time: {}{more}\n", format_span(sum)));
    text
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=./:,%+@".contains(letter);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// The directory, its log, and the trials that are there already.
fn begin(args: &Args, scenario: &Scenario, text: &str) -> Result<(PathBuf, StudyLog, HashSet<String>), Failure> {
    let cannot = |error: StoreError| Failure::could_not_run(format!("the study can not be saved: {error}"));
    // Neither the text nor the variables are needed again but to be shown and compared.
    let (text, set) = crate::redact::scenario(text, &args.set);
    let Some(directory) = &args.resume else {
        let base = args.out.clone().unwrap_or_else(|| execute::default_directory(&scenario.name));
        let log = StudyLog::create(&base, &StudyRecord::scenario(&text, &set)).map_err(cannot)?;
        return Ok((base, log, HashSet::new()));
    };
    let (log, records) = StudyLog::resume(directory).map_err(|error| Failure::usage(format!("--resume: {error}")))?;
    match records.first() {
        Some(StudyRecord::Scenario { text: begun, set: with, .. }) if *begun == text && *with == set => {}
        _ => {
            return Err(Failure::usage(format!(
                "--resume: {} is a study of another scenario, or with other variables; leave out --resume",
                directory.display()
            )));
        }
    }
    let done = records.into_iter().filter_map(|record| match record {
        StudyRecord::Trial { directory, .. } => Some(directory),
        _ => None,
    });
    Ok((directory.clone(), log, done.collect()))
}

/// Runs the trials that are missing. The gravest of their exit codes.
fn measure_all(planned: &[Planned], base: &Path, log: &mut StudyLog, done: &HashSet<String>) -> Result<Exit, Failure> {
    let missing: Vec<&Planned> = planned.iter().filter(|trial| !done.contains(&trial.directory)).collect();
    let begun = Instant::now();
    for (number, trial) in missing.iter().enumerate() {
        let left = match number {
            // The first search says how long others take.
            0 => missing.iter().map(|trial| projected(&trial.words)).sum::<Option<Duration>>(),
            _ => Some(begun.elapsed().mul_f64((missing.len() - number) as f64 / number as f64)),
        };
        let left = left.map(|left| format!("; about {} left", format_span(Duration::from_secs(left.as_secs()))));
        say::note(&format!(
            "[{} of {}] {}, {}{}",
            number + 1,
            missing.len(),
            escape(&trial.cell),
            escape(&trial.target),
            left.unwrap_or_default()
        ));
        let said_by_hooks = base.join(format!("{}.hooks.log", trial.directory));
        if !hooks::before(&trial.words.hooks, &trial.told, &said_by_hooks)? {
            return Ok(Exit::Interrupted(2));
        }
        let Some(said) = measure(trial, base)? else { return Ok(Exit::Interrupted(2)) };
        if !hooks::after(&trial.words.hooks, &trial.told, &said_by_hooks)? {
            return Ok(Exit::Interrupted(2));
        }
        say::note(&format!("    {said}"));
        let (cell, target, directory) = (trial.cell.clone(), trial.target.clone(), trial.directory.clone());
        let record = StudyRecord::Trial { cell, target, repeat: trial.repeat, directory };
        log.append(&record).map_err(|error| Failure::could_not_run(format!("the study can not be saved: {error}")))?;
    }
    Ok(Exit::Good)
}

/// Runs one trial, and tells what it came to; `None` when the user has interrupted. What an earlier try left half done is made
/// anew.
fn measure(trial: &Planned, base: &Path) -> Result<Option<String>, Failure> {
    let directory = base.join(&trial.directory);
    if directory.exists() {
        std::fs::remove_dir_all(&directory).map_err(|error| {
            Failure::could_not_run(format!("{} can not be made anew: {error}", directory.display()))
        })?;
    }
    let command = command(&trial.words)?;
    if let Command::Line(args) = command {
        return Ok(match line::search(*args, &directory)? {
            Found::Interrupted { .. } => None,
            _ => Some(line::of(&directory)?.sentence()),
        });
    }
    let (mut plan, output) = command.plan()?;
    execute::prepare(&mut plan)?;
    let output = Output { directory: Some(directory), repeat: 1, ..output };
    let saved = execute::measure(&plan, &output)?;
    let summary = saved.summary();
    let figures = [summary.ok_rate().map(rate), summary.goodput().map(byte_rate)];
    let said = figures.into_iter().flatten().collect::<Vec<_>>().join(", ");
    Ok((!execute::was_interrupted(&saved)).then_some(said))
}

/// Prints a saved study. The exit code that its trials deserve.
pub fn show(base: &Path, records: &[StudyRecord], form: Print) -> Result<Exit, Failure> {
    let (saved, exit) = saved_study::read(base, records)?;
    let (trials, lines) = (&saved.measured.trials, &saved.measured.lines);
    match form {
        Print::Json => execute::print_json(serde_json::to_string_pretty(&saved.measured))?,
        Print::None => {}
        Print::Text | Print::Ab | Print::Httpbench => {
            let cells = if trials.is_empty() { String::new() } else { report::study::text(trials, &saved.order()) };
            let both = if trials.is_empty() || lines.is_empty() { "" } else { "\n" };
            let differing = report::discrepancy::text(&saved.measured.discrepancies);
            execute::print(&(cells + both + &report::lines::text(lines, &saved.order()) + &differing))?;
        }
    }
    Ok(exit)
}

/// Writes the HTML report of a saved study to the file that is named, else beside it. The exit code is what it deserves.
pub fn write_html(base: &Path, records: &[StudyRecord], file: Option<&Path>) -> Result<Exit, Failure> {
    let (study, exit) = saved_study::read(base, records)?;
    html::write_beside(&report::html_study(&study), base, file)?;
    Ok(exit)
}
