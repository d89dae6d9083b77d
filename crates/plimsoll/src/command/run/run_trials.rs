//! Runs the trials of a study one by one, and records each completed trial in a log.

use super::dry_run::projected;
use super::hooks::{self, During};
use super::served::Servers;
use super::{Args, Planned, command};
use crate::command::load_command::LoadCommand;
use crate::command::{fill, line, mix};
use crate::console;
use crate::emulated_link;
use crate::execute::{self, RunOptions};
use crate::failure::{Exit, Failure};
use crate::live_metrics::LiveMetrics;
use crate::progress::state::Study;
use crate::progress::state::study::{TrialResult, TrialStatus};
use crate::progress::{self, Progress};
use crate::saved::{self, load_line};
use measure::result::load_line::Found;
use measure::units::format_span;
use report::escape::escape;
use report::number::{byte_rate, rate};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use store::{RECORDS_FILE, STUDY_FILE, SavedFill, StoreError, StoreErrorKind, StudyLog, StudyRecord};
use study::scenario::Scenario;

/// Creates or resumes a study. Returns the directory and the log of the study, and the completed trials.
pub fn begin(
    args: &Args,
    scenario: &Scenario,
    text: &str,
    trials: usize,
) -> Result<(PathBuf, StudyLog, HashSet<String>), Failure> {
    // From here on, the text and the variables are only saved and compared, so remove secrets from both.
    let (text, set) = crate::redact::scenario(text, &args.set);
    let Some(directory) = &args.resume else {
        let base = args.out.clone().unwrap_or_else(|| saved::default_directory(&scenario.name));
        let log = StudyLog::create(&base, &StudyRecord::scenario(&text, &set, trials as u64))
            .map_err(|error| cannot_create(&error, &base))?;
        return Ok((base, log, HashSet::new()));
    };
    let (log, records) = StudyLog::resume(directory).map_err(|error| match error.kind {
        StoreErrorKind::NotARun => Failure::usage(format!(
            "--resume {} is not a study: name the directory of a study that `plimsoll run` started",
            directory.display()
        )),
        _ => Failure::usage(format!("--resume: {error}")),
    })?;
    match records.first() {
        Some(StudyRecord::Scenario { text: begun, set: with, .. }) if *begun == text && *with == set => {}
        _ => {
            return Err(Failure::usage(format!(
                "the study {} has another scenario or other variables: leave out --resume to start a new study",
                directory.display()
            )));
        }
    }
    let done = records.into_iter().filter_map(|record| match record {
        StudyRecord::Trial { directory: trial, .. } => {
            let place = directory.join(&trial);
            let is_there =
                place.join(RECORDS_FILE).exists() || place.join(STUDY_FILE).exists() || SavedFill::is_in(&place);
            is_there.then_some(trial)
        }
        _ => None,
    });
    Ok((directory.clone(), log, done.collect()))
}

/// Runs the missing trials. Returns the interrupt if the user stopped the trials, and otherwise [`Exit::Good`]. The
/// results of the trials determine the exit code later, when they are shown.
pub fn run_all(
    scenario: &Scenario,
    planned: &[Planned],
    base: &Path,
    (log, done): (&mut StudyLog, &HashSet<String>),
    progress: &Progress,
) -> Result<Exit, Failure> {
    progress.update(|state| state.study = Some(overview(scenario, planned, done)));
    let missing: Vec<&Planned> = planned.iter().filter(|trial| !done.contains(&trial.directory)).collect();
    let mut servers = Servers::start(scenario, base, &missing)?;
    let begun = Instant::now();
    for (number, trial) in missing.iter().enumerate() {
        let left = match number {
            // Before the first trial, add up the expected durations. The sum is unknown if any duration is unknown. For
            // example, the duration of a search is unknown.
            0 => missing.iter().map(|trial| projected(&trial.command)).sum::<Option<Duration>>(),
            _ => Some(begun.elapsed().mul_f64((missing.len() - number) as f64 / number as f64)),
        };
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
        let Some(result) = run_with_hooks(&servers.resolved(trial)?, base, progress)? else {
            return Ok(progress::exit_of_interrupt());
        };
        console::eprintln_progress(&format!("    {}", result.text));
        set(TrialStatus::Done(result));
        let (cell, target, directory) = (trial.cell.clone(), trial.target.clone(), trial.directory.clone());
        let record = StudyRecord::Trial { cell, target, repeat: trial.repeat, directory };
        log.append(&record).map_err(|error| cannot_save(&error))?;
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
fn run_with_hooks(trial: &Planned, base: &Path, progress: &Progress) -> Result<Option<TrialResult>, Failure> {
    let (hooks, hook_output) = (&trial.command.hooks, base.join(format!("{}.hooks.log", trial.directory)));
    let measured = match hooks::before(hooks, &trial.hook_environment, &hook_output, progress) {
        Ok(true) => During::start(hooks, &trial.hook_environment, &hook_output).and_then(|during| {
            let result = run_trial(trial, base, progress);
            drop(during);
            result
        }),
        Ok(false) => Ok(None),
        Err(failure) => Err(failure),
    };
    let cleaned = hooks::after(hooks, &trial.hook_environment, &hook_output, progress);
    match (measured?, cleaned?) {
        (result, true) => Ok(result),
        (_, false) => Ok(None),
    }
}

/// Runs a trial and returns its result, or `None` if the user interrupted it. If an earlier attempt left files in
/// the directory of the trial, a fill continues there. Other trials replace the directory.
fn run_trial(trial: &Planned, base: &Path, progress: &Progress) -> Result<Option<TrialResult>, Failure> {
    let directory = base.join(&trial.directory);
    let command = command(&trial.command)?;
    let link = emulated_link::prepare(command.link())?;
    emulated_link::within(link.as_ref(), || run_command(command, directory, progress))
}

fn run_command(command: LoadCommand, directory: PathBuf, progress: &Progress) -> Result<Option<TrialResult>, Failure> {
    if let LoadCommand::Fill(args) = &command {
        return fill::trial::run(args, &directory, progress);
    }
    saved::remove_earlier(&directory)?;
    match command {
        LoadCommand::Line(args) => Ok(match line::search(*args, &directory, progress)? {
            Found::Interrupted { .. } => None,
            _ => {
                let line = load_line::read(&directory)?;
                Some(TrialResult { word: line.result.word, text: line.sentence() })
            }
        }),
        command => run_load(&command, directory, progress),
    }
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
    let summary = saved.summary();
    let metrics = [summary.ok_rate().map(rate), summary.goodput().map(byte_rate)];
    let text = metrics.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let word = report::result::of(&saved).word;
    Ok((!saved::was_interrupted(&saved)).then_some(TrialResult { word, text }))
}
