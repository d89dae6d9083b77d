//! Output for CI systems: JUnit files and annotations.

use crate::command::line;
use crate::command::run::saved::{self, Measured};
use crate::execute::sets::{Kind, Set};
use crate::execute::{print, sink};
use crate::failure::Failure;
use report::ci::{Suite, annotations, junit};
use std::path::Path;

/// Writes a JUnit file and prints annotations, if requested.
///
/// # Errors
/// Fails if the runs cannot be read or the file cannot be written.
pub fn tell(directory: &Path, file: Option<&Path>, annotate: bool) -> Result<(), Failure> {
    if file.is_none() && !annotate {
        return Ok(());
    }
    let suite = suite(directory)?;
    if let Some(file) = file {
        sink::write(Some(file), "--junit", |out| Ok(out.write_all(junit(&suite).as_bytes())?))?;
    }
    if annotate { print(&annotations(&suite)) } else { Ok(()) }
}

/// Returns the test cases of a directory.
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
            for trial in saved::trials(&set.base, &set.records) {
                let trial = trial?;
                let label = format!("{}, run {}", trial.target, trial.repeat);
                match &trial.measured {
                    Measured::Line(found) => suite.add_line(Some(&trial.cell), Some(&label), &found.0),
                    Measured::Run(run) => suite.add_run(Some(&trial.cell), Some(&label), run),
                }
            }
        }
    }
    if let Kind::Study = set.kind {
        suite.add_missing(saved::missing(&set.records));
    }
    Ok(suite)
}
