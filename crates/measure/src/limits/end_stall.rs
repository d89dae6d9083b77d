//! Stall of the target at the end of an open run.
//!
//! A target may stop responding shortly before the end of the schedule. Response times then do not grow over the run,
//! and the target may still respond to all waiting operations in the drain. But the target did not sustain the load in
//! the measured window, and the run does not show whether it would have recovered under load.

use crate::evidence::ArrivalCohorts;

/// In a stall, the number of ended operations is at most this multiple of the number of due operations. Without a
/// stall, the ratio is rarely so low, even if the length of the target's queue varies at random.
const DEPARTED_MAX: f64 = 0.5;
/// Minimum number of operations that wait because of the stall. The unit is the standard error of the number of random
/// arrivals.
const WAITING_ERRORS: f64 = 4.0;
/// Minimum ratio of the size of the last stall to the size of the largest earlier stall. The target recovered from the
/// earlier stalls, so it would probably also recover from a stall that is not much larger.
const UNPRECEDENTED: f64 = 1.5;
/// Minimum size of the last stall at the end of the schedule, as a share of its largest size. If the stall has become
/// smaller than this, the target is already recovering.
const LASTING: f64 = 0.9;

/// Stall that lasted until the end of the schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EndStall {
    /// Length, in seconds.
    pub seconds: f64,
    /// Number of operations that waited at the end of the schedule because of the stall.
    pub waiting: u64,
}

/// Period in which the ratio of ended to due operations is below [`DEPARTED_MAX`].
#[derive(Clone, Copy, Debug)]
struct Stall {
    from: f64,
    due: f64,
    departed: f64,
    /// Largest value of [`Self::size`] so far.
    peak: f64,
}

impl Stall {
    fn at(from: f64) -> Self {
        Self { from, due: 0.0, departed: 0.0, peak: 0.0 }
    }

    /// Returns [`DEPARTED_MAX`] times the number of due operations, minus the number of ended operations. This
    /// difference is a cumulative sum (CUSUM; Page, "Continuous inspection schemes", 1954).
    fn size(&self) -> f64 {
        DEPARTED_MAX * self.due - self.departed
    }
}

impl EndStall {
    /// Returns the stall at the end of a schedule of `seconds`; `None` if the target responded until the end, or if it
    /// recovered from a similar stall before.
    #[must_use]
    pub fn of(cohorts: &ArrivalCohorts, seconds: f64) -> Option<Self> {
        let (mut last, mut before) = (None, 0.0_f64);
        for cohort in cohorts.all().iter().filter(|cohort| cohort.middle() < seconds) {
            let mut stall = last.unwrap_or_else(|| Stall::at(cohort.start()));
            stall.due += cohort.scheduled as f64;
            stall.departed += cohort.departed as f64;
            if stall.size() <= 0.0 {
                before = before.max(stall.peak);
                last = None;
            } else {
                stall.peak = stall.peak.max(stall.size());
                last = Some(stall);
            }
        }
        let stall = last.filter(|stall| stall.size() >= (LASTING * stall.peak).max(UNPRECEDENTED * before))?;
        let length = seconds - stall.from;
        // Subtract the operations that would also be in flight without a stall. By Little's law, their number is the
        // rate times the usual response time.
        let usual = mean_response(cohorts, stall.from)?;
        let waiting = stall.due - stall.departed - stall.due / length * usual;
        let is_certain = waiting > WAITING_ERRORS * stall.due.sqrt();
        is_certain.then_some(Self { seconds: length, waiting: waiting as u64 })
    }
}

/// Returns the mean response time of the operations due before `until`, in seconds. If none of these has ended, returns
/// the mean of the first cohort with ended operations. `None` if no operation has ended.
fn mean_response(cohorts: &ArrivalCohorts, until: f64) -> Option<f64> {
    let ended = || cohorts.all().iter().filter(|cohort| cohort.ended > 0);
    let (mut operations, mut nanos) = (0.0, 0.0);
    for cohort in ended().take_while(|cohort| cohort.middle() < until) {
        operations += cohort.ended as f64;
        nanos += cohort.response_nanos as f64;
    }
    if operations > 0.0 {
        return Some(nanos / operations / 1e9);
    }
    ended().next().map(|cohort| cohort.response_nanos as f64 / cohort.ended as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::random::Random;

    /// Returns the end stall of 1,000 operations per second over `seconds`. `response` takes the time at which an
    /// operation is due, and returns its response time, both in seconds.
    fn found(seconds: f64, response: impl FnMut(f64) -> f64) -> Option<EndStall> {
        EndStall::of(&ArrivalCohorts::simulated(seconds, response), seconds)
    }

    /// Returns the response time of a target that needs 5 ms, and does not respond in the pauses.
    fn pausing(pauses: &[(f64, f64)]) -> impl Fn(f64) -> f64 {
        move |due| {
            let pause = pauses.iter().find(|(from, until)| (*from..*until).contains(&(due + 0.005)));
            pause.map_or(0.005, |(_, until)| until - due)
        }
    }

    #[test]
    fn a_pause_at_the_end_is_found() {
        for (seconds, from) in [(3.0, 2.5), (3.0, 2.9), (20.0, 18.0), (2.0, 0.5)] {
            let stall = found(seconds, pausing(&[(from, seconds + 0.6)])).expect("a stall");
            let waiting = (seconds - from) * 1e3;
            assert!((stall.waiting as f64 - waiting).abs() < 0.1 * waiting + 10.0, "{stall:?}, {waiting} waiting");
            assert!((stall.seconds - (seconds - from)).abs() < 0.11, "{stall:?}");
        }
    }

    #[test]
    fn targets_that_respond_until_the_end_have_no_stall() {
        assert_eq!(found(3.0, |_| 0.005), None);
        assert_eq!(found(3.0, pausing(&[(2.0, 2.6)])), None, "a pause that is over");
        assert_eq!(found(3.0, pausing(&[(0.9, 1.1), (1.9, 2.1), (2.85, 3.05)])), None, "pauses that usually end");
        for response in [0.5, 1.0, 2.0, 2.9, 4.0] {
            assert_eq!(found(3.0, |_| response), None, "constant response times of {response} s");
        }
        assert_eq!(EndStall::of(&ArrivalCohorts::default(), 3.0), None);
    }

    /// A queue with one server, exponential service times and a load of 90 %.
    #[test]
    fn random_queues_are_rarely_a_stall() {
        let stalls = (0..300).filter(|seed| {
            let (mut random, mut free) = (Random::new(*seed), 0.0_f64);
            let queue = move |due: f64| {
                free = free.max(due) - 0.000_9 * (1.0 - random.unit()).ln();
                free - due
            };
            found(3.0, queue).is_some()
        });
        let stalls = stalls.count();
        assert!(stalls <= 1, "{stalls} of 300");
    }

    /// Response times with a long tail, so that some operations are always in flight.
    #[test]
    fn long_tails_are_rarely_a_stall() {
        let stalls = (0..300).filter(|seed| {
            let mut random = Random::new(*seed);
            found(3.0, move |_| if random.unit() < 0.1 { 1.0 } else { 0.001 }).is_some()
        });
        let stalls = stalls.count();
        assert!(stalls <= 1, "{stalls} of 300");
    }
}
