//! Use of an emulated path: the share of its rate that a run used. The median response time is also compared with the
//! time that an operation would take if all slots shared the rate equally.

use measure::Model;
use measure::path::PathLimits;
use std::time::Duration;
use store::SavedRun;

/// Use of an emulated path by a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathUse {
    /// Share of the rate that the run used, in the fuller direction.
    pub share: f64,
    /// Time that the mean operation would take if all slots shared the rate equally, including one round trip. `None`
    /// in the open model.
    pub fair: Option<Duration>,
    /// Median response time as a multiple of this time.
    pub multiple: Option<f64>,
}

/// Returns the use of the emulated path. Returns `None` if there is no path, if its rate is unknown, or if nothing was
/// measured.
#[must_use]
pub fn of(run: &SavedRun) -> Option<PathUse> {
    let (summary, limits) = (run.summary(), run.summary().path);
    let traffic = &summary.measured.traffic;
    let received = traffic.body.saturating_add(traffic.overhead);
    let share = limits.used_share(received, summary.left_in_window(traffic.sent), summary.measured.seconds)?;
    let fair = fair_time(run, &limits);
    let median = summary.all.response.quantile(0.5);
    let multiple = fair.zip(median).map(|(fair, nanos)| nanos as f64 / (fair.as_nanos() as f64).max(1.0));
    Some(PathUse { share, fair, multiple })
}

fn fair_time(run: &SavedRun, limits: &PathLimits) -> Option<Duration> {
    let Model::Closed { concurrency } = run.begin.model else { return None };
    let summary = run.summary();
    let traffic = &summary.measured.traffic;
    let sends = traffic.sent_body > traffic.body;
    let (rate, bytes) = if sends { (limits.up?, traffic.sent_body) } else { (limits.down?, traffic.body) };
    let operations = summary.window_ok.saturating_add(summary.window_failed);
    let mean = (operations > 0).then(|| bytes as f64 / operations as f64)?;
    let round_trip = run.begin.path.as_ref()?.measured?.round_trip;
    Some(PathLimits::fair_time(rate, mean, concurrency as f64).saturating_add(round_trip))
}
