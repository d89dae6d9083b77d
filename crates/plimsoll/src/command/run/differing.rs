//! Which objects end well on one target and fail on another, from the logs of operations of a study's trials.

use crate::execute;
use crate::failure::Failure;
use report::discrepancy::{Discrepancy, Objects};
use report::escape::escape;
use std::path::Path;
use store::{OPS_FILE, OpLogReader, StoreError, StudyRecord};

/// The objects of a target in a cell, over all repeats.
struct OfTarget {
    cell: String,
    target: String,
    objects: Objects,
}

/// What differs between the targets of each cell.
pub fn differing(base: &Path, records: &[StudyRecord]) -> Result<Vec<Discrepancy>, Failure> {
    let all = read(base, records).map_err(|error| execute::unread_again(&error))?;
    let pairs = all.iter().flat_map(|one| all.iter().map(move |other| (one, other)));
    let pairs = pairs.filter(|(one, other)| one.cell == other.cell && one.target != other.target);
    let between = |(one, other): (&OfTarget, &OfTarget)| {
        Discrepancy::between(&one.cell, (&one.target, &one.objects), (&other.target, &other.objects))
    };
    Ok(pairs.filter_map(between).collect())
}

fn read(base: &Path, records: &[StudyRecord]) -> Result<Vec<OfTarget>, StoreError> {
    let mut all: Vec<OfTarget> = Vec::new();
    for record in records {
        let StudyRecord::Trial { cell, target, directory, .. } = record else { continue };
        let run = base.join(directory);
        if !run.join(OPS_FILE).is_file() {
            continue;
        }
        let (cell, target) = (escape(cell), escape(target));
        let known = all.iter().position(|known| known.cell == cell && known.target == target);
        let at = known.unwrap_or_else(|| {
            all.push(OfTarget { cell, target, objects: Objects::default() });
            all.len() - 1
        });
        for op in OpLogReader::open(&run)? {
            all[at].objects.add(&op?);
        }
    }
    Ok(all)
}
