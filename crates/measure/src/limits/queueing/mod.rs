//! Odds that the operations of a closed run waited for each other at the target.
//!
//! Let c be the number of slots, X the throughput and R the mean response time. More slots lead to a higher rate unless
//! R grows with c. Three explanations of the measured R are compared by their likelihood:
//!
//! * *independent*: the time of an operation does not depend on the other operations in flight. The first and the last
//!   operations take as long as all others.
//! * *one queue*: the target serves k operations at a time, and the other operations wait. The first operations find
//!   the target idle and wait less. The wait of the n-th operation is shorter by min(c − k, c − n) / X.
//! * *shared service*: the target serves all operations in flight at the same time, so each operation takes longer. The
//!   last operations get faster as fewer operations are left.
//!
//! The usual distribution of service times is computed from the run itself, separately for each [`OperationClass`].

mod density;
mod likelihood;

use super::MOST;
use crate::evidence::{Evidence, OperationClass, overtaking};
use crate::stats::Dimension;
use crate::stats::label::Label;
use crate::stats::size_class::size_label;
use crate::summary::Summary;
use crate::values::Distribution;
use likelihood::{Densities, closing_paused};

/// Log-odds above which an explanation counts as certain: odds of 20 to 1.
const CERTAIN: f64 = 3.0;
/// Log-odds below which one queue is ruled out: odds of 1 to 8.
const NO_QUEUE: f64 = -2.1;
/// Log-odds below which shared service is ruled out: odds of 1 to 4. Less evidence is required than for one queue,
/// because shared service is less common.
const NO_SHARING: f64 = -1.4;
/// Prior log-odds of shared service.
const SHARING: f64 = -2.2;
/// Prior log-odds of shared service for requests that spend most of their time on transfers. About half of such runs
/// share a link.
const SHARING_TRANSFERS: f64 = 0.0;
/// If the spread of service times is at most this value, transfers count as not sharing a link.
const EVEN_SPREAD: f64 = 0.02;
/// Minimum spread of service times for which overtaking is evaluated.
const SPREAD_MIN: f64 = 0.05;
/// Minimum number of marked operations for which overtaking is evaluated.
const MARKED_MIN: u64 = 20;
/// Ratio of observed to expected overtaking below which there is probably a queue. A higher ratio does not rule out a
/// queue, because operations overtake each other too if many workers serve one long queue.
const QUEUE_ORDER: f64 = 0.6;

/// Conclusion about a closed run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queueing {
    /// Operations waited for each other. With more slots, each operation would wait longer.
    Queued,
    /// Operations did not wait for each other.
    Independent,
    /// The run does not show whether operations waited for each other.
    Unknown,
}

/// Load of a closed run.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Mean number of operations in flight.
    pub in_flight: f64,
    /// Operations that ended per second.
    pub per_second: f64,
    /// `true` if the transfer of bodies took most of the time.
    pub transfers: bool,
    /// Number of operations that the marked operations are expected to overtake if all operations are independent.
    pub overtaking: f64,
    /// `true` if few operations were in flight during pauses of the target. If `false`, operations usually end in
    /// bursts.
    pub pauses_are_rare: bool,
}

/// Log-odds of the two explanations in which operations wait for each other, each compared with independence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Odds {
    /// Log-odds of one queue.
    pub queue: f64,
    /// Log-odds of shared service.
    pub sharing: f64,
}

impl Odds {
    /// Returns the conclusion that the odds allow.
    #[must_use]
    pub fn conclusion(self) -> Queueing {
        if self.queue.max(self.sharing) >= CERTAIN {
            Queueing::Queued
        } else if self.queue <= NO_QUEUE && self.sharing <= NO_SHARING {
            Queueing::Independent
        } else {
            Queueing::Unknown
        }
    }

    /// Computes the odds from the evidence of a run. `service_times` returns the service times of a class of
    /// operations.
    pub fn of(
        evidence: &Evidence,
        load: &Load,
        service_times: impl Fn(OperationClass) -> Option<Distribution>,
    ) -> Self {
        let densities = Densities::of(evidence, service_times);
        let prior = if load.transfers { SHARING_TRANSFERS } else { SHARING };
        let closing_counts = !(load.pauses_are_rare && closing_paused(&evidence.edges));
        let sharing = prior + if closing_counts { densities.closing(evidence) } else { 0.0 };
        // A single operation in flight cannot wait for others.
        if load.in_flight < 1.5 {
            return Self { queue: f64::NEG_INFINITY, sharing };
        }
        let first = &evidence.edges.opening;
        let paused = load.pauses_are_rare && evidence.edges.opening_paused;
        let opening_counts = !paused || densities.opening_is_usual(first);
        let opening = if opening_counts { densities.opening(first, load) } else { 0.0 };
        let queue = opening + overtaking_odds(evidence, load) + densities.quick();
        Self { queue, sharing }
    }
}

/// Returns the contribution of overtaking to the log-odds of one queue.
fn overtaking_odds(evidence: &Evidence, load: &Load) -> f64 {
    let observed = &evidence.overtaking;
    if observed.marked < MARKED_MIN || observed.ahead == 0 {
        return 0.0;
    }
    let (ahead, overtaken) = (observed.ahead as f64, observed.overtaken as f64);
    let expected = (load.overtaking / ahead).clamp(0.0, 1.0);
    if expected < SPREAD_MIN {
        return 0.0;
    }
    // Operations that were overtaken by the same marked operation are not independent, so the sample size is the number
    // of marked operations.
    let error = (expected * (1.0 - expected) / observed.marked as f64).sqrt();
    let ratio = overtaken / ahead / expected;
    let by_chance = 3.0 * error / expected;
    if ratio < QUEUE_ORDER && ratio < 1.0 - by_chance { 2.0 * CERTAIN } else { 0.0 }
}

/// Returns the odds that operations of a closed run waited for each other.
#[must_use]
pub fn queueing_odds(summary: &Summary) -> Odds {
    let all = &summary.all;
    let total = |of: &Distribution| of.moments().sum as f64;
    let moved = total(&all.transfer).max(total(&all.sending));
    let load = Load {
        in_flight: summary.mean_in_flight().unwrap_or_default(),
        per_second: summary.completed_rate().unwrap_or_default(),
        // Transfers over a shared link never take nearly equal times. Transfers over separate connections of fixed
        // speed can take nearly equal times.
        transfers: moved > MOST * total(&all.service)
            && overtaking::spread(&all.service).is_none_or(|spread| spread > EVEN_SPREAD),
        overtaking: summary.overtaking_expected,
        pauses_are_rare: pauses_are_rare(summary),
    };
    Odds::of(&summary.evidence, &load, |class| service_times(summary, class, load.pauses_are_rare))
}

/// Returns the service times of similar operations. Operations are similar if they have the same size class. In a run
/// with a single size class, operations of the same kind are similar. Operations during pauses of the target are left
/// out if pauses are rare.
fn service_times(summary: &Summary, class: OperationClass, pauses_are_rare: bool) -> Option<Distribution> {
    let stats = &summary.stats;
    let sizes = stats.groups.iter().filter(|group| group.dimension == Dimension::Size && group.stats.ok > 0);
    if sizes.clone().count() > 1 {
        let label = size_label(class.size)?;
        let mut same = sizes.filter(|group| matches!(&group.label, Label::Value(value) if value == label));
        return same.next().map(|group| group.stats.response.clone());
    }
    let mut kinds = stats.kinds.iter().filter(|(kind, _)| *kind == class.kind);
    let service = kinds.next().map(|(_, stats)| &stats.service)?;
    let without_pauses = stats.kinds.len() == 1 && pauses_are_rare;
    Some(if without_pauses { service.without(&summary.evidence.paused) } else { service.clone() })
}

/// Returns whether few operations were in flight while the target paused.
fn pauses_are_rare(summary: &Summary) -> bool {
    (summary.evidence.paused.count() as f64) < MOST * summary.all.service.count() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::{EdgeOp, Edges};
    use crate::sample::OpKind;
    use crate::time::Instant;
    use crate::values::random::Random;

    const CLASS: OperationClass = OperationClass { kind: OpKind::Get, size: 1 };

    /// Simulates a closed run against a target that either shares its speed among all operations in flight or serves
    /// each one at full speed.
    fn closed(slots: usize, shared: bool, work: impl Fn(&mut Random) -> f64, seed: u64) -> (Evidence, Distribution) {
        let mut random = Random::new(seed);
        let (mut evidence, mut times) = (Evidence::default(), Distribution::default());
        // The remaining work of each operation in flight, and its start.
        let mut ops: Vec<(f64, f64)> = (0..slots).map(|_| (work(&mut random), 0.0)).collect();
        let (mut now, mut ended) = (0.0, 0);
        let at = |seconds: f64| Instant::from_nanos((seconds * 1e9) as u64);
        // The measured window ends between the ends of two operations.
        let closing = 2000 + slots;
        let mut closed_at = None;
        while !ops.is_empty() {
            let slowness = if shared { ops.len() as f64 } else { 1.0 };
            let (next, least) = ops.iter().map(|op| op.0).enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
            if ended == closing && closed_at.is_none() {
                let part = least * random.unit();
                ops.iter_mut().for_each(|op| op.0 -= part);
                now += part * slowness;
                closed_at = Some(now);
                evidence.edges.closed_at = Some(at(now));
                continue;
            }
            ops.iter_mut().for_each(|op| op.0 -= least);
            now += least * slowness;
            ended += 1;
            let (_, sent) = ops.swap_remove(next);
            let op = EdgeOp { sent: at(sent), end: at(now), class: CLASS };
            if closed_at.is_some() {
                evidence.edges.closing.push(op);
            } else {
                times.record(((now - sent) * 1e9) as u64);
                ops.push((work(&mut random), now));
            }
            if sent == 0.0 {
                evidence.edges.opening.push(op);
            }
        }
        (evidence, times)
    }

    fn conclusion(slots: usize, shared: bool, transfers: bool, spread: bool, seed: u64) -> Queueing {
        let work = |random: &mut Random| match spread {
            true => -0.02 * random.unit().ln(),
            false => 0.02 * (0.9 + 0.2 * random.unit()),
        };
        let (evidence, times) = closed(slots, shared, work, seed);
        let in_flight = slots as f64;
        let per_second = in_flight / (times.moments().mean().unwrap() / 1e9);
        let load = Load { in_flight, per_second, transfers, overtaking: 0.0, pauses_are_rare: true };
        Odds::of(&evidence, &load, |_| Some(times.clone())).conclusion()
    }

    #[test]
    fn operations_that_share_a_target_wait_for_each_other() {
        for seed in 1..20 {
            assert_eq!(conclusion(64, true, false, true, seed), Queueing::Queued, "{seed}");
            assert_eq!(conclusion(64, true, true, false, seed), Queueing::Queued, "{seed}");
            assert_ne!(conclusion(8, true, true, true, seed), Queueing::Independent, "{seed}");
            assert_ne!(
                conclusion(1, true, true, true, seed),
                Queueing::Independent,
                "{seed}: one transfer may fill a link"
            );
        }
    }

    #[test]
    fn operations_served_at_their_own_speed_are_independent() {
        for seed in 1..20 {
            assert_eq!(conclusion(64, false, false, true, seed), Queueing::Independent, "{seed}");
            assert_eq!(conclusion(64, false, true, false, seed), Queueing::Independent, "{seed}");
            assert_ne!(conclusion(8, false, false, true, seed), Queueing::Queued, "{seed}");
            assert_eq!(conclusion(1, false, false, true, seed), Queueing::Independent, "{seed}");
        }
    }

    /// Returns operations from their times, in ms: when they were sent, and how long they took.
    fn edge_ops(sent_and_taken: impl Iterator<Item = (f64, f64)>) -> Vec<EdgeOp> {
        let at = |ms: f64| Instant::from_nanos((ms * 1e6) as u64);
        sent_and_taken.map(|(sent, taken)| EdgeOp { sent: at(sent), end: at(sent + taken), class: CLASS }).collect()
    }

    /// Returns service times that are spread evenly between the quartiles, and have a tail above them.
    fn times_between(low_ms: f64, high_ms: f64) -> Distribution {
        let (mut random, mut times) = (Random::new(5), Distribution::default());
        for _ in 0..4000 {
            let tail = if random.unit() < 0.1 { -0.08 * low_ms * random.unit().max(1e-9).ln() } else { 0.0 };
            times.record(((low_ms + (high_ms - low_ms) * random.unit() + tail) * 1e6) as u64);
        }
        times
    }

    /// Recorded from a server in Go that responds after 5 ms. The last 8 operations were in one burst, which happened to
    /// be 7 % faster than usual.
    #[test]
    fn a_last_burst_that_was_faster_is_no_shared_service() {
        const CLOSED_AT: f64 = 4000.0;
        let ends = [1.41, 3.09, 3.39, 3.42, 3.78, 3.82, 3.84, 3.87];
        let taken = [5.27, 5.25, 5.17, 5.16, 5.17, 5.18, 5.33, 5.33];
        let closing = edge_ops(ends.into_iter().zip(taken).map(|(end, taken)| (CLOSED_AT + end - taken, taken)));
        let closed_at = Some(Instant::from_nanos((CLOSED_AT * 1e6) as u64));
        let evidence = Evidence { edges: Edges { closing, closed_at, ..Edges::default() }, ..Evidence::default() };
        let load =
            Load { in_flight: 8.0, per_second: 1423.0, transfers: false, overtaking: 0.0, pauses_are_rare: true };
        let odds = Odds::of(&evidence, &load, |_| Some(times_between(5.3, 5.9)));
        assert!(odds.sharing < 0.0, "{odds:?}");
    }

    /// Recorded from a server in Go that responds after 20 ms. The first 32 operations were slower than usual, because
    /// their connections were new.
    #[test]
    fn first_operations_on_new_connections_are_no_queue() {
        let taken = [
            24.18, 24.17, 24.30, 24.39, 24.47, 24.58, 24.67, 24.73, 24.86, 24.95, 25.07, 25.17, 25.27, 25.36, 21.41,
            21.52, 21.75, 23.41, 23.74, 23.78, 22.06, 22.23, 22.33, 22.41, 22.38, 22.47, 22.52, 22.58, 22.65, 22.73,
            22.79, 22.97,
        ];
        let opening = edge_ops(taken.into_iter().enumerate().map(|(slot, taken)| (1.75 + slot as f64 * 0.015, taken)));
        let evidence = Evidence { edges: Edges { opening, ..Edges::default() }, ..Evidence::default() };
        let load =
            Load { in_flight: 32.0, per_second: 1248.0, transfers: false, overtaking: 0.0, pauses_are_rare: true };
        let odds = Odds::of(&evidence, &load, |_| Some(times_between(20.3, 21.7)));
        assert!(odds.queue < 0.0, "{odds:?}");
    }

    #[test]
    fn impossible_evidence_gives_finite_odds() {
        let op = |sent, end| EdgeOp { sent: Instant::from_nanos(sent), end: Instant::from_nanos(end), class: CLASS };
        let ops = vec![op(5, 2), op(0, u64::MAX), op(u64::MAX, 0)];
        let closed_at = Some(Instant::from_nanos(u64::MAX / 2));
        let edges = Edges { opening: ops.clone(), closing: ops, closed_at, ..Edges::default() };
        let evidence = Evidence { edges, ..Evidence::default() };
        let mut times = Distribution::default();
        [0, 1, u64::MAX].into_iter().for_each(|time| times.record(time));
        let load = Load {
            in_flight: 1e300,
            per_second: 1e-300,
            transfers: false,
            overtaking: f64::NAN,
            pauses_are_rare: true,
        };
        let odds = Odds::of(&evidence, &load, |_| Some(times.clone()));
        assert!(!odds.queue.is_nan() && !odds.sharing.is_nan(), "{odds:?}");
    }
}
