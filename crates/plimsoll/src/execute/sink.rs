//! Where an export goes: a file that is whole or not there, or standard output.

use crate::failure::Failure;
use crate::say;
use report::export::ExportError;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use store::{OPS_FILE, RECORDS_FILE, RESERVE_FILE, STUDY_FILE};

/// Why an export ended early.
#[derive(Debug)]
pub enum Trouble {
    /// It could not be written.
    Write(ExportError),
    /// What it is made of could not be read.
    Read(Failure),
}

impl From<ExportError> for Trouble {
    fn from(error: ExportError) -> Self {
        Self::Write(error)
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Write(error.into())
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Read(failure)
    }
}

/// Writes an export to the file that a flag has named, or to standard output.
///
/// # Errors
/// When it can not be written, or what it is made of not be read. Of a file nothing is left then.
pub fn write(
    to: Option<&Path>,
    flag: &str,
    produce: impl FnOnce(&mut (dyn Write + Send)) -> Result<(), Trouble>,
) -> Result<(), Failure> {
    match to {
        Some(path) => to_file(path, flag, produce),
        None => match produce(&mut say::stream()) {
            Ok(()) => Ok(()),
            Err(Trouble::Write(ExportError::Io(error))) if say::nobody_reads(&error) => {
                say::note("standard output was closed before all was written: what was read is not whole");
                Ok(())
            }
            Err(trouble) => Err(told(trouble, "standard output", flag)),
        },
    }
}

fn told(trouble: Trouble, place: &str, flag: &str) -> Failure {
    match trouble {
        Trouble::Read(failure) => failure,
        Trouble::Write(ExportError::Io(error)) => {
            Failure::could_not_run(format!("{place} can not be written: {error}; name another file with {flag}"))
        }
        Trouble::Write(ExportError::Form(why)) => Failure::could_not_run(format!("it can not be exported: {why}")),
    }
}

/// Files of a run, which an export must not take the place of.
const RECORDS: [&str; 4] = [RECORDS_FILE, OPS_FILE, STUDY_FILE, RESERVE_FILE];

fn to_file(
    path: &Path,
    flag: &str,
    produce: impl FnOnce(&mut (dyn Write + Send)) -> Result<(), Trouble>,
) -> Result<(), Failure> {
    let name = path.display().to_string();
    if path.file_name().is_some_and(|name| RECORDS.iter().any(|record| name == *record)) {
        return Err(Failure::usage(format!("{flag} {name}: a file of that name belongs to a saved run: name another")));
    }
    // A device or a pipe is written as it is; a file only takes its name when it is whole.
    let special = fs::metadata(path).is_ok_and(|found| !found.is_file());
    let written = if special { path.to_owned() } else { beside(path) };
    let all = || {
        let mut out = BufWriter::new(File::create(&written)?);
        produce(&mut out)?;
        out.flush()?;
        if special { Ok(()) } else { fs::rename(&written, path).map_err(Trouble::from) }
    };
    all().map_err(|trouble| {
        if !special {
            let _ = fs::remove_file(&written);
        }
        told(trouble, &name, flag)
    })
}

/// Where a file is written until it is whole.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().map(OsString::from).unwrap_or_default();
    name.push(".part");
    path.with_file_name(name)
}
