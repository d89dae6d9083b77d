//! Hooks: commands that run before and after a trial, for example to fill a cache, check it, or clean up. Their output
//! is written to a log next to the trial.

use crate::failure::Failure;
use crate::progress::Progress;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use study::scenario::Hooks;
use sys::process::Process;

/// Maximum duration of a hook.
const TIME_MAX: Duration = Duration::from_secs(60 * 60);
/// Interval at which interrupts are checked.
const LOOK: Duration = Duration::from_millis(50);

/// Runs the hooks before a trial. Returns `false` if the user interrupted them.
pub fn before(
    hooks: &Hooks,
    environment: &[(String, String)],
    log: &Path,
    progress: &Progress,
) -> Result<bool, Failure> {
    for (name, command) in [("before", &hooks.before), ("check", &hooks.check)] {
        if let Some(command) = command
            && !run(name, command, (environment, log), progress)?
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Runs the hook after a trial. Returns `false` if the user interrupted it.
pub fn after(
    hooks: &Hooks,
    environment: &[(String, String)],
    log: &Path,
    progress: &Progress,
) -> Result<bool, Failure> {
    hooks.after.as_ref().map_or(Ok(true), |command| run("after", command, (environment, log), progress))
}

fn run(
    name: &str,
    command: &str,
    (environment, log): (&[(String, String)], &Path),
    progress: &Progress,
) -> Result<bool, Failure> {
    let failed = |why: String| {
        let place = log.display();
        Failure::could_not_run(format!("the hook `{name}` {why}, so the study stops; its output is in {place}"))
    };
    let cannot = |error: std::io::Error| failed(format!("could not run ({error})"));
    if let Some(directory) = log.parent() {
        std::fs::create_dir_all(directory).map_err(cannot)?;
    }
    let output = File::options().create(true).append(true).open(log).map_err(cannot)?;
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command).envs(environment.iter().map(|(name, value)| (name, value))).stdin(Stdio::null());
    // The hook has its own process group, so the terminal sends it no interrupts. When this program is interrupted, it
    // ends the whole group.
    shell.stdout(output.try_clone().map_err(cannot)?).stderr(output).process_group(0);
    let mut process = Process::spawn(&mut shell).map_err(cannot)?;
    let begun = Instant::now();
    loop {
        if let Some(ended) = process.wait(LOOK).map_err(cannot)? {
            return if ended.status.success() { Ok(true) } else { Err(failed(format!("failed ({})", ended.status))) };
        }
        progress.refresh();
        let interrupted = sys::signals::interrupts().count > 0;
        if interrupted || begun.elapsed() >= TIME_MAX {
            process.kill_group().map_err(cannot)?;
            return if interrupted { Ok(false) } else { Err(failed("took more than an hour".to_owned())) };
        }
    }
}
