//! What a run, a study or a search came to, as machines that test software show it: test cases of a JUnit file, and annotations of
//! GitHub's workflows.
//!
//! A case is an objective of a run; a search for the load line is one. What may not be used is an error, not a failure: an objective
//! says something about the target only when the figures do.

mod annotations;
mod junit;

pub use annotations::annotations;
pub use junit::junit;

use crate::escape::escape;
use crate::load_line::{FoundWord, LoadLine};
use crate::number::{byte_rate, rate, share, time, were_of};
use crate::standing::{self, Standing};
use measure::Objective;
use measure::objective::Judgement;
use store::{EndReason, SavedRun};

/// What a case came to. Messages are one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The objective was met.
    Passed,
    /// It was not.
    Failed(String),
    /// The figures can not be used.
    Error(String),
    /// Nothing ended that could decide it.
    Skipped(String),
}

/// One objective of one run, or a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// What it belongs to: the cell of a study, or the target.
    pub class: String,
    /// What it is held to.
    pub name: String,
    /// How long was measured, in seconds.
    pub seconds: f64,
    /// What it came to.
    pub outcome: Outcome,
    /// The figures beside it, for people.
    pub figures: String,
}

/// All cases of a directory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Suite {
    /// What it is called: the directory.
    pub name: String,
    /// Its cases.
    pub cases: Vec<Case>,
    /// How long was measured in all, in seconds.
    pub seconds: f64,
}

impl Suite {
    /// Adds the objectives of a run: `class` says what it belongs to, `label` which of several runs it is.
    pub fn add_run(&mut self, class: Option<&str>, label: Option<&str>, run: &SavedRun) {
        let seconds = run.summary().measured.seconds;
        let target = || run.begin.targets.first().map_or_else(|| "run".to_owned(), |target| escape(target));
        let class = class.map_or_else(target, escape);
        let label = label.map(|label| format!("{}: ", escape(label))).unwrap_or_default();
        let unusable = unusable(run);
        let case = |name: String, outcome| Case {
            class: class.clone(),
            name: format!("{label}{name}"),
            seconds,
            outcome,
            figures: figures(run),
        };
        let judged = |objective: &Objective| match (&unusable, objective.judge(run.summary())) {
            (Some(why), _) => Outcome::Error(why.clone()),
            (None, Judgement::Met) => Outcome::Passed,
            (None, Judgement::Broken) => Outcome::Failed(format!("{objective} is not met")),
            (None, Judgement::NotJudged) => Outcome::Skipped(format!("nothing ended that could decide {objective}")),
        };
        let objectives = &run.begin.objectives;
        self.cases.extend(objectives.iter().map(|objective| case(objective.to_string(), judged(objective))));
        for fault in standing::faults(run) {
            self.cases.push(case(fault.broken().to_owned(), Outcome::Failed(fault.to_string())));
        }
        if let Some(EndReason::Aborted { condition }) = run.end.as_ref().map(|end| &end.reason) {
            let condition = escape(condition);
            self.cases.push(case(format!("not {condition}"), Outcome::Failed(format!("ended since {condition}"))));
        }
        if objectives.is_empty() {
            self.cases.push(case("figures can be used".to_owned(), unusable.map_or(Outcome::Passed, Outcome::Error)));
        }
        self.seconds += seconds;
    }

    /// Adds that a study is not whole, where trials are missing.
    pub fn add_missing(&mut self, trials: u64) {
        if trials > 0 {
            let why = format!("{} not there: the study goes on, or was stopped", were_of(trials, "trial"));
            self.cases.push(Case {
                class: self.name.clone(),
                name: "all trials were run".to_owned(),
                seconds: 0.0,
                outcome: Outcome::Error(why),
                figures: String::new(),
            });
        }
    }

    /// Adds a search for the load line.
    pub fn add_line(&mut self, class: Option<&str>, label: Option<&str>, line: &LoadLine) {
        let sentence = line.sentence();
        let seconds = line.levels.iter().map(|level| level.seconds).sum();
        let outcome = match line.found {
            _ if line.limited_by_client => Outcome::Error(sentence.clone()),
            FoundWord::Line | FoundWord::AtLeast => Outcome::Passed,
            FoundWord::Below | FoundWord::Unsteady | FoundWord::NotRecovered => Outcome::Failed(sentence.clone()),
            FoundWord::Interrupted | FoundWord::Unfinished => Outcome::Error(sentence.clone()),
        };
        let label = label.map(|label| format!("{}: ", escape(label))).unwrap_or_default();
        self.cases.push(Case {
            class: escape(class.unwrap_or(&line.target)),
            name: format!("{label}load line, {}", line.objectives.join(", ")),
            seconds,
            outcome,
            figures: format!("{sentence}\n{} levels tried", line.levels.len()),
        });
        self.seconds += seconds;
    }
}

/// Why the figures of a run must not be used, or that there are none.
fn unusable(run: &SavedRun) -> Option<String> {
    let ending = match run.end.as_ref().map(|end| &end.reason) {
        Some(EndReason::Unreachable { detail }) => Some(format!("the target could not be reached: {}", escape(detail))),
        Some(EndReason::Failed { detail }) => Some(format!("the run could not go on: {}", escape(detail))),
        Some(EndReason::DiskFull) => Some("the disk that holds the run was full".to_owned()),
        Some(EndReason::Interrupted { signal }) => Some(format!("the run was interrupted by signal {signal}")),
        None => Some("the run has no end: it goes on, or was killed".to_owned()),
        Some(
            EndReason::Completed | EndReason::Decided { .. } | EndReason::Aborted { .. } | EndReason::Merged { .. },
        ) => None,
    };
    match (Standing::of(run), ending) {
        (Standing::Invalid(violations), _) => {
            let about = violations.iter().map(|violation| violation.identity.about()).collect::<Vec<_>>().join("; ");
            Some(format!("INVALID: the books do not balance: {about}"))
        }
        (_, Some(ending)) => Some(ending),
        _ => {
            let limit = standing::limited_by(run);
            let limited = standing::rate_not_made(run);
            limited.then(|| format!("limited by: {limit}: the target was not offered the load asked for"))
        }
    }
}

fn figures(run: &SavedRun) -> String {
    let summary = run.summary();
    let shown = |value: Option<f64>, form: fn(f64) -> String| value.map_or_else(|| "n/a".to_owned(), form);
    let at = |q| summary.all.response.quantile(q).map(|nanos| nanos as f64);
    format!(
        "{} · limited by: {}\nended well  {}\ngoodput     {}\nsuccess     {}\nresponse    p50 {}, p99 {}",
        Standing::of(run).word(),
        standing::limited_by(run),
        shown(summary.ok_rate(), rate),
        shown(summary.goodput(), byte_rate),
        shown(summary.success(), share),
        shown(at(0.5), time),
        shown(at(0.99), time),
    )
}
