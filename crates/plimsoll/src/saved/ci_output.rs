//! Output for CI systems: JUnit files, Markdown summaries and annotations.

use super::fill::AnyFill;
use super::run_sets::{RunSet, SetKind};
use super::study::TrialResult;
use super::{export_file, load_line, markdown, print_text, study};
use crate::failure::Failure;
use report::FillReport;
use report::ci::{Suite, annotations, junit};
use report::fill::Costs;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The flags for CI systems.
#[derive(clap::Args, Clone, Debug, Default)]
#[group(skip)]
pub struct CiOutput {
    /// Write a JUnit file for CI. Each objective of a run is a test case, and each search for a load line is one test
    /// case.
    #[arg(long, value_name = "FILE", help_heading = "Checks and results", hide_short_help = true)]
    pub junit: Option<PathBuf>,
    /// Append the results to this file as Markdown, e.g. "$GITHUB_STEP_SUMMARY".
    #[arg(long, value_name = "FILE", help_heading = "Checks and results", hide_short_help = true)]
    pub summary: Option<PathBuf>,
    /// Print GitHub annotations for missed objectives and unusable runs.
    #[arg(long, conflicts_with = "json", help_heading = "Checks and results", hide_short_help = true)]
    pub annotations: bool,
}

impl CiOutput {
    /// Returns whether a flag is given.
    pub fn is_requested(&self) -> bool {
        self.junit.is_some() || self.summary.is_some() || self.annotations
    }

    /// Returns whether a requested file is in this directory.
    pub fn writes_to(&self, directory: &Path) -> bool {
        self.junit.iter().chain(&self.summary).any(|file| file.starts_with(directory))
    }

    /// Refuses files that could not be written because their directory does not exist. This check comes before the
    /// work, which may take hours. `html` is the value of `--html`. The directory of the run, `out`, does not have to
    /// exist yet.
    ///
    /// # Errors
    /// Fails with the first such file.
    pub fn check_files(&self, html: Option<&Option<PathBuf>>, out: Option<&Path>) -> Result<(), Failure> {
        let html = html.and_then(Option::as_ref);
        let files = [("--html", html), ("--junit", self.junit.as_ref()), ("--summary", self.summary.as_ref())];
        for (flag, file) in files.iter().filter_map(|(flag, file)| Some((flag, file.as_ref()?))) {
            let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty());
            let is_of_run = |parent: &Path| out.is_some_and(|out| parent.starts_with(out));
            if let Some(parent) = directory.filter(|parent| !parent.is_dir() && !is_of_run(parent)) {
                let (file, parent) = (file.display(), parent.display());
                return Err(Failure::usage(format!("{flag} {file}: the directory {parent} does not exist")));
            }
        }
        Ok(())
    }

    /// Writes the requested files about a saved directory, and prints the requested annotations.
    ///
    /// # Errors
    /// Fails if the runs cannot be read or a file cannot be written.
    pub fn write(&self, directory: &Path) -> Result<(), Failure> {
        if !self.is_requested() {
            return Ok(());
        }
        let name = report::escape::escape(&directory.display().to_string());
        if AnyFill::is_in(directory) {
            let fill = AnyFill::read(directory)?.report(&Costs::none());
            return self.write_results(
                &name,
                || Ok(of_fill(&name, &fill)),
                || Ok(report::export::markdown::fill(&fill)),
            );
        }
        let set = RunSet::of(directory)?;
        self.write_results(&name, || suite(&set, &name), || markdown::of(&set))
    }

    /// Like [`Self::write`], for a command that failed. CI systems need a report of an unreachable target too. If the report
    /// cannot be written, this must not hide the cause of the failure.
    pub fn write_after_failure(&self, directory: &Path) {
        let _ = self.write(directory);
    }

    /// Writes the requested files about a result with this name, and prints the requested annotations. Computes only
    /// the requested output.
    ///
    /// # Errors
    /// Fails if `suite` or `summary` fails, or if a file cannot be written.
    pub fn write_results(
        &self,
        name: &str,
        suite: impl FnOnce() -> Result<Suite, Failure>,
        summary: impl FnOnce() -> Result<String, Failure>,
    ) -> Result<(), Failure> {
        let suite = if self.junit.is_some() || self.annotations { Some(suite()?) } else { None };
        if let Some((file, suite)) = self.junit.as_ref().zip(suite.as_ref()) {
            export_file::write(Some(file), "--junit", |out| Ok(out.write_all(junit(suite).as_bytes())?))?;
        }
        if let Some(file) = &self.summary {
            append(file, &format!("### {}\n\n{}\n", markdown::title(name), summary()?))?;
        }
        suite.filter(|_| self.annotations).map_or(Ok(()), |suite| print_text(&annotations(&suite)))
    }
}

/// Appends a text to a file.
fn append(file: &Path, text: &str) -> Result<(), Failure> {
    let written =
        File::options().append(true).create(true).open(file).and_then(|mut out| out.write_all(text.as_bytes()));
    written.map_err(|error| {
        Failure::could_not_run(format!("cannot write {}: {error}; name another file with --summary", file.display()))
    })
}

fn of_fill(name: &str, fill: &FillReport) -> Suite {
    let mut suite = Suite { name: name.to_owned(), ..Suite::default() };
    suite.add_fill(None, None, fill);
    suite
}

/// Returns the test cases of a directory with this name.
fn suite(set: &RunSet, name: &str) -> Result<Suite, Failure> {
    let mut suite = Suite { name: name.to_owned(), ..Suite::default() };
    match set.kind {
        SetKind::One | SetKind::Repeats => {
            for position in &set.positions {
                let label = position.repeat.map(|_| format!("run {}", position.directory));
                suite.add_run(None, label.as_deref(), &set.read(position)?);
            }
        }
        SetKind::Line => suite.add_line(None, None, &load_line::read(&set.base)?),
        SetKind::Study => {
            for trial in study::trials(&set.base, &set.records) {
                let trial = trial?;
                let label = format!("{}, run {}", trial.target, trial.repeat);
                match &trial.result {
                    TrialResult::Fill(fill) => {
                        suite.add_fill(Some(&trial.cell), Some(&label), &fill.report(&Costs::none()));
                    }
                    TrialResult::Line(found) => suite.add_line(Some(&trial.cell), Some(&label), &found.0),
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
