//! Runs levels, as the search asks for them, until the line is found.

use super::recovery::Recovery;
use super::{Args, LEVEL_TIME, On};
use crate::command::{get, load};
use crate::execute::{self, Output};
use crate::failure::Failure;
use crate::say;
use engine::plan::Plan;
use measure::Enumerated;
use measure::load_line::Found;
use measure::units::{Rate, format_span};
use report::load_line::Level;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::{StoreError, StudyLog, StudyRecord};
use study::decision::{Decision, SLICE};
use study::line::{Search, Step};

/// Where the runs of the levels are.
const LEVELS: &str = "levels";

/// Searches, and saves all levels below `base`.
///
/// # Errors
/// When a level can not be run or saved. That no line is found is a result.
pub fn search(mut args: Args, base: &Path) -> Result<Found, Failure> {
    let time = *args.get.common.load.duration.get_or_insert(LEVEL_TIME);
    let output = load::output(&args.get.common);
    let bounds = args.on.bounds(&args);
    let begin = StudyRecord::line(args.on.unit(), args.precision);
    let log = StudyLog::create(base, &begin).map_err(|error| cannot_save(&error))?;
    let mut levels = Levels { args, time, output, base: base.to_owned(), log, levels: Vec::new() };
    say::note(&format!("searching the load line on {}", levels.args.on.unit().name()));
    let found = levels.search(&mut Search::new(bounds))?;
    levels.log.append(&StudyRecord::Found(found)).map_err(|error| cannot_save(&error))?;
    Ok(found)
}

/// The levels that were run.
struct Levels {
    args: Args,
    /// How long each is held.
    time: Duration,
    output: Output,
    base: PathBuf,
    log: StudyLog,
    levels: Vec<Level>,
}

impl Levels {
    fn search(&mut self, search: &mut Search) -> Result<Found, Failure> {
        let recovery = Recovery::before(&self.plan(1)?, &self.output, &self.base)?;
        loop {
            let level = match search.next() {
                Step::Done(found) => return Ok(found),
                Step::Try(level) => level,
            };
            let Some(run) = self.run(level, search.is_confirming())? else {
                return Ok(Found::Interrupted { passed: search.passed() });
            };
            search.tell(run.passed);
            let below = search.passed().filter(|passed| *passed < level);
            if self.is_beyond_client(level) {
                return Ok(match below {
                    Some(passed) => Found::Line { passed, failed: level },
                    None => Found::Below { failed: level },
                });
            }
            if !run.passed && !recovery.wait(self.args.recovery)? {
                return Ok(Found::NotRecovered { passed: below, failed: level });
            }
            rest(self.args.rest);
        }
    }

    /// Whether a rate has failed twice because this client can not offer it: more would only measure the client.
    fn is_beyond_client(&self, level: u64) -> bool {
        let last = self.levels.iter().rev().take(2);
        let mine = last.filter(|run| run.level == level && !run.passed && run.limited_by_client);
        self.args.on == On::Rate && mine.count() == 2
    }

    /// The plan of a level.
    fn plan(&mut self, level: u64) -> Result<Plan, Failure> {
        let load = &mut self.args.get.common.load;
        match self.args.on {
            On::Concurrency => load.concurrency = NonZeroU64::new(level),
            On::Rate => load.rate = Rate::per_second(level as f64),
        }
        let mut plan = get::plan::of(&self.args.get)?;
        execute::prepare(&mut plan)?;
        Ok(plan)
    }

    /// Runs a level; `None` when the user has interrupted. When the line is run again, all of its time is.
    fn run(&mut self, level: u64, confirming: bool) -> Result<Option<Level>, Failure> {
        let name = format!("{LEVELS}/{:02}-{level}", self.levels.len() + 1);
        let mut plan = self.plan(level)?;
        plan.slices = Some(SLICE);
        let held = if confirming { self.time } else { self.time / 2 };
        let decision = Decision::new(&self.output.objectives, 1.0 - self.args.confidence).or_met_after(held);
        let decision = match self.args.on {
            On::Concurrency => decision,
            // How many arrive is a matter of chance.
            On::Rate if self.args.get.common.load.poisson => decision,
            On::Rate => decision.of_at_most(level as f64 * self.time.as_secs_f64()),
        };
        let output = Output { directory: Some(self.base.join(&name)), decision: Some(decision), ..self.output.clone() };
        let saved = execute::measure_down(&plan, &output)?;
        let record = StudyRecord::Level { level, directory: name.clone() };
        self.log.append(&record).map_err(|error| cannot_save(&error))?;
        if execute::was_interrupted(&saved) {
            return Ok(None);
        }
        let run = Level::of(level, &name, &saved);
        let again = if confirming { ", the line once more" } else { "" };
        let outcome = run.measured.broke.as_ref().map_or("held".to_owned(), |broke| format!("failed, {broke}"));
        let time = format_span(Duration::from_millis((run.seconds * 10.0).round() as u64 * 100));
        let sure = if run.decided { "" } else { ", by estimate" };
        say::note(&format!("  {level:>7}{again}: {outcome} ({time}{sure})"));
        self.levels.push(run.clone());
        Ok(Some(run))
    }
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
