//! The longest outage of a saved run: a time in which operations failed or hung and none succeeded.

use measure::result::outage::{self, Second, Silence};
use measure::time::INTERVAL;
use measure::values::sum;
use measure::{Instant, Model, Stage};
use std::time::Duration;
use store::{Point, SavedRun};

/// Share of a second: a client that was stopped for longer did not see enough of that second.
const STOPPED_MAX: f64 = 0.5;
/// Quantile of response time that is used as the usual time of a successful operation.
const USUAL: f64 = 0.9;
/// Relative resolution of recorded waits, which is three digits.
const RESOLUTION: f64 = 1e-3;

/// Returns the intervals of the measured window.
fn window(run: &SavedRun) -> impl DoubleEndedIterator<Item = &Point> {
    run.points.iter().filter(|point| point.stage == Stage::Measured)
}

/// Returns the whole seconds of the measured window. A last second that is shorter has fewer operations for this reason
/// alone, so it is left out.
pub(crate) fn whole_seconds(run: &SavedRun) -> impl Iterator<Item = &Point> {
    window(run).filter(|point| is_whole(point))
}

/// Returns whether an interval is at least a second long.
pub(crate) fn is_whole(point: &Point) -> bool {
    point.end.since(point.start) >= INTERVAL
}

/// Returns the length of the longest outage, or zero if there was none.
pub(super) fn length(run: &SavedRun) -> Duration {
    let slots = match run.begin.model {
        Model::Closed { concurrency } => Some(concurrency),
        Model::Open { .. } => None,
    };
    let second = |point: &Point| Second {
        ok: point.ok,
        failed: failed(point),
        longest: point.failed_max_nanos / INTERVAL.as_nanos() as u64,
    };
    // Seconds in which the client did not run show nothing about the target.
    let saw = |point: &&Point| point.ok > 0 || !was_stopped(point);
    let ok = sum(window(run).map(|point| point.ok));
    let seconds = whole_seconds(run).filter(saw).map(second);
    outage::length(seconds, ok, slots, usual(run), silence(run).unwrap_or_default())
}

/// Returns the number of operations that failed in an interval, without those that a delay of this client made fail.
fn failed(point: &Point) -> u64 {
    point.failed.saturating_sub(point.failed_by_client)
}

/// Returns whether this client could not run for most of the interval.
fn was_stopped(point: &Point) -> bool {
    point.client.frozen.max(point.client.throttled) >= STOPPED_MAX
}

/// Returns the usual time of a successful operation.
fn usual(run: &SavedRun) -> Duration {
    Duration::from_nanos(run.summary().all.response.quantile(USUAL).unwrap_or(0))
}

/// Returns the silence after the last sign that the target served. Returns `None` if this client was stopped then, so
/// that it could not have seen a later sign.
fn silence(run: &SavedRun) -> Option<Silence> {
    let all = &run.summary().all;
    let last = window(run).next_back().filter(|point| !was_stopped(point))?;
    // A target that reads the bytes of an upload serves. The drain counts too, since operations that succeed in it are
    // measured.
    let serves = |point: &&Point| point.ok > 0 || point.body_bytes > 0 || point.sent_body_bytes > 0;
    let at = run.points.iter().rposition(|point| serves(&point))?;
    let (point, after) = (&run.points[at], &run.points[at..]);
    let (earliest, sign) = point.last.ok.map_or((point.start, point.end), |ok| (ok, ok));
    let end = run.points.last()?.end.max(run.end.as_ref().map_or(Instant::ZERO, |end| end.at));
    // An operation that hangs may have been sent just before the last successful operation ended.
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
