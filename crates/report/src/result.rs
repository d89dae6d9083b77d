//! The result of a saved run, and its reasons in words.
//!
//! Every form of a report asks [`of`] and shows what it returns: nothing here decides.

use crate::escape::escape;
use crate::load_line::{FoundWord, LoadLine};
use crate::number::{byte_rate, count, plural, rate, seconds, share, time};
use measure::values::sum;
use measure::objective::{Judged, Judgement, Metric};
use measure::result::outage::{self, Second, Silence};
use measure::sample::outcome::Cause;
use measure::result::{CutOff, Ending, MostFailures, Reason, RunFacts};
use measure::time::INTERVAL;
use measure::{Instant, Model, Objective, ResultWord, RunResult, Stage};
use std::time::Duration;
use store::{EndReason, Point, SavedRun};

/// The result of a saved run.
#[must_use]
pub fn of(run: &SavedRun) -> RunResult {
    RunResult::of(&RunFacts {
        summary: run.summary(),
        model: run.begin.model,
        objectives: &run.begin.objectives,
        ending: &ending(run),
        outage: outage(run),
        accept_not_enough_data: run.begin.accept_not_enough_data,
    })
}

fn ending(run: &SavedRun) -> Ending {
    let Some(end) = &run.end else { return Ending::CutOff(CutOff::NoEnd) };
    match &end.reason {
        EndReason::Unreachable { detail } => Ending::Unreachable { detail: detail.clone() },
        EndReason::DiskFull => Ending::CutOff(CutOff::DiskFull),
        EndReason::Failed { detail } => Ending::CutOff(CutOff::Failed { detail: detail.clone() }),
        EndReason::Interrupted { .. } if run.damage.is_some() => Ending::CutOff(CutOff::Damaged),
        EndReason::Interrupted { signal } => Ending::CutOff(CutOff::Interrupted { signal: *signal }),
        EndReason::Merged { runs } => Ending::CutOff(CutOff::Merged { runs: *runs }),
        _ if run.damage.is_some() => Ending::CutOff(CutOff::Damaged),
        EndReason::Aborted { condition } => Ending::Aborted { condition: condition.clone() },
        EndReason::Completed | EndReason::Decided { .. } => Ending::Completed,
    }
}

/// The intervals of the measured window.
fn window(run: &SavedRun) -> impl DoubleEndedIterator<Item = &Point> {
    run.points.iter().filter(|point| point.stage == Stage::Measured)
}

/// The whole seconds of the measured window. A last one that was cut short has fewer operations for that reason alone.
pub(crate) fn whole_seconds(run: &SavedRun) -> impl Iterator<Item = &Point> {
    window(run).filter(|point| is_whole(point))
}

/// Whether an interval is a second long.
pub(crate) fn is_whole(point: &Point) -> bool {
    point.end.since(point.start) >= INTERVAL
}

/// Share of a second for which the client was kept from running, from which on it saw too little of it.
const KEPT_MAX: f64 = 0.5;
/// Operations that succeed usually take as long as this quantile.
const USUAL: f64 = 0.9;
/// Waits are recorded to three digits.
const RESOLUTION: f64 = 1e-3;

fn outage(run: &SavedRun) -> Duration {
    let slots = match run.begin.model {
        Model::Closed { concurrency } => Some(concurrency),
        Model::Open { .. } => None,
    };
    let second = |point: &Point| Second {
        ok: point.ok,
        failed: failed(point),
        longest: point.failed_max_nanos / INTERVAL.as_nanos() as u64,
    };
    // A client that did not run has nothing to say about the target.
    let saw = |point: &&Point| point.ok > 0 || !was_kept(point);
    let ok = sum(window(run).map(|point| point.ok));
    let seconds = whole_seconds(run).filter(saw).map(second);
    outage::length(seconds, ok, slots, usual(run), silence(run).unwrap_or_default())
}

/// Operations that failed in an interval, and not for a delay of this client.
fn failed(point: &Point) -> u64 {
    point.failed.saturating_sub(point.failed_by_client)
}

/// Whether this client was kept from running for most of the interval.
fn was_kept(point: &Point) -> bool {
    point.client.frozen.max(point.client.throttled) >= KEPT_MAX
}

/// How long operations that succeed usually take.
fn usual(run: &SavedRun) -> Duration {
    Duration::from_nanos(run.summary().all.response.quantile(USUAL).unwrap_or(0))
}

/// What came after the last sign that the target served; `None` when this client was kept from seeing it.
fn silence(run: &SavedRun) -> Option<Silence> {
    let all = &run.summary().all;
    let last = window(run).next_back().filter(|point| !was_kept(point))?;
    // What a target takes of an upload it serves. Operations that succeed in the drain are measured.
    let serves = |point: &&Point| point.ok > 0 || point.body_bytes > 0 || point.sent_body_bytes > 0;
    let at = run.points.iter().rposition(|point| serves(&point))?;
    let (point, after) = (&run.points[at], &run.points[at..]);
    let (earliest, sign) = point.last.ok.map_or((point.start, point.end), |ok| (ok, ok));
    let end = run.points.last()?.end.max(run.end.as_ref().map_or(Instant::ZERO, |end| end.at));
    // An operation that hangs may have been sent just before the last one that succeeded ended.
    let since = Duration::from_nanos(end.nanos_since(earliest)) + usual(run);
    let last_failed = after.iter().filter_map(|point| point.last.failed).max().map(|at| at.min(last.end));
    Some(Silence {
        time: Duration::from_nanos(end.nanos_since(sign)),
        hanging: all.hanging_for_at_most(since.mul_f64(1.0 + RESOLUTION)),
        in_flight: last.in_flight,
        failing: last_failed.map_or(Duration::ZERO, |at| Duration::from_nanos(at.nanos_since(sign))),
        failed: sum(after.iter().map(failed)),
        longest: Duration::from_nanos(after.iter().map(|point| point.failed_max_nanos).max().unwrap_or(0)),
    })
}

/// Whether the numbers may be used; the first reason why not.
///
/// # Errors
/// The reason, in words.
pub fn usable(run: &SavedRun) -> Result<(), String> {
    let result = of(run);
    let unusable = result.reasons.iter().find(|reason| reason.word() == ResultWord::Unusable);
    unusable.map_or(Ok(()), |reason| Err(text(reason)))
}

/// A reason in words, without a full stop.
#[must_use]
pub fn text(reason: &Reason) -> String {
    match reason {
        Reason::WrongContent { responses } => {
            format!("{} had wrong or missing content", plural(*responses, "response"))
        }
        Reason::CountersDisagree(violation) => format!(
            "the counters disagree: {} is not true ({} and {}), so a number of this run is wrong",
            violation.identity.about(),
            count(violation.left),
            count(violation.right)
        ),
        Reason::Unreachable { detail } => format!("the target could not be reached: {}", escape(detail)),
        Reason::Aborted { condition } => format!("ended early because {}", escape(condition)),
        Reason::NothingSucceeded { failed, dropped, hanging, mostly } => {
            nothing_succeeded((*failed, *mostly), *dropped, *hanging)
        }
        Reason::Outage { length } => {
            format!("outage: for {} operations failed or hung, and none succeeded", seconds(length.as_secs_f64()))
        }
        Reason::Missed(judged) => format!("{} missed: {}", judged.objective, measured(judged)),
        Reason::NotEnoughData(judged) => not_enough_data(judged),
        Reason::ClientMissed { operations, of, lacks_resources } => format!(
            "this client did not start {} of {} in time ({}): {}",
            count(*operations),
            plural(*of, "operation"),
            share(*operations as f64 / (*of).max(1) as f64),
            if *lacks_resources {
                "raise its limit of descriptors (`plimsoll doctor` shows how)"
            } else {
                "use more cores or a lower rate"
            }
        ),
        Reason::ClientResources { attempts, of } => format!(
            "this client lacked descriptors or local ports for {} of {}: `plimsoll doctor` shows how to raise the limits",
            count(*attempts),
            plural(*of, "attempt")
        ),
        Reason::ClientDecides(judged) => format!(
            "{} cannot be judged: whether it is met ({}) depends on delays of this client",
            judged.objective,
            measured(judged)
        ),
        Reason::CutOff(cut_off) => cut_off_text(cut_off),
    }
}

fn nothing_succeeded((failed, mostly): (u64, Option<MostFailures>), dropped: u64, hanging: u64) -> String {
    let why = mostly.map(|mostly| format!("failed ({})", most_failures(mostly))).unwrap_or_else(|| "failed".to_owned());
    let parts = [(failed, why.as_str()), (dropped, "never started"), (hanging, "got no response")];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| format!("{} {what}", count(*number)))
        .collect();
    format!("no operation succeeded: {}", parts.join(", "))
}

fn most_failures(mostly: MostFailures) -> String {
    match mostly {
        MostFailures { cause: Cause::Status, status: Some(status) } => format!("mostly with status {status}"),
        MostFailures { cause, status: Some(status) } => format!("mostly with status {status}: {}", cause.about()),
        MostFailures { cause, status: None } => format!("mostly: {}", cause.about()),
    }
}

fn not_enough_data(judged: &Judged) -> String {
    let (objective, operations) = (judged.objective, plural(judged.operations, "operation"));
    if judged.operations < judged.needed {
        format!(
            "not enough data for {objective}: {operations} ended, {} needed; run longer, or --accept-not-enough-data",
            count(judged.needed)
        )
    } else {
        format!("not enough data for {objective}: too many operations were still in flight at the end")
    }
}

fn cut_off_text(cut_off: &CutOff) -> String {
    match cut_off {
        CutOff::Interrupted { signal: 2 } => "interrupted by the user (SIGINT)".into(),
        CutOff::Interrupted { signal: 1 } => "interrupted by SIGHUP: its terminal was closed".into(),
        CutOff::Interrupted { signal: 15 } => "interrupted by SIGTERM".into(),
        CutOff::Interrupted { signal } => format!("interrupted by signal {signal}"),
        CutOff::NoEnd => "there is no end record: the run is still going on, or was killed".into(),
        CutOff::Damaged => "its records are damaged: only those before the damage are used".into(),
        CutOff::Merged { runs } => format!(
            "merged from {}: the time that all of them measured; operations across its edges are not checked",
            plural(*runs, "run")
        ),
        CutOff::DiskFull => "the disk that holds the run was full".into(),
        CutOff::Failed { detail } => format!("could not go on: {}", escape(detail)),
    }
}

/// What was measured of an objective's metric, as `p99 is 900 ms`.
#[must_use]
pub fn measured(judged: &Judged) -> String {
    let metric = judged.objective.metric();
    match judged.value {
        Some(value) => format!("measured {}", value_text(metric, value)),
        None if matches!(metric, Metric::Time(..)) => "it falls among operations that failed or did not end".into(),
        None => "nothing was measured".into(),
    }
}

/// A value in the unit of its metric.
#[must_use]
pub fn value_text(metric: Metric, value: f64) -> String {
    match metric {
        Metric::Success => share(value),
        Metric::Time(..) => time(value),
        Metric::Rate => rate(value),
        Metric::Goodput | Metric::Speed(_) => byte_rate(value),
    }
}

/// An objective's outcome in words.
#[must_use]
pub fn judgement_text(judged: &Judged) -> String {
    match judged.judgement {
        Judgement::Met => format!("met: {}", measured(judged)),
        Judgement::Missed => format!("MISSED: {}", measured(judged)),
        Judgement::NotEnoughData => not_enough_data(judged).replacen(&format!(" for {}", judged.objective), "", 1),
        Judgement::ClientLimited => format!("cannot be judged: {}, and delays of this client decide", measured(judged)),
    }
}

/// The result of a search for the load line.
#[must_use]
pub fn of_line(line: &LoadLine) -> ResultWord {
    match line.found {
        // Every level passed, whatever set the limit of the highest one.
        FoundWord::AtLeast => ResultWord::Pass,
        FoundWord::Interrupted | FoundWord::Unfinished => ResultWord::Partial,
        _ if line.limited_by_client => ResultWord::Unusable,
        FoundWord::Line => ResultWord::Pass,
        FoundWord::Below | FoundWord::Unsteady | FoundWord::NotRecovered | FoundWord::Gone => ResultWord::Fail,
    }
}

/// The objective or the fault that a run missed first, in a few words; `None` where it passed or was cut off.
#[must_use]
pub fn first_missed(result: &RunResult) -> Option<String> {
    result.reasons.iter().find_map(|reason| match reason {
        Reason::Missed(judged) | Reason::NotEnoughData(judged) | Reason::ClientDecides(judged) => {
            Some(Objective::to_string(&judged.objective))
        }
        Reason::CutOff(_) => None,
        Reason::WrongContent { .. } => Some("content is right".into()),
        Reason::Outage { .. } => Some("no outage".into()),
        Reason::NothingSucceeded { .. } => Some("operations succeed".into()),
        Reason::Aborted { condition } => Some(escape(condition)),
        Reason::Unreachable { .. } => Some("the target can be reached".into()),
        Reason::CountersDisagree(_) => Some("the counters agree".into()),
        Reason::ClientMissed { .. } | Reason::ClientResources { .. } => Some("the client keeps up".into()),
    })
}
