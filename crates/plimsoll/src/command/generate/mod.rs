//! `plimsoll generate DIR`: writes a dataset to disk. What a killed run has left is completed by the next.

mod args;
mod crew;
mod file;

pub use args::Args;

use crate::failure::{Exit, Failure};
use crate::say;
use content::Dataset;
use crew::{Crew, Done};
use file::{Occupant, Trouble, is_full};
use report::number::{count, plural, were};
use std::fs::{self, File, TryLockError};
use std::path::Path;
use std::process::ExitCode;
use sys::signals::Signal;

/// Writes what is missing, and says how much and how fast.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let dataset = args.dataset()?;
    let threads = args.threads()?;
    let _ = sys::signals::catch_interrupts();
    let _lock = take(&args.directory)?;
    let (done, trouble) = Crew::new(&dataset, &args.directory, args.check).work(threads);
    if let Some(trouble) = trouble {
        return Err(explain(&trouble, &done, &dataset));
    }
    if let Some(signal) = done.interrupted {
        return Err(interrupted(signal, &done, &dataset));
    }
    say::out(&summary(&done, args.check))?;
    Ok(ExitCode::SUCCESS)
}

fn interrupted(signal: Signal, done: &Done, dataset: &Dataset) -> Failure {
    let told = format!("interrupted: {}; the same command writes the others", there(done, dataset));
    Failure::Message(Exit::Interrupted(signal.number()), told)
}

/// Makes the directory, and keeps others from writing there at the same time until the answer is dropped.
fn take(directory: &Path) -> Result<File, Failure> {
    let refused = |error: std::io::Error| {
        Failure::could_not_run(format!(
            "{} can not be used: {error}; name a directory that can be written",
            directory.display()
        ))
    };
    fs::create_dir_all(directory).map_err(refused)?;
    let lock = File::open(directory).map_err(refused)?;
    match lock.try_lock() {
        Err(TryLockError::WouldBlock) => Err(Failure::could_not_run(format!(
            "another `plimsoll generate` writes to {}: wait for its end, or name another directory",
            directory.display()
        ))),
        // Not every file system has locks.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(lock),
    }
}

fn there(done: &Done, dataset: &Dataset) -> String {
    let are = if dataset.count() == 1 { "is" } else { "are" };
    format!("{} of {} {are} there", count(done.files + done.present), plural(dataset.count(), "file"))
}

fn explain(trouble: &Trouble, done: &Done, dataset: &Dataset) -> Failure {
    let there = there(done, dataset);
    Failure::could_not_run(match trouble {
        Trouble::Occupied { path, by: Occupant::File(found), size } => format!(
            "{} has {} B and not {} B: it is not of this dataset, and is left alone; remove it, or choose another DIR or --prefix",
            path.display(),
            found.0,
            size.0
        ),
        Trouble::Occupied { path, by: Occupant::Other, .. } => format!(
            "{} is no regular file and is left alone; remove it, or choose another DIR or --prefix",
            path.display()
        ),
        Trouble::Differs { path, mismatch } => format!(
            "{} does not hold what it should, {mismatch}: it is damaged or has another seed; remove it and run again",
            path.display()
        ),
        Trouble::Refused { path, error, .. } if is_full(error) => format!(
            "the disk is full, {} could not be written: {there}; make room, and the same command writes the others",
            path.display()
        ),
        Trouble::Refused { doing, path, error } => {
            format!("can not {doing} {}: {error}; {there}, and the same command goes on", path.display())
        }
    })
}

fn summary(done: &Done, check: bool) -> String {
    let seconds = done.elapsed.as_secs_f64();
    let rate = done.bytes.0 as f64 / seconds.max(1e-9) / 1e9;
    let present = match (done.present, check) {
        (0, _) => String::new(),
        (1, true) => "; 1 was there and holds what it should".into(),
        (present, true) => format!("; {} there and hold what they should", were(present)),
        (present, false) => format!("; {} there already", were(present)),
    };
    let files = plural(done.files, "file");
    format!("{files}, {} in {seconds:.2} s, {rate:.2} GB/s{present}\n", done.bytes.human())
}
