//! The set of runs in a directory: one run, repeated runs, a study, or a search for the load line.

use super::{cannot_read, cannot_read_back, fleet_fill, repeats};
use crate::failure::Failure;
use report::export::runs::Position;
use std::path::{Path, PathBuf};
use store::{EndReason, RECORDS_FILE, STUDY_FILE, SavedFill, SavedRun, StudyRecord};

/// Relation between the runs in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetKind {
    /// One run.
    One,
    /// Runs of the same load.
    Repeats,
    /// Trials of a study.
    Study,
    /// Levels of a search for the load line.
    Line,
}

/// The runs of a directory.
#[derive(Debug)]
pub struct RunSet {
    /// The directory.
    pub base: PathBuf,
    /// Relation between the runs.
    pub kind: SetKind,
    /// Position of each run, in order.
    pub positions: Vec<Position>,
    /// The log of a study or a search.
    pub records: Vec<StudyRecord>,
}

/// Returns whether nothing was measured in a directory, because the target could not be reached from the start.
pub fn is_without_measurements(base: &Path) -> bool {
    let Ok(set) = RunSet::of(base) else { return false };
    let is_unreached = |run: SavedRun| matches!(run.end.map(|end| end.reason), Some(EndReason::Unreachable { .. }));
    match set.kind {
        SetKind::One | SetKind::Repeats => {
            set.positions.iter().all(|position| set.read(position).is_ok_and(is_unreached))
        }
        SetKind::Line | SetKind::Study => set.positions.is_empty(),
    }
}

impl RunSet {
    /// Returns the set of runs in a directory, without reading the runs.
    ///
    /// # Errors
    /// Fails if the log of a study cannot be read.
    pub fn of(base: &Path) -> Result<Self, Failure> {
        let mut set = Self { base: base.to_owned(), kind: SetKind::One, positions: Vec::new(), records: Vec::new() };
        if base.join(RECORDS_FILE).exists() {
            set.positions.push(Position::default());
        } else if repeats::are_in(base) {
            set.kind = SetKind::Repeats;
            let numbers = 1..=repeats::directories(base).len() as u64;
            set.positions.extend(numbers.map(|repeat| Position {
                directory: repeat.to_string(),
                repeat: Some(repeat),
                ..Position::default()
            }));
        } else if base.join(STUDY_FILE).is_file() {
            set.records = store::read_study(base).map_err(|error| cannot_read(&error))?;
            set.kind = match set.records.first() {
                Some(StudyRecord::Scenario { .. }) => SetKind::Study,
                _ => SetKind::Line,
            };
            for record in &set.records {
                set.positions.extend(positions(base, &set.records, record)?);
            }
        } else {
            // This directory contains no run. The error message appears later, when the directory is read.
            set.positions.push(Position::default());
        }
        Ok(set)
    }

    /// Returns the number of trials that are fills of several hosts. Their runs are not in the set.
    pub fn fills_on_hosts(&self) -> usize {
        let is_on_hosts = |record: &&StudyRecord| match record {
            StudyRecord::Trial { directory, .. } => fleet_fill::is_in(&self.base.join(directory)),
            _ => false,
        };
        self.records.iter().filter(is_on_hosts).count()
    }

    /// Returns the directory of a run.
    pub fn directory(&self, position: &Position) -> PathBuf {
        if position.directory.is_empty() { self.base.clone() } else { self.base.join(&position.directory) }
    }

    /// Reads a run.
    ///
    /// # Errors
    /// Fails if the run cannot be read.
    pub fn read(&self, position: &Position) -> Result<SavedRun, Failure> {
        let failure = if self.kind == SetKind::One { cannot_read } else { cannot_read_back };
        SavedRun::read(&self.directory(position)).map_err(|error| failure(&error))
    }
}

/// Maximum depth of subdirectories in which to search for runs. Studies save runs in `CELL/TRIAL`, and `redirects`
/// saves them in `LIST/PAIR-WAY`.
const DEPTH: usize = 2;

/// Returns the first run, study or search in the subdirectories of `base`.
pub fn find_below(base: &Path) -> Option<PathBuf> {
    below(base, DEPTH)
}

fn below(base: &Path, depth: usize) -> Option<PathBuf> {
    let entries = std::fs::read_dir(base).ok()?.filter_map(Result::ok);
    let mut directories: Vec<PathBuf> =
        entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()).collect();
    directories.sort();
    let holds = |path: &PathBuf| path.join(RECORDS_FILE).is_file() || path.join(STUDY_FILE).is_file();
    let deeper = || directories.iter().filter(|_| depth > 1).find_map(|path| below(path, depth - 1));
    directories.iter().find(|path| holds(path)).cloned().or_else(deeper)
}

/// Returns the runs of a record in the log of a study or a search. If the record is a trial with a search, the runs are
/// the levels of the search. If the record is a trial with a fill, the runs are the phases of all sessions. A fill of
/// several hosts has no runs here.
fn positions(base: &Path, of: &[StudyRecord], record: &StudyRecord) -> Result<Vec<Position>, Failure> {
    let level = |record: &StudyRecord, steps: u64, of: &Position| match record {
        StudyRecord::Level { level, directory, .. } => {
            let directory = Path::new(&of.directory).join(directory).display().to_string();
            Some(Position { directory, level: Some(report::load_line::load(*level, steps)), ..of.clone() })
        }
        _ => None,
    };
    let StudyRecord::Trial { cell, target, repeat, directory, .. } = record else {
        return Ok(level(record, steps(of), &Position::default()).into_iter().collect());
    };
    let trial = Position {
        directory: directory.clone(),
        cell: Some(cell.clone()),
        target: Some(target.clone()),
        // The log counts repeats from 0.
        repeat: Some(u64::from(*repeat) + 1),
        level: None,
    };
    let place = base.join(directory);
    if fleet_fill::is_in(&place) {
        // The runs of the sessions are on the hosts.
        return Ok(Vec::new());
    }
    if SavedFill::is_in(&place) {
        return fill_positions(base, &place, &trial);
    }
    if !place.join(STUDY_FILE).is_file() {
        return Ok(vec![trial]);
    }
    let records = store::read_study(&place).map_err(|error| cannot_read_back(&error))?;
    Ok(records.iter().filter_map(|record| level(record, steps(&records), &trial)).collect())
}

/// Returns the runs of a trial with a fill. Each phase of each session has a run.
fn fill_positions(base: &Path, place: &Path, trial: &Position) -> Result<Vec<Position>, Failure> {
    let sessions = store::fill_directory::sessions(place).map_err(|error| cannot_read_back(&error))?;
    let mut runs: Vec<PathBuf> = Vec::new();
    for (_, session) in sessions {
        let phases = std::fs::read_dir(session).into_iter().flatten().flatten().map(|entry| entry.path());
        runs.extend(phases.filter(|run| run.join(RECORDS_FILE).is_file()));
    }
    runs.sort();
    let position = |run: PathBuf| {
        let directory = run.strip_prefix(base).unwrap_or(&run).display().to_string();
        Position { directory, ..trial.clone() }
    };
    Ok(runs.into_iter().map(position).collect())
}

/// Returns the number of steps of the search in one unit of load.
fn steps(records: &[StudyRecord]) -> u64 {
    let of = |record: &StudyRecord| match record {
        StudyRecord::Line { steps, .. } => Some(steps.get()),
        _ => None,
    };
    records.iter().find_map(of).unwrap_or(1)
}
