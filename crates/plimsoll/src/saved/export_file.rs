//! Destinations of exports: standard output or a file. A file is replaced only when the export is complete.

use crate::console;
use crate::failure::Failure;
use report::export::ExportError;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use store::{OPS_FILE, RECORDS_FILE, RESERVE_FILE, SNAPSHOT_FILE, STUDY_FILE};

/// Reason why an export failed.
#[derive(Debug)]
pub enum ExportFailure {
    /// The export could not be written.
    Write(ExportError),
    /// The source of the export could not be read.
    Read(Failure),
}

impl From<ExportError> for ExportFailure {
    fn from(error: ExportError) -> Self {
        Self::Write(error)
    }
}

impl From<io::Error> for ExportFailure {
    fn from(error: io::Error) -> Self {
        Self::Write(error.into())
    }
}

impl From<Failure> for ExportFailure {
    fn from(failure: Failure) -> Self {
        Self::Read(failure)
    }
}

/// Writes an export to the file that a flag names, or to standard output.
///
/// # Errors
/// Fails if the source cannot be read or the export cannot be written. No incomplete file is left behind.
pub fn write(
    to: Option<&Path>,
    flag: &str,
    produce: impl FnOnce(&mut (dyn Write + Send)) -> Result<(), ExportFailure>,
) -> Result<(), Failure> {
    match to {
        Some(path) => to_file(path, flag, produce),
        None => match produce(&mut console::buffered_stdout()) {
            Ok(()) => Ok(()),
            Err(ExportFailure::Write(ExportError::Io(error))) if console::is_reader_gone(&error) => {
                console::eprintln("standard output was closed early: the export is incomplete");
                Ok(())
            }
            Err(trouble) => Err(failure(trouble, "standard output", flag)),
        },
    }
}

fn failure(trouble: ExportFailure, place: &str, flag: &str) -> Failure {
    match trouble {
        ExportFailure::Read(failure) => failure,
        ExportFailure::Write(ExportError::Io(error)) => {
            Failure::could_not_run(format!("cannot write {place}: {error}; name another file with {flag}"))
        }
        ExportFailure::Write(ExportError::Form(why)) => Failure::could_not_run(format!("cannot export: {why}")),
    }
}

/// Names of files in a run directory, which an export must not replace.
const RECORDS: [&str; 5] = [RECORDS_FILE, SNAPSHOT_FILE, OPS_FILE, STUDY_FILE, RESERVE_FILE];

fn to_file(
    path: &Path,
    flag: &str,
    produce: impl FnOnce(&mut (dyn Write + Send)) -> Result<(), ExportFailure>,
) -> Result<(), Failure> {
    let name = path.display().to_string();
    if path.file_name().is_some_and(is_record) {
        return Err(Failure::usage(format!("{flag} {name}: this name is reserved for saved runs; name another file")));
    }
    // Write directly to devices and pipes. Write other files under a temporary name, and rename them when they are
    // complete.
    let special = fs::metadata(path).is_ok_and(|found| !found.is_file());
    let written = if special { path.to_owned() } else { temporary_path(path) };
    let all = || {
        let mut out = BufWriter::new(File::create(&written)?);
        produce(&mut out)?;
        out.flush()?;
        if special { Ok(()) } else { fs::rename(&written, path).map_err(ExportFailure::from) }
    };
    all().map_err(|trouble| {
        if !special {
            let _ = fs::remove_file(&written);
        }
        failure(trouble, &name, flag)
    })
}

fn is_record(name: &OsStr) -> bool {
    let is_further = |name: &str| name.starts_with("records-") && name.ends_with(".jsonl.zst");
    RECORDS.iter().any(|record| name == *record) || name.to_str().is_some_and(is_further)
}

/// Returns the temporary path of a file that is not complete yet.
fn temporary_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().map(OsString::from).unwrap_or_default();
    name.push(".part");
    path.with_file_name(name)
}
