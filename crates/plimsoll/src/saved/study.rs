//! Saved studies.

use super::fill::AnyFill;
use super::{
    OutputFormat, cannot_read_back, cell_prices, discrepancies, exit_code, html_file, load_line, print_json,
    print_text, text_style,
};
use crate::console;
use crate::failure::{Exit, Failure};
use report::escape::escape;
use report::load_line::LoadLine;
use report::number::plural;
use report::study::{FillTrial, LineTrial, Order, Study, Trial, discrepancy, subtraction};
use report::{SavedStudy, StudyCell};
use std::io::IsTerminal;
use std::path::Path;
use store::{STUDY_FILE, SavedRun, StudyRecord};
use study::matrix;
use study::scenario::Scenario;

/// Returns the scenario of a study. References to environment variables are not replaced, because the values were not
/// saved.
fn scenario(records: &[StudyRecord]) -> Option<Scenario> {
    let Some(StudyRecord::Scenario { text, set, .. }) = records.first() else { return None };
    Scenario::parse(text, set, &|name| Some(format!("${{{name}}}"))).ok()
}

/// A saved trial of a study.
pub struct SavedTrial {
    /// Label of its cell.
    pub cell: String,
    /// Name of its target.
    pub target: String,
    /// Number of the repeat, counted from 1. In the log, repeats are counted from 0.
    pub repeat: u32,
    /// Name of its directory.
    pub directory: String,
    /// Result of the trial.
    pub result: TrialResult,
}

/// The result of a trial.
pub enum TrialResult {
    /// A run.
    Run(Box<SavedRun>),
    /// A search for the load line, and the run of its last level.
    Line(Box<(LoadLine, Option<SavedRun>)>),
    /// A fill.
    Fill(AnyFill),
}

impl TrialResult {
    /// Reads the result in the directory of a trial.
    fn read(place: &Path) -> Result<Self, Failure> {
        if place.join(STUDY_FILE).is_file() {
            return load_line::read_with_last_run(place).map(|found| Self::Line(Box::new(found)));
        }
        if AnyFill::is_in(place) {
            return AnyFill::read(place).map(Self::Fill);
        }
        SavedRun::read(place).map(|run| Self::Run(Box::new(run))).map_err(|error| cannot_read_back(&error))
    }
}

/// Returns an iterator that reads the trials of a study, in the order in which they ran.
pub fn trials<'r>(
    base: &'r Path,
    records: &'r [StudyRecord],
) -> impl Iterator<Item = Result<SavedTrial, Failure>> + 'r {
    records.iter().filter_map(|record| {
        let StudyRecord::Trial { cell, target, repeat, directory } = record else { return None };
        let result = TrialResult::read(&base.join(directory));
        let (cell, target, directory) = (escape(cell), escape(target), directory.clone());
        Some(result.map(|result| SavedTrial { cell, target, repeat: repeat.saturating_add(1), directory, result }))
    })
}

/// The result of the trials of a study.
pub struct Concluded {
    exit: Exit,
    /// Number of trials that did not pass.
    failed: u64,
    /// The first of the trials with this exit code, and its reason.
    worst: Option<String>,
}

impl Concluded {
    /// Adds a trial. A trial that passed, or that the user interrupted, has no reason.
    fn add(&mut self, exit: Exit, trial: &str, reason: Option<String>) {
        let worse = self.exit.or_worse(exit);
        if let Some(reason) = reason {
            self.failed += 1;
            if self.worst.is_none() || worse != self.exit {
                self.worst = Some(format!("plimsoll: {trial}: {reason}"));
            }
        }
        self.exit = worse;
    }

    /// Returns the exit code. If trials did not pass, also prints one of the reasons to standard error.
    pub fn conclude(self) -> Exit {
        if let Some(first) = self.worst {
            let more = match self.failed - 1 {
                0 => String::new(),
                more => format!("; {} did not pass either", plural(more, "further trial")),
            };
            console::eprintln(&format!("{first}{more} (exit code {})", self.exit.code()));
        }
        self.exit
    }
}

/// Reads a study with its trials. Also returns the result of the trials.
pub fn read(base: &Path, records: &[StudyRecord]) -> Result<(SavedStudy, Concluded), Failure> {
    let mut study = planned(records);
    let scenario = scenario(records);
    let mut concluded = Concluded { exit: Exit::Good, failed: 0, worst: None };
    for trial in trials(base, records) {
        let SavedTrial { cell, target, repeat, directory, result } = match trial {
            Ok(trial) => trial,
            // If a trial cannot be read, count it as missing, and continue with the other trials.
            Err(failure) => {
                console::eprintln(&format!("skipping a trial: {}", failure.into_message()));
                continue;
            }
        };
        let name = format!("{cell}, {target}, run {repeat}");
        match result {
            TrialResult::Line(found) => {
                let (line, last) = *found;
                let exit = load_line::exit_code(&line);
                concluded.add(exit, &name, (!is_good(exit)).then(|| line.sentence()));
                study.study.load_lines.push(LineTrial { cell, target, repeat, directory, load_line: line });
                study.last = last.or(study.last);
            }
            TrialResult::Fill(saved) => {
                let prices = cell_prices::of(scenario.as_ref(), &cell, &target);
                let report = saved.report(&prices);
                let exit = report.exit.into();
                concluded.add(exit, &name, (!is_good(exit)).then(|| "the fill did not pass".to_owned()));
                study.study.fills.push(FillTrial::of((&cell, &target, repeat), &directory, report, &prices));
            }
            TrialResult::Run(run) => {
                let result = report::result::of(&run);
                concluded.add(result.exit.into(), &name, exit_code::reason(&result));
                study.study.trials.push(Trial::of((&cell, &target, repeat), &directory, &run));
                study.last = Some(*run);
            }
        }
    }
    study.study.differences = study.compared_with_first();
    study.study.discrepancies = discrepancies::find(base, records);
    Ok((study, concluded))
}

fn is_good(exit: Exit) -> bool {
    matches!(exit, Exit::Good | Exit::Interrupted(_))
}

/// Returns the number of missing trials.
pub fn missing(records: &[StudyRecord]) -> u64 {
    let there = records.iter().filter(|record| matches!(record, StudyRecord::Trial { .. })).count();
    planned(records).study.planned.saturating_sub(there as u64)
}

/// Returns the planned study, without results.
fn planned(records: &[StudyRecord]) -> SavedStudy {
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
    study.study.planned = match records.first() {
        Some(StudyRecord::Scenario { trials: planned @ 1.., .. }) => *planned,
        _ => (study.cells.len() * study.targets.len()) as u64 * u64::from(study.repeats),
    };
    (study.name, study.notes) = (scenario.name, scenario.notes);
    study
}

/// Prints a saved study. If the user asked for its differences, prints all of them.
pub fn print(study: &SavedStudy, format: OutputFormat, asked: bool) -> Result<(), Failure> {
    match format {
        OutputFormat::Json => print_json(serde_json::to_string_pretty(&study.study)),
        OutputFormat::None => Ok(()),
        OutputFormat::Text | OutputFormat::Full | OutputFormat::Ab | OutputFormat::Httpbench => {
            let order = study.order();
            let full = format == OutputFormat::Full;
            let tables = tables(study, &order, full);
            let (list, objects, style) = (&study.study.differences, &study.study.discrepancies, text_style());
            // Programs that read the text expect whole lines.
            let (headline, differing) = match full || !std::io::stdout().is_terminal() {
                true => (study.study.headline(), discrepancy::text(objects)),
                false => (study.study.fitting_headline(&style), discrepancy::fitting_text(objects, &style)),
            };
            let differences = match (full, asked) {
                (true, _) => subtraction::text(list),
                (false, true) => subtraction::fitting_text(list, &style),
                (false, false) => subtraction::short_text(list, &style),
            };
            print_text(&(headline + &tables.join("\n") + &differences + &differing))
        }
    }
}

/// Returns the tables of the trials, their agents, the searches and the fills. Leaves out tables without rows. `full`
/// tables have all columns, and the other tables fit on a terminal.
fn tables(study: &SavedStudy, order: &Order<'_>, full: bool) -> Vec<String> {
    use report::study::{agents, fills, load_lines, short_text, text};
    let (Study { trials, load_lines: lines, fills: filled, .. }, style) = (&study.study, text_style());
    let cells = match (trials.is_empty(), full) {
        (true, _) => String::new(),
        (false, true) => text(trials, order),
        (false, false) => short_text(trials, order, &style),
    };
    let lines = if full { load_lines::text(lines, order) } else { load_lines::short_text(lines, order, &style) };
    let fills = if full { fills::text(filled, order) } else { fills::short_text(filled, order, &style) };
    let agents = if full { agents::text(trials, order) } else { agents::short_text(trials, order, &style) };
    [cells, agents, lines, fills].into_iter().filter(|table| !table.is_empty()).collect()
}

/// Writes the HTML report of a saved study to the file that the user named, or else into the directory of the study.
pub fn write_html(study: &SavedStudy, base: &Path, file: Option<&Path>) -> Result<(), Failure> {
    html_file::write_page(&report::html_study(study), base, file)
}
