//! All trials of a study, and the joint result of all trials.

use super::discrepancy::Discrepancy;
use super::fills::FillTrial;
use super::load_lines::LineTrial;
use super::subtraction::Subtraction;
use super::trial::Trial;
use crate::escape::escape;
use crate::number::{count, plural};
use crate::result::joint::{OneResult, exit_of, of_all};
use crate::result::{NamedText, ResultRecord};
use crate::text::{Style, title};
use measure::{ExitStatus, ResultWord};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// All trials of a study. In JSON, their joint result comes first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Study {
    /// Number of planned trials.
    pub planned: u64,
    /// Trials that measured one load.
    pub trials: Vec<Trial>,
    /// Trials that searched for the load line.
    pub load_lines: Vec<LineTrial>,
    /// Trials that are fills.
    pub fills: Vec<FillTrial>,
    /// Differences between cells, computed from pairs of trials.
    pub differences: Vec<Subtraction>,
    /// Objects that succeed on one target and fail on another.
    pub discrepancies: Vec<Discrepancy>,
    /// Exit status of the error or signal that ended the command before all trials were run. `None` for a saved study.
    pub broken_off: Option<ExitStatus>,
}

/// All trials of a study.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Study")]
struct Document<'s> {
    /// Joint result of all trials, which is the worst of their results. If trials are missing, it is at best `partial`.
    result: ResultRecord,
    /// Number of planned trials.
    planned: u64,
    /// Trials that measured one load.
    trials: &'s [Trial],
    /// Trials that searched for the load line.
    load_lines: &'s [LineTrial],
    /// Trials that are fills, which are long uploads with a journal.
    fills: &'s [FillTrial],
    /// Differences between cells, computed from pairs of trials. By default, the first target of each cell is
    /// subtracted from the other targets of the cell. The user can request other differences.
    differences: &'s [Subtraction],
    /// Objects that succeed on one target and fail on another. Empty unless operations were logged.
    discrepancies: &'s [Discrepancy],
}

impl Serialize for Study {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let document = Document {
            result: self.record(),
            planned: self.planned,
            trials: &self.trials,
            load_lines: &self.load_lines,
            fills: &self.fills,
            differences: &self.differences,
            discrepancies: &self.discrepancies,
        };
        document.serialize(serializer)
    }
}

impl Study {
    /// Returns the number of trials that were run.
    #[must_use]
    pub fn count(&self) -> u64 {
        (self.trials.len() + self.load_lines.len() + self.fills.len()) as u64
    }

    /// Returns the number of missing trials. Trials are missing if the study is still running, or was stopped.
    #[must_use]
    pub fn missing(&self) -> u64 {
        self.planned.saturating_sub(self.count())
    }

    /// Returns the joint result of all trials. If trials are missing, the result is at best PARTIAL.
    #[must_use]
    pub fn result(&self) -> ResultWord {
        self.record().word
    }

    fn record(&self) -> ResultRecord {
        let trials = self.trials.iter().map(|trial| OneResult { word: trial.result, exit: trial.exit, reason: None });
        let load_lines = self.load_lines.iter().map(|trial| OneResult {
            word: trial.load_line.result.word,
            exit: trial.load_line.exit,
            reason: None,
        });
        let fills = self.fills.iter().map(|trial| OneResult {
            word: trial.fill.result,
            exit: trial.exit,
            reason: trial.fill.reasons.first().map(|reason| escape(reason)),
        });
        let all: Vec<OneResult> = trials.chain(load_lines).chain(fills).collect();
        let mut joint = of_all(&all, "trial");
        joint.exit_code = exit_of(self.broken_off.into_iter().chain(all.iter().map(|one| one.exit))).code();
        if self.count() == 0 || self.missing() > 0 {
            joint.word = ResultWord::of_all([joint.word, ResultWord::Partial]);
            let text = match self.missing() {
                0 => "there is no trial".to_owned(),
                missing => format!("{} of {} missing", count(missing), plural(self.planned, "trial")),
            };
            joint.reasons.push(NamedText { name: "missing".into(), text });
        }
        joint
    }

    /// Returns up to three phrases: how many trials met their objectives, how many searches for load lines there are,
    /// and how many fills passed.
    #[must_use]
    pub fn progress(&self) -> Vec<String> {
        let (trials, searches) = (self.trials.len() as u64, self.load_lines.len() as u64);
        let met = self.trials.iter().filter(|trial| trial.metrics.first_missed.is_none()).count() as u64;
        let objectives = || format!("objectives met in {} of {}", count(met), plural(trials, "trial"));
        let searched = || format!("{} searched", plural(searches, "load line"));
        let fills = self.fills.len() as u64;
        let passed = self.fills.iter().filter(|trial| trial.fill.result == ResultWord::Pass).count() as u64;
        let filled = || format!("{} of {} passed", count(passed), plural(fills, "fill"));
        let phrases = [(trials > 0).then(objectives), (searches > 0).then(searched), (fills > 0).then(filled)];
        phrases.into_iter().flatten().collect()
    }

    /// Returns the first line of the report. The line has the result, the phrases of [`Self::progress`], and the number
    /// of missing trials.
    #[must_use]
    pub fn headline(&self) -> String {
        let mut pieces = vec![self.result().text().to_owned()];
        pieces.extend(self.progress());
        if self.missing() > 0 {
            let (missing, planned) = (count(self.missing()), count(self.planned));
            pieces.push(format!("{missing} of {planned} missing: `plimsoll run SCENARIO --resume DIR` runs them"));
        }
        pieces.join(" · ") + "\n\n"
    }

    /// Like [`Self::headline`], but broken at the width of a short report.
    #[must_use]
    pub fn fitting_headline(&self, style: &Style) -> String {
        title(self.headline().trim_end(), style) + "\n"
    }
}

/// Returns the JSON Schema of [`Study`].
#[must_use]
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Document<'_>).to_value()
}
