//! The first lines: the result with its reason, what set the limit, and whether the counters agree.

use super::page::{Page, Paint};
use crate::number::{byte_rate, count, plural, rate, seconds, share};
use crate::result;
use crate::standing;
use measure::result::{CutOff, Reason};
use measure::{LimitedBy, ResultWord, RunResult};
use store::{EndReason, SavedRun};

pub fn write(page: &mut Page, run: &SavedRun) {
    let result = result::of(run);
    let mut reasons = result.reasons.iter().map(|reason| described(reason, run));
    let mut pieces = vec![result.word.text().to_owned()];
    pieces.extend(reasons.next());
    if result.accounting.violations.is_empty() {
        pieces.extend(rates(run));
    }
    page.verdict(paint(result.word), pieces);
    reasons.for_each(|reason| page.line(&format!("also: {reason}")));
    page.line(&limit(run));
    page.line(&accounting(&result));
    if let Some(EndReason::Decided { .. }) = run.end.as_ref().map(|end| &end.reason) {
        page.line("ended early: its objectives were decided");
    }
    for note in standing::notes(run) {
        page.line(&format!("note: {note}"));
    }
}

/// The color of a result.
pub fn paint(word: ResultWord) -> Paint {
    match word {
        ResultWord::Pass => Paint::Green,
        ResultWord::Partial => Paint::Yellow,
        ResultWord::Unusable | ResultWord::Fail => Paint::Red,
    }
}

/// A reason; that of a run that was cut off with how far it came.
fn described(reason: &Reason, run: &SavedRun) -> String {
    let text = result::text(reason);
    match reason {
        Reason::CutOff(CutOff::Merged { .. }) => text,
        Reason::CutOff(_) => format!("{text}, {}", how_far(run)),
        _ => text,
    }
}

fn limit(run: &SavedRun) -> String {
    let limited = standing::limited_by(run);
    let because = standing::because(run);
    match standing::in_flight_limit(run) {
        Some(reached) if limited == LimitedBy::Target => {
            format!("limited by: {limited} (in-flight limit of {} reached): {because}", count(reached.limit))
        }
        _ => format!("limited by: {limited}: {because}"),
    }
}

/// Whether the counters agree; the reasons name those that do not.
fn accounting(result: &RunResult) -> String {
    let (checks, violations) = (u64::from(result.accounting.checks), result.accounting.violations.len() as u64);
    match violations {
        0 => format!("accounting: {} agree", plural(checks, "check")),
        _ => format!(
            "accounting: {} of {} disagree, by a defect of the program or a damaged record",
            count(violations),
            plural(checks, "check")
        ),
    }
}

fn how_far(run: &SavedRun) -> String {
    let measured = seconds(run.summary().measured.seconds);
    match run.begin.duration_ms {
        Some(asked) => format!("{measured} of {} measured", seconds(asked as f64 / 1000.0)),
        None => format!("{measured} measured"),
    }
}

/// Operations that succeeded and their bytes, by second; and the share that did not.
fn rates(run: &SavedRun) -> Vec<String> {
    let summary = run.summary();
    let at_least = if standing::is_at_least(run) { "at least " } else { "" };
    let mut pieces = Vec::new();
    if let (Some(requests), Some(goodput), Some(sending)) =
        (summary.ok_rate(), summary.goodput(), summary.good_sending())
    {
        pieces.push(format!("{at_least}{}", rate(requests).replace("/s", " requests/s")));
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
