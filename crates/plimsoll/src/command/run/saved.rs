//! Saved studies.

use super::differing;
use crate::command::line;
use crate::execute;
use crate::failure::{Exit, Failure};
use crate::say;
use report::escape::escape;
use report::lines::LineTrial;
use report::load_line::LoadLine;
use report::study::Trial;
use report::{SavedStudy, StudyCell};
use std::path::Path;
use store::{STUDY_FILE, SavedRun, StudyRecord};
use study::matrix;
use study::scenario::Scenario;

/// Returns the scenario of a study. Its environment variables are no longer known and stay as written.
fn scenario(records: &[StudyRecord]) -> Option<Scenario> {
    let Some(StudyRecord::Scenario { text, set, .. }) = records.first() else { return None };
    Scenario::parse(text, set, &|name| Some(format!("${{{name}}}"))).ok()
}

/// A saved trial of a study.
pub struct Saved {
    /// Label of its cell.
    pub cell: String,
    /// Name of its target.
    pub target: String,
    /// Number of the repeat, counted from 1. (The log counts from 0.)
    pub repeat: u32,
    /// Name of its directory.
    pub directory: String,
    /// Its result.
    pub measured: Measured,
}

/// The result of a trial.
pub enum Measured {
    /// A run.
    Run(Box<SavedRun>),
    /// A search for the load line, with the run of its last level.
    Line(Box<(LoadLine, Option<SavedRun>)>),
}

/// Reads the trials of a study one by one, in the order in which they ran.
pub fn trials<'r>(base: &'r Path, records: &'r [StudyRecord]) -> impl Iterator<Item = Result<Saved, Failure>> + 'r {
    records.iter().filter_map(|record| {
        let StudyRecord::Trial { cell, target, repeat, directory } = record else { return None };
        let place = base.join(directory);
        let measured = match place.join(STUDY_FILE).is_file() {
            true => line::saved(&place).map(|found| Measured::Line(Box::new(found))),
            false => SavedRun::read(&place)
                .map(|run| Measured::Run(Box::new(run)))
                .map_err(|error| execute::unread_again(&error)),
        };
        let (cell, target, directory) = (escape(cell), escape(target), directory.clone());
        Some(measured.map(|measured| Saved { cell, target, repeat: repeat.saturating_add(1), directory, measured }))
    })
}

/// Reads a study with its trials. Returns it with its exit code.
pub fn read(base: &Path, records: &[StudyRecord]) -> Result<(SavedStudy, Exit), Failure> {
    let mut study = asked(records);
    let mut exit = Exit::Good;
    for trial in trials(base, records) {
        let Saved { cell, target, repeat, directory, measured } = match trial {
            Ok(trial) => trial,
            // The other trials are still worth showing. This one counts as missing.
            Err(failure) => {
                say::note(&format!("skipping a trial: {}", failure.into_message()));
                continue;
            }
        };
        match measured {
            Measured::Line(found) => {
                let (line, last) = *found;
                exit = execute::worse(exit, line::judge(&line));
                study.measured.lines.push(LineTrial { cell, target, repeat, directory, line });
                study.last = last.or(study.last);
            }
            Measured::Run(run) => {
                exit = execute::worse(exit, execute::judge(&run));
                study.measured.trials.push(Trial::of((&cell, &target, repeat), &directory, &run));
                study.last = Some(*run);
            }
        }
    }
    study.measured.differences = study.beside_first();
    study.measured.discrepancies = differing::differing(base, records);
    Ok((study, exit))
}

/// Returns the number of missing trials.
pub fn missing(records: &[StudyRecord]) -> u64 {
    let there = records.iter().filter(|record| matches!(record, StudyRecord::Trial { .. })).count();
    asked(records).measured.planned.saturating_sub(there as u64)
}

/// Returns the study as it was planned, without results.
fn asked(records: &[StudyRecord]) -> SavedStudy {
    let mut study = SavedStudy::default();
    if let Some(StudyRecord::Scenario { text, set, version, .. }) = records.first() {
        (study.text, study.set, study.version) = (text.clone(), set.clone(), version.clone());
    }
    let Some(scenario) = scenario(records) else { return study };
    let cell = |cell: &matrix::Cell| StudyCell {
        label: escape(&cell.label(&scenario)),
        part: scenario.parts.get(cell.part).map(|part| escape(&part.name)).unwrap_or_default(),
        values: cell.values.iter().map(|(name, value)| (escape(name), escape(&value.label))).collect(),
    };
    study.cells = matrix::cells(&scenario).unwrap_or_default().iter().map(cell).collect();
    study.targets = scenario.targets.iter().map(|target| escape(&target.name)).collect();
    study.repeats = scenario.repeats.get();
    study.measured.planned = match records.first() {
        Some(StudyRecord::Scenario { trials: planned @ 1.., .. }) => *planned,
        _ => (study.cells.len() * study.targets.len()) as u64 * u64::from(study.repeats),
    };
    (study.name, study.notes) = (scenario.name, scenario.notes);
    study
}
