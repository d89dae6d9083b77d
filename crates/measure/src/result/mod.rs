//! The result of a run: one word, its reasons, and the exit code that follows from it.
//!
//! Text, HTML, JSON, JUnit and the exit code are all made from one [`RunResult`], so they cannot differ.

pub mod accounting;
pub mod load_line;
pub mod outage;
mod reason;

pub use reason::{CutOff, MostFailures, Reason};

use crate::limits::LimitedBy;
use crate::objective::{Judged, Judgement, Metric, Objective};
use crate::sample::outcome::{AttemptClass, Cause};
use crate::summary::Model;
use crate::summary::Summary;
use crate::values::sum;
use accounting::{Accounting, audit};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The first word about a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultWord {
    /// Usable, and all objectives are met.
    Pass,
    /// Cut off, and sound as far as it goes.
    Partial,
    /// The numbers must not be used.
    Unusable,
    /// An objective is missed, there was an outage, nothing succeeded, or content was wrong.
    Fail,
}

impl ResultWord {
    /// The word in reports.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Partial => "PARTIAL",
            Self::Unusable => "UNUSABLE",
            Self::Fail => "FAIL",
        }
    }

    /// The result of several runs together: that of the worst, in the order in which exit codes take precedence.
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

/// How the program exits after a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// 0: the run passed, or is sound as far as it goes.
    Good,
    /// 1: the run failed.
    Failed,
    /// 3: the numbers must not be used.
    Unusable,
    /// 128 + the signal: the user interrupted it.
    Interrupted(i32),
    /// 4: it could not run, or could not go on.
    CouldNotRun,
}

impl ExitStatus {
    /// The exit code.
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

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// By itself: it did what was asked, or its objectives were decided.
    Completed,
    /// A condition came true that the user named with `--abort-when`.
    Aborted {
        /// The condition, as written.
        condition: String,
    },
    /// Before its own end.
    CutOff(CutOff),
    /// The target could not be reached from the start.
    Unreachable {
        /// What was seen.
        detail: String,
    },
}

impl Ending {
    /// Whether the records hold all that the run counted, so that every operation has its end.
    fn is_in_good_order(&self) -> bool {
        matches!(self, Self::Completed | Self::Aborted { .. } | Self::CutOff(CutOff::Interrupted { .. }))
    }
}

/// What a result is drawn from.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// Everything counted and timed.
    pub summary: &'a Summary,
    /// The load model.
    pub model: Model,
    /// What the run is held to.
    pub objectives: &'a [Objective],
    /// How it ended.
    pub ending: &'a Ending,
    /// Seconds in which a target that had served failed everything ([`outage`]).
    pub outage: Duration,
    /// Whether an objective without enough data is accepted.
    pub accept_not_enough_data: bool,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    /// The word.
    pub word: ResultWord,
    /// Why it is not PASS, the most important first; empty for PASS.
    pub reasons: Vec<Reason>,
    /// Whether the independent counters agree.
    pub accounting: Accounting,
    /// The objectives, in the order given.
    pub objectives: Vec<Judged>,
    /// The exit code.
    pub exit: ExitStatus,
}

/// Operations that the client may miss, as a share of those that were due.
const MISSED_SHARE_MAX: f64 = 0.01;

/// Causes that say that content was not that of its object.
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
    /// Draws the result.
    #[must_use]
    pub fn of(evidence: &Evidence) -> Self {
        let accounting = audit(evidence.summary, evidence.ending.is_in_good_order());
        let objectives: Vec<Judged> =
            evidence.objectives.iter().map(|objective| objective.judge(evidence.summary, &evidence.model)).collect();
        let mut reasons = wrong_content(evidence);
        reasons.extend(accounting.violations.iter().map(|violation| Reason::CountersDisagree(*violation)));
        reasons.extend(failures(evidence, &objectives));
        reasons.extend(client_reasons(evidence, &objectives));
        reasons.extend(not_enough_data(evidence, &objectives));
        reasons.extend(cut_off(evidence));
        let word = reasons.first().map_or(ResultWord::Pass, Reason::word);
        Self { word, exit: exit(evidence.ending, word), reasons, accounting, objectives }
    }

    /// Whether the numbers may be used and compared.
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

/// Wrong content anywhere, the warm-up included: FAIL whatever else holds.
fn wrong_content(evidence: &Evidence) -> Vec<Reason> {
    let stats = &evidence.summary.stats;
    let tallies = [&stats.measured, &stats.outside];
    let responses = sum(tallies.into_iter().flat_map(|tally| WRONG_CONTENT.map(|cause| tally.causes.get(cause))));
    if responses > 0 { vec![Reason::WrongContent { responses }] } else { Vec::new() }
}

fn failures(evidence: &Evidence, objectives: &[Judged]) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if let Ending::Unreachable { detail } = evidence.ending {
        return vec![Reason::Unreachable { detail: detail.clone() }];
    }
    let (summary, tally) = (evidence.summary, &evidence.summary.stats.measured);
    if let Ending::Aborted { condition } = evidence.ending {
        reasons.push(Reason::Aborted { condition: condition.clone() });
    }
    if wants_success(evidence.objectives) {
        let hanging = summary.all.hanging();
        let lost = tally.failed.saturating_add(tally.dropped).saturating_add(hanging);
        if tally.ok == 0 && lost > client_lost(evidence) {
            let (failed, dropped, mostly) = (tally.failed, tally.dropped, MostFailures::of(tally));
            reasons.push(Reason::NothingSucceeded { failed, dropped, hanging, mostly });
        }
        if !evidence.outage.is_zero() && !summary.client_stood_still() {
            reasons.push(Reason::Outage { length: evidence.outage });
        }
    }
    reasons.extend(with(objectives, Judgement::Missed).map(Reason::Missed));
    reasons
}

fn with(objectives: &[Judged], judgement: Judgement) -> impl Iterator<Item = Judged> {
    objectives.iter().copied().filter(move |judged| judged.judgement == judgement)
}

/// Objectives that a longer run would decide. A run that was cut off is not blamed for being short.
fn not_enough_data(evidence: &Evidence, objectives: &[Judged]) -> Vec<Reason> {
    let cut_short = match evidence.ending {
        // Each of them has reached its end.
        Ending::CutOff(CutOff::Merged { .. }) => false,
        Ending::CutOff(_) => true,
        _ => false,
    };
    if evidence.accept_not_enough_data || cut_short {
        return Vec::new();
    }
    with(objectives, Judgement::NotEnoughData).map(Reason::NotEnoughData).collect()
}

/// Whether success is asked for: not where every objective on it is `success >= 0%`.
fn wants_success(objectives: &[Objective]) -> bool {
    let mut on_success = objectives.iter().filter(|objective| objective.metric() == Metric::Success).peekable();
    on_success.peek().is_none() || on_success.any(|objective| objective.bound() > 0.0)
}

/// Operations that the client did not start in time, or could not for lack of descriptors or ports, or had in flight, until a
/// timeout or the end, while it hardly ran.
fn client_lost(evidence: &Evidence) -> u64 {
    let summary = evidence.summary;
    let refused = summary.stats.measured.classes.get(AttemptClass::ClientResource);
    let unseen = summary.all.hanging().saturating_add(summary.all.affected.failed);
    let unseen = if summary.client_stood_still() { unseen } else { 0 };
    sum([summary.missed_by_client(&evidence.model), refused, unseen])
}

fn client_reasons(evidence: &Evidence, objectives: &[Judged]) -> Vec<Reason> {
    let tally = &evidence.summary.stats.measured;
    let mut reasons = Vec::new();
    let (missed, of) = (evidence.summary.missed_by_client(&evidence.model), tally.scheduled);
    if missed as f64 > MISSED_SHARE_MAX * of as f64 {
        let lacks_resources = evidence.summary.limited_by(&evidence.model) == LimitedBy::ClientResources;
        reasons.push(Reason::ClientMissed { operations: missed, of, lacks_resources });
    }
    let without = tally.classes.get(AttemptClass::ClientResource);
    if without as f64 > MISSED_SHARE_MAX * tally.attempts as f64 {
        reasons.push(Reason::ClientResources { attempts: without, of: tally.attempts });
    }
    reasons.extend(with(objectives, Judgement::ClientLimited).map(Reason::ClientDecides));
    reasons
}

fn cut_off(evidence: &Evidence) -> Option<Reason> {
    match evidence.ending {
        Ending::CutOff(cut_off) => Some(Reason::CutOff(cut_off.clone())),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
