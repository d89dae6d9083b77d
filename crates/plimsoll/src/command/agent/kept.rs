//! Parts of runs that this host has kept. A coordinator can collect them later (`plimsoll fleet collect`), for example
//! after the coordinator of a run was killed.
//!
//! The order to start contains the few facts that only the coordinator knows, such as the wall time of T0 and the error
//! of the clock. They are kept next to the records of the part. So another coordinator can fetch all parts, and merge
//! them with the same code.

use crate::failure::Failure;
use crate::input_file;
use fleet::hosts::AGENTS_MAX;
use fleet::message::{FoundPart, KeptPart, RunId};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use store::{RESERVE_FILE, RunRecords};

/// Name of the file that describes a part, in the run directory.
const FILE: &str = "part.json";
/// Maximum length of that file.
const FILE_MAX: u64 = 64 << 10;

/// Returns the directory of a part on this host. Parts are numbered from 0.
pub fn directory(run: &str, index: u32) -> Result<PathBuf, Failure> {
    Ok(all_runs()?.join(format!("{run}-{}", u64::from(index) + 1)))
}

fn all_runs() -> Result<PathBuf, Failure> {
    Ok(state_directory()?.join("runs"))
}

/// Returns the directory of everything that agents of this host keep.
pub fn state_directory() -> Result<PathBuf, Failure> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    let state = state.ok_or_else(|| Failure::could_not_run("neither HOME nor XDG_STATE_HOME names a directory"))?;
    Ok(state.join("plimsoll"))
}

/// Saves the description of a part in its run directory.
pub fn describe(directory: &Path, kept: &KeptPart) -> io::Result<()> {
    fs::write(directory.join(FILE), serde_json::to_vec(kept)?)
}

/// Returns the parts of a run on this host.
pub fn find(run: &RunId) -> Result<Vec<FoundPart>, Failure> {
    let entries = match fs::read_dir(all_runs()?) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Failure::could_not_run(format!("cannot read the directory of runs: {error}"))),
        Ok(entries) => entries,
    };
    let part = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let number: u32 = name.strip_prefix(run.as_str())?.strip_prefix('-')?.parse().ok()?;
        let kept = read(&entry.path()).filter(|kept| kept.part.index.checked_add(1) == Some(number))?;
        // A writer removes this file when a run has ended.
        Some(FoundPart { kept, is_over: !entry.path().join(RESERVE_FILE).exists() })
    };
    Ok(entries.flatten().filter_map(part).take(AGENTS_MAX).collect())
}

fn read(directory: &Path) -> Option<KeptPart> {
    let text = input_file::read_whole(&directory.join(FILE), FILE_MAX, "a part").ok()?;
    serde_json::from_slice(&text).ok()
}

/// Opens the records of a part on this host.
pub fn records(run: &RunId, index: u32) -> Result<RunRecords, Failure> {
    let directory = directory(run.as_str(), index)?;
    RunRecords::open(&directory).map_err(|error| Failure::could_not_run(error.to_string()))
}
