//! Search for objects that succeed on one target and fail on another, in the operation logs of a study's trials.

use crate::console;
use report::escape::escape;
use report::study::discrepancy::{Discrepancy, Objects};
use std::path::Path;
use store::{OPS_FILE, OpLogReader, StudyRecord};

/// The name of a target, and the outcomes of its objects in all repeats of a cell.
type OfTarget = (String, Objects);

/// Returns the discrepancies between the targets of each cell. Reads one cell at a time to save memory, because a
/// target may have a million objects.
pub fn find(base: &Path, records: &[StudyRecord]) -> Vec<Discrepancy> {
    let mut cells: Vec<&str> = Vec::new();
    for record in records {
        if let StudyRecord::Trial { cell, directory, .. } = record
            && !cells.contains(&cell.as_str())
            && base.join(directory).join(OPS_FILE).is_file()
        {
            cells.push(cell);
        }
    }
    cells.into_iter().flat_map(|cell| of_cell(base, records, cell)).collect()
}

fn of_cell(base: &Path, records: &[StudyRecord], cell: &str) -> Vec<Discrepancy> {
    let mut targets: Vec<OfTarget> = Vec::new();
    for record in records {
        let StudyRecord::Trial { cell: of, target, directory, .. } = record else { continue };
        let run = base.join(directory);
        if of != cell || !run.join(OPS_FILE).is_file() {
            continue;
        }
        let target = escape(target);
        let at = targets.iter().position(|(known, _)| *known == target).unwrap_or_else(|| {
            targets.push((target, Objects::default()));
            targets.len() - 1
        });
        read(&run, &mut targets[at].1);
    }
    let pairs = targets.iter().flat_map(|one| targets.iter().map(move |other| (one, other)));
    let between = |(one, other): (&OfTarget, &OfTarget)| {
        Discrepancy::between(&escape(cell), (&one.0, &one.1), (&other.0, &other.1))
    };
    pairs.filter(|(one, other)| one.0 != other.0).filter_map(between).collect()
}

/// Adds the operations of a log, up to the first damage.
fn read(run: &Path, objects: &mut Objects) {
    let damaged =
        |why: &str| console::eprintln(&format!("cannot read all of the operation log in {}: {why}", run.display()));
    let mut log = match OpLogReader::open(run) {
        Ok(log) => log,
        Err(error) => return damaged(&error.to_string()),
    };
    for op in &mut log {
        match op {
            Ok(op) => objects.add(&op),
            Err(error) => return damaged(&error.to_string()),
        }
    }
    if let Some(damage) = log.damage() {
        damaged(damage.kind.about());
    }
}
