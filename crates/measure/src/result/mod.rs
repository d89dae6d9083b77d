//! The result of a run, which is PASS, FAIL, UNUSABLE or PARTIAL, with the reasons and the exit code.
//!
//! The reports in all formats and the exit code are derived from one [`RunResult`], so they always agree.

pub mod accounting;
pub mod load_line;
pub mod outage;
mod reason;

pub use reason::{CutOff, MostFailures, Reason};

use crate::limits::{LimitedBy, limited_by, missed_by_client};
use crate::objective::{Metric, Objective, ObjectiveOutcome, ObjectiveResult};
use crate::path::EmulatorHealth;
use crate::sample::outcome::{AttemptClass, Cause};
use crate::summary::{Model, Summary};
use crate::values::sum;
use accounting::{Accounting, audit};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Result of a run in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultWord {
    /// The numbers are usable, and all objectives are met.
    Pass,
    /// The run was cut off, but its numbers are usable up to that point.
    Partial,
    /// The numbers must not be used.
    Unusable,
    /// An objective was missed, there was an outage, no operation succeeded, or content was wrong.
    Fail,
}

impl ResultWord {
    /// Returns the word that reports show.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Partial => "PARTIAL",
            Self::Unusable => "UNUSABLE",
            Self::Fail => "FAIL",
        }
    }

    /// Returns the combined result of several runs, which is the worst of their results, or PASS if there are no runs.
    /// From worst to best, the order is UNUSABLE, FAIL, PARTIAL, PASS.
    #[must_use]
    pub fn of_all(words: impl IntoIterator<Item = Self>) -> Self {
        let rank = |word: &Self| match word {
            Self::Unusable => 3,
            Self::Fail => 2,
            Self::Partial => 1,
            Self::Pass => 0,
        };
        words.into_iter().max_by_key(rank).unwrap_or(Self::Pass)
    }
}

/// Exit status of the program after a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// 0: the run passed, or it was cut off and its numbers are usable up to that point.
    Good,
    /// 1: the run failed.
    Failed,
    /// 3: the numbers must not be used.
    Unusable,
    /// 128 + the signal: the user interrupted the run.
    Interrupted(i32),
    /// 4: the run could not start, or had to stop because of an error.
    CouldNotRun,
}

impl ExitStatus {
    /// Returns the exit code.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Good => 0,
            Self::Failed => 1,
            Self::Unusable => 3,
            Self::CouldNotRun => 4,
            Self::Interrupted(signal) => 128 + signal.clamp(1, 64) as u8,
        }
    }
}

/// Way in which a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// The run did what was requested, or ended early because its objectives were decided.
    Completed,
    /// A condition of `--abort-when` became true.
    Aborted {
        /// Condition as written by the user.
        condition: String,
    },
    /// The run was cut off before its regular end.
    CutOff(CutOff),
    /// The target could not be reached at all.
    Unreachable {
        /// Description of the failure.
        detail: String,
    },
}

impl Ending {
    /// Returns whether the records are complete, so that they contain the end of every operation.
    fn is_in_good_order(&self) -> bool {
        let whole = matches!(self, Self::CutOff(CutOff::Interrupted { .. } | CutOff::StartsApart { .. }));
        whole || matches!(self, Self::Completed | Self::Aborted { .. })
    }
}

/// Facts from which the result of a run follows.
#[derive(Clone, Copy, Debug)]
pub struct RunFacts<'a> {
    /// Counts and times of the run.
    pub summary: &'a Summary,
    /// Load model.
    pub model: Model,
    /// Objectives of the run.
    pub objectives: &'a [Objective],
    /// Way in which the run ended.
    pub ending: &'a Ending,
    /// Total length of the outages ([`outage`]).
    pub outage: Duration,
    /// `true` if an objective without enough data is acceptable.
    pub accept_not_enough_data: bool,
    /// The emulated path between client and target; `None` without one.
    pub path: Option<PathFacts<'a>>,
}

/// Facts about an emulated path.
#[derive(Clone, Copy, Debug)]
pub struct PathFacts<'a> {
    /// Measured properties that differ from the requested ones, each as a clause of a sentence.
    pub differences: &'a [String],
    /// Health of the emulator during the run.
    pub emulator: EmulatorHealth,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    /// The result in one word.
    pub word: ResultWord,
    /// Reasons why the result is not PASS, the most important first; empty for PASS.
    pub reasons: Vec<Reason>,
    /// Result of the comparison of independent counters.
    pub accounting: Accounting,
    /// Objectives, in the order given.
    pub objectives: Vec<ObjectiveResult>,
    /// Exit status.
    pub exit: ExitStatus,
}

/// Maximum share of the due operations that the client may fail to start.
const MISSED_SHARE_MAX: f64 = 0.01;

/// Causes of failure that mean wrong or missing content.
const WRONG_CONTENT: [Cause; 13] = [
    Cause::ContentDiffers,
    Cause::SizeDiffers,
    Cause::AckedLost,
    Cause::HashDiffers,
    Cause::ObjectChanged,
    Cause::NotACar,
    Cause::OtherRoot,
    Cause::BadCar,
    Cause::RootMissing,
    Cause::BlockMissing,
    Cause::PathMissing,
    Cause::BlockDiffers,
    Cause::UnrelatedBlock,
];

impl RunResult {
    /// Determines the result of a run.
    #[must_use]
    pub fn of(facts: &RunFacts) -> Self {
        let accounting = audit(facts.summary, facts.ending.is_in_good_order());
        let objectives: Vec<ObjectiveResult> =
            facts.objectives.iter().map(|objective| objective.judge(facts.summary, &facts.model)).collect();
        let mut reasons = wrong_content(facts);
        reasons.extend(accounting.violations.iter().map(|violation| Reason::CountersDisagree(*violation)));
        reasons.extend(path_reasons(facts));
        reasons.extend(failures(facts, &objectives));
        reasons.extend(client_reasons(facts, &objectives));
        reasons.extend(not_enough_data(facts, &objectives));
        reasons.extend(cut_off(facts));
        let word = reasons.first().map_or(ResultWord::Pass, Reason::word);
        Self { word, exit: exit(facts.ending, word), reasons, accounting, objectives }
    }

    /// Returns whether the numbers may be used and compared.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        let unusable = |reason: &Reason| reason.word() == ResultWord::Unusable;
        !self.reasons.iter().any(unusable)
    }
}

fn exit(ending: &Ending, word: ResultWord) -> ExitStatus {
    match (ending, word) {
        (Ending::Unreachable { .. } | Ending::CutOff(CutOff::DiskFull | CutOff::Failed { .. }), _) => {
            ExitStatus::CouldNotRun
        }
        (Ending::CutOff(CutOff::Interrupted { signal }), _) => ExitStatus::Interrupted(*signal),
        (_, ResultWord::Fail) => ExitStatus::Failed,
        (_, ResultWord::Unusable) => ExitStatus::Unusable,
        (_, ResultWord::Pass | ResultWord::Partial) => ExitStatus::Good,
    }
}

/// Returns a reason if content was wrong anywhere, including in the warm-up. Wrong content always means FAIL.
fn wrong_content(facts: &RunFacts) -> Vec<Reason> {
    let stats = &facts.summary.stats;
    let tallies = [&stats.measured, &stats.outside];
    let responses = sum(tallies.into_iter().flat_map(|tally| WRONG_CONTENT.map(|cause| tally.causes.get(cause))));
    if responses > 0 { vec![Reason::WrongContent { responses }] } else { Vec::new() }
}

fn failures(facts: &RunFacts, objectives: &[ObjectiveResult]) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if let Ending::Unreachable { detail } = facts.ending {
        return vec![Reason::Unreachable { detail: detail.clone() }];
    }
    let (summary, tally) = (facts.summary, &facts.summary.stats.measured);
    if let Ending::Aborted { condition } = facts.ending {
        reasons.push(Reason::Aborted { condition: condition.clone() });
    }
    if wants_success(facts.objectives) {
        let hanging = summary.all.hanging();
        let lost = tally.failed.saturating_add(tally.dropped).saturating_add(hanging);
        if tally.ok == 0 && lost > client_lost(facts) {
            let (failed, dropped, mostly) = (tally.failed, tally.dropped, MostFailures::of(tally));
            reasons.push(Reason::NothingSucceeded { failed, dropped, hanging, mostly });
        }
        if !facts.outage.is_zero() && !summary.client_stood_still() {
            reasons.push(Reason::Outage { length: facts.outage });
        }
    }
    reasons.extend(with(objectives, ObjectiveOutcome::Missed).map(Reason::Missed));
    reasons
}

fn with(objectives: &[ObjectiveResult], outcome: ObjectiveOutcome) -> impl Iterator<Item = ObjectiveResult> {
    objectives.iter().copied().filter(move |judged| judged.outcome == outcome)
}

/// Returns a reason for each undecided objective that a longer run would decide. If the run was cut off, this is
/// already a reason, so no further reason is returned.
fn not_enough_data(facts: &RunFacts, objectives: &[ObjectiveResult]) -> Vec<Reason> {
    let cut_short = match facts.ending {
        // In both kinds of merged runs, each run has reached its own regular end.
        Ending::CutOff(CutOff::Merged { .. } | CutOff::StartsApart { .. }) => false,
        Ending::CutOff(_) => true,
        _ => false,
    };
    if facts.accept_not_enough_data || cut_short {
        return Vec::new();
    }
    with(objectives, ObjectiveOutcome::NotEnoughData).map(Reason::NotEnoughData).collect()
}

/// Returns whether at least one operation must succeed. No success is required if the objectives on success are all
/// `success >= 0%`.
fn wants_success(objectives: &[Objective]) -> bool {
    let mut on_success = objectives.iter().filter(|objective| objective.metric() == Metric::Success).peekable();
    on_success.peek().is_none() || on_success.any(|objective| objective.bound() > 0.0)
}

/// Returns the number of operations that failed because of the client. The operations that count are:
///
/// * operations that the client did not start in time,
/// * operations that the client could not send for lack of descriptors or ports,
/// * operations that timed out, or were still in flight at the end, in a run whose client got little CPU time.
fn client_lost(facts: &RunFacts) -> u64 {
    let summary = facts.summary;
    let refused = summary.stats.measured.classes.get(AttemptClass::ClientResource);
    let unseen = summary.all.hanging().saturating_add(summary.all.affected.failed);
    let unseen = if summary.client_stood_still() { unseen } else { 0 };
    sum([missed_by_client(summary, &facts.model), refused, unseen])
}

/// Returns the reasons why an emulated path makes all numbers unusable.
fn path_reasons(facts: &RunFacts) -> Vec<Reason> {
    let Some(path) = facts.path else { return Vec::new() };
    let differs = !path.differences.is_empty();
    let differs = differs.then(|| Reason::OtherPath { differences: path.differences.to_vec() });
    let overloaded = (path.emulator != EmulatorHealth::Good).then_some(Reason::Emulator(path.emulator));
    differs.into_iter().chain(overloaded).collect()
}

fn client_reasons(facts: &RunFacts, objectives: &[ObjectiveResult]) -> Vec<Reason> {
    let tally = &facts.summary.stats.measured;
    let mut reasons = Vec::new();
    let (missed, of) = (missed_by_client(facts.summary, &facts.model), tally.scheduled);
    if missed as f64 > MISSED_SHARE_MAX * of as f64 {
        let lacks_resources = limited_by(facts.summary, &facts.model) == LimitedBy::ClientResources;
        reasons.push(Reason::ClientMissed { operations: missed, of, lacks_resources });
    }
    let without = tally.classes.get(AttemptClass::ClientResource);
    if without as f64 > MISSED_SHARE_MAX * tally.attempts as f64 {
        reasons.push(Reason::ClientResources { attempts: without, of: tally.attempts });
    }
    reasons.extend(with(objectives, ObjectiveOutcome::ClientLimited).map(Reason::ClientDecides));
    reasons
}

fn cut_off(facts: &RunFacts) -> Option<Reason> {
    match facts.ending {
        Ending::CutOff(cut_off) => Some(Reason::CutOff(cut_off.clone())),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
