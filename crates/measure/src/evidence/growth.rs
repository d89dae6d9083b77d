//! Whether response times grow with the time at which operations were due.
//!
//! A target that keeps up answers the last operations as fast as the first ones, however slow it is. One that falls behind
//! answers each later than the one before: at 1,600/s asked for and 800/s sustained, each second adds one second.
//!
//! Where all operations in flight share what the target or the link carries, the last ones are answered while the load ends,
//! and their times do not grow. There, far fewer operations end than are due, in the third quarter of the time and in the last one.

use crate::evidence::Cohorts;

/// Groups of cohorts that are compared, and how few can be. Many show a growth early; where operations differ much from each
/// other, fewer and larger ones show it better.
const GROUPS: [usize; 2] = [20, 10];
const GROUPS_MIN: usize = 5;
/// Operations that make a group.
const GROUP_OPERATIONS: u64 = 3;
/// How many standard errors the mean step has to be from zero, with ever so many steps, and what few of them add: Student's t
/// at about 0.1 %.
const CERTAIN: f64 = 3.1;
const CERTAIN_BY_FEW: f64 = 12.0;
/// A target that keeps up ends about as many operations as are due: not less than this share of them, and not by so many
/// standard errors of random arrivals less.
const LEFT_SHARE: f64 = 0.85;
const LEFT_ERRORS: f64 = 4.0;

/// How response times grew over the window of an open run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Growth {
    /// By how much the response time rose from the first to the last operation due, in seconds.
    pub response: f64,
    /// The part of it that is lateness: operations that this client started later and later.
    pub lateness: f64,
    /// Operations that had piled up when the schedule ended.
    pub piled_up: u64,
}

/// Operations of a stretch of time: due in it, and ended in it.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    due: f64,
    left: f64,
}

impl Flow {
    fn within(cohorts: &Cohorts, from: f64, until: f64) -> Self {
        let inside = cohorts.all().iter().filter(|cohort| (from..until).contains(&cohort.middle()));
        inside.fold(Self::default(), |sum, cohort| Self {
            due: sum.due + cohort.scheduled as f64,
            left: sum.left + cohort.left as f64,
        })
    }

    fn falls_behind(&self) -> bool {
        let behind = self.due - self.left;
        self.left < LEFT_SHARE * self.due && behind > LEFT_ERRORS * self.due.sqrt()
    }
}

/// Means of a group of cohorts, in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    time: f64,
    response: f64,
    lateness: f64,
}

impl Growth {
    /// The growth over a schedule of so many seconds; `None` where response times do not certainly grow.
    #[must_use]
    pub fn of(cohorts: &Cohorts, seconds: f64) -> Option<Self> {
        let groups = GROUPS.into_iter().find_map(|most| Self::of_groups(cohorts, seconds, most));
        groups.or_else(|| Self::of_departures(cohorts, seconds))
    }

    /// From how many operations end in the time in which others are due.
    fn of_departures(cohorts: &Cohorts, seconds: f64) -> Option<Self> {
        let quarter = seconds / 4.0;
        let flows = [2.0, 3.0].map(|begun| Flow::within(cohorts, begun * quarter, (begun + 1.0) * quarter));
        let groups = groups(cohorts, GROUPS[0]);
        let (first, last) = (groups.first()?, groups.last()?);
        // A slow target has answered nothing yet of what is due.
        if first.response > 2.0 * quarter || !flows.iter().all(Flow::falls_behind) {
            return None;
        }
        let all = Flow::within(cohorts, 0.0, seconds);
        // Runs that were saved by earlier versions do not say when operations ended.
        if all.left == 0.0 {
            return None;
        }
        let in_flight = all.due * first.response / seconds;
        Some(Self {
            response: (last.response - first.response).max(0.0),
            lateness: (last.lateness - first.lateness).max(0.0),
            piled_up: (all.due - all.left - in_flight).max(0.0) as u64,
        })
    }

    fn of_groups(cohorts: &Cohorts, seconds: f64, most: usize) -> Option<Self> {
        let groups = groups(cohorts, most);
        let (first, last) = (groups.first()?, groups.last()?);
        if groups.len() < GROUPS_MIN || last.time <= first.time {
            return None;
        }
        let steps: Vec<f64> = groups.windows(2).map(|pair| pair[1].response - pair[0].response).collect();
        let count = steps.len() as f64;
        let mean = steps.iter().sum::<f64>() / count;
        let variance = steps.iter().map(|step| (step - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let error = (variance / count).sqrt();
        if mean <= 0.0 || mean < (CERTAIN + CERTAIN_BY_FEW / count) * error {
            return None;
        }
        let whole = seconds / (last.time - first.time);
        let response = (last.response - first.response) * whole;
        if !response.is_finite() {
            return None;
        }
        let scheduled = cohorts.all().iter().fold(0_u64, |sum, cohort| sum.saturating_add(cohort.scheduled));
        // What was due in the time of the schedule took that time and the growth to be answered.
        let piled_up = (scheduled as f64 * response / (seconds + response)) as u64;
        Some(Self { response, lateness: (last.lateness - first.lateness).max(0.0) * whole, piled_up })
    }
}

/// Groups of the same length in time, of cohorts of which most operations have ended.
fn groups(cohorts: &Cohorts, most: usize) -> Vec<Group> {
    let ended: Vec<_> = cohorts.all().iter().filter(|c| c.ended > 0 && c.ended >= c.scheduled / 2).collect();
    let (Some(first), Some(last)) = (ended.first(), ended.last()) else { return Vec::new() };
    let operations = ended.iter().fold(0_u64, |sum, cohort| sum.saturating_add(cohort.ended));
    let count = most.min(ended.len()).min(usize::try_from(operations / GROUP_OPERATIONS).unwrap_or(most)).max(1);
    let (from, span) = (first.middle(), (last.middle() - first.middle()).max(f64::MIN_POSITIVE));
    // Sums of each group: operations, times, response times, lateness.
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

    /// Operations due each millisecond, with the response time in seconds that the time gives them.
    fn cohorts(seconds: u64, response: impl Fn(f64) -> f64) -> Cohorts {
        let mut cohorts = Cohorts::default();
        for millisecond in 0..seconds * 1000 {
            let nanos = (response(millisecond as f64 / 1e3) * 1e9) as u64;
            let cohort = cohorts.at(millisecond * 1_000_000);
            cohort.scheduled += 1;
            cohort.ended += 1;
            cohort.response_nanos += nanos;
            cohorts.at(millisecond * 1_000_000 + nanos).left += 1;
        }
        cohorts
    }

    #[test]
    fn a_target_of_half_the_rate_is_seen_within_a_second() {
        for seconds in [1, 3, 12, 600] {
            let growth = Growth::of(&cohorts(seconds, |time| 0.001 + time), seconds as f64).unwrap();
            assert!((growth.response - seconds as f64).abs() < 0.06 * seconds as f64, "{growth:?}");
            let half = seconds * 500;
            assert!(growth.piled_up.abs_diff(half) < half / 20, "{growth:?}");
        }
    }

    /// All operations share 50/s of which 100/s are due, as on a full link: the first ones take long, the last ones end
    /// together.
    #[test]
    fn operations_that_share_too_little_pile_up_without_growing_times() {
        let mut cohorts = Cohorts::default();
        for number in 0..400_u64 {
            let due = number * 10_000_000;
            let response = (4.0 - 3.0 * (-(number as f64) / 60.0).exp()) * 1e9;
            let cohort = cohorts.at(due);
            (cohort.scheduled, cohort.ended) = (cohort.scheduled + 1, cohort.ended + 1);
            cohort.response_nanos += response as u64;
            cohorts.at(due + response as u64).left += 1;
        }
        let growth = Growth::of_departures(&cohorts, 4.0).unwrap();
        assert!((150..400).contains(&growth.piled_up) && growth.response > 1.0, "{growth:?}");
    }

    #[test]
    fn a_stall_or_a_slow_target_keeps_up() {
        let departures = |response: &dyn Fn(f64) -> f64| Growth::of_departures(&cohorts(9, response), 9.0);
        assert_eq!(departures(&|_| 0.01), None);
        assert_eq!(departures(&|_| 4.0), None);
        assert_eq!(departures(&|_| 5.0), None, "the first of them are not there before the last half");
        assert_eq!(
            departures(&|time| if (4.0..7.0).contains(&time) { 7.0 - time } else { 0.01 }),
            None,
            "a stall of 3 s"
        );
        assert_eq!(departures(&|time| if time < 5.0 { 0.01 } else { 0.3 }), None);
        assert!(departures(&|time| time).is_some(), "half of what is due");
    }

    /// Responses that differ by half a second hide a growth of one second from step to step, not from the whole.
    #[test]
    fn a_growth_is_seen_behind_a_wide_spread() {
        let uneven = |time: f64| time + if ((time / 0.05) as u64).is_multiple_of(2) { 0.0 } else { 0.15 };
        assert!(Growth::of(&cohorts(1, uneven), 1.0).is_some());
    }

    #[test]
    fn a_slow_target_that_keeps_up_has_no_growth() {
        assert_eq!(Growth::of(&cohorts(10, |_| 5.0), 10.0), None);
        let stalls = |time: f64| if (4.0..5.0).contains(&time) { 5.0 - time } else { 0.001 };
        assert_eq!(Growth::of(&cohorts(10, stalls), 10.0), None, "it recovers");
        let degrades = |time: f64| if time < 5.0 { 0.01 } else { 0.3 };
        assert_eq!(Growth::of(&cohorts(10, degrades), 10.0), None, "it still keeps up, with more in flight");
        assert_eq!(Growth::of(&Cohorts::default(), 1.0), None);
    }
}
