//! Whether the operations of a closed run waited for each other at the target.
//!
//! With so many slots c, throughput X and responses that take R on average, more slots carry more as long as R does not
//! depend on c. Three explanations of the same R are compared by their likelihood:
//!
//! * *independent*: each operation takes its time, whatever else is in flight. Then the first operations take as long as all
//!   others, and the last ones too.
//! * *one queue*: k operations at a time are served, the others wait. Then the first operations, which find the target
//!   empty, wait less: the n-th of them by min(c − k, c − n) / X.
//! * *shared*: all operations in flight are served at once, each more slowly. Then the last ones are served faster the fewer
//!   are left.
//!
//! The distribution of service times is taken from the run itself, for each kind and class of sizes apart.

mod law;

use crate::evidence::{EdgeOp, Edges, Evidence, Sort};
use crate::time::Instant;
use crate::values::Distribution;
use law::Law;

/// Log-odds from which an explanation is taken for true: 20 to 1.
const CERTAIN: f64 = 3.0;
/// Log-odds from which they are ruled out: one queue at 1 to 8, shared service, which is rarer, at 1 to 4.
const NO_QUEUE: f64 = -2.1;
const NO_SHARING: f64 = -1.4;
/// Log-odds of sharing before anything is seen. Requests of which the transfer takes most of the time share a link more often
/// than not.
const SHARING: f64 = -2.2;
const SHARING_TRANSFERS: f64 = 0.0;
/// No operation changes the log-odds by more: one may have met something else.
const TERM_MAX: f64 = 3.0;
/// All of the first operations may have been delayed by the same time: the target paused, or warmed up. What is left of the time of the
/// first one is tried in steps of this factor, and so many of them.
const LEFT: f64 = 0.8;
const DELAYS: i32 = 18;
/// Logarithm of the odds against that.
const DELAYED: f64 = 3.0;
/// Share of the operations at an edge that may take longer than this factor of the longest usual one. Above it they met a cold start or
/// a pause of the target, and say nothing about queues.
const COLD_SHARE: f64 = 0.2;
const COLD_FACTOR: f64 = 1.5;
const QUICK_SHARE: f64 = 0.04;
/// Spread of service times, and number of marked operations, from which their order tells something.
const SPREAD_MIN: f64 = 0.05;
const MARKED_MIN: u64 = 20;
/// Overtaking below this part of what is expected is that of a queue. Much overtaking says nothing: many workers behind a long
/// queue overtake each other as well.
const QUEUE_ORDER: f64 = 0.6;

/// What the evidence of a closed run says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queueing {
    /// Operations waited for each other: more slots would wait longer.
    Queued,
    /// They did not.
    Independent,
    /// The run does not tell.
    Unknown,
}

/// What is known of a closed run besides its evidence.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Operations in flight on average.
    pub in_flight: f64,
    /// Operations that ended in a second.
    pub per_second: f64,
    /// Whether the transfer of bodies took most of the time.
    pub transfers: bool,
    /// Operations expected to be overtaken, of those that were ahead of marked ones, if they were independent.
    pub overtaking: f64,
    /// Whether few operations were in flight during a pause. Where operations end in bursts, most were.
    pub pauses_are_rare: bool,
}

/// Log-odds of the two kinds of waiting against independence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Odds {
    /// One queue.
    pub queue: f64,
    /// Shared service.
    pub sharing: f64,
}

impl Odds {
    /// The conclusion.
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

    /// Weighs the evidence. `law` gives the service times of a sort of operations.
    pub fn of(evidence: &Evidence, load: &Load, law: impl Fn(Sort) -> Option<Distribution>) -> Self {
        let laws = Laws::of(evidence, law);
        let prior = if load.transfers { SHARING_TRANSFERS } else { SHARING };
        let closing_tells = !(load.pauses_are_rare && closing_paused(&evidence.edges));
        let sharing = prior + if closing_tells { laws.closing(evidence) } else { 0.0 };
        // One at a time waits for nobody.
        if load.in_flight < 1.5 {
            return Self { queue: f64::NEG_INFINITY, sharing };
        }
        let opening_tells = !(load.pauses_are_rare && evidence.edges.opening_paused);
        let opening = if opening_tells { laws.opening(&evidence.edges.opening, load) } else { 0.0 };
        let queue = opening + order(evidence, load) + laws.quick();
        Self { queue, sharing }
    }
}

/// What the order of the operations adds to the log-odds of one queue.
fn order(evidence: &Evidence, load: &Load) -> f64 {
    let order = &evidence.order;
    if order.marked < MARKED_MIN || order.ahead == 0 {
        return 0.0;
    }
    let (ahead, overtaken) = (order.ahead as f64, order.overtaken as f64);
    let expected = (load.overtaking / ahead).clamp(0.0, 1.0);
    if expected < SPREAD_MIN {
        return 0.0;
    }
    // What one marked operation overtakes hangs together: each counts once.
    let error = (expected * (1.0 - expected) / order.marked as f64).sqrt();
    let ratio = overtaken / ahead / expected;
    let by_chance = 3.0 * error / expected;
    if ratio < QUEUE_ORDER && ratio < 1.0 - by_chance { 2.0 * CERTAIN } else { 0.0 }
}

/// The service times of the sorts that stand at the edges.
struct Laws(Vec<(Sort, Law)>);

impl Laws {
    fn of(evidence: &Evidence, law: impl Fn(Sort) -> Option<Distribution>) -> Self {
        let mut laws: Vec<(Sort, Law)> = Vec::new();
        for op in evidence.edges.opening.iter().chain(&evidence.edges.closing) {
            if !laws.iter().any(|(sort, _)| *sort == op.sort)
                && let Some(law) = law(op.sort).and_then(|times| Law::of(&times))
            {
                laws.push((op.sort, law));
            }
        }
        Self(laws)
    }

    fn get(&self, sort: Sort) -> Option<&Law> {
        self.0.iter().find(|(known, _)| *known == sort).map(|(_, law)| law)
    }

    /// Log-odds of one queue from the first operations: the mean of the likelihoods over how many are served at a time.
    fn opening(&self, ops: &[EdgeOp], load: &Load) -> f64 {
        let mut ops: Vec<(&EdgeOp, &Law)> = ops.iter().filter_map(|op| Some((op, self.get(op.sort)?))).collect();
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

    /// Log-odds of shared service from the last operations.
    fn closing(&self, evidence: &Evidence) -> f64 {
        let edges = &evidence.edges;
        let Some(closed_at) = edges.closed_at else { return 0.0 };
        let mut ops: Vec<(&EdgeOp, &Law)> =
            edges.closing.iter().filter_map(|op| Some((op, self.get(op.sort)?))).collect();
        if ops.len() < 2 || edges.lost as f64 > 0.1 * ops.len() as f64 || met_something_else(&ops) {
            return 0.0;
        }
        ops.sort_by_key(|(op, _)| op.end);
        let all = ops.len() as f64;
        // Time at the speed that each operation had when all were in flight.
        let (mut odds, mut shared, mut before, mut left) = (0.0, 0.0, closed_at, all);
        for (place, (op, law)) in ops.iter().enumerate() {
            let step = nanos(before, op.end);
            // What ends together was served together.
            if step > TOGETHER * law.mean {
                left = all - place as f64;
                shared += step * all / left;
                before = op.end;
            }
            let age = nanos(op.sent, closed_at.max(op.sent));
            let term = law.density(age + shared) + (all / left).ln() - law.density(age + nanos(closed_at, op.end));
            odds += term.clamp(-TERM_MAX, TERM_MAX);
        }
        odds
    }

    /// Log-odds of one queue from operations that can not have waited for others.
    fn quick(&self) -> f64 {
        let (quick, all) = self.0.iter().fold((0.0, 0.0), |sum, (_, law)| (sum.0 + law.quick, sum.1 + law.count));
        if all > 0.0 && quick > QUICK_SHARE * all { -CERTAIN } else { 0.0 }
    }
}

/// The logarithm of the likelihood of the first operations, if the operation at each place is spared so many nanoseconds of the usual wait.
/// They may all have been delayed by the same time.
fn likelihood(ops: &[(&EdgeOp, &Law)], spared: impl Fn(usize) -> f64) -> f64 {
    let first = ops.iter().map(|(op, _)| taken(op)).fold(f64::INFINITY, f64::min);
    let delayed_by = |delay: f64| -> f64 {
        let term = |(place, (op, law)): (usize, &(&EdgeOp, &Law))| {
            law.coarse_density(taken(op) - delay + spared(place)).max(law::unlike(taken(op)))
        };
        ops.iter().enumerate().map(term).sum::<f64>() - if delay > 0.0 { DELAYED } else { 0.0 }
    };
    let delays = (0..DELAYS).map(|step| (1.0 - LEFT.powi(step)) * first);
    delays.map(delayed_by).fold(f64::NEG_INFINITY, f64::max)
}

/// Whether the target paused while the last operations ended.
fn closing_paused(edges: &Edges) -> bool {
    edges.closing_paused as f64 > COLD_SHARE * edges.closing.len() as f64
}

/// Whether many operations at an edge took longer than any usually does.
fn met_something_else(ops: &[(&EdgeOp, &Law)]) -> bool {
    let long = ops.iter().filter(|(op, law)| taken(op) > COLD_FACTOR * law.longest).count();
    long as f64 > COLD_SHARE * ops.len() as f64
}

/// Puts first operations into the order in which a queue serves them: as they were sent, and those that were sent at once as
/// they ended, since nobody knows which of them came first.
fn in_order_of_service(ops: &mut [(&EdgeOp, &Law)]) {
    ops.sort_by_key(|(op, _)| (op.sent, op.end));
    let mut rest = ops;
    while let Some((first, law)) = rest.first() {
        let last = first.sent.as_nanos() as f64 + AT_ONCE * law.mean;
        let count = rest.iter().take_while(|(op, _)| op.sent.as_nanos() as f64 <= last).count().max(1);
        let (at_once, later) = rest.split_at_mut(count);
        at_once.sort_by_key(|(op, _)| op.end);
        rest = later;
    }
}

/// Operations that are sent within this part of the mean service time are sent at once.
const AT_ONCE: f64 = 0.1;
/// Operations that end within this part of the mean service time end together.
const TOGETHER: f64 = 0.005;

fn taken(op: &EdgeOp) -> f64 {
    nanos(op.sent, op.end)
}

fn nanos(from: Instant, to: Instant) -> f64 {
    to.nanos_since(from) as f64
}

/// The logarithm of the mean of numbers that are given by their logarithms.
fn mean_of_likelihoods(logs: &[f64]) -> f64 {
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = logs.iter().map(|log| (log - most).exp()).sum();
    most + (sum / logs.len().max(1) as f64).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::OpKind;
    use crate::values::random::Random;

    const SORT: Sort = Sort { kind: OpKind::Get, size: 1 };

    /// A closed run against a target that shares its speed among all in flight, or serves each at its own.
    fn closed(slots: usize, shared: bool, work: impl Fn(&mut Random) -> f64, seed: u64) -> (Evidence, Distribution) {
        let mut random = Random::new(seed);
        let (mut evidence, mut times) = (Evidence::default(), Distribution::default());
        // What is left of each operation in flight, and when it was sent.
        let mut ops: Vec<(f64, f64)> = (0..slots).map(|_| (work(&mut random), 0.0)).collect();
        let (mut now, mut ended) = (0.0, 0);
        let at = |seconds: f64| Instant::from_nanos((seconds * 1e9) as u64);
        // The window ends between two operations.
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
            let op = EdgeOp { sent: at(sent), end: at(now), sort: SORT };
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
    fn operations_of_their_own_speed_do_not() {
        for seed in 1..20 {
            assert_eq!(conclusion(64, false, false, true, seed), Queueing::Independent, "{seed}");
            assert_eq!(conclusion(64, false, true, false, seed), Queueing::Independent, "{seed}");
            assert_ne!(conclusion(8, false, false, true, seed), Queueing::Queued, "{seed}");
            assert_eq!(conclusion(1, false, false, true, seed), Queueing::Independent, "{seed}");
        }
    }

    #[test]
    fn evidence_that_can_not_be_does_no_harm() {
        let op = |sent, end| EdgeOp { sent: Instant::from_nanos(sent), end: Instant::from_nanos(end), sort: SORT };
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
