//! What CI systems read of a saved run, a study or a search.

use super::sets::{Kind, Set};
use super::sink;
use crate::command::line;
use crate::failure::Failure;
use report::ci::{Suite, annotations, junit};
use std::path::Path;
use store::{STUDY_FILE, SavedRun, StudyRecord};

/// Writes a JUnit file, and prints annotations, where either is asked for.
///
/// # Errors
/// When the runs can not be read, or the file not be written.
pub fn tell(directory: &Path, file: Option<&Path>, annotate: bool) -> Result<(), Failure> {
    if file.is_none() && !annotate {
        return Ok(());
    }
    let suite = suite(directory)?;
    if let Some(file) = file {
        sink::write(Some(file), "--junit", |out| Ok(out.write_all(junit(&suite).as_bytes())?))?;
    }
    if annotate { super::print(&annotations(&suite)) } else { Ok(()) }
}

/// The cases of a directory.
fn suite(directory: &Path) -> Result<Suite, Failure> {
    let set = Set::of(directory)?;
    let mut suite = Suite { name: report::escape::escape(&directory.display().to_string()), ..Suite::default() };
    match set.kind {
        Kind::One | Kind::Repeats => {
            for place in &set.places {
                let label = place.repeat.map(|_| format!("run {}", place.directory));
                suite.add_run(None, label.as_deref(), &set.read(place)?);
            }
        }
        Kind::Line => suite.add_line(None, None, &line::of(directory)?),
        Kind::Study => {
            for record in &set.records {
                let StudyRecord::Trial { cell, target, repeat, directory, .. } = record else { continue };
                let place = set.base.join(directory);
                let label = format!("{target}, run {}", repeat.saturating_add(1));
                if place.join(STUDY_FILE).is_file() {
                    suite.add_line(Some(cell), Some(&label), &line::of(&place)?);
                } else {
                    let run = SavedRun::read(&place).map_err(|error| super::unread_again(&error))?;
                    suite.add_run(Some(cell), Some(&label), &run);
                }
            }
        }
    }
    Ok(suite)
}
