//! Whether a target is as fast as before, after a level that was too much for it.
//!
//! A target that was pushed over its line may still be busy with its backlog. The next level would then measure that, not the
//! target. A few operations, one after the other, show how fast it is when nothing else is asked. The search goes on when they
//! are about as fast as they were before the first level. The time for that is bounded and announced: it follows from the
//! backlog and from the rate at which the target has worked.

use crate::execute::{self, Output};
use crate::failure::Failure;
use crate::say;
use engine::plan::{LoadModel, Plan, StopAfter};
use engine::schedule::Profile;
use measure::units::format_span;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use store::SavedRun;

/// Operations that are asked for.
const OPS: NonZeroU64 = NonZeroU64::new(5).unwrap();
/// How long they may take together.
const TIME: Duration = Duration::from_secs(5);
/// They are as fast as before when their median is at most so many times the longest of those before, and this on top.
const SLOWER_MAX: f64 = 2.0;
const SLACK: Duration = Duration::from_millis(20);
/// Rest between two tries.
const PAUSE: Duration = Duration::from_millis(100);
/// The backlog of a target may take so many times as long as it should.
const BACKLOG_SLOWER: f64 = 3.0;
/// A backlog that takes longer is announced.
const ANNOUNCED: Duration = Duration::from_secs(2);
/// The longest time that is waited for a backlog.
const BACKLOG_MAX: Duration = Duration::from_secs(600);
/// Where the run is saved that was last made for this.
const DIRECTORY: &str = "recovery";

/// How fast a target was before.
pub struct Recovery {
    plan: Plan,
    output: Output,
    directory: PathBuf,
    /// The longest of the service times then, in nanoseconds; `None` when no operation ended.
    before: Option<u64>,
}

/// State of the target after a failed level.
#[derive(Clone, Copy, Debug)]
pub enum Recovered {
    /// As fast as before.
    Whole,
    /// It serves, and is slower than before, or not all of its operations succeed.
    InPart,
    /// It serves nothing.
    Gone,
}

impl Recovery {
    /// Asks for a few operations before the first level.
    pub fn before(plan: &Plan, output: &Output, base: &Path) -> Result<Self, Failure> {
        let stop = StopAfter { time: Some(TIME), ops: Some(OPS), ..StopAfter::default() };
        let load = LoadModel::Closed { slots: Profile::slots(NonZeroU64::MIN), think: Duration::ZERO };
        let plan = Plan { load, stop, warmup: Duration::ZERO, log_ops: false, ..plan.clone() };
        let directory = base.join(DIRECTORY);
        let output = Output {
            directory: Some(directory.clone()),
            live: false,
            decision: None,
            probe: None,
            abort: Vec::new(),
            ..output.clone()
        };
        let mut recovery = Self { plan, output, directory, before: None };
        recovery.before = execute::measure(&recovery.plan, &recovery.output)?.summary().all.service.max();
        Ok(recovery)
    }

    /// Asks until the target is as fast as before, at most for so long, and for the time that the backlog of `level` should take,
    /// three times over.
    pub fn wait(&self, most: Duration, level: &SavedRun) -> Result<Recovered, Failure> {
        let Some(before) = self.before else { return Ok(Recovered::Whole) };
        let most = most.max(backlog_time(level).mul_f64(BACKLOG_SLOWER).min(BACKLOG_MAX));
        announce(level, most);
        let allowed = Duration::from_nanos(before).mul_f64(SLOWER_MAX) + SLACK;
        let begun = Instant::now();
        let mut serves = false;
        loop {
            let run = self.ask()?;
            let now = run.summary().all.service.quantile(0.5).map(Duration::from_nanos);
            // What was cut off in flight says nothing: operations may take longer than is waited for them.
            serves |= run.summary().all.ok > 0 || run.summary().stats.measured.unfinished > 0;
            let recovered = now.is_some_and(|now| now <= allowed) && run.summary().all.failed == 0;
            let waited = begun.elapsed();
            if recovered && waited > Duration::from_secs(1) {
                let time = format_span(Duration::from_millis(waited.as_millis() as u64 / 100 * 100));
                say::note(&format!("          the target was as fast as before after {time}"));
            }
            if recovered || execute::was_interrupted(&run) {
                return Ok(Recovered::Whole);
            }
            if waited >= most {
                return Ok(if serves { Recovered::InPart } else { Recovered::Gone });
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn ask(&self) -> Result<SavedRun, Failure> {
        execute::make_room(&self.directory)?;
        // It may have gone down under its load, and come up again.
        execute::measure_down(&self.plan, &self.output)
    }
}

/// How long a target needs for what it was asked and has not answered, at the rate at which it has worked.
fn backlog_time(level: &SavedRun) -> Duration {
    let left = level.summary().stats.measured.unfinished as f64;
    let rate = level.summary().completed_rate().filter(|rate| *rate > 0.0);
    rate.and_then(|rate| Duration::try_from_secs_f64(left / rate).ok()).unwrap_or_default().min(BACKLOG_MAX)
}

fn announce(level: &SavedRun, most: Duration) {
    let (left, time) = (level.summary().stats.measured.unfinished, backlog_time(level));
    if time >= ANNOUNCED {
        let seconds = |time: Duration| format_span(Duration::from_secs(time.as_secs()));
        say::note(&format!(
            "          the target has a backlog of about {left} operations, some {} of work; waiting up to {}",
            seconds(time),
            seconds(most)
        ));
    }
}
