//! Results for CI systems, as the test cases of a JUnit file or as annotations for GitHub workflows.
//!
//! Each objective of a run, each search for the load line and each fill is a test case. An unusable result is an error
//! and not a failure, because unusable numbers do not describe the target.

mod annotations;
mod junit;

pub use annotations::annotations;
pub use junit::junit;

use crate::compare::{Comparison, Sides};
use crate::escape::escape;
use crate::json::FillReport;
use crate::limit;
use crate::load_line::LoadLine;
use crate::number::{byte_rate, rate, share, were_of};
use crate::percentile;
use crate::result;
use crate::text::comparison_rows;
use measure::objective::{ObjectiveOutcome, ObjectiveResult, Timed};
use measure::result::Reason;
use measure::statistics::difference::Conclusion;
use measure::{ExitStatus, ResultWord, RunResult};
use store::SavedRun;

/// The outcome of a case. Each message is a single line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The objective was met.
    Passed,
    /// The objective was missed.
    Failed(String),
    /// The numbers must not be used.
    Error(String),
    /// The run was cut off, and the program exits with an error code.
    CutOff(String),
    /// Too few operations ended to decide the objective.
    Skipped(String),
}

/// One objective of a run, one search for the load line, one fill, or one metric of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Cell of a study, or target.
    pub class: String,
    /// Objective.
    pub name: String,
    /// Length of the measured window, in seconds.
    pub seconds: f64,
    /// Outcome.
    pub outcome: Outcome,
    /// Main metrics of the run, for people.
    pub metrics: String,
}

/// All cases of a saved directory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Suite {
    /// Name of the suite, which is the directory.
    pub name: String,
    /// Cases in the order in which they were added.
    pub cases: Vec<Case>,
    /// Sum of the measured windows, in seconds.
    pub seconds: f64,
}

impl Suite {
    /// Adds the objectives of a run. For a run of a study, `class` is the name of its cell. `label` distinguishes
    /// several runs.
    pub fn add_run(&mut self, class: Option<&str>, label: Option<&str>, run: &SavedRun) {
        let seconds = run.summary().measured.seconds;
        let target = || run.begin.targets.first().map_or_else(|| "run".to_owned(), |target| escape(target));
        let class = class.map_or_else(target, escape);
        let label = label.map(|label| format!("{}: ", escape(label))).unwrap_or_default();
        let result = result::of(run);
        let case = |name: String, outcome| Case {
            class: class.clone(),
            name: format!("{label}{name}"),
            seconds,
            outcome,
            metrics: metrics(run, &result),
        };
        let objectives = &result.objectives;
        self.cases
            .extend(objectives.iter().map(|judged| case(judged.objective.to_string(), of_objective(judged, &result))));
        let others = result.reasons.iter().filter(|reason| !is_on_objective(reason));
        self.cases.extend(others.map(|reason| case(reason.name().replace('_', " "), of_reason(reason, &result))));
        if objectives.is_empty() && result.word == ResultWord::Pass {
            self.cases.push(case("the numbers are usable".to_owned(), Outcome::Passed));
        }
        self.seconds += seconds;
    }

    /// Adds a skipped case for the trials that were not run, if there are any. Without them, the study is PARTIAL,
    /// which is not a failure.
    pub fn add_missing(&mut self, trials: u64) {
        if trials > 0 {
            let why = format!("{} not run: the study is still running, or was stopped", were_of(trials, "trial"));
            self.cases.push(Case {
                class: self.name.clone(),
                name: "all trials were run".to_owned(),
                seconds: 0.0,
                outcome: Outcome::Skipped(why),
                metrics: String::new(),
            });
        }
    }

    /// Adds the test case of a search for the load line.
    pub fn add_line(&mut self, class: Option<&str>, label: Option<&str>, line: &LoadLine) {
        let sentence = line.sentence();
        let seconds = line.levels.iter().map(|level| level.seconds).sum();
        let outcome = of_word(line.result.word, line.result.exit_code, &sentence);
        let label = label.map(|label| format!("{}: ", escape(label))).unwrap_or_default();
        self.cases.push(Case {
            class: escape(class.unwrap_or(&line.target)),
            name: format!("{label}load line, {}", line.objectives.join(", ")),
            seconds,
            outcome,
            metrics: format!("{sentence}\n{} levels tried", line.levels.len()),
        });
        self.seconds += seconds;
    }

    /// Adds the test case of a fill. For a fill of a study, `class` is the name of its cell. `label` distinguishes several
    /// fills.
    pub fn add_fill(&mut self, class: Option<&str>, label: Option<&str>, report: &FillReport) {
        let FillReport { fill, exit } = report;
        let label = label.map(|label| format!("{}: ", escape(label))).unwrap_or_default();
        let seconds = fill.active_seconds;
        self.cases.push(Case {
            class: class.map_or_else(|| self.name.clone(), escape),
            name: format!("{label}fill"),
            seconds,
            outcome: of_word(fill.result, exit.code(), &escape(&fill.reasons.join("; "))),
            metrics: report.first_line(),
        });
        self.seconds += seconds;
    }
}

/// Returns the outcome of a whole search or fill. An incomplete search or fill is a failure only if the program exits
/// with an error code.
fn of_word(word: ResultWord, exit_code: u8, why: &str) -> Outcome {
    let why = why.to_owned();
    match word {
        ResultWord::Pass => Outcome::Passed,
        ResultWord::Fail => Outcome::Failed(why),
        ResultWord::Partial if exit_code == 0 => Outcome::Skipped(why),
        ResultWord::Partial => Outcome::CutOff(why),
        ResultWord::Unusable => Outcome::Error(why),
    }
}

impl Suite {
    /// Returns the test cases of a comparison, one for each metric. The case fails if a metric of the target got worse,
    /// and is skipped if the comparison is inconclusive. If both sides are halves of the same runs, every case passes,
    /// because their differences are only noise.
    #[must_use]
    pub fn of_comparison(comparison: &Comparison<'_>) -> Self {
        let mut suite = Self { name: "comparison".to_owned(), ..Self::default() };
        let class = comparison.new.first().map_or_else(|| "comparison".to_owned(), |run| run.name.clone());
        let rows = comparison_rows(comparison);
        for (row, shown) in comparison.rows.iter().zip(rows.iter().skip(1)) {
            let [title, base, new, change, interval, ..] = shown;
            let metrics = format!("{title}: {base}, then {new}, change {change} ({interval})");
            let outcome = match row.conclusion {
                _ if comparison.sides == Sides::Halves => Outcome::Passed,
                Conclusion::Worse if row.metric.is_of_client() => {
                    Outcome::Skipped(format!("worse, but not a metric of the target: {metrics}"))
                }
                Conclusion::Worse => Outcome::Failed(format!("worse: {metrics}")),
                Conclusion::Inconclusive => Outcome::Skipped(format!("inconclusive: {metrics}")),
                Conclusion::Better | Conclusion::Equivalent => Outcome::Passed,
            };
            suite.cases.push(Case { class: class.clone(), name: title.clone(), seconds: 0.0, outcome, metrics });
        }
        suite
    }
}

/// Returns whether the test case of an objective already shows this reason.
fn is_on_objective(reason: &Reason) -> bool {
    matches!(reason, Reason::Missed(_) | Reason::NotEnoughData(_) | Reason::ClientDecides(_))
}

/// Returns the outcome of an objective. If the numbers of the run are unusable, the outcome is an error.
fn of_objective(judged: &ObjectiveResult, result: &RunResult) -> Outcome {
    let text = result::objective_outcome_text(judged);
    let unusable = result.reasons.iter().find(|reason| reason.word() == ResultWord::Unusable);
    match (unusable, judged.outcome) {
        (Some(reason), _) if result.word == ResultWord::Unusable => Outcome::Error(result::text(reason)),
        (_, ObjectiveOutcome::Met) => Outcome::Passed,
        (_, ObjectiveOutcome::Missed) => Outcome::Failed(text),
        (_, ObjectiveOutcome::ClientLimited) => Outcome::Error(text),
        // With `--accept-not-enough-data`, too little data is not a reason for the result, and therefore not a failure.
        (_, ObjectiveOutcome::NotEnoughData) if result.reasons.contains(&Reason::NotEnoughData(*judged)) => {
            Outcome::Failed(text)
        }
        (_, ObjectiveOutcome::NotEnoughData) => Outcome::Skipped(text),
    }
}

/// Returns the outcome for a reason other than an objective. An incomplete run is a failure only if the program exits
/// with an error code.
fn of_reason(reason: &Reason, result: &RunResult) -> Outcome {
    let text = result::text(reason);
    match reason.word() {
        ResultWord::Fail => Outcome::Failed(text),
        ResultWord::Partial if result.exit == ExitStatus::Good => Outcome::Skipped(text),
        ResultWord::Partial => Outcome::CutOff(text),
        ResultWord::Unusable | ResultWord::Pass => Outcome::Error(text),
    }
}

fn metrics(run: &SavedRun, result: &RunResult) -> String {
    let summary = run.summary();
    let shown = |value: Option<f64>, form: fn(f64) -> String| value.map_or_else(|| "n/a".to_owned(), form);
    let at = |q| percentile::text(&summary.all, Timed::Response, q);
    format!(
        "{} · limited by: {}\nsucceeded   {}\ngoodput     {}\nsuccess     {}\nresponse    p50 {}, p99 {}",
        result.word.text(),
        limit::limited_by(run),
        shown(summary.ok_rate(), rate),
        shown(summary.goodput(), byte_rate),
        shown(summary.success(), share),
        at(0.5),
        at(0.99),
    )
}
