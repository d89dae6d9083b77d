//! Runs levels, as the search asks for them, until the line is found.

use super::recovery::{Recovered, Recovery};
use super::{Args, LEVEL_TIME, Load, On, SearchArgs};
use crate::command::load;
use crate::execute::{self, Output};
use crate::failure::Failure;
use crate::say;
use engine::plan::Plan;
use measure::load_line::{Found, Outcome};
use measure::result::Reason;
use measure::units::{Rate, format_span};
use measure::{Enumerated, LimitedBy, ResultWord};
use report::load_line::Level;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::{EndReason, SavedRun, StoreError, StudyLog, StudyRecord};
use study::decision::{Decision, Evidence, Offered, SLICE};
use study::level::{self, Shown, Times, Unusable};
use study::line::{Bounds, Search, Step};

/// Where the runs of the levels are.
const LEVELS: &str = "levels";
/// A level that fails takes about this share of the time of one that passes.
const FAILING: f64 = 0.3;

/// Searches, and saves all levels below `base`.
///
/// # Errors
/// When a level can not be run or saved. That no line is found is a result.
pub fn search(args: Args, base: &Path) -> Result<Found, Failure> {
    let (mut load, args) = args.parts();
    let held = *load.common().load.duration.get_or_insert(LEVEL_TIME);
    let output = load::output(load.common());
    let bounds = args.on.bounds(&args);
    let begin = StudyRecord::line(args.on.unit(), bounds.precision);
    let log = StudyLog::create(base, &begin).map_err(|error| cannot_save(&error))?;
    let mut levels = Levels { load, args, held, output, base: base.to_owned(), log, levels: Vec::new() };
    levels.announce(&bounds);
    let found = levels.search(&mut Search::new(bounds))?;
    levels.log.append(&StudyRecord::Found(found)).map_err(|error| cannot_save(&error))?;
    Ok(found)
}

/// The levels that were run.
struct Levels {
    load: Load,
    args: SearchArgs,
    /// How long each is held.
    held: Duration,
    output: Output,
    base: PathBuf,
    log: StudyLog,
    /// With their steps.
    levels: Vec<(u64, Level)>,
}

impl Levels {
    /// Says how long the search is likely to take.
    fn announce(&self, bounds: &Bounds) {
        let (few, many) = bounds.levels_expected();
        let least = self.times(bounds.from.get()).least.as_secs_f64();
        // A level at a high rate has its samples soon: only the first ones are longer than asked for.
        let held = self.held.as_secs_f64();
        let time = |(passing, failing): (f64, f64)| {
            let seconds = passing * held + failing * held * FAILING + 2.0 * (least - held);
            format_span(Duration::from_secs(seconds.round() as u64))
        };
        let longer = match self.args.on {
            On::Concurrency => String::new(),
            On::Rate => format!(
                "; close to the line a level lasts longer, up to {}, until its backlog is known to be steady or to grow",
                format_span(self.args.level_max.max(self.held))
            ),
        };
        say::note(&format!(
            "searching the load line on {}: {} to {} expected, levels of {}{longer}",
            self.args.on.unit().name(),
            time(few),
            time(many),
            format_span(self.held)
        ));
    }

    fn search(&mut self, search: &mut Search) -> Result<Found, Failure> {
        let recovery = Recovery::before(&self.plan(self.args.on.unit().steps())?, &self.output, &self.base)?;
        loop {
            let level = match search.next() {
                Step::Done(found) => return Ok(found),
                Step::Try(level) => level,
            };
            let Some((outcome, saved)) = self.run(level, search.is_confirming())? else {
                return Ok(Found::Interrupted { passed: search.passed(), signal: execute::interrupting_signal() });
            };
            search.tell(&outcome);
            // Where no lower level has passed, one may.
            if let Some(passed) = self.passed_below(level).filter(|_| self.is_beyond_client(level)) {
                return Ok(Found::Line { passed, failed: level });
            }
            if !outcome.is_passed() {
                let passed = self.passed_below(level);
                match recovery.wait(self.args.recovery, &saved)? {
                    Recovered::Whole => {}
                    Recovered::InPart => return Ok(Found::NotRecovered { passed, failed: level }),
                    Recovered::Gone => return Ok(Found::Gone { passed, failed: level }),
                }
            }
            rest(self.args.rest);
        }
    }

    /// The highest level below that one that has passed, and did not fail since.
    fn passed_below(&self, level: u64) -> Option<u64> {
        let last = |(step, run): &&(u64, Level)| {
            let again = self.levels.iter().rev().find(|(other, _)| other == step);
            run.passed && again.is_some_and(|(_, again)| again.passed)
        };
        self.levels.iter().filter(|(step, _)| *step < level).filter(last).map(|(step, _)| *step).max()
    }

    /// Whether a rate has failed twice because this client cannot offer it: more would only measure the client.
    fn is_beyond_client(&self, level: u64) -> bool {
        let last = self.levels.iter().rev().take(2);
        let mine = last.filter(|(step, run)| *step == level && !run.passed && run.limited_by_client);
        self.args.on == On::Rate && mine.count() == 2
    }

    /// The plan of a level.
    fn plan(&mut self, level: u64) -> Result<Plan, Failure> {
        let load = &mut self.load.common().load;
        match self.args.on {
            On::Concurrency => load.concurrency = NonZeroU64::new(level),
            On::Rate => load.rate = Rate::per_second(self.args.on.load(level)),
        }
        let mut plan = self.load.plan()?;
        execute::prepare(&mut plan)?;
        Ok(plan)
    }

    /// How long a level lasts.
    fn times(&self, level: u64) -> Times {
        let rate = (self.args.on == On::Rate).then(|| self.args.on.load(level));
        level::times(&self.output.objectives, rate, self.held, self.args.level_max)
    }

    /// What a level offers; `None` in the closed model.
    fn offered(&mut self, level: u64, plan: &Plan) -> Option<Offered> {
        let regular = !self.load.common().load.poisson;
        let in_flight_max = plan.load.in_flight_max();
        let rate = self.args.on.load(level);
        (self.args.on == On::Rate).then_some(Offered { rate, regular, in_flight_max })
    }

    /// Runs a level; `None` when the user has interrupted. When the line is run again, all of its time is.
    fn run(&mut self, level: u64, confirming: bool) -> Result<Option<(Outcome, SavedRun)>, Failure> {
        let load = self.args.on.load(level);
        let name = format!("{LEVELS}/{:02}-{load}", self.levels.len() + 1);
        let mut plan = self.plan(level)?;
        let times = self.times(level);
        plan.slices = Some(SLICE);
        plan.stop.time = Some(times.most);
        if times.least > self.held {
            let least = format_span(Duration::from_secs(times.least.as_secs()));
            say::note(&format!("  {load:>7}: takes {least}, until its percentiles have the operations that they need"));
        }
        let hold = times.hold(self.offered(level, &plan), confirming);
        let decision = Decision::new(&self.output.objectives, 1.0 - self.args.confidence).holding(hold);
        let output = Output {
            directory: Some(self.base.join(&name)),
            decision: Some(decision),
            probe: None,
            ..self.output.clone()
        };
        let (saved, decision) = execute::measure_level(&plan, &output)?;
        let evidence = decision.map(|decision| decision.evidence());
        let outcome = evidence.map(|evidence| outcome(evidence, &saved));
        let certain = evidence.is_some_and(|evidence| evidence.certain);
        let record = StudyRecord::Level { level, directory: name.clone(), outcome: outcome.clone(), certain };
        self.log.append(&record).map_err(|error| cannot_save(&error))?;
        let Some(outcome) = outcome.filter(|_| !execute::was_interrupted(&saved)) else { return Ok(None) };
        let run = Level::of(load, &name, &saved, Some(outcome.clone()), certain);
        note(&run, confirming);
        self.levels.push((level, run));
        Ok(Some((outcome, saved)))
    }
}

/// Shows the result of a level.
fn note(run: &Level, confirming: bool) {
    let again = if confirming { ", the line once more" } else { "" };
    let why = run.why.as_ref().map(|why| format!(", {why}")).unwrap_or_default();
    let time = format_span(Duration::from_millis((run.seconds * 10.0).round() as u64 * 100));
    say::note(&format!("  {:>7}{again}: {}{why} ({time})", run.level, run.outcome.word()));
}

/// The result of a level whose run is over.
fn outcome(evidence: Evidence, saved: &SavedRun) -> Outcome {
    let summary = saved.summary();
    let result = report::result::of(saved);
    let judged: Vec<_> = result.objectives.iter().map(|judged| (judged.objective, judged.judgement)).collect();
    let is_fault = |reason: &&Reason| matches!(reason, Reason::WrongContent { .. } | Reason::Outage { .. });
    let fault = result.reasons.iter().find(is_fault).map(report::result::text);
    let ended = match saved.end.as_ref().map(|end| &end.reason) {
        Some(EndReason::Decided { broke }) => broke.as_deref(),
        Some(EndReason::Aborted { condition }) => Some(condition.as_str()),
        _ => None,
    };
    let limited_by = summary.limited_by(&saved.begin.model);
    let client = limited_by.is_client().then(|| limited_by.to_string());
    let unusable = result.reasons.iter().find(|reason| reason.word() == ResultWord::Unusable);
    let unusable = unusable.map(|reason| (reason, report::result::text(reason)));
    let unusable = unusable.as_ref().and_then(|(reason, text)| match reason {
        Reason::CountersDisagree(_) => Some(Unusable::Wrong(text)),
        // Judged as the objective that it is.
        Reason::ClientDecides(_) => None,
        _ => Some(Unusable::Client(text)),
    });
    level::outcome(&Shown {
        evidence,
        judged: &judged,
        ended,
        fault: fault.as_deref(),
        client: client.as_deref(),
        unusable,
        holds_up: summary.client_part().reads_late()
            || summary.client_stood_still()
            || limited_by == LimitedBy::ClientResources,
        any_ended: summary.stats.measured.completed() > 0,
    })
}

/// Rests, unless the user has interrupted.
fn rest(time: Duration) {
    const STEP: Duration = Duration::from_millis(50);
    let begun = std::time::Instant::now();
    while begun.elapsed() < time && sys::signals::interrupts().count == 0 {
        std::thread::sleep(STEP.min(time));
    }
}

fn cannot_save(error: &StoreError) -> Failure {
    execute::cannot_save("the search", error)
}
