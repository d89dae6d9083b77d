//! The first lines: may the figures be used, what limited them, and the two figures that most people came for.

use super::page::{Page, Paint};
use crate::escape::escape;
use crate::number::{byte_rate, count, plural, rate, seconds, share};
use crate::standing::{self, Standing};
use measure::LimitedBy;
use store::{EndReason, SavedRun};

pub fn write(page: &mut Page, run: &SavedRun) {
    let standing = Standing::of(run);
    let paint = match standing {
        Standing::Valid if standing::rate_not_made(run) => Paint::Yellow,
        Standing::Valid => Paint::Green,
        Standing::Interrupted | Standing::Partial => Paint::Yellow,
        Standing::Invalid(_) => Paint::Red,
    };
    let mut pieces = vec![standing.word().to_owned()];
    if matches!(standing, Standing::Invalid(_)) {
        pieces.push("the books do not balance, do not use these figures".into());
    } else if standing != Standing::Valid {
        pieces.push(how_far(run));
    }
    pieces.push(limit(run));
    if !matches!(standing, Standing::Invalid(_)) {
        pieces.extend(rates(run));
    }
    page.verdict(paint, pieces);
    if let Standing::Invalid(violations) = &standing {
        for violation in violations {
            let (left, right) = (count(violation.left), count(violation.right));
            page.line(&format!("does not hold: {}: {left} against {right}", violation.identity.about()));
        }
        page.line("these figures were counted along two ways and differ: a defect of the program, or a damaged record");
    }
    if let Some(ending) = ending(run) {
        page.line(&ending);
    }
    for note in standing::notes(run) {
        page.line(&format!("note: {note}"));
    }
}

fn limit(run: &SavedRun) -> String {
    let limited = standing::limited_by(run);
    match standing::in_flight_limit(run) {
        Some(reached) if limited == LimitedBy::Target => {
            format!("limited by: {limited} (in-flight limit of {} reached)", count(reached.limit))
        }
        _ => format!("limited by: {limited}"),
    }
}

fn how_far(run: &SavedRun) -> String {
    let measured = seconds(run.summary().measured.seconds);
    match run.begin.duration_ms {
        Some(asked) => format!("{measured} of {} measured", seconds(asked as f64 / 1000.0)),
        None => format!("{measured} measured"),
    }
}

/// Operations that ended well and their bytes, by second; and the share that did not.
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

/// Why the run did not come to its own end.
fn ending(run: &SavedRun) -> Option<String> {
    let Some(end) = &run.end else {
        return Some("there is no end record: the run is still going on, or was killed".into());
    };
    match &end.reason {
        EndReason::Completed => None,
        EndReason::Interrupted { signal: 2 } => Some("interrupted by the user (SIGINT)".into()),
        EndReason::Interrupted { signal: 1 } => Some("interrupted by SIGHUP: its terminal was closed".into()),
        EndReason::Interrupted { signal: 15 } => Some("interrupted by SIGTERM".into()),
        EndReason::Interrupted { signal } => Some(format!("interrupted by signal {signal}")),
        EndReason::Decided { .. } => Some("its objectives were decided".into()),
        EndReason::Aborted { condition } => Some(format!("ended since {}", escape(condition))),
        EndReason::Merged { runs } => Some(format!(
            "merged of {}: the time that all of them measured; identities across its edges are not judged",
            plural(*runs, "run")
        )),
        EndReason::DiskFull => Some("stopped because the disk that holds the run was full".into()),
        EndReason::Unreachable { detail } => Some(format!("the target could not be reached: {}", escape(detail))),
        EndReason::Failed { detail } => Some(format!("could not go on: {}", escape(detail))),
    }
}
