//! `plimsoll generate`: writes a dataset to disk. If a run is interrupted, the next run writes the missing files.

mod args;
mod file;
mod workers;

pub use args::Args;

use crate::console;
use crate::failure::{Exit, Failure};
use content::Dataset;

use file::{FileProblem, Occupant, is_full};
use report::number::{count, plural};
use std::fs::{self, File, TryLockError};
use std::path::Path;
use std::process::ExitCode;
use sys::signals::Signal;
use workers::{Done, Workers};

/// Writes the missing files. Prints the number of files and the speed.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let dataset = args.dataset()?;
    let threads = args.threads()?;
    let _ = sys::signals::catch_interrupts();
    let _lock = lock(&args.directory)?;
    let (done, problem) = Workers::new(&dataset, &args.directory, args.check).run(threads);
    if let Some(problem) = problem {
        return Err(explain(&problem, &done, &dataset));
    }
    if let Some(signal) = done.interrupted {
        return Err(interrupted(signal, &done, &dataset));
    }
    console::print(&summary(&done, args.check))?;
    Ok(ExitCode::SUCCESS)
}

fn interrupted(signal: Signal, done: &Done, dataset: &Dataset) -> Failure {
    let message = format!("interrupted: {}; run the same command again to write the rest", progress(done, dataset));
    Failure::Message(Exit::Interrupted(signal.number()), message)
}

/// Creates the directory and locks it against other writers. The lock lasts until the returned file is dropped.
fn lock(directory: &Path) -> Result<File, Failure> {
    let refused = |error: std::io::Error| {
        Failure::could_not_run(format!("cannot use {}: {error}; name a writable directory", directory.display()))
    };
    fs::create_dir_all(directory).map_err(refused)?;
    let lock = File::open(directory).map_err(refused)?;
    match lock.try_lock() {
        Err(TryLockError::WouldBlock) => Err(Failure::could_not_run(format!(
            "another `plimsoll generate` is writing to {}: wait until it ends, or name another directory",
            directory.display()
        ))),
        // Some file systems do not support locks, so continue without a lock.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(lock),
    }
}

fn progress(done: &Done, dataset: &Dataset) -> String {
    let are = if dataset.count() == 1 { "is" } else { "are" };
    format!("{} of {} {are} complete", count(done.files + done.present), plural(dataset.count(), "file"))
}

fn explain(problem: &FileProblem, done: &Done, dataset: &Dataset) -> Failure {
    let progress = progress(done, dataset);
    Failure::could_not_run(match problem {
        FileProblem::Occupied { path, by: Occupant::File(found), size } => format!(
            "{} has {} B instead of {} B, so it is not part of this dataset: remove this file, or choose another DIR or --prefix",
            path.display(),
            found.0,
            size.0
        ),
        FileProblem::Occupied { path, by: Occupant::Other, .. } => format!(
            "{} exists, but is not a regular file: remove it, or choose another DIR or --prefix",
            path.display()
        ),
        FileProblem::Differs { path, mismatch } => format!(
            "{} is damaged or has another seed ({mismatch}): remove this file, and run the command again",
            path.display()
        ),
        FileProblem::Refused { path, error, .. } if is_full(error) => format!(
            "cannot write {}, because the disk is full; {progress}: free some space, and run the same command again",
            path.display()
        ),
        FileProblem::Refused { doing, path, error } => {
            format!("cannot {doing} {}: {error}; {progress}; the same command writes the rest", path.display())
        }
    })
}

fn summary(done: &Done, check: bool) -> String {
    let seconds = done.elapsed.as_secs_f64();
    let rate = done.bytes.0 as f64 / seconds.max(1e-9) / 1e9;
    let present = match (done.present, check) {
        (0, _) => String::new(),
        (1, true) => "; 1 existed with the right content".into(),
        (present, true) => format!("; {} existed with the right content", count(present)),
        (present, false) => format!("; {} existed already", count(present)),
    };
    let files = plural(done.files, "file");
    format!("{files}, {} in {seconds:.2} s, {rate:.2} GB/s{present}\n", done.bytes.human())
}
