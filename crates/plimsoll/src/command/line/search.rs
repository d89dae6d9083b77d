//! Runs levels one by one until the search has found the load line.

use super::args::On;
use super::expected_time::ExpectedTime;
use super::make_load::{MadeLoad, MakeLoad};
use super::search_load::{SearchLoad, Settings};
use super::target_recovery::{Recovered, Recovery};
use crate::console;
use crate::execute::RunOptions;
use crate::failure::Failure;
use crate::progress;
use crate::progress::state::Line;
use crate::progress::state::line::Step;
use crate::saved;
use measure::limits;
use measure::result::Reason;
use measure::result::load_line::{Found, Outcome};
use measure::units::format_span;
use measure::{Enumerated, LimitedBy, ResultWord};
use report::load_line::Level;
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::{EndReason, SavedRun, StoreError, StudyLog, StudyRecord};
use study::load_line::level::{self, FinishedLevel, Unusable};
use study::load_line::search::{Bounds, Search, SearchStep};
use study::objective_monitor::{LevelEvidence, ObjectiveMonitor, OfferedLoad};

/// Directory of the levels.
const LEVELS: &str = "levels";

/// The search to make, and how the user sees it.
pub struct Task<'t> {
    pub settings: Settings,
    pub bounds: Bounds,
    pub expected: ExpectedTime,
    /// The options of all levels.
    pub options: RunOptions,
    /// `true` if operations start at equal intervals.
    pub regular: bool,
    /// The directory of the search.
    pub base: &'t Path,
}

/// Runs a search, shows its progress, and saves all its levels. `load` makes the loads.
///
/// # Errors
/// Fails if a level cannot be run or saved. A search that finds no load line is a result, not an error.
pub fn search(task: Task<'_>, load: &mut dyn MakeLoad) -> Result<Found, Failure> {
    let Task { settings, bounds, expected, options, regular, base } = task;
    let unit = settings.args.on.unit();
    let begin = StudyRecord::line(unit, bounds.precision);
    let log = StudyLog::create(base, &begin).map_err(|error| cannot_save(&error))?;
    let mut levels = Levels { load, settings, options, regular, base: base.to_owned(), log, levels: Vec::new() };
    levels.announce(expected);
    levels.options.progress.show(|state| state.line = Some(Line::new(unit)));
    let found = levels.search(&mut Search::new(bounds))?;
    levels.log.append(&StudyRecord::Found(found)).map_err(|error| cannot_save(&error))?;
    Ok(found)
}

/// The levels that were run, and the settings for the next levels.
struct Levels<'l> {
    load: &'l mut dyn MakeLoad,
    settings: Settings,
    options: RunOptions,
    regular: bool,
    base: PathBuf,
    log: StudyLog,
    /// Each level that was run, and its load in steps of the search.
    levels: Vec<(u64, Level)>,
}

impl Levels<'_> {
    /// Prints the expected duration of the search.
    fn announce(&self, expected: ExpectedTime) {
        let longer = match self.settings.args.on {
            On::Concurrency => String::new(),
            On::Rate => format!(
                "; the more the response times vary, the longer a level near the line takes (at most {})",
                format_span(self.settings.args.level_max.max(self.settings.level_time))
            ),
        };
        console::eprintln(&format!(
            "searching for the load line in {}: about {} to {}, levels of {}{longer}",
            self.settings.args.on.unit().name(),
            format_span(expected.shortest),
            format_span(expected.longest),
            format_span(self.settings.level_time)
        ));
    }

    fn search(&mut self, search: &mut Search) -> Result<Found, Failure> {
        let recovery = Recovery::before(self.load, &self.options, &self.base)?;
        loop {
            let level = match search.next() {
                SearchStep::Done(found) => return Ok(found),
                SearchStep::Try(level) => level,
            };
            let Some((outcome, saved)) = self.run(level, search.is_confirming())? else {
                return Ok(Found::Interrupted { passed: search.passed(), signal: progress::interrupting_signal() });
            };
            search.record(&outcome);
            // Stop if the client cannot reach this rate. If no lower level has passed yet, continue with lower levels.
            if let Some(passed) = self.passed_below(level).filter(|_| self.is_beyond_client(level)) {
                return Ok(Found::Line { passed, failed: level });
            }
            if !outcome.is_passed() {
                self.show_step(Step::Recovery);
                let passed = self.passed_below(level);
                match recovery.wait(self.load, self.settings.args.recovery, &saved)? {
                    Recovered::Whole => {}
                    Recovered::InPart => return Ok(Found::NotRecovered { passed, failed: level }),
                    Recovered::Gone => return Ok(Found::Gone { passed, failed: level }),
                }
            }
            self.rest();
        }
    }

    /// Returns the highest level below `level` that passed in its last run.
    fn passed_below(&self, level: u64) -> Option<u64> {
        let last = |(step, run): &&(u64, Level)| {
            let again = self.levels.iter().rev().find(|(other, _)| other == step);
            run.passed && again.is_some_and(|(_, again)| again.passed)
        };
        self.levels.iter().filter(|(step, _)| *step < level).filter(last).map(|(step, _)| *step).max()
    }

    /// Returns whether the client failed twice to reach this rate. At higher rates, the search would only measure the
    /// client.
    fn is_beyond_client(&self, level: u64) -> bool {
        let last = self.levels.iter().rev().take(2);
        let mine = last.filter(|(step, run)| *step == level && !run.passed && run.limited_by_client);
        self.settings.args.on == On::Rate && mine.count() == 2
    }

    /// Pauses between two levels, unless the user interrupts.
    fn rest(&mut self) {
        const STEP: Duration = Duration::from_millis(50);
        let begun = std::time::Instant::now();
        let rest = self.settings.args.rest;
        while begun.elapsed() < rest && sys::signals::interrupts().count == 0 {
            self.options.progress.refresh();
            self.load.pause(STEP.min(rest));
        }
    }

    fn show_step(&self, step: Step) {
        self.options.progress.show(|state| state.line.iter_mut().for_each(|line| line.step = step));
    }

    /// Runs a level. Returns `None` if the user interrupts. If `confirming` is `true`, the level does not stop early.
    fn run(&mut self, level: u64, confirming: bool) -> Result<Option<(Outcome, SavedRun)>, Failure> {
        let load = self.settings.args.on.load(level);
        let name = format!("{LEVELS}/{:02}-{load}", self.levels.len() + 1);
        self.show_step(Step::Level { load, confirming });
        let duration = self.settings.duration(level);
        if duration.min > self.settings.level_time {
            let least = format_span(Duration::from_secs(duration.min.as_secs()));
            console::eprintln(&format!("  {load:>7}: takes {least}, to get enough operations for its percentiles"));
        }
        let (Settings { args, objectives, .. }, regular) = (&self.settings, self.regular);
        let (is_open, alpha) = (args.on == On::Rate, 1.0 - args.confidence);
        let monitor = |in_flight_max| {
            let offered = is_open.then_some(OfferedLoad { rate: load, regular, in_flight_max });
            ObjectiveMonitor::new(objectives, alpha).for_level(duration.rules(offered, confirming))
        };
        let options = RunOptions { directory: Some(self.base.join(&name)), probe: None, ..self.options.clone() };
        let made = self.load.make(SearchLoad::Level(level), &options, Some(&monitor))?;
        let Some(MadeLoad { run: saved, evidence }) = made else { return Ok(None) };
        let outcome = evidence.map(|evidence| outcome(evidence, &saved));
        let certain = evidence.is_some_and(|evidence| evidence.certain);
        let record = StudyRecord::Level { level, directory: name.clone(), outcome: outcome.clone(), certain };
        self.log.append(&record).map_err(|error| cannot_save(&error))?;
        let Some(outcome) = outcome.filter(|_| !saved::was_interrupted(&saved)) else { return Ok(None) };
        let run = Level::of(load, &name, &saved, Some(outcome.clone()), certain);
        note(&run, confirming);
        self.options.progress.show(|state| state.line.iter_mut().for_each(|line| line.levels.push(run.clone())));
        self.levels.push((level, run));
        Ok(Some((outcome, saved)))
    }
}

/// Prints the result of a level.
fn note(run: &Level, confirming: bool) {
    let again = if confirming { " (confirming)" } else { "" };
    let why = run.reason.as_ref().map(|why| format!(", {why}")).unwrap_or_default();
    let time = format_span(Duration::from_millis((run.seconds * 10.0).round() as u64 * 100));
    console::eprintln(&format!("  {:>7}{again}: {}{why} ({time})", run.level, run.outcome.about()));
}

/// Returns the result of a completed level.
fn outcome(evidence: LevelEvidence, saved: &SavedRun) -> Outcome {
    let summary = saved.summary();
    let result = report::result::of(saved);
    let objectives: Vec<_> = result.objectives.iter().map(|judged| (judged.objective, judged.outcome)).collect();
    let is_fault = |reason: &&Reason| matches!(reason, Reason::WrongContent { .. } | Reason::Outage { .. });
    let fault = result.reasons.iter().find(is_fault).map(report::result::text);
    let ended = match saved.end.as_ref().map(|end| &end.reason) {
        Some(EndReason::StoppedEarly { first_missed }) => first_missed.as_deref(),
        Some(EndReason::Aborted { condition }) => Some(condition.as_str()),
        _ => None,
    };
    let limited_by = limits::limited_by(summary, &saved.begin.model);
    let client = report::limit::limiting_client(saved);
    let unusable = result.reasons.iter().find(|reason| reason.word() == ResultWord::Unusable);
    let unusable = unusable.map(|reason| (reason, report::result::text(reason)));
    let unusable = unusable.as_ref().and_then(|(reason, text)| match reason {
        Reason::CountersDisagree(_) => Some(Unusable::CountersDisagree(text)),
        // The outcomes of the objectives already include this reason.
        Reason::ClientDecides(_) => None,
        _ => Some(Unusable::Client(text)),
    });
    level::outcome(&FinishedLevel {
        evidence,
        objectives: &objectives,
        stopped_for: ended,
        target_fault: fault.as_deref(),
        client_limit: client.as_deref(),
        unusable,
        client_delays: limits::ClientImpact::of(summary).reads_late()
            || summary.client_stood_still()
            || limited_by == LimitedBy::ClientResources,
        any_ended: summary.stats.measured.completed() > 0,
    })
}

fn cannot_save(error: &StoreError) -> Failure {
    saved::cannot_save("the search", error)
}
