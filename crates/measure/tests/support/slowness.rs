//! Simulated targets with a known share of slow operations that depend on each other.

use measure::statistics::sequential::{Decision, Sequential};
use measure::values::random::Random;
use std::time::Duration;

/// Maximum share of operations that may be slow, as in an objective on p95.
pub const TOLERATED: f64 = 0.05;
/// Length of a level in seconds. In this time, a target at its bound has 30 spells of the longest length.
pub const LEVEL_SECONDS: f64 = 30.0 * 2.0 / TOLERATED;
/// Number of operations in a slice, and length of a slice in seconds.
const OPS: u64 = 20;
const SLICE: f64 = 0.1;
/// Exponent of the Pareto distributions. With this exponent, their variance is infinite.
const PARETO: f64 = 1.5;

/// Random process that decides which operations are slow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Process {
    /// All operations are slow in bursts of this many seconds, with exponentially distributed gaps.
    Bursts(f64),
    /// A pause every 5 s, with a random phase.
    Pauses,
    /// The share of slow operations rises linearly over the level, from 0 to twice the mean.
    Drift,
    /// Times are independent and Pareto-distributed. Operations are slow if their time exceeds the bound.
    HeavyTimes,
    /// Spells have a Pareto-distributed length of at least 50 ms, limited to 2 s.
    HeavySpells,
}

impl Process {
    /// All processes.
    pub const ALL: [Self; 7] = [
        Self::Bursts(0.1),
        Self::Bursts(0.5),
        Self::Bursts(2.0),
        Self::Pauses,
        Self::Drift,
        Self::HeavyTimes,
        Self::HeavySpells,
    ];
}

/// A simulated level, which yields the number of slow operations slice by slice.
pub struct Level<'r> {
    process: Process,
    share: f64,
    slices: u64,
    random: &'r mut Random,
    number: u64,
    /// End of the current spell or gap, in seconds.
    until: f64,
    slow: bool,
}

impl<'r> Level<'r> {
    /// Creates a level of `slices` slices with this share of slow operations.
    pub fn new(process: Process, share: f64, slices: u64, random: &'r mut Random) -> Self {
        let mut level = Self { process, share, slices, random, number: 0, until: 0.0, slow: false };
        if level.mean_spell().is_some() {
            level.slow = level.random.unit() < share;
            let whole = level.length();
            level.until = if level.slow { whole * level.random.unit() } else { whole };
        } else {
            level.until = 5.0 * level.random.unit();
        }
        level
    }

    fn mean_spell(&self) -> Option<f64> {
        match self.process {
            Process::Bursts(seconds) => Some(seconds),
            // The mean of min(x, 2), for x from a Pareto distribution that starts at 0.05.
            Process::HeavySpells => {
                let (least, most): (f64, f64) = (0.05, 2.0);
                Some((PARETO * least - least.powf(PARETO) * most.powf(1.0 - PARETO)) / (PARETO - 1.0))
            }
            _ => None,
        }
    }

    /// Returns the length of the spell or gap that starts now.
    fn length(&mut self) -> f64 {
        let mean = self.mean_spell().unwrap_or_default();
        match (self.slow, self.process) {
            (true, Process::HeavySpells) => (0.05 * self.random.unit().powf(-1.0 / PARETO)).min(2.0),
            (true, _) => mean,
            (false, _) => -self.random.unit().ln() * mean * (1.0 - self.share) / self.share,
        }
    }

    fn is_slow(&mut self, time: f64) -> bool {
        match self.process {
            Process::Pauses => (time + self.until) % 5.0 < 5.0 * self.share,
            Process::Drift => {
                let share = 2.0 * self.share * time / (self.slices as f64 * SLICE);
                self.random.unit() < share
            }
            Process::HeavyTimes => {
                let bound = self.share.powf(-1.0 / PARETO);
                self.random.unit().powf(-1.0 / PARETO) > bound
            }
            Process::Bursts(_) | Process::HeavySpells => {
                while time >= self.until {
                    self.slow = !self.slow;
                    self.until += self.length();
                }
                self.slow
            }
        }
    }

    /// Runs the sequential test on the level. Returns its decision, and the time of the decision in seconds.
    pub fn decided(mut self, tolerated: f64, alpha: f64) -> Option<(Decision, f64)> {
        let mut test = Sequential::new(tolerated, alpha).over(Duration::from_secs_f64(self.slices as f64 * SLICE));
        while self.number < self.slices {
            let begin = self.number as f64 * SLICE;
            let slow = (0..OPS).filter(|op| self.is_slow(begin + SLICE * *op as f64 / OPS as f64)).count();
            test.add(slow as u64, OPS);
            self.number += 1;
            if let Some(decision) = test.decision() {
                return Some((decision, self.number as f64 * SLICE));
            }
        }
        None
    }
}

/// Outcomes of many levels of one process and share.
#[derive(Clone, Debug, Default)]
pub struct Outcomes {
    /// Number of levels for which the test decided "within".
    pub within: usize,
    /// Number of levels for which the test decided "beyond".
    pub beyond: usize,
    /// Number of levels for which the test did not decide in time.
    pub open: usize,
    /// Times of the decisions in seconds, in ascending order.
    pub seconds: Vec<f64>,
}

/// Simulates `levels` levels, each for `seconds`.
pub fn outcomes(process: Process, share: f64, tolerated: f64, seconds: f64, levels: usize, seed: u64) -> Outcomes {
    let slices = (seconds / SLICE).round() as u64;
    let mut random = Random::new(seed);
    let mut outcomes = Outcomes::default();
    for _ in 0..levels {
        let decided = Level::new(process, share, slices, &mut random).decided(tolerated, 0.05);
        match decided {
            Some((Decision::Within, _)) => outcomes.within += 1,
            Some((Decision::Beyond, _)) => outcomes.beyond += 1,
            None => outcomes.open += 1,
        }
        outcomes.seconds.extend(decided.map(|(_, seconds)| seconds));
    }
    outcomes.seconds.sort_by(f64::total_cmp);
    outcomes
}
