//! The overview at the beginning of every report format: result, main rates, limit, accounting and notes.

use crate::limit::{self, Limit};
use crate::notes::{self, Note};
use crate::number::{byte_rate, count, four_digits, plural, seconds, share};
use crate::pace;
use crate::result;
use measure::result::{CutOff, Reason};
use measure::{ResultWord, RunResult};
use store::{EndReason, SavedRun};

/// The most important information about a run.
#[derive(Clone, Debug)]
pub(crate) struct Overview {
    /// Result.
    pub result: ResultWord,
    /// Most important reason for the result, or `None` for PASS.
    pub reason: Option<String>,
    /// Rates and the share of failures; empty if the counters disagree.
    pub rates: Vec<String>,
    /// Further reasons for the result.
    pub further_reasons: Vec<String>,
    /// Limit of the run.
    pub limit: Limit,
    /// Sentence on who set the pace; `None` if that is not known.
    pub pace: Option<String>,
    /// Sentence on whether the counters agree.
    pub accounting: String,
    /// `true` if the run stopped early because the results of its objectives were certain.
    pub stopped_early: bool,
    /// Notes, the most important first.
    pub notes: Vec<Note>,
}

impl Overview {
    /// Returns the overview of a saved run.
    pub fn of(run: &SavedRun) -> Self {
        let result = result::of(run);
        let limit = limit::of(run);
        let mut reasons = result.reasons.iter().map(|reason| described(reason, run));
        let rates = if result.accounting.violations.is_empty() { rates(run, &limit) } else { Vec::new() };
        Self {
            result: result.word,
            reason: reasons.next(),
            rates,
            further_reasons: reasons.collect(),
            pace: pace::text(run),
            accounting: accounting(&result),
            stopped_early: matches!(run.end.as_ref().map(|end| &end.reason), Some(EndReason::StoppedEarly { .. })),
            notes: notes::of(run),
            limit,
        }
    }

    /// Returns the reason and the rates, which follow the result in the first line.
    pub fn pieces(&self) -> Vec<String> {
        self.reason.iter().chain(&self.rates).cloned().collect()
    }

    /// Returns the sentences between the first line and the notes.
    pub fn sentences(&self) -> Vec<String> {
        let mut sentences: Vec<String> = self.further_reasons.iter().map(|reason| format!("also: {reason}")).collect();
        sentences.push(limit::text(&self.limit));
        sentences.extend(self.pace.clone());
        sentences.push(self.accounting.clone());
        if self.stopped_early {
            sentences.push("stopped early, because the results of its objectives were certain".into());
        }
        sentences
    }
}

/// Returns a reason as text. For a run that was cut off, the text includes the length of its measured part.
fn described(reason: &Reason, run: &SavedRun) -> String {
    let text = result::text(reason);
    match reason {
        Reason::CutOff(CutOff::Merged { .. } | CutOff::StartsApart { .. }) => text,
        Reason::CutOff(_) => format!("{text}, {}", measured_time(run)),
        _ => text,
    }
}

/// Returns a sentence on whether the counters agree. The reasons for the result name the counters that disagree.
fn accounting(result: &RunResult) -> String {
    let (checks, violations) = (u64::from(result.accounting.checks), result.accounting.violations.len() as u64);
    match violations {
        0 => format!("accounting: {} agree", plural(checks, "check")),
        _ => format!(
            "accounting: {} of {} disagree, because of a bug in the program or a damaged record",
            count(violations),
            plural(checks, "check")
        ),
    }
}

fn measured_time(run: &SavedRun) -> String {
    let measured = seconds(run.summary().measured.seconds);
    match run.begin.duration_ms {
        Some(asked) => format!("{measured} of {} measured", seconds(asked as f64 / 1000.0)),
        None => format!("{measured} measured"),
    }
}

/// Returns the rate of successful operations, their bytes per second, and the share of operations without success.
fn rates(run: &SavedRun, limit: &Limit) -> Vec<String> {
    let summary = run.summary();
    let at_least = if limit.rates_are_lower_bounds { "at least " } else { "" };
    let mut pieces = Vec::new();
    let ok = summary.stats.measured.ok;
    if ok > 0 && summary.window_ok == 0 {
        // A rate of 0 would look as if nothing had succeeded.
        let successes = if ok == 1 { "the only success".to_owned() } else { format!("all {}", plural(ok, "success")) };
        pieces.push(format!("no rate, because {successes} ended after the window: use a longer -d"));
    } else if let (Some(requests), Some(goodput), Some(sending)) =
        (summary.ok_rate(), summary.goodput(), summary.good_sending())
    {
        pieces.push(format!("{at_least}{} requests/s", four_digits(requests)));
        let uploads = summary.stats.traffic.sent_body > 0;
        if !uploads || summary.stats.traffic.body > 0 {
            pieces.push(byte_rate(goodput));
        }
        if uploads {
            pieces.push(format!("{} sent", byte_rate(sending)));
        }
    }
    match summary.success() {
        Some(success) if success < 1.0 => {
            pieces.push(format!("{} failed, dropped or unanswered", share(1.0 - success)));
        }
        Some(_) => {}
        None => pieces.push("no operation ended".into()),
    }
    pieces
}
