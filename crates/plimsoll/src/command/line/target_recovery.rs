//! Recovery of a target after a level that overloaded it.
//!
//! An overloaded target may still be busy with its backlog. The next level would then measure the backlog instead of
//! the target. The search therefore waits until a few operations, made one after the other, are about as fast as before
//! the first level. It measures such operations repeatedly. Before the wait, a message shows the maximum wait, which
//! the search calculates from the backlog and the target's rate.

use super::make_load::{MadeLoad, MakeLoad};
use super::search_load::SearchLoad;
use crate::console;
use crate::execute::RunOptions;
use crate::failure::Failure;
use crate::live_metrics::LiveMetrics;
use crate::saved;
use measure::units::format_span;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use store::SavedRun;

/// The target has recovered if the median service time is at most `SLOWER_MAX` times the longest service time before
/// the search, plus `SLACK`.
const SLOWER_MAX: f64 = 2.0;
const SLACK: Duration = Duration::from_millis(20);
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(100);
/// Safety factor by which the calculated duration of a backlog is multiplied.
const BACKLOG_SLOWER: f64 = 3.0;
/// Minimum expected duration of a backlog for which a message is printed.
const ANNOUNCED: Duration = Duration::from_secs(2);
/// Maximum time to wait for a backlog.
const BACKLOG_MAX: Duration = Duration::from_secs(600);
/// Name of the directory for a measurement. Each measurement replaces the previous one.
const DIRECTORY: &str = "recovery";

/// The speed of a target before the search, and how to measure it again.
pub struct Recovery {
    options: RunOptions,
    directory: PathBuf,
    /// Longest service time before the search, in nanoseconds. `None` if no operation ended.
    before: Option<u64>,
}

/// The state of a target after a failed level.
#[derive(Clone, Copy, Debug)]
pub enum Recovered {
    /// The target is as fast as before the search.
    Whole,
    /// The target responds, but it is slower than before the search, or some operations fail.
    InPart,
    /// The target does not respond.
    Gone,
}

impl Recovery {
    /// Measures a few operations before the first level.
    pub fn before(load: &mut dyn MakeLoad, options: &RunOptions, base: &Path) -> Result<Self, Failure> {
        let directory = base.join(DIRECTORY);
        let options = RunOptions {
            directory: Some(directory.clone()),
            progress: options.progress.aside(),
            monitor: None,
            probe: None,
            abort: Vec::new(),
            collect: Vec::new(),
            metrics: LiveMetrics::default(),
            ..options.clone()
        };
        let made = load.make(SearchLoad::Before, &options, None)?;
        let before = made.and_then(|made| made.run.summary().all.service.max());
        Ok(Self { options, directory, before })
    }

    /// Waits until the target is as fast as before the search. The maximum wait is `most`, or three times the expected
    /// duration of the backlog of `level`.
    pub fn wait(&self, load: &mut dyn MakeLoad, most: Duration, level: &SavedRun) -> Result<Recovered, Failure> {
        let Some(before) = self.before else { return Ok(Recovered::Whole) };
        let most = most.max(backlog_time(level).mul_f64(BACKLOG_SLOWER).min(BACKLOG_MAX));
        announce(level, most);
        let allowed = Duration::from_nanos(before).mul_f64(SLOWER_MAX) + SLACK;
        let begun = Instant::now();
        let (mut serves, mut asked) = (false, 0);
        loop {
            asked += 1;
            let Some(run) = self.ask(load)? else { return Ok(Recovered::Whole) };
            let now = run.summary().all.service.quantile(0.5).map(Duration::from_nanos);
            // Unfinished operations may only need more time, so they do not show that the target is gone.
            serves |= run.summary().all.ok > 0 || run.summary().stats.measured.unfinished > 0;
            let recovered = now.is_some_and(|now| now <= allowed) && run.summary().all.failed == 0;
            let waited = begun.elapsed();
            // Print nothing after the first measurement, even if it took longer than a second, as it does on several
            // hosts.
            if recovered && asked > 1 && waited > Duration::from_secs(1) {
                let time = format_span(Duration::from_millis(waited.as_millis() as u64 / 100 * 100));
                console::eprintln(&format!("          the target has recovered after {time}"));
            }
            if recovered || saved::was_interrupted(&run) {
                return Ok(Recovered::Whole);
            }
            if waited >= most {
                return Ok(if serves { Recovered::InPart } else { Recovered::Gone });
            }
            load.pause(PAUSE);
        }
    }

    /// Measures a few operations. Returns `None` if the user interrupts.
    fn ask(&self, load: &mut dyn MakeLoad) -> Result<Option<SavedRun>, Failure> {
        saved::remove_earlier(&self.directory)?;
        // The target may have crashed under the load and may be restarting, so an unreachable target is not an error.
        let made = load.make(SearchLoad::Recovery, &self.options, None)?;
        Ok(made.map(|MadeLoad { run, .. }| run))
    }
}

/// Returns the time that the target needs for the unfinished operations of a level, at its rate during the level.
fn backlog_time(level: &SavedRun) -> Duration {
    let left = level.summary().stats.measured.unfinished as f64;
    let rate = level.summary().completed_rate().filter(|rate| *rate > 0.0);
    rate.and_then(|rate| Duration::try_from_secs_f64(left / rate).ok()).unwrap_or_default().min(BACKLOG_MAX)
}

fn announce(level: &SavedRun, most: Duration) {
    let (left, time) = (level.summary().stats.measured.unfinished, backlog_time(level));
    if time >= ANNOUNCED {
        let seconds = |time: Duration| format_span(Duration::from_secs(time.as_secs()));
        console::eprintln(&format!(
            "          the target has a backlog of about {left} operations, which takes about {}; waiting up to {}",
            seconds(time),
            seconds(most)
        ));
    }
}
