//! The log of a study, which lists the runs with their cell, target and repeat.
//!
//! Each run of a study has its own directory below the directory of the study. The log is a small file of JSON lines
//! next to these directories. After each run, the study appends a line. A killed study can therefore be resumed.

use crate::error::{StoreError, StoreErrorKind};
use crate::files;
use crate::record::Versioned;
use measure::result::load_line::{Found, LoadUnit, Outcome};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

/// Name of the file.
pub const STUDY_FILE: &str = "study.jsonl";
/// The version of the format.
const FORMAT: u32 = 2;
/// Maximum size of the file. A line takes about 200 bytes, and the scenario at most 1 MiB.
const BYTES_MAX: u64 = 64 << 20;

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StudyRecord {
    /// The beginning of a study.
    Scenario {
        /// Version of the format.
        format: u32,
        /// Version of the program.
        version: String,
        /// The text of the scenario file, without secrets.
        text: String,
        /// Variables from the command line, without secrets.
        set: Vec<(String, String)>,
        /// Number of planned trials.
        trials: u64,
        /// Number of agents that make the loads; 0 if this host makes them.
        #[serde(default)]
        agents: u64,
        /// Wall time of the start, in milliseconds since 1970; 0 if it is unknown.
        #[serde(default)]
        started_unix_ms: u64,
    },
    /// The beginning of a search for the load line.
    Line {
        /// Version of the format.
        format: u32,
        /// Version of the program.
        version: String,
        /// The unit of the load.
        unit: LoadUnit,
        /// Maximum width of the bracket at the end of the search, as a fraction of the bracket's lower end (0.02 means
        /// 2 %).
        precision: f64,
        /// Number of level steps per unit.
        steps: NonZeroU64,
    },
    /// A finished level of a search.
    Level {
        /// The level in steps of the unit.
        level: u64,
        /// Name of the run's directory.
        directory: String,
        /// The outcome. If this is `None`, no monitor observed the level, and the objectives of the run decide.
        outcome: Option<Outcome>,
        /// `true` if the result is certain at the requested confidence. `false` if the level reached its time limit
        /// first, so that the result is based on the data so far.
        certain: bool,
    },
    /// A finished trial of a study.
    Trial {
        /// Name of the cell.
        cell: String,
        /// Name of the target.
        target: String,
        /// Number of earlier trials of the cell on this target, from 0. Reports show this number plus 1.
        repeat: u32,
        /// Name of the run's directory.
        directory: String,
    },
    /// The result of the search.
    Found(Found),
}

impl StudyRecord {
    /// Creates the first record of a study.
    #[must_use]
    pub fn scenario(text: &str, set: &[(String, String)], trials: u64, agents: u64, started_unix_ms: u64) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Self::Scenario {
            format: FORMAT,
            version,
            text: text.to_owned(),
            set: set.to_vec(),
            trials,
            agents,
            started_unix_ms,
        }
    }

    /// Creates the first record of a search.
    #[must_use]
    pub fn line(unit: LoadUnit, precision: f64) -> Self {
        let steps = NonZeroU64::new(unit.steps()).unwrap_or(NonZeroU64::MIN);
        Self::Line { format: FORMAT, version: env!("CARGO_PKG_VERSION").to_owned(), unit, precision, steps }
    }
}

/// The writer of the log. The writer locks the file, so that no two programs run the same trials.
#[derive(Debug)]
pub struct StudyLog {
    path: PathBuf,
    file: File,
}

impl StudyLog {
    /// Creates a log in a directory that contains no log yet.
    ///
    /// # Errors
    /// Fails with [`StoreErrorKind::Exists`] if the directory already contains a log, or with an error of the system.
    pub fn create(directory: &Path, begin: &StudyRecord) -> Result<Self, StoreError> {
        fs::create_dir_all(directory).map_err(|error| StoreError::new(directory, error))?;
        let path = directory.join(STUDY_FILE);
        let file = files::create_new(&path)?;
        files::lock(&file, &path)?;
        let mut log = Self { path, file };
        log.append(begin)?;
        Ok(log)
    }

    /// Opens the log of a directory to continue it, and removes an incomplete last line.
    ///
    /// # Errors
    /// Fails like [`read_study`].
    pub fn resume(directory: &Path) -> Result<(Self, Vec<StudyRecord>), StoreError> {
        let path = directory.join(STUDY_FILE);
        let (records, whole) = read(&path)?;
        let file = OpenOptions::new().append(true).open(&path).map_err(|error| StoreError::new(&path, error))?;
        files::lock(&file, &path)?;
        file.set_len(whole).map_err(|error| StoreError::new(&path, error))?;
        Ok((Self { path, file }, records))
    }

    /// Appends a line and waits until it is on the disk.
    ///
    /// # Errors
    /// Fails with an error of the system.
    pub fn append(&mut self, record: &StudyRecord) -> Result<(), StoreError> {
        let mut line = serde_json::to_vec(record).map_err(|error| StoreError::new(&self.path, error))?;
        line.push(b'\n');
        let written = self.file.write_all(&line).and_then(|()| self.file.sync_data());
        written.map_err(|error| StoreError::new(&self.path, error))
    }
}

/// Reads the log of a directory. If a trial was repeated, only its last record is returned.
///
/// # Errors
/// Fails with [`StoreErrorKind::NotARun`] if there is no log, with [`StoreErrorKind::Format`] for other formats, with
/// [`StoreErrorKind::Json`] for an invalid line, or with an error of the system.
pub fn read_study(directory: &Path) -> Result<Vec<StudyRecord>, StoreError> {
    let (mut records, _) = read(&directory.join(STUDY_FILE))?;
    let mut seen = HashSet::new();
    records.reverse();
    records.retain(|record| match record {
        StudyRecord::Trial { cell, target, repeat, directory } => {
            seen.insert((cell.clone(), target.clone(), *repeat, directory.clone()))
        }
        _ => true,
    });
    records.reverse();
    Ok(records)
}

/// Reads the records. Also returns their size in the file.
fn read(path: &Path) -> Result<(Vec<StudyRecord>, u64), StoreError> {
    let failed = |error: io::Error| StoreError::new(path, error);
    let file = File::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => StoreError::new(path, StoreErrorKind::NotARun),
        _ => StoreError::new(path, error),
    })?;
    let mut reader = BufReader::new(file.take(BYTES_MAX));
    let (mut records, mut whole, mut line) = (Vec::new(), 0, Vec::new());
    loop {
        line.clear();
        let bytes = reader.read_until(b'\n', &mut line).map_err(failed)?;
        if bytes == 0 || line.last() != Some(&b'\n') {
            break;
        }
        if records.is_empty() {
            check_format(&line).map_err(|kind| StoreError::new(path, kind))?;
        }
        records.push(serde_json::from_slice(&line).map_err(|error| StoreError::new(path, error))?);
        whole += bytes as u64;
    }
    match records.first() {
        Some(StudyRecord::Scenario { .. } | StudyRecord::Line { .. }) => Ok((records, whole)),
        _ => Err(StoreError::new(path, StoreErrorKind::NotARun)),
    }
}

/// Checks the version in the first line.
fn check_format(line: &[u8]) -> Result<(), StoreErrorKind> {
    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum First {
        Scenario(Versioned),
        Line(Versioned),
    }
    match serde_json::from_slice(line) {
        Ok(First::Scenario(first) | First::Line(first)) => StoreErrorKind::check_format(first.format, FORMAT),
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(repeat: u32) -> StudyRecord {
        let (cell, target) = ("all".to_owned(), "mine".to_owned());
        StudyRecord::Trial { cell, target, repeat, directory: format!("a/{repeat}") }
    }

    #[test]
    fn a_log_has_one_writer() {
        let dir = tempfile::tempdir().unwrap();
        let log = StudyLog::create(dir.path(), &StudyRecord::scenario("name: t", &[], 2, 0, 7)).unwrap();
        let error = StudyLog::resume(dir.path()).unwrap_err();
        assert!(error.to_string().contains("another program is writing this file"), "{error}");
        drop(log);
        StudyLog::resume(dir.path()).unwrap();
    }

    #[test]
    fn an_incomplete_last_line_is_removed_on_resume() {
        let directory = tempfile::tempdir().unwrap();
        let begin = StudyRecord::scenario("name: t", &[], 2, 0, 7);
        let mut log = StudyLog::create(directory.path(), &begin).unwrap();
        log.append(&trial(0)).unwrap();
        drop(log);
        let again = StudyLog::create(directory.path(), &begin).unwrap_err();
        assert!(matches!(again.kind, StoreErrorKind::Exists));
        let path = directory.path().join(STUDY_FILE);
        let mut bytes = fs::read(&path).unwrap();
        bytes.extend_from_slice(b"{\"trial\":{\"cell\":\"al");
        fs::write(&path, bytes).unwrap();
        assert_eq!(read_study(directory.path()).unwrap(), [begin.clone(), trial(0)]);
        let (mut log, records) = StudyLog::resume(directory.path()).unwrap();
        assert_eq!(records.len(), 2);
        log.append(&trial(1)).unwrap();
        assert_eq!(read_study(directory.path()).unwrap(), [begin, trial(0), trial(1)]);
    }

    #[test]
    fn a_repeated_trial_is_returned_once() {
        let directory = tempfile::tempdir().unwrap();
        let begin = StudyRecord::scenario("name: t", &[], 2, 0, 7);
        let mut log = StudyLog::create(directory.path(), &begin).unwrap();
        [0, 1, 0].iter().for_each(|repeat| log.append(&trial(*repeat)).unwrap());
        assert_eq!(read_study(directory.path()).unwrap(), [begin, trial(1), trial(0)]);
    }

    #[test]
    fn studies_of_other_versions_are_rejected_by_their_format() {
        let directory = tempfile::tempdir().unwrap();
        for first in ["{\"scenario\":{\"format\":1,\"old\":true}}\n", "{\"line\":{\"format\":1}}\n"] {
            fs::write(directory.path().join(STUDY_FILE), [first, "{\"renamed\":1}\n"].concat()).unwrap();
            for error in [read_study(directory.path()).unwrap_err(), StudyLog::resume(directory.path()).unwrap_err()] {
                let wanted = "made by another version of plimsoll, in format 1; this version reads only format 2";
                assert!(error.to_string().ends_with(wanted), "{first}: {error}");
            }
        }
    }

    #[test]
    fn directories_without_a_study_are_rejected() {
        let directory = tempfile::tempdir().unwrap();
        assert!(matches!(read_study(directory.path()).unwrap_err().kind, StoreErrorKind::NotARun));
        for text in ["{\"trial\":{\"cell\":\"a\",\"target\":\"b\",\"repeat\":0,\"directory\":\"x\"}}\n", ""] {
            fs::write(directory.path().join(STUDY_FILE), text).unwrap();
            assert!(matches!(read_study(directory.path()).unwrap_err().kind, StoreErrorKind::NotARun), "{text}");
        }
    }
}
