//! Output for CI systems: JUnit files and annotations.

use crate::failure::Failure;
use crate::saved::run_sets::{RunSet, SetKind};
use crate::saved::study::TrialResult;
use crate::saved::{self, export_file, load_line, study};
use report::ci::{Suite, annotations, junit};
use std::path::Path;

/// Writes a JUnit file and prints annotations, if requested.
///
/// # Errors
/// Fails if the runs cannot be read or the file cannot be written.
pub fn write_and_print(directory: &Path, file: Option<&Path>, annotate: bool) -> Result<(), Failure> {
    if file.is_none() && !annotate {
        return Ok(());
    }
    let suite = suite(directory)?;
    if let Some(file) = file {
        export_file::write(Some(file), "--junit", |out| Ok(out.write_all(junit(&suite).as_bytes())?))?;
    }
    if annotate { saved::print_text(&annotations(&suite)) } else { Ok(()) }
}

/// Returns the test cases of a directory.
fn suite(directory: &Path) -> Result<Suite, Failure> {
    let set = RunSet::of(directory)?;
    let mut suite = Suite { name: report::escape::escape(&directory.display().to_string()), ..Suite::default() };
    match set.kind {
        SetKind::One | SetKind::Repeats => {
            for position in &set.positions {
                let label = position.repeat.map(|_| format!("run {}", position.directory));
                suite.add_run(None, label.as_deref(), &set.read(position)?);
            }
        }
        SetKind::Line => suite.add_line(None, None, &load_line::read(directory)?),
        SetKind::Study => {
            for trial in study::trials(&set.base, &set.records) {
                let trial = trial?;
                let label = format!("{}, run {}", trial.target, trial.repeat);
                match &trial.result {
                    TrialResult::Line(found) => suite.add_line(Some(&trial.cell), Some(&label), &found.0),
                    TrialResult::Fill(fill) => suite.add_fill(&trial.cell, &label, fill),
                    TrialResult::Run(run) => suite.add_run(Some(&trial.cell), Some(&label), run),
                }
            }
        }
    }
    if let SetKind::Study = set.kind {
        suite.add_missing(study::missing(&set.records));
    }
    Ok(suite)
}
