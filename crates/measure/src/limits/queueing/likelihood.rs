//! Likelihoods of the first and the last operations of a closed run under each of the explanations in [`super`].

use super::density::{self, Density};
use super::{CERTAIN, Load};
use crate::evidence::{EdgeOp, Edges, Evidence, OperationClass};
use crate::time::Instant;
use crate::values::Distribution;

/// Maximum amount by which a single operation changes the log-odds. The limit is needed because an operation may be
/// slow for an unrelated reason.
const TERM_MAX: f64 = 3.0;
/// If the target paused or warmed up, it may have delayed all first operations by the same time. Several such common
/// delays are tried. The small ones are multiples of this step, which is a fraction of the time of the fastest first
/// operation.
const DELAY_STEP: f64 = 0.025;
/// Number of small delays.
const DELAY_STEPS: i32 = 13;
/// The large delays are the fractions 1 − `LEFT`ⁿ of the time of the fastest first operation.
const LEFT: f64 = 0.8;
/// Values of n for which a large delay is tried. The smallest large delay comes right after the largest small delay.
const LARGE_DELAYS: std::ops::Range<i32> = 2..18;
/// Logarithm of the prior odds against a common delay.
const DELAYED: f64 = 3.0;
/// Maximum share of the operations at an edge that may take longer than [`COLD_FACTOR`] times the longest usual time.
/// If more operations take that long, a cold start or a pause of the target slowed them, so they do not show whether
/// operations queued.
const COLD_SHARE: f64 = 0.2;
/// Duration above which an operation at an edge points to a cold start, as a multiple of the longest usual time.
const COLD_FACTOR: f64 = 1.5;
/// A time counts as usual if its log-density exceeds the log-density of an outlier by at least this number.
const USUAL: f64 = 1.0;
/// Share of quick operations above which a single queue is impossible.
const QUICK_SHARE: f64 = 0.04;
/// Maximum time between the sending of two operations that count as sent at the same time, as a fraction of the mean
/// service time.
const AT_ONCE: f64 = 0.1;
/// Step between the shifts that are tried for the last operations ([`Shift`]).
const SHIFT_STEP: f64 = 0.02;
/// Number of steps in each direction.
const SHIFT_STEPS: i32 = 6;
/// Logarithm of the prior odds against a shift.
const SHIFTED: f64 = 1.0;
/// Maximum time between two ends that count as simultaneous, as a fraction of the mean service time.
const TOGETHER: f64 = 0.005;

/// Densities of service times, one for each class of the operations at the edges.
pub(super) struct Densities(Vec<(OperationClass, Density)>);

impl Densities {
    pub fn of(evidence: &Evidence, service_times: impl Fn(OperationClass) -> Option<Distribution>) -> Self {
        let mut densities: Vec<(OperationClass, Density)> = Vec::new();
        for op in evidence.edges.opening.iter().chain(&evidence.edges.closing) {
            if !densities.iter().any(|(class, _)| *class == op.class)
                && let Some(density) = service_times(op.class).and_then(|times| Density::of(&times))
            {
                densities.push((op.class, density));
            }
        }
        Self(densities)
    }

    fn get(&self, class: OperationClass) -> Option<&Density> {
        self.0.iter().find(|(known, _)| *known == class).map(|(_, density)| density)
    }

    /// Returns the log-odds of *one queue* (see [`super`]), judged by the first operations. The number of operations
    /// that the target serves at a time is unknown, so the likelihood is averaged over several numbers.
    pub fn opening(&self, ops: &[EdgeOp], load: &Load) -> f64 {
        let mut ops: Vec<(&EdgeOp, &Density)> = ops.iter().filter_map(|op| Some((op, self.get(op.class)?))).collect();
        in_order_of_service(&mut ops);
        if ops.is_empty() || load.per_second <= 0.0 || met_something_else(&ops) {
            return 0.0;
        }
        let slots = load.in_flight.round();
        let mut served: Vec<f64> =
            [0.0, 0.125, 0.25, 0.5, 0.75].map(|part: f64| (part * slots).floor().max(1.0)).to_vec();
        served.dedup();
        let independent = likelihood(&ops, |_| 0.0);
        let odds = |served: f64| {
            let others = |place: usize| (slots - served).min(slots - 1.0 - place as f64).max(0.0);
            likelihood(&ops, |place| others(place) * 1e9 / load.per_second) - independent
        };
        mean_of_likelihoods(&served.into_iter().map(odds).collect::<Vec<f64>>())
    }

    /// Returns whether the first operations took about as long as other operations. Operations of a class without usual
    /// times count as usual. If the result is true, the first operations can be used even if the target paused while
    /// they were in flight.
    pub fn opening_is_usual(&self, ops: &[EdgeOp]) -> bool {
        let known = ops.iter().filter_map(|op| Some((taken(op), self.get(op.class)?)));
        let unusual = known.filter(|(taken, density)| density.coarse_density(*taken) < density::unlike(*taken) + USUAL);
        unusual.count() as f64 <= COLD_SHARE * ops.len() as f64
    }

    /// Returns the log-odds of *shared service* (see [`super`]), judged by the last operations.
    pub fn closing(&self, evidence: &Evidence) -> f64 {
        let edges = &evidence.edges;
        let Some(closed_at) = edges.closed_at else { return 0.0 };
        let mut ops: Vec<(&EdgeOp, &Density)> =
            edges.closing.iter().filter_map(|op| Some((op, self.get(op.class)?))).collect();
        if ops.len() < 2 || edges.lost as f64 > 0.1 * ops.len() as f64 || met_something_else(&ops) {
            return 0.0;
        }
        ops.sort_by_key(|(op, _)| op.end);
        let last = LastOp::all(&ops, closed_at);
        let (independent, shared) =
            (Shift::most_likely(&last, |op| op.independent), Shift::most_likely(&last, |op| op.shared));
        let term = |op: &LastOp| {
            let log_odds = shared.density(op, op.shared) + op.speedup - independent.density(op, op.independent);
            op.weight * log_odds.clamp(-TERM_MAX, TERM_MAX)
        };
        last.iter().map(term).sum::<f64>() + shared.prior() - independent.prior()
    }

    /// Returns the log-odds of *one queue* (see [`super`]), judged by the number of quick operations. Quick operations
    /// cannot have waited for others.
    pub fn quick(&self) -> f64 {
        let (quick, all) =
            self.0.iter().fold((0.0, 0.0), |sum, (_, density)| (sum.0 + density.quick, sum.1 + density.count));
        if all > 0.0 && quick > QUICK_SHARE * all { -CERTAIN } else { 0.0 }
    }
}

/// One of the last operations, with its time under two explanations, in nanoseconds. The explanations are that
/// operations are independent, and that they share the service.
struct LastOp<'d> {
    /// Time that the operation took.
    independent: f64,
    /// Time that the same work would have taken with all operations still in flight.
    shared: f64,
    /// Logarithm of the factor by which shared service speeds up the operation at its end.
    speedup: f64,
    /// Weight of the operation. Operations that end at the same time were probably served as one batch or burst, so
    /// they count as one.
    weight: f64,
    density: &'d Density,
}

impl<'d> LastOp<'d> {
    /// Returns the last operations. `ops` is sorted by end.
    fn all(ops: &[(&EdgeOp, &'d Density)], closed_at: Instant) -> Vec<Self> {
        let all = ops.len() as f64;
        let (mut found, mut shared, mut before, mut left) = (Vec::new(), 0.0, closed_at, ops);
        while let Some((first, density)) = left.first() {
            shared += nanos(before, first.end) * all / left.len() as f64;
            before = first.end;
            let together = left.partition_point(|(op, _)| nanos(before, op.end) <= TOGETHER * density.mean).max(1);
            let speedup = (all / left.len() as f64).ln();
            found.extend(left[..together].iter().map(|(op, density)| {
                let age = nanos(op.sent, closed_at.max(op.sent));
                let independent = age + nanos(closed_at, op.end);
                Self { independent, shared: age + shared, speedup, weight: 1.0 / together as f64, density }
            }));
            left = &left[together..];
        }
        found
    }
}

/// Time by which each of the last operations was faster than usual (slower if negative), as a fraction of the mean
/// service time. The same time applies to all of them. The last operations often form one burst, so their times are not
/// independent of each other.
#[derive(Clone, Copy)]
struct Shift(f64);

impl Shift {
    /// Returns the shift for which the times of the last operations are most likely.
    fn most_likely(last: &[LastOp], time: impl Fn(&LastOp) -> f64) -> Self {
        let likelihood = |shift: &Self| -> f64 {
            last.iter().map(|op| op.weight * shift.density(op, time(op))).sum::<f64>() + shift.prior()
        };
        let shifts = (-SHIFT_STEPS..=SHIFT_STEPS).map(|step| Self(f64::from(step) * SHIFT_STEP));
        shifts.max_by(|one, other| likelihood(one).total_cmp(&likelihood(other))).unwrap_or(Self(0.0))
    }

    fn density(self, op: &LastOp, time: f64) -> f64 {
        op.density.density(time + self.0 * op.density.mean)
    }

    /// Returns the logarithm of the probability of the shift, compared with no shift.
    fn prior(self) -> f64 {
        if self.0 == 0.0 { 0.0 } else { -SHIFTED }
    }
}

/// Returns the logarithm of the likelihood of the first operations. `spared` maps the position of an operation in the
/// queue to the time, in nanoseconds, by which the operation's wait is shorter than usual. The function also tries
/// delays that all operations have in common, and returns the highest likelihood.
fn likelihood(ops: &[(&EdgeOp, &Density)], spared: impl Fn(usize) -> f64) -> f64 {
    let first = ops.iter().map(|(op, _)| taken(op)).fold(f64::INFINITY, f64::min);
    let delayed_by = |delay: f64| -> f64 {
        let term = |(place, (op, density)): (usize, &(&EdgeOp, &Density))| {
            density.coarse_density(taken(op) - delay + spared(place)).max(density::unlike(taken(op)))
        };
        ops.iter().enumerate().map(term).sum::<f64>() - if delay > 0.0 { DELAYED } else { 0.0 }
    };
    let small = (0..DELAY_STEPS).map(|step| f64::from(step) * DELAY_STEP);
    let delays = small.chain(LARGE_DELAYS.map(|step| 1.0 - LEFT.powi(step)));
    delays.map(|part| delayed_by(part * first)).fold(f64::NEG_INFINITY, f64::max)
}

/// Returns whether the target paused while the last operations ended.
pub(super) fn closing_paused(edges: &Edges) -> bool {
    edges.closing_paused as f64 > COLD_SHARE * edges.closing.len() as f64
}

/// Returns whether many operations at an edge took longer than usual, for example because of a cold start.
fn met_something_else(ops: &[(&EdgeOp, &Density)]) -> bool {
    let long = ops.iter().filter(|(op, density)| taken(op) > COLD_FACTOR * density.longest).count();
    long as f64 > COLD_SHARE * ops.len() as f64
}

/// Sorts the first operations in the order of sending, because a queue would serve them in this order. The order of
/// operations sent at the same time is unknown, so these are sorted by their end.
fn in_order_of_service(ops: &mut [(&EdgeOp, &Density)]) {
    ops.sort_by_key(|(op, _)| (op.sent, op.end));
    let mut rest = ops;
    while let Some((first, density)) = rest.first() {
        let last = first.sent.as_nanos() as f64 + AT_ONCE * density.mean;
        let count = rest.iter().take_while(|(op, _)| op.sent.as_nanos() as f64 <= last).count().max(1);
        let (at_once, later) = rest.split_at_mut(count);
        at_once.sort_by_key(|(op, _)| op.end);
        rest = later;
    }
}

fn taken(op: &EdgeOp) -> f64 {
    nanos(op.sent, op.end)
}

fn nanos(from: Instant, to: Instant) -> f64 {
    to.nanos_since(from) as f64
}

/// Returns the logarithm of the mean of likelihoods, given their logarithms.
fn mean_of_likelihoods(logs: &[f64]) -> f64 {
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = logs.iter().map(|log| (log - most).exp()).sum();
    most + (sum / logs.len().max(1) as f64).ln()
}
