//! Runs the trials of a study one by one, and records each completed trial in a log.

use super::dry_run;
use super::hooks::{self, During};
use super::machines::{self, StudyMachines};
use super::served::Servers;
use super::time_left::{Work, time_left};
use super::{Args, Planned, command};
use crate::command::load_command::LoadCommand;
use crate::command::{fill, line, mix};
use crate::console;
use crate::emulated_link;
use crate::execute::{self, RunOptions};
use crate::failure::{Exit, Failure};
use crate::hosts::{self, Agents};
use crate::live_metrics::LiveMetrics;
use crate::load;
use crate::progress::state::Study;
use crate::progress::state::study::{TrialResult, TrialStatus};
use crate::progress::{self, Progress};
use crate::saved::{self, fleet_fill, load_line};
use measure::ResultWord;
use measure::result::load_line::Found;
use measure::units::format_span;
use report::escape::escape;
use report::number::{byte_rate, plural, rate};
use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use store::{
    EndReason, RECORDS_FILE, STUDY_FILE, SavedFill, SavedRun, StoreError, StoreErrorKind, StudyLog, StudyRecord,
};
use study::scenario::Scenario;

/// A study whose trials run, with its open log.
pub struct OpenStudy {
    /// The directory of the study.
    pub base: PathBuf,
    log: StudyLog,
    /// Directories of the completed trials.
    done: HashSet<String>,
    /// Wall time of its first start, in milliseconds since 1970.
    started_unix_ms: u64,
}

impl OpenStudy {
    /// Returns the name of a trial's fill on so many agents, which keep its journals. Only the same trial of the same study
    /// has this name, so that a resumed study continues the fill, and another study does not. With another number of agents,
    /// the fill has other shares.
    fn name_on_agents(&self, trial: &Planned, agents: usize) -> String {
        format!("{}-{}-of-{agents}", self.started_unix_ms, trial.numbers)
    }
}

/// Creates or resumes a study.
pub fn begin(
    args: &Args,
    (scenario, text): (&Scenario, &str),
    trials: usize,
    machines: &StudyMachines,
) -> Result<OpenStudy, Failure> {
    // From here on, the text and the variables are only saved and compared, so remove secrets from both.
    let (text, set) = crate::redact::scenario(text, &args.set);
    let agents = machines.count().map_or(0, NonZeroUsize::get) as u64;
    let Some(directory) = &args.resume else {
        let base = args.out.clone().unwrap_or_else(|| saved::default_directory(&scenario.name));
        let started_unix_ms = saved::unix_ms();
        let log = StudyLog::create(&base, &StudyRecord::scenario(&text, &set, trials as u64, agents, started_unix_ms))
            .map_err(|error| cannot_create(&error, &base))?;
        return Ok(OpenStudy { base, log, done: HashSet::new(), started_unix_ms });
    };
    let (log, records) = StudyLog::resume(directory).map_err(|error| match error.kind {
        StoreErrorKind::NotARun => Failure::usage(format!(
            "--resume {} is not a study: name the directory of a study that `plimsoll run` started",
            directory.display()
        )),
        _ => Failure::usage(format!("--resume: {error}")),
    })?;
    let started_unix_ms = match records.first() {
        Some(StudyRecord::Scenario { text: begun, set: with, agents: others, started_unix_ms, .. })
            if *begun == text && *with == set =>
        {
            if *others != agents {
                return Err(Failure::usage(format!(
                    "the study {} was begun on {}, so it cannot be resumed on {}: name as many hosts, or leave out --resume",
                    directory.display(),
                    on(*others),
                    on(agents)
                )));
            }
            *started_unix_ms
        }
        _ => {
            return Err(Failure::usage(format!(
                "the study {} has another scenario or other variables: leave out --resume to start a new study",
                directory.display()
            )));
        }
    };
    let trials = records.iter().filter_map(|record| match record {
        StudyRecord::Trial { directory, .. } => Some(directory),
        _ => None,
    });
    let is_done = |trial: &&String| is_complete(&directory.join(trial), agents > 0);
    let done = trials.filter(is_done).cloned().collect();
    Ok(OpenStudy { base: directory.clone(), log, done, started_unix_ms })
}

/// Returns whether a trial that ended is complete, and need not be made again. On several hosts, a trial is incomplete if it
/// has lost a host. After that, the next attempt may have been interrupted.
fn is_complete(place: &Path, is_on_hosts: bool) -> bool {
    if place.join(STUDY_FILE).exists() || SavedFill::is_in(place) {
        return true;
    }
    if fleet_fill::is_in(place) {
        return fleet_fill::read(place).is_ok_and(|fill| fill.result != ResultWord::Partial);
    }
    let is_whole = |run: SavedRun| {
        let end = run.end.map(|end| end.reason);
        !matches!(end, None | Some(EndReason::AgentsLost { .. } | EndReason::Interrupted { .. }))
    };
    place.join(RECORDS_FILE).exists() && (!is_on_hosts || SavedRun::read(place).is_ok_and(is_whole))
}

/// Describes the number of agents of a study, for a message.
fn on(agents: u64) -> String {
    if agents == 0 { "this host alone".to_owned() } else { plural(agents, "host") }
}

/// Runs the missing trials. Returns the interrupt if the user stopped the trials, and otherwise [`Exit::Good`]. The
/// results of the trials determine the exit code later, when they are shown.
pub fn run_all(
    (scenario, machines): (&Scenario, &StudyMachines),
    planned: &[Planned],
    study: &mut OpenStudy,
    progress: &Progress,
) -> Result<Exit, Failure> {
    let done = &study.done;
    progress.update(|state| state.study = Some(overview(scenario, planned, done)));
    let missing: Vec<&Planned> = planned.iter().filter(|trial| !done.contains(&trial.directory)).collect();
    let base = study.base.clone();
    let mut servers = Servers::start(scenario, &base, &missing, machines.serve_at())?;
    let mut agents = if missing.is_empty() { None } else { machines.connect()? };
    let work: Vec<Work> = missing.iter().map(|trial| dry_run::work(&trial.command)).collect();
    let mut took = Vec::new();
    for (number, trial) in missing.iter().enumerate() {
        let (left, started) = (time_left(&work, &took), Instant::now());
        let set = |status| {
            progress.show(|state| {
                if let Some(study) = &mut state.study {
                    study.set(&trial.cell, &trial.target, trial.repeat, status);
                }
            });
        };
        progress.update(|state| {
            (state.line, state.fill, state.run) = (None, None, None);
            state.study.iter_mut().for_each(|study| study.left = left);
        });
        set(TrialStatus::Running);
        let left = left.map(|left| format!("; about {} left", format_span(Duration::from_secs(left.as_secs()))));
        console::eprintln_progress(&format!(
            "[{} of {}] {}, {}{}",
            number + 1,
            missing.len(),
            escape(&trial.cell),
            escape(&trial.target),
            left.unwrap_or_default()
        ));
        LiveMetrics::published().set_trial(telemetry::Trial {
            number: number as u64 + 1,
            of: missing.len() as u64,
            cell: trial.cell.clone(),
            target: trial.target.clone(),
            repeat: u64::from(trial.repeat) + 1,
        });
        let Some(result) = run_with_hooks(&servers.resolved(trial)?, study, (progress, agents.as_mut()))? else {
            return Ok(progress::exit_of_interrupt());
        };
        console::eprintln_progress(&format!("    {}", result.text));
        set(TrialStatus::Done(result));
        took.push(started.elapsed());
        let (cell, target, directory) = (trial.cell.clone(), trial.target.clone(), trial.directory.clone());
        let record = StudyRecord::Trial { cell, target, repeat: trial.repeat, directory };
        study.log.append(&record).map_err(|error| cannot_save(&error))?;
    }
    Ok(Exit::Good)
}

/// Returns the failure for a study that cannot be created in this directory. If the directory has a study, the message
/// shows how to continue it.
fn cannot_create(error: &StoreError, base: &Path) -> Failure {
    let failure = cannot_save(error);
    match base.join(STUDY_FILE).is_file() {
        true => failure.and(&format!("`--resume {}` instead of --out continues the study", base.display())),
        false => failure,
    }
}

/// Returns all trials of a study, as the user sees them.
fn overview(scenario: &Scenario, planned: &[Planned], done: &HashSet<String>) -> Study {
    let mut study = Study::new(&scenario.name);
    for trial in planned {
        let status = if done.contains(&trial.directory) { TrialStatus::DoneEarlier } else { TrialStatus::Left };
        study.add(&trial.cell, &trial.target, trial.repeat, status);
    }
    study
}

fn cannot_save(error: &StoreError) -> Failure {
    Failure::could_not_run(format!("cannot save the study: {error}"))
}

/// Runs a trial with its hooks. The hook `after` runs even if the trial fails.
fn run_with_hooks(
    trial: &Planned,
    study: &OpenStudy,
    (progress, mut agents): (&Progress, Option<&mut Agents>),
) -> Result<Option<TrialResult>, Failure> {
    let command = command(&trial.command)?;
    if let Some(agents) = &agents {
        agents.count_for(&command.common().fleet)?;
    }
    let (hooks, hook_output) = (&trial.command.hooks, study.base.join(format!("{}.hooks.log", trial.directory)));
    let environment = &trial.hook_environment;
    let prepared = hooks::before(hooks, environment, &hook_output, &mut waiting(progress, &mut agents));
    let measured = match prepared {
        Ok(true) => During::start(hooks, environment, &hook_output).and_then(|during| {
            let result = run_trial((trial, command), study, (progress, agents.as_deref_mut()));
            drop(during);
            result
        }),
        Ok(false) => Ok(None),
        Err(failure) => Err(failure),
    };
    let cleaned = hooks::after(hooks, environment, &hook_output, &mut waiting(progress, &mut agents));
    match (measured?, cleaned?) {
        (result, true) => Ok(result),
        (_, false) => Ok(None),
    }
}

/// Returns what to do again and again while a hook runs: show the progress, and keep the connections to agents.
fn waiting(progress: &Progress, agents: &mut Option<&mut Agents>) -> impl FnMut() {
    move || {
        progress.refresh();
        agents.iter_mut().for_each(|agents| agents.renew_leases());
    }
}

/// Runs a trial and returns its result, or `None` if the user interrupted it. If an earlier attempt left files in
/// the directory of the trial, a fill continues there. Other trials replace the directory.
fn run_trial(
    (trial, command): (&Planned, LoadCommand),
    study: &OpenStudy,
    (progress, agents): (&Progress, Option<&mut Agents>),
) -> Result<Option<TrialResult>, Failure> {
    let directory = study.base.join(&trial.directory);
    if let Some(agents) = agents {
        return on_agents(agents, (trial, &command), (study, &directory), progress);
    }
    let link = emulated_link::prepare(command.link())?;
    emulated_link::within(link.as_ref(), || run_command(command, directory, progress))
}

fn run_command(command: LoadCommand, directory: PathBuf, progress: &Progress) -> Result<Option<TrialResult>, Failure> {
    if let LoadCommand::Fill(args) = &command {
        return fill::trial::run(args, &directory, progress);
    }
    saved::remove_earlier(&directory)?;
    match command {
        LoadCommand::Line(args) => {
            let found = line::search(*args, &directory, progress)?;
            of_search(found, &directory)
        }
        command => run_load(&command, directory, progress),
    }
}

/// Runs a trial on agents, and returns its result, or `None` if the user interrupted it.
fn on_agents(
    agents: &mut Agents,
    (trial, command): (&Planned, &LoadCommand),
    (study, directory): (&OpenStudy, &Path),
    progress: &Progress,
) -> Result<Option<TrialResult>, Failure> {
    let common = command.common();
    let mut words = machines::words(&trial.command);
    if let LoadCommand::Fill(args) = command {
        let count = agents.count_for(&common.fleet)?;
        words.push(format!("--out={}", study.name_on_agents(trial, count)));
        return hosts::fill::run_trial(args, &mut agents.assign(words, &common.fleet)?, directory, progress);
    }
    let mut loads = agents.assign(words, &common.fleet)?;
    saved::remove_earlier(directory)?;
    if let LoadCommand::Line(args) = command {
        let count = common.fleet.count().unwrap_or(NonZeroUsize::MIN);
        let found = line::search_with(args, count, directory, progress, &mut loads)?;
        return of_search(found, directory);
    }
    let options = RunOptions { repeat: 1, progress: progress.clone(), ..load::run_options(common) };
    let made = match loads.make_run(directory, &options, common.fleet.scaling) {
        Err(Failure::Message(Exit::Interrupted(_), _)) => return Ok(None),
        made => made?,
    };
    if let Some(why) = made.loss_of_all() {
        return Err(Failure::could_not_run(why));
    }
    for lost in made.losses() {
        console::eprintln(&format!("    {lost}"));
    }
    Ok(of_run(&made.run))
}

/// Runs a trial with a single load in this directory, and returns its result, or `None` if the user interrupted it.
fn run_load(command: &LoadCommand, directory: PathBuf, progress: &Progress) -> Result<Option<TrialResult>, Failure> {
    let (mut plan, output) = command.plan()?;
    execute::prepare(&mut plan)?;
    let output = RunOptions { directory: Some(directory), repeat: 1, progress: progress.clone(), ..output };
    let run = || execute::run(&plan, &output);
    let saved = match command {
        LoadCommand::Mix(args) => mix::remembered(args, mix::unlisted(args, &plan)?.as_ref(), run),
        _ => run(),
    }?;
    Ok(of_run(&saved))
}

/// Returns the result of a run, or `None` if the user interrupted it.
fn of_run(saved: &SavedRun) -> Option<TrialResult> {
    let summary = saved.summary();
    let metrics = [summary.ok_rate().map(rate), summary.goodput().map(byte_rate)];
    let text = metrics.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let word = report::result::of(saved).word;
    (!saved::was_interrupted(saved)).then_some(TrialResult { word, text })
}

/// Returns the result of a search in this directory, or `None` if the user interrupted it.
fn of_search(found: Found, directory: &Path) -> Result<Option<TrialResult>, Failure> {
    if let Found::Interrupted { .. } = found {
        return Ok(None);
    }
    let line = load_line::read(directory)?;
    Ok(Some(TrialResult { word: line.result.word, text: line.sentence() }))
}
