//! Reads a study that was saved, for reports that need all of it.

use super::line;
use super::run::differing;
use crate::execute;
use crate::failure::{Exit, Failure};
use report::escape::escape;
use report::lines::LineTrial;
use report::study::Trial;
use report::{SavedStudy, StudyCell};
use std::path::Path;
use store::{STUDY_FILE, SavedRun, StudyRecord};
use study::{Scenario, matrix};

/// The scenario of a study. What it took from the environment is not known any more, and stays as it was written.
fn scenario(records: &[StudyRecord]) -> Option<Scenario> {
    let Some(StudyRecord::Scenario { text, set, .. }) = records.first() else { return None };
    Scenario::parse(text, set, &|name| Some(format!("${{{name}}}"))).ok()
}

/// The study with its trials, and the exit code that they deserve.
pub fn read(base: &Path, records: &[StudyRecord]) -> Result<(SavedStudy, Exit), Failure> {
    let mut study = asked(records);
    let mut exit = Exit::Good;
    for record in records {
        let StudyRecord::Trial { cell, target, repeat, directory } = record else { continue };
        let (cell, target, repeat, place) = (escape(cell), escape(target), *repeat, base.join(directory));
        if place.join(STUDY_FILE).is_file() {
            let (line, last) = line::saved(&place)?;
            exit = execute::worse(exit, line::judge(&line));
            study.measured.lines.push(LineTrial { cell, target, repeat, directory: directory.clone(), line });
            study.last = last.or(study.last);
            continue;
        }
        let run = SavedRun::read(&place).map_err(|error| execute::unread_again(&error))?;
        exit = execute::worse(exit, execute::judge(&run));
        study.measured.trials.push(Trial::of((&cell, &target, repeat), directory, &run));
        study.last = Some(run);
    }
    study.measured.discrepancies = differing::differing(base, records)?;
    Ok((study, exit))
}

/// What was asked for.
fn asked(records: &[StudyRecord]) -> SavedStudy {
    let mut study = SavedStudy::default();
    if let Some(StudyRecord::Scenario { text, set, version, .. }) = records.first() {
        (study.text, study.set, study.version) = (text.clone(), set.clone(), version.clone());
    }
    let Some(scenario) = scenario(records) else { return study };
    let cell = |cell: &matrix::Cell| StudyCell {
        label: escape(&cell.label(&scenario)),
        part: scenario.parts.get(cell.part).map(|part| escape(&part.name)).unwrap_or_default(),
        values: cell.values.iter().map(|(name, value, _)| (escape(name), escape(value))).collect(),
    };
    study.cells = matrix::cells(&scenario).unwrap_or_default().iter().map(cell).collect();
    study.targets = scenario.targets.iter().map(|target| escape(&target.name)).collect();
    study.repeats = scenario.repeats.get();
    (study.name, study.notes) = (scenario.name, scenario.notes);
    study
}
