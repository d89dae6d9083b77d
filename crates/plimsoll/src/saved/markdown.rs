//! Saved directories as Markdown.

use super::run_sets::{RunSet, SetKind};
use super::{load_line, study};
use crate::failure::Failure;
use report::export::markdown;

/// Returns the name of a directory as a title.
pub fn title(name: &str) -> String {
    markdown::cell(name)
}

/// Returns the tables of a run, of repeated runs, of a study, or of a search.
pub fn of(set: &RunSet) -> Result<String, Failure> {
    Ok(match set.kind {
        SetKind::One => match set.positions.first() {
            Some(position) => markdown::run(&set.read(position)?),
            None => String::new(),
        },
        SetKind::Repeats => {
            let runs = set.positions.iter().map(|position| Ok((position.directory.clone(), set.read(position)?)));
            markdown::repeats(&runs.collect::<Result<Vec<_>, Failure>>()?)
        }
        SetKind::Line => markdown::line(&load_line::read(&set.base)?),
        SetKind::Study => {
            let (study, _) = study::read(&set.base, &set.records)?;
            markdown::study(&study.study)
        }
    })
}
