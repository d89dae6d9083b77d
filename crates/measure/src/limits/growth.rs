//! Growth of response times over a run, by the time at which operations were due.
//!
//! A target that keeps up responds to the last operations as fast as to the first operations, even if it is slow. A
//! target that falls behind takes longer to respond to each operation than to the previous operation. For example, if
//! 1,600/s are offered and 800/s are sustained, response times grow by one second for each second of the schedule.
//!
//! In a mix, response times can grow for one class of operations only, such as uploads. The growth is then found among
//! the operations of this class.
//!
//! Response times do not show growth if all operations in flight share the capacity of the target or of the link. The
//! last operations then end quickly, because no new load follows them. For such targets and links, the growth is found
//! by comparing counts. The target falls behind if far fewer operations end than are due, both in the third quarter of
//! the schedule and in the last quarter.

use crate::evidence::{ArrivalCohorts, Evidence, OperationClass};
use crate::statistics::{CONFIDENCE, student};

/// Numbers of groups into which cohorts are divided, in the order in which they are tried. Many groups show growth
/// early. If the times of operations vary widely, fewer and larger groups show growth better.
const GROUPS: [usize; 2] = [20, 10];
/// Minimum number of groups.
const GROUPS_MIN: usize = 5;
/// Minimum number of operations per group.
const GROUP_OPERATIONS: u64 = 2;
/// Response times count as growing if the mean step from group to group is at least this many standard errors. For few
/// steps, more are required: [`CERTAIN_BY_FEW`] divided by the number of steps is added. The sum corresponds to
/// Student's t at about 0.1 %.
const CERTAIN: f64 = 3.1;
const CERTAIN_BY_FEW: f64 = 12.0;
/// Number of standard errors that is added to [`CERTAIN`] when a single class is tested, because several classes are
/// tested one after the other.
const CERTAIN_OF_A_CLASS: f64 = 1.0;
/// If the number of ended operations is at least this multiple of the number of operations due in the same time, the
/// target counts as keeping up.
const DEPARTED_SHARE: f64 = 0.85;
/// If the number of due operations exceeds the number of ended operations by at most this many standard errors of
/// random arrivals, the target counts as keeping up.
const DEPARTED_ERRORS: f64 = 4.0;

/// Growth of response times over the measured window of an open run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Growth {
    /// Increase of the response time from the first to the last operation due, in seconds.
    pub response: f64,
    /// Part of the increase that the client caused by starting operations later and later, in seconds.
    pub lateness: f64,
    /// Number of operations that had piled up at the end of the schedule.
    pub piled_up: u64,
    /// The class of operations whose response times grew; `None` if the response times of all classes grew.
    pub class: Option<OperationClass>,
}

/// Number of operations due in a time span, and number of operations that ended in it.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    due: f64,
    departed: f64,
}

impl Flow {
    fn within(cohorts: &ArrivalCohorts, from: f64, until: f64) -> Self {
        let inside = cohorts.all().iter().filter(|cohort| (from..until).contains(&cohort.middle()));
        inside.fold(Self::default(), |sum, cohort| Self {
            due: sum.due + cohort.scheduled as f64,
            departed: sum.departed + cohort.departed as f64,
        })
    }

    fn falls_behind(&self) -> bool {
        let behind = self.due - self.departed;
        self.departed < DEPARTED_SHARE * self.due && behind > DEPARTED_ERRORS * self.due.sqrt()
    }
}

/// Means over a group of cohorts, in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    time: f64,
    response: f64,
    lateness: f64,
}

impl Growth {
    /// Returns the growth over a schedule of `seconds`; `None` if it is not certain that response times grow. If
    /// response times grow only in some classes of operations, returns the growth of the class in which the largest
    /// number of operations piled up.
    #[must_use]
    pub fn of_run(evidence: &Evidence, seconds: f64) -> Option<Self> {
        Self::of(&evidence.arrival_cohorts, seconds).or_else(|| {
            let of_class = |(class, cohorts)| {
                let growth = Self::of_all_groups(cohorts, seconds, CERTAIN + CERTAIN_OF_A_CLASS)?;
                Some(Self { class: Some(class), ..growth })
            };
            evidence.class_cohorts.several().filter_map(of_class).max_by_key(|growth| growth.piled_up)
        })
    }

    /// Returns the growth over the operations of `cohorts`.
    fn of(cohorts: &ArrivalCohorts, seconds: f64) -> Option<Self> {
        Self::of_all_groups(cohorts, seconds, CERTAIN).or_else(|| Self::of_departures(cohorts, seconds))
    }

    /// Compares the response times of groups. `certain` is the minimum step in standard errors.
    fn of_all_groups(cohorts: &ArrivalCohorts, seconds: f64, certain: f64) -> Option<Self> {
        GROUPS.into_iter().find_map(|most| Self::of_groups(cohorts, seconds, most, certain))
    }

    /// Estimates the growth by comparing the number of operations that end with the number that are due in the same
    /// time.
    fn of_departures(cohorts: &ArrivalCohorts, seconds: f64) -> Option<Self> {
        let quarter = seconds / 4.0;
        let flows = [2.0, 3.0].map(|begun| Flow::within(cohorts, begun * quarter, (begun + 1.0) * quarter));
        let groups = groups(cohorts, GROUPS[0]);
        let (first, last) = (groups.first()?, groups.last()?);
        // If the first response times exceed half of the schedule, few operations can have ended yet, even if the
        // target keeps up.
        if first.response > 2.0 * quarter || !flows.iter().all(Flow::falls_behind) {
            return None;
        }
        let all = Flow::within(cohorts, 0.0, seconds);
        // Records of earlier versions do not contain the times at which operations ended.
        if all.departed == 0.0 {
            return None;
        }
        let in_flight = all.due * first.response / seconds;
        Some(Self {
            response: (last.response - first.response).max(0.0),
            lateness: (last.lateness - first.lateness).max(0.0),
            piled_up: (all.due - all.departed - in_flight).max(0.0) as u64,
            class: None,
        })
    }

    fn of_groups(cohorts: &ArrivalCohorts, seconds: f64, most: usize, certain: f64) -> Option<Self> {
        let trend = Trend::of(cohorts, most)?;
        if trend.step <= 0.0 || trend.step < (certain + CERTAIN_BY_FEW / trend.steps) * trend.error {
            return None;
        }
        let whole = seconds / trend.seconds();
        let response = trend.step * trend.steps * whole;
        if !response.is_finite() {
            return None;
        }
        let scheduled = cohorts.all().iter().fold(0_u64, |sum, cohort| sum.saturating_add(cohort.scheduled));
        let piled_up = (scheduled as f64 * shortfall(response, seconds)) as u64;
        let lateness = (trend.last.lateness - trend.first.lateness).max(0.0) * whole;
        Some(Self { response, lateness, piled_up, class: None })
    }
}

/// Returns the share of the offered operations that the target leaves unserved, if response times grow by `growth`
/// seconds over a schedule of `seconds`. To respond to all operations that were due, the target needs the time of the
/// schedule plus the growth.
fn shortfall(growth: f64, seconds: f64) -> f64 {
    growth / (seconds + growth)
}

/// Returns the largest share of the offered operations that the target can have left unserved without a certain growth
/// of response times. The share corresponds to the upper end of the confidence interval of the growth. `None` if too
/// few operations ended.
#[must_use]
pub fn unseen_shortfall(evidence: &Evidence, seconds: f64) -> Option<f64> {
    let trend = Trend::of(&evidence.arrival_cohorts, GROUPS[0])?;
    let step = trend.step + trend.error * student::quantile(0.5 + CONFIDENCE / 2.0, trend.steps as u64 - 1);
    let growth = step.max(0.0) * trend.steps * seconds / trend.seconds();
    // A larger shortfall would have been detected from the number of operations that ended.
    Some(shortfall(growth, seconds).min(1.0 - DEPARTED_SHARE))
}

/// Steps of the mean response time from group to group.
#[derive(Clone, Copy, Debug)]
struct Trend {
    first: Group,
    last: Group,
    /// Number of steps.
    steps: f64,
    /// Mean step, in seconds.
    step: f64,
    /// Standard error of the mean step, in seconds.
    error: f64,
}

impl Trend {
    /// Returns the steps between at most `most` groups; `None` if there are too few.
    fn of(cohorts: &ArrivalCohorts, most: usize) -> Option<Self> {
        let groups = groups(cohorts, most);
        let (first, last) = (*groups.first()?, *groups.last()?);
        if groups.len() < GROUPS_MIN || last.time <= first.time {
            return None;
        }
        let all: Vec<f64> = groups.windows(2).map(|pair| pair[1].response - pair[0].response).collect();
        let steps = all.len() as f64;
        let step = all.iter().sum::<f64>() / steps;
        let variance = all.iter().map(|each| (each - step).powi(2)).sum::<f64>() / (steps - 1.0);
        Some(Self { first, last, steps, step, error: (variance / steps).sqrt() })
    }

    /// Returns the time between the first and the last group, in seconds.
    fn seconds(&self) -> f64 {
        self.last.time - self.first.time
    }
}

/// Divides the cohorts into groups that span equal times. Uses only cohorts in which most operations have ended.
fn groups(cohorts: &ArrivalCohorts, most: usize) -> Vec<Group> {
    let ended: Vec<_> = cohorts.all().iter().filter(|c| c.ended > 0 && c.ended >= c.scheduled / 2).collect();
    let (Some(first), Some(last)) = (ended.first(), ended.last()) else { return Vec::new() };
    let operations = ended.iter().fold(0_u64, |sum, cohort| sum.saturating_add(cohort.ended));
    let count = most.min(ended.len()).min(usize::try_from(operations / GROUP_OPERATIONS).unwrap_or(most)).max(1);
    let (from, span) = (first.middle(), (last.middle() - first.middle()).max(f64::MIN_POSITIVE));
    // For each group, four sums: the number of operations, the times at which they were due, their response times, and
    // their lateness.
    let mut sums = vec![[0.0; 4]; count];
    for cohort in ended {
        let place = ((cohort.middle() - from) / span * count as f64) as usize;
        let sum = &mut sums[place.min(count - 1)];
        let operations = cohort.ended as f64;
        let parts = [
            operations,
            operations * cohort.middle(),
            cohort.response_nanos as f64 / 1e9,
            cohort.late_nanos as f64 / 1e9,
        ];
        sum.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
    }
    let group = |[operations, time, response, lateness]: [f64; 4]| Group {
        time: time / operations,
        response: response / operations,
        lateness: lateness / operations,
    };
    sums.into_iter().filter(|sum| sum[0] > 0.0).map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{LabelId, OpKind, OpSample};
    use crate::time::{Instant, Timeline};
    use crate::values::random::Random;
    use std::time::Duration;

    fn cohorts(seconds: u64, response: impl Fn(f64) -> f64) -> ArrivalCohorts {
        ArrivalCohorts::simulated(seconds as f64, response)
    }

    #[test]
    fn targets_with_half_the_rate_are_found_within_a_second() {
        for seconds in [1, 3, 12, 600] {
            let growth = Growth::of(&cohorts(seconds, |time| 0.001 + time), seconds as f64).unwrap();
            assert!((growth.response - seconds as f64).abs() < 0.06 * seconds as f64, "{growth:?}");
            let half = seconds * 500;
            assert!(growth.piled_up.abs_diff(half) < half / 20, "{growth:?}");
        }
    }

    /// As on a full link, all operations in flight share a capacity of 50/s while 100/s are due. The first operations
    /// take long, and the last ones end together.
    #[test]
    fn shared_capacity_lets_operations_pile_up_without_growing_times() {
        let mut cohorts = ArrivalCohorts::default();
        for number in 0..400_u64 {
            let due = number * 10_000_000;
            let response = (4.0 - 3.0 * (-(number as f64) / 60.0).exp()) * 1e9;
            let cohort = cohorts.at(due);
            (cohort.scheduled, cohort.ended) = (cohort.scheduled + 1, cohort.ended + 1);
            cohort.response_nanos += response as u64;
            cohorts.at(due + response as u64).departed += 1;
        }
        let growth = Growth::of_departures(&cohorts, 4.0).unwrap();
        assert!((150..400).contains(&growth.piled_up) && growth.response > 1.0, "{growth:?}");
    }

    #[test]
    fn stalls_and_slow_targets_are_not_a_growth() {
        let departures = |response: &dyn Fn(f64) -> f64| Growth::of_departures(&cohorts(9, response), 9.0);
        assert_eq!(departures(&|_| 0.01), None);
        assert_eq!(departures(&|_| 4.0), None);
        assert_eq!(
            departures(&|_| 5.0),
            None,
            "a target whose first responses arrive in the second half may still keep up"
        );
        assert_eq!(
            departures(&|time| if (4.0..7.0).contains(&time) { 7.0 - time } else { 0.01 }),
            None,
            "a stall of 3 s is not growth"
        );
        assert_eq!(departures(&|time| if time < 5.0 { 0.01 } else { 0.3 }), None);
        assert!(departures(&|time| time).is_some(), "growth is found if only half of the due operations end");
    }

    /// Every 50 ms, response times jump up or down by 150 ms. The jumps hide the growth from step to step, but not over
    /// the whole run.
    #[test]
    fn growth_is_found_behind_a_wide_spread() {
        let uneven = |time: f64| time + if ((time / 0.05) as u64).is_multiple_of(2) { 0.0 } else { 0.15 };
        assert!(Growth::of(&cohorts(1, uneven), 1.0).is_some());
    }

    /// Returns the evidence of 100 operations per second. `response` gets the time at which an operation is due, and a
    /// source of random numbers. It returns the class of the operation, and its response time in seconds.
    fn mix(seconds: u64, seed: u64, response: impl Fn(f64, &mut Random) -> (OperationClass, f64)) -> Evidence {
        let (mut random, mut evidence) = (Random::new(seed), Evidence::default());
        let timeline = Timeline::new(Instant::ZERO, Duration::ZERO, Some(Duration::from_secs(seconds)));
        for number in 0..seconds * 100 {
            let due = Instant::from_nanos(number * 10_000_000);
            let (class, taken) = response(number as f64 / 100.0, &mut random);
            let sample = OpSample::simulated(LabelId(0), due, due + Duration::from_secs_f64(taken));
            evidence.arrival_cohorts.scheduled(&timeline, due, 1);
            evidence.arrival_cohorts.ended(&timeline, &sample);
            evidence.class_cohorts.add(&timeline, &sample, class);
        }
        evidence
    }

    fn exponential(mean: f64, random: &mut Random) -> f64 {
        -mean * (1.0 - random.unit()).ln()
    }

    /// Returns the evidence of a queue over 3 s. The queue has one server with exponential service times, which can
    /// serve 400/s.
    fn queue(offered: f64, seed: u64) -> Evidence {
        let (mut random, mut evidence) = (Random::new(seed), Evidence::default());
        let timeline = Timeline::new(Instant::ZERO, Duration::ZERO, Some(Duration::from_secs(3)));
        let mut free = 0.0_f64;
        for number in 0..(3.0 * offered) as u64 {
            let due = number as f64 / offered;
            free = free.max(due) + exponential(1.0 / 400.0, &mut random);
            let at = |seconds: f64| Instant::from_nanos((seconds * 1e9) as u64);
            evidence.arrival_cohorts.scheduled(&timeline, at(due), 1);
            evidence.arrival_cohorts.ended(&timeline, &OpSample::simulated(LabelId(0), at(due), at(free)));
        }
        evidence
    }

    /// The random length of a queue can hide a small overload. An overload that is not found must be within the
    /// shortfall that is reported as possibly unseen.
    #[test]
    fn an_overload_is_found_or_named_as_unseen() {
        for shortfall in [0.03, 0.05, 0.1] {
            let is_told = |seed: &u64| {
                let evidence = queue(400.0 / (1.0 - shortfall), *seed);
                let unseen = || unseen_shortfall(&evidence, 3.0).expect("enough operations");
                Growth::of_run(&evidence, 3.0).is_some() || unseen() >= shortfall
            };
            let told = (0..200).filter(is_told).count();
            assert!(told >= 190, "a shortfall of {shortfall} was found or named in {told} of 200 runs");
        }
        let calm = unseen_shortfall(&queue(100.0, 1), 3.0).expect("enough operations");
        assert!(calm < 0.02, "response times of a few milliseconds hide nothing: {calm}");
    }

    const GET: OperationClass = OperationClass { kind: OpKind::Get, size: 3 };
    const PUT: OperationClass = OperationClass { kind: OpKind::Put, size: 3 };
    const LARGE_PUT: OperationClass = OperationClass { kind: OpKind::Put, size: 5 };

    /// A tenth of the operations are uploads, of which the target sustains half.
    #[test]
    fn growth_of_rare_uploads_is_found_in_a_mix() {
        for seed in 0..20 {
            let evidence = mix(10, seed, |time, random| match random.unit() {
                put if put < 0.1 => (PUT, 0.1 + time),
                _ => (GET, exponential(0.01, random)),
            });
            assert_eq!(Growth::of(&evidence.arrival_cohorts, 10.0), None, "seed {seed}");
            let growth = Growth::of_run(&evidence, 10.0).expect("growth");
            assert!((8.0..12.0).contains(&growth.response), "seed {seed}: {growth:?}");
            assert!((30..75).contains(&growth.piled_up), "seed {seed}: {growth:?}");
            assert_eq!(growth.class, Some(PUT));
        }
    }

    #[test]
    fn mixes_that_keep_up_have_no_growth() {
        let found = (0..400).filter(|seed| {
            let evidence = mix(10, *seed, |_, random| match random.unit() {
                put if put < 0.1 => (PUT, exponential(0.5, random)),
                put if put < 0.2 => (LARGE_PUT, exponential(2.0, random)),
                _ => (GET, exponential(0.01, random)),
            });
            Growth::of_run(&evidence, 10.0).is_some_and(|growth| growth.piled_up >= 10)
        });
        let found = found.count();
        assert!(found <= 2, "{found} of 400");
    }

    #[test]
    fn slow_targets_that_keep_up_have_no_growth() {
        assert_eq!(Growth::of(&cohorts(10, |_| 5.0), 10.0), None);
        let stalls = |time: f64| if (4.0..5.0).contains(&time) { 5.0 - time } else { 0.001 };
        assert_eq!(Growth::of(&cohorts(10, stalls), 10.0), None, "a target that recovers does not grow");
        let degrades = |time: f64| if time < 5.0 { 0.01 } else { 0.3 };
        assert_eq!(
            Growth::of(&cohorts(10, degrades), 10.0),
            None,
            "a target that responds more slowly but keeps up does not grow"
        );
        assert_eq!(Growth::of(&ArrivalCohorts::default(), 1.0), None);
    }
}
