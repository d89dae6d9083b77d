//! The log of a study: which runs belong together, and what they were run for.
//!
//! The runs of a study have directories of their own below that of the study. One small file of JSON lines beside them says
//! what each is; it is appended to when a run has ended, so that a study that was killed goes on where it was.

use crate::error::{StoreError, StoreErrorKind};
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
const FORMAT: u32 = 1;
/// A file is never larger: a line takes some 200 bytes, and the scenario is at most 1 MiB.
const BYTES_MAX: u64 = 64 << 20;

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StudyRecord {
    /// A study of a scenario begins.
    Scenario {
        /// Version of the format.
        format: u32,
        /// Version of the program.
        version: String,
        /// The scenario as it stood in its file, without secrets.
        text: String,
        /// Variables that were set on the command line, without secrets.
        set: Vec<(String, String)>,
        /// How many trials are to be run; 0 in older logs, which do not tell.
        #[serde(default)]
        trials: u64,
    },
    /// A search for the load line begins.
    Line {
        /// Version of the format.
        format: u32,
        /// Version of the program.
        version: String,
        /// What the line is measured in.
        unit: LoadUnit,
        /// The width that the bracket may have, as a share of its lower end.
        precision: f64,
        /// Steps of levels that make one of the unit; 1 in older logs.
        #[serde(default = "one")]
        steps: NonZeroU64,
    },
    /// A level of a search was run.
    Level {
        /// Which, in steps of the unit.
        level: u64,
        /// Name of the run's directory.
        directory: String,
        /// Its result; `None` in older logs, where the objectives of the run decide.
        #[serde(default)]
        outcome: Option<Outcome>,
        /// Whether the result is certain at the confidence that was asked for, not by what was measured until its time was over.
        #[serde(default)]
        certain: bool,
    },
    /// A trial of a study was run.
    Trial {
        /// What its cell is called.
        cell: String,
        /// What its target is called.
        target: String,
        /// How often the cell was measured there before: 0 for the first. What is shown counts from 1.
        repeat: u32,
        /// Name of the run's directory.
        directory: String,
    },
    /// The search is over.
    Found(Found),
}

impl StudyRecord {
    /// The beginning of a study.
    #[must_use]
    pub fn scenario(text: &str, set: &[(String, String)], trials: u64) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Self::Scenario { format: FORMAT, version, text: text.to_owned(), set: set.to_vec(), trials }
    }

    /// The beginning of a search.
    #[must_use]
    pub fn line(unit: LoadUnit, precision: f64) -> Self {
        let steps = NonZeroU64::new(unit.steps()).unwrap_or(NonZeroU64::MIN);
        Self::Line { format: FORMAT, version: env!("CARGO_PKG_VERSION").to_owned(), unit, precision, steps }
    }
}

fn one() -> NonZeroU64 {
    NonZeroU64::MIN
}

/// Appends to the log of a study.
#[derive(Debug)]
pub struct StudyLog {
    path: PathBuf,
    file: File,
}

impl StudyLog {
    /// Begins a log in a directory that holds none.
    ///
    /// # Errors
    /// When there is one already, or the system refuses.
    pub fn create(directory: &Path, begin: &StudyRecord) -> Result<Self, StoreError> {
        fs::create_dir_all(directory).map_err(|error| StoreError::new(directory, error))?;
        let path = directory.join(STUDY_FILE);
        let file = crate::run_writer::create_new(&path)?;
        let mut log = Self { path, file };
        log.lock()?;
        log.append(begin)?;
        Ok(log)
    }

    /// Goes on with the log of a directory. A last line that was cut off is cut away.
    ///
    /// # Errors
    /// When there is none, or the system refuses.
    pub fn resume(directory: &Path) -> Result<(Self, Vec<StudyRecord>), StoreError> {
        let path = directory.join(STUDY_FILE);
        let (records, whole) = read(&path)?;
        let file = OpenOptions::new().append(true).open(&path).map_err(|error| StoreError::new(&path, error))?;
        let log = Self { path, file };
        log.lock()?;
        log.file.set_len(whole).map_err(|error| StoreError::new(&log.path, error))?;
        Ok((log, records))
    }

    /// Holds it for as long as this value lives: two programs would run the same trials.
    fn lock(&self) -> Result<(), StoreError> {
        self.file.try_lock().map_err(|error| match error {
            fs::TryLockError::WouldBlock => {
                StoreError::new(&self.path, io::Error::other("another program is writing it: wait until it has ended"))
            }
            fs::TryLockError::Error(error) => StoreError::new(&self.path, error),
        })
    }

    /// Appends a line; it is on the disk when this returns.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn append(&mut self, record: &StudyRecord) -> Result<(), StoreError> {
        let mut line = serde_json::to_vec(record).map_err(|error| StoreError::new(&self.path, error))?;
        line.push(b'\n');
        let written = self.file.write_all(&line).and_then(|()| self.file.sync_data());
        written.map_err(|error| StoreError::new(&self.path, error))
    }
}

/// What the log of a directory says. A trial that had to be run again stands there twice, and is told once.
///
/// # Errors
/// When there is none, or a line but the last can not be read.
pub fn read_study(directory: &Path) -> Result<Vec<StudyRecord>, StoreError> {
    let (mut records, _) = read(&directory.join(STUDY_FILE))?;
    let mut told = HashSet::new();
    records.reverse();
    records.retain(|record| match record {
        StudyRecord::Trial { cell, target, repeat, directory } => {
            told.insert((cell.clone(), target.clone(), *repeat, directory.clone()))
        }
        _ => true,
    });
    records.reverse();
    Ok(records)
}

/// The records, and how many bytes of the file they take.
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
        records.push(serde_json::from_slice(&line).map_err(|error| StoreError::new(path, error))?);
        whole += bytes as u64;
    }
    match records.first() {
        Some(StudyRecord::Scenario { format: FORMAT, .. } | StudyRecord::Line { format: FORMAT, .. }) => {
            Ok((records, whole))
        }
        Some(StudyRecord::Scenario { format, .. } | StudyRecord::Line { format, .. }) => {
            Err(StoreError::new(path, StoreErrorKind::Format { found: u64::from(*format), readable: FORMAT }))
        }
        _ => Err(StoreError::new(path, StoreErrorKind::NotARun)),
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
        let log = StudyLog::create(dir.path(), &StudyRecord::scenario("name: t", &[], 2)).unwrap();
        let error = StudyLog::resume(dir.path()).unwrap_err();
        assert!(error.to_string().contains("another program is writing it"), "{error}");
        drop(log);
        StudyLog::resume(dir.path()).unwrap();
    }

    #[test]
    fn what_was_cut_off_is_cut_away_and_the_rest_goes_on() {
        let directory = tempfile::tempdir().unwrap();
        let begin = StudyRecord::scenario("name: t", &[], 2);
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
    fn a_trial_that_was_run_again_is_told_once() {
        let directory = tempfile::tempdir().unwrap();
        let begin = StudyRecord::scenario("name: t", &[], 2);
        let mut log = StudyLog::create(directory.path(), &begin).unwrap();
        [0, 1, 0].iter().for_each(|repeat| log.append(&trial(*repeat)).unwrap());
        assert_eq!(read_study(directory.path()).unwrap(), [begin, trial(1), trial(0)]);
    }

    #[test]
    fn other_directories_are_none_of_a_study() {
        let directory = tempfile::tempdir().unwrap();
        assert!(matches!(read_study(directory.path()).unwrap_err().kind, StoreErrorKind::NotARun));
        for text in ["{\"trial\":{\"cell\":\"a\",\"target\":\"b\",\"repeat\":0,\"directory\":\"x\"}}\n", ""] {
            fs::write(directory.path().join(STUDY_FILE), text).unwrap();
            assert!(matches!(read_study(directory.path()).unwrap_err().kind, StoreErrorKind::NotARun), "{text}");
        }
    }
}
