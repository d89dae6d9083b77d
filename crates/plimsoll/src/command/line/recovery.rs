//! Whether a target is as fast as before, after a level that was too much for it.
//!
//! A target that was pushed over its line may still be busy with what it was asked. The next level would then measure that, not
//! the target. A few operations, one after the other, tell how fast it is when nothing else is asked; the search goes on when
//! they are about as fast as they were before the first level.

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
const OPS: NonZeroU64 = NonZeroU64::new(3).unwrap();
/// How long they may take together.
const TIME: Duration = Duration::from_secs(5);
/// They are as fast as before when they take at most so many times as long, and this on top.
const SLOWER_MAX: f64 = 2.0;
const SLACK: Duration = Duration::from_millis(20);
/// Rest between two tries.
const PAUSE: Duration = Duration::from_millis(100);
/// Where the run is saved that was last made for this.
const DIRECTORY: &str = "recovery";

/// How fast a target was before.
pub struct Recovery {
    plan: Plan,
    output: Output,
    directory: PathBuf,
    /// The median of the service times then, in nanoseconds; `None` when no operation ended.
    before: Option<u64>,
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
            abort: Vec::new(),
            ..output.clone()
        };
        let mut recovery = Self { plan, output, directory, before: None };
        recovery.before = execute::measure(&recovery.plan, &recovery.output)?.summary().all.service.quantile(0.5);
        Ok(recovery)
    }

    /// Asks until the target is as fast as before. False when it still is not after so long.
    pub fn wait(&self, most: Duration) -> Result<bool, Failure> {
        let Some(before) = self.before else { return Ok(true) };
        let allowed = Duration::from_nanos(before).mul_f64(SLOWER_MAX) + SLACK;
        let begun = Instant::now();
        loop {
            let run = self.ask()?;
            let now = run.summary().all.service.quantile(0.5).map(Duration::from_nanos);
            let recovered = now.is_some_and(|now| now <= allowed) && run.summary().all.failed == 0;
            let waited = begun.elapsed();
            if recovered && waited > Duration::from_secs(1) {
                let time = format_span(Duration::from_millis(waited.as_millis() as u64 / 100 * 100));
                say::note(&format!("          the target was as fast as before after {time}"));
            }
            if recovered || waited >= most || execute::was_interrupted(&run) {
                return Ok(recovered || execute::was_interrupted(&run));
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
