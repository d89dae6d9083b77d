//! Growth of a target's backlog while operations arrive on a schedule.
//!
//! The backlog is the number of operations that were scheduled and have not ended. These operations are in flight, or
//! still wait in this client. If the target sustains the rate, the backlog fluctuates around a constant level. If the
//! target does not sustain the rate, the backlog grows by the difference between the offered and the sustained rate.
//!
//! The test looks at the data again and again during the run. Each look leaves out the beginning of the run, because
//! every backlog grows until the first operations have had time to end. For the rest of the run so far, it compares the
//! growth with the random fluctuation. The fluctuation is estimated from the increments of consecutive batches. The
//! variance of their sum is the variance of an increment times the number of increments (batch means, A. M. Law,
//! "Simulation Modeling and Analysis", 5th ed. 2015, §9.5.3). If a queue grows and shrinks again, its increments cancel
//! each other. The estimate is then too large, so the test more often remains undecided.

use super::series::variance;
use super::student;
use crate::enumerated;

enumerated! {
    /// Behavior of a backlog.
    pub enum Drift {
        Steady => "steady", "it does not grow by more than 1.5 % of what arrives";
        Growing => "growing", "it grows";
Undecided => "undecided", "its growth cannot be distinguished from its fluctuation yet";
    }
}

/// Maximum growth of a steady backlog, as a share of the offered operations.
const STEADY_MAX: f64 = 0.015;
/// Minimum growth, as a share of the offered operations, at which a backlog counts as growing. Smaller growth does not
/// count, even if it is certain.
const GROWING_MIN: f64 = 0.005;
/// A backlog grows without limit if its growth in the second half is at least this share of its growth in the first
/// half. If a backlog approaches a constant level, its growth slows down.
const STILL_GROWING: f64 = 0.6;
/// One-sided confidence level of a single look at the data.
const CONFIDENCE: f64 = 0.975;
/// Tolerance for the growth, as a number of operations. The measured growth varies by about this number, because it
/// depends on the exact times of the looks.
const ROUNDING: f64 = 2.0;
/// Minimum and maximum number of batches for an estimate of the fluctuation.
const BATCHES: (usize, usize) = (4, 8);
/// Number of slices before the first look.
const SLICES_MIN: u64 = 8;
/// Ratio between the numbers of slices at two consecutive looks. The time between looks grows, so their number stays
/// small.
const NEXT_LOOK: f64 = 1.2;
/// Length of the beginning that is left out, as a multiple of the mean time of an operation in the system.
const FILL: f64 = 3.0;
/// Maximum number of points kept. If there are more, every second point is dropped.
const POINTS_MAX: usize = 1024;

/// Backlog of a run, which is tested for growth during the run.
#[derive(Clone, Debug)]
pub struct Backlog {
    /// For each point in time, the number of operations offered so far, and the backlog. The backlog does not include
    /// the most recent operation. An operation that is due exactly between two slices would otherwise fall into one of
    /// them by chance.
    points: Vec<(f64, f64)>,
    /// Number of slices between two points.
    stride: u64,
    slices: u64,
    next_look: u64,
    offered: f64,
    ended: f64,
    /// Number of slices until the first operation ended.
    first: Option<u64>,
    /// Result of the last look.
    last_look: Drift,
    drift: Drift,
}

impl Default for Backlog {
    fn default() -> Self {
        Self {
            points: vec![(0.0, 0.0)],
            stride: 1,
            slices: 0,
            next_look: SLICES_MIN,
            offered: 0.0,
            ended: 0.0,
            first: None,
            last_look: Drift::Undecided,
            drift: Drift::Undecided,
        }
    }
}

impl Backlog {
    /// Adds a slice in which `offered` operations were offered and `ended` operations ended. All slices have the same
    /// length.
    pub fn add(&mut self, offered: u64, ended: u64) {
        self.offered += offered as f64;
        self.ended += ended as f64;
        self.slices += 1;
        if ended > 0 {
            self.first.get_or_insert(self.slices);
        }
        if self.slices.is_multiple_of(self.stride) {
            self.points.push((self.offered, (self.current() - offered.min(1) as f64).max(0.0)));
        }
        if self.points.len() > POINTS_MAX {
            self.points = self.points.iter().step_by(2).copied().collect();
            self.stride *= 2;
        }
        if self.slices >= self.next_look {
            self.next_look = (self.slices as f64 * NEXT_LOOK).ceil() as u64;
            let result = self.look().unwrap_or(Drift::Undecided);
            // Two looks must agree. At a single look, a stall resembles a growing backlog, and a growing backlog may
            // look steady by chance.
            self.drift = if result == self.last_look { result } else { Drift::Undecided };
            self.last_look = result;
        }
    }

    /// Returns the current backlog: operations that were offered and have not ended.
    #[must_use]
    pub fn current(&self) -> f64 {
        self.offered - self.ended
    }

    /// Returns the result of the last two looks if they agree, else [`Drift::Undecided`].
    #[must_use]
    pub fn drift(&self) -> Drift {
        self.drift
    }

    fn look(&self) -> Option<Drift> {
        // Every backlog grows at first. Look only after operations have been ending for at least as long as the first
        // operation took.
        if self.first.is_none_or(|first| self.slices < 2 * first) {
            return None;
        }
        let last = self.points.len() - 1;
        let start = self.filled(last);
        let count = (last - start).clamp(BATCHES.0, BATCHES.1);
        let bounds: Vec<f64> = (0..=count)
            .map(|batch| self.points.get(start + (last - start) * batch / count).map(|point| point.1))
            .collect::<Option<_>>()?;
        let increments: Vec<f64> = bounds.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let growth = self.points[last].1 - self.points[start].1;
        let offered = self.points[last].0 - self.points[start].0;
        let error = (count as f64 * variance(&increments)).sqrt();
        let margin = student::quantile(CONFIDENCE, count as u64 - 1) * error + ROUNDING;
        let late: f64 = increments[count / 2..].iter().sum();
        let early: f64 = increments[..count / 2].iter().sum();
        let goes_on = late >= STILL_GROWING * early;
        if growth - margin > 0.0 && growth >= GROWING_MIN * offered && goes_on {
            Some(Drift::Growing)
        } else if growth + margin <= STEADY_MAX * offered {
            Some(Drift::Steady)
        } else {
            None
        }
    }

    /// Returns the index of the first point that is used. The time before this point is [`FILL`] times the mean time of
    /// an operation in the system, which is computed by Little's law.
    fn filled(&self, last: usize) -> usize {
        let waited: f64 = self.points.iter().map(|point| point.1).sum();
        let mean = if self.ended > 0.0 { waited / self.ended } else { f64::INFINITY };
        ((FILL * mean).ceil().min(last as f64) as usize).clamp(last / 4, last / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::random::Random;

    /// Simulates a gate that lets operations pass at `capacity` per second, at regular or exponential intervals. An
    /// operation ends `delay` seconds after it has passed the gate. Operations arrive regularly for `seconds`. Returns
    /// the result, and the time at which it was known.
    fn drift(rate: f64, capacity: f64, random: Option<&mut Random>, delay: f64, seconds: f64) -> (Drift, f64) {
        let mut random = random;
        let slices = (seconds * 10.0) as usize;
        let (mut offered, mut ended) = (vec![0_u64; slices], vec![0_u64; slices]);
        let mut free = 0.0_f64;
        for number in 0..(rate * seconds) as u64 {
            let at = number as f64 / rate;
            offered[((at * 10.0) as usize).min(slices - 1)] += 1;
            let passes = free.max(at);
            let wait = random.as_mut().map_or(1.0, |random| -random.unit().ln());
            free = passes + wait / capacity;
            if let Some(slice) = ended.get_mut(((passes + delay) * 10.0) as usize) {
                *slice += 1;
            }
        }
        let mut backlog = Backlog::default();
        for (slice, (offered, ended)) in offered.into_iter().zip(ended).enumerate() {
            backlog.add(offered, ended);
            if backlog.drift() != Drift::Undecided {
                return (backlog.drift(), (slice + 1) as f64 / 10.0);
            }
        }
        (Drift::Undecided, seconds)
    }

    #[test]
    fn servers_with_regular_times_are_decided_close_to_their_capacity() {
        for capacity in [5.0, 50.0, 800.0, 5000.0] {
            let most = 4000.0 / capacity + 10.0;
            for (times, expected) in [
                (0.5, Drift::Steady),
                (0.95, Drift::Steady),
                (1.0, Drift::Steady),
                (1.02, Drift::Growing),
                (1.1, Drift::Growing),
                (2.0, Drift::Growing),
                (20.0, Drift::Growing),
            ] {
                let (found, after) = drift(times * capacity, capacity, None, 0.001, most);
                assert_eq!(found, expected, "{times} times a capacity of {capacity}/s, decided after {after} s");
            }
            let (_, after) = drift(4.0 * capacity, capacity, None, 0.001, most);
            assert!(after <= 1.5, "overload of {capacity}/s takes {after} s to show");
        }
    }

    #[test]
    fn long_response_times_are_not_a_drift() {
        for delay in [0.5, 1.0, 2.0] {
            let (found, after) = drift(100.0, 800.0, None, delay, 30.0);
            assert_eq!(found, Drift::Steady, "delay of {delay} s, decided after {after} s");
        }
    }

    #[test]
    fn servers_with_random_times_do_not_pass_above_their_capacity() {
        for (times, seed) in [(1.02, 5), (1.05, 6), (1.2, 7)] {
            let mut random = Random::new(seed);
            let found: Vec<Drift> =
                (0..200).map(|_| drift(times * 800.0, 800.0, Some(&mut random), 0.001, 60.0).0).collect();
            let steady = found.iter().filter(|drift| **drift == Drift::Steady).count();
            assert!(steady <= 10, "{times}: {steady} of 200 steady");
        }
        let mut random = Random::new(8);
        let found: Vec<Drift> =
            (0..100).map(|_| drift(0.95 * 800.0, 800.0, Some(&mut random), 0.001, 60.0).0).collect();
        let steady = found.iter().filter(|drift| **drift == Drift::Steady).count();
        assert!(steady >= 90, "only {steady} of 100 runs are steady");
    }

    #[test]
    fn stalls_are_not_a_drift() {
        let mut backlog = Backlog::default();
        for slice in 0..1500 {
            // No operation ends for 300 ms. The target catches up within a second.
            let ended = match slice {
                50..53 => 0,
                53..63 => 13,
                _ => 10,
            };
            backlog.add(10, ended);
            assert_ne!(backlog.drift(), Drift::Growing, "{slice}");
        }
        assert_eq!(backlog.drift(), Drift::Steady);
    }

    #[test]
    fn operations_due_where_slices_meet_do_not_add_fluctuation() {
        let (mut backlog, mut random, mut open) = (Backlog::default(), Random::new(3), 0);
        for slice in 0..3000 {
            let due = u64::from(slice % 10 == 9);
            let late = if random.unit() < 0.5 { due } else { 0 };
            backlog.add(due, open + due - late);
            open = late;
            if backlog.drift() == Drift::Steady {
                return;
            }
        }
        panic!("a rate of one operation per second is still undecided after 300 s: {:?}", backlog.drift());
    }

    #[test]
    fn long_runs_fit_into_few_points() {
        let mut backlog = Backlog::default();
        for _ in 0..20_000 {
            backlog.add(10, 9);
            assert!(backlog.points.len() <= POINTS_MAX);
        }
        assert_eq!((backlog.drift(), backlog.current()), (Drift::Growing, 20_000.0));
    }
}
