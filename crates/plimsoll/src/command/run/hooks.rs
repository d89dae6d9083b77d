//! Hooks: commands that run before, during and after a trial. For example, they fill or check a cache, profile a
//! server, or clean up. The output of hooks is written to a log next to the trial.

use crate::console;
use crate::failure::Failure;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use study::scenario::Hooks;
use sys::process::Process;
use sys::signals::Signal;

/// Maximum duration of a hook.
const TIME_MAX: Duration = Duration::from_secs(60 * 60);
/// Maximum time that the hook `during` may take to end after the program has asked it to end.
const STOP_MAX: Duration = Duration::from_secs(10);
/// Interval at which interrupts are checked.
const LOOK: Duration = Duration::from_millis(50);

/// Runs the hooks before a trial. Calls `waiting` again and again meanwhile. Returns `false` if the user interrupted a
/// hook.
pub fn before(
    hooks: &Hooks,
    environment: &[(String, String)],
    log: &Path,
    waiting: &mut dyn FnMut(),
) -> Result<bool, Failure> {
    for (name, command) in [("before", &hooks.before), ("check", &hooks.check)] {
        if let Some(command) = command
            && !run(name, command, (environment, log), waiting)?
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Runs the hook after a trial. Calls `waiting` again and again meanwhile. Returns `false` if the user interrupted the
/// hook.
pub fn after(
    hooks: &Hooks,
    environment: &[(String, String)],
    log: &Path,
    waiting: &mut dyn FnMut(),
) -> Result<bool, Failure> {
    hooks.after.as_ref().map_or(Ok(true), |command| run("after", command, (environment, log), waiting))
}

/// A hook that runs while a trial runs. Dropping it stops the hook.
pub struct During<'l> {
    process: Process,
    log: &'l Path,
}

impl<'l> During<'l> {
    /// Starts the hook, if there is one.
    pub fn start(hooks: &Hooks, environment: &[(String, String)], log: &'l Path) -> Result<Option<Self>, Failure> {
        let Some(command) = &hooks.during else { return Ok(None) };
        let process = start("during", command, environment, log)?;
        Ok(Some(Self { process, log }))
    }

    /// Stops the hook. A hook such as a profiler gets time to write its results.
    fn stop(&mut self) -> std::io::Result<()> {
        if let Some(ended) = self.process.wait(Duration::ZERO)? {
            if !ended.status.success() {
                let (status, place) = (ended.status, self.log.display());
                console::eprintln(&format!("    the hook `during` failed ({status}); its output is in {place}"));
            }
            return Ok(());
        }
        self.process.ask_group_to_end(Signal::Terminate)?;
        if self.process.wait(STOP_MAX)?.is_none() {
            self.process.kill_group()?;
        }
        Ok(())
    }
}

impl Drop for During<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.stop() {
            console::eprintln(&format!("    the hook `during` could not be stopped ({error})"));
        }
    }
}

/// Returns the error for a failed hook. The error ends the study.
fn failed(name: &str, why: &str, log: &Path) -> Failure {
    let place = log.display();
    Failure::could_not_run(format!("the hook `{name}` {why}, so the study stops; its output is in {place}"))
}

/// Starts a hook.
fn start(name: &str, command: &str, environment: &[(String, String)], log: &Path) -> Result<Process, Failure> {
    let cannot = |error: std::io::Error| failed(name, &format!("could not run ({error})"), log);
    if let Some(directory) = log.parent() {
        std::fs::create_dir_all(directory).map_err(cannot)?;
    }
    let output = File::options().create(true).append(true).open(log).map_err(cannot)?;
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command).envs(environment.iter().map(|(name, value)| (name, value))).stdin(Stdio::null());
    // The hook has its own process group, so the terminal sends no interrupts to the hook. When this program is
    // interrupted, the program ends the whole group.
    shell.stdout(output.try_clone().map_err(cannot)?).stderr(output).process_group(0);
    Process::spawn(&mut shell).map_err(cannot)
}

/// Runs a hook to its end. Returns `false` if the user interrupted the hook.
fn run(
    name: &str,
    command: &str,
    (environment, log): (&[(String, String)], &Path),
    waiting: &mut dyn FnMut(),
) -> Result<bool, Failure> {
    let failed = |why: &str| failed(name, why, log);
    let cannot = |error: std::io::Error| failed(&format!("could not run ({error})"));
    let mut process = start(name, command, environment, log)?;
    let begun = Instant::now();
    loop {
        if let Some(ended) = process.wait(LOOK).map_err(cannot)? {
            return if ended.status.success() { Ok(true) } else { Err(failed(&format!("failed ({})", ended.status))) };
        }
        waiting();
        let interrupted = sys::signals::interrupts().count > 0;
        if interrupted || begun.elapsed() >= TIME_MAX {
            process.kill_group().map_err(cannot)?;
            return if interrupted { Ok(false) } else { Err(failed("took more than an hour")) };
        }
    }
}
