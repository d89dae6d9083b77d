//! The outages of a saved run. During an outage, operations fail or hang, and no operation succeeds.

use measure::result::outage::{self, Silence};
use measure::time::INTERVAL;
use measure::values::distribution::RELATIVE_ERROR;
use measure::values::sum;
use measure::{Instant, Model, Stage};
use std::time::Duration;
use store::{Point, SavedRun};

/// Quantile of the response times that counts as the usual time of a successful operation.
const USUAL: f64 = 0.9;
/// A target may stop step by step before it is silent: some operations already hang while others still succeed. This is
/// the maximum length of that phase, as a share of the silence. Operations that start in the phase and then hang belong
/// to the outage.
const ONSET: f64 = 0.1;

/// Returns the intervals of the measured window.
fn window(run: &SavedRun) -> impl DoubleEndedIterator<Item = &Point> {
    run.points.iter().filter(|point| point.stage == Stage::Measured)
}

/// Returns the intervals of the measured window that are at least a second long. A shorter last interval is left out,
/// because its length alone explains why it has few operations.
pub(crate) fn whole_seconds(run: &SavedRun) -> impl Iterator<Item = &Point> {
    window(run).filter(|point| point.end.since(point.start) >= INTERVAL)
}

/// Returns the total length of the outages, or zero if there was none.
pub(super) fn length(run: &SavedRun) -> Duration {
    let slots = match run.begin.model {
        Model::Closed { concurrency } => Some(concurrency),
        Model::Open { .. } => None,
    };
    let ok = sum(window(run).map(|point| point.ok));
    outage::length(run.summary().seconds.seen(), ok, slots, usual(run), silence(run).unwrap_or_default())
}

/// Returns the usual time of a successful operation.
fn usual(run: &SavedRun) -> Duration {
    Duration::from_nanos(run.summary().all.response.quantile(USUAL).unwrap_or(0))
}

/// Returns the time since the last sign that the target was serving. Returns `None` if this client was stopped during
/// this time, because the client may have missed later signs.
fn silence(run: &SavedRun) -> Option<Silence> {
    let (all, seconds) = (&run.summary().all, &run.summary().seconds);
    let last = window(run).next_back().filter(|_| seconds.stopped_at_end != Some(true))?;
    // A target that reads the bytes of an upload is serving. The drain counts too, because operations that succeed in
    // the drain are measured.
    let since = seconds.since_service;
    let served = since.served?;
    let (earliest, sign) = served.last_ok.map_or((served.start, served.end), |ok| (ok, ok));
    let end = run.points.last()?.end.max(run.end.as_ref().map_or(Instant::ZERO, |end| end.at));
    // A target rarely stops all operations at the same moment. In addition, an operation may have been sent just before
    // the last successful operation ended.
    let longest = Duration::from_nanos(end.nanos_since(earliest)).mul_f64(1.0 + ONSET) + usual(run);
    // The slots of a closed run may get stuck one after the other, until all of them wait. The target then no longer
    // serves this client, no matter when the operations started. An operation that has received the beginning of a
    // response counts too, because no bytes have arrived since the last sign of service.
    let all_hang = matches!(
        run.begin.model,
        Model::Closed { concurrency } if last.in_flight >= concurrency && all.hanging() > concurrency / 2
    );
    let hanging =
        if all_hang { last.in_flight } else { all.hanging_for_at_most(longest.mul_f64(1.0 + RELATIVE_ERROR)) };
    let last_failed = since.last_failed.map(|at| at.min(last.end));
    Some(Silence {
        time: Duration::from_nanos(end.nanos_since(sign)),
        hanging,
        in_flight: last.in_flight,
        failing: last_failed.map_or(Duration::ZERO, |at| Duration::from_nanos(at.nanos_since(sign))),
        failed: since.failed,
        longest: Duration::from_nanos(since.longest_nanos),
    })
}
