//! Stops a run as soon as its objectives are decided.
//!
//! A level stops as soon as its failure is certain. This saves time, and the target is not overloaded longer than
//! necessary. A level at a fixed rate continues until it is known whether its backlog grows or is steady. This can take
//! a while, because the backlog grows slowly if the rate is only slightly too high.

mod outstanding;
mod slice_counts;

pub use slice_counts::{SliceCounts, UnlikeSlices};

use measure::Interval;
use measure::objective::{Metric, Objective};
use measure::statistics::drift::{Backlog, Drift};
use measure::statistics::samples_needed;
use measure::statistics::sequential::{self, Sequential};
use outstanding::Outstanding;
use std::fmt;
use std::time::Duration;

/// Length of the slices that a monitor receives.
pub const SLICE: Duration = sequential::SLICE;
/// Assumed maximum ratio between the number of operations in a whole level and the number expected from its rate, or
/// from its pace so far. The monitor needs this assumption, because the number of operations is not known in advance in
/// the closed model and with random arrivals.
const PACE_MAX: f64 = 2.0;
/// Time after which the number of operations per second in a level of the closed model is known.
const PACE_AFTER: Duration = Duration::from_millis(500);
/// Maximum share of the backlog that may wait in this client while the client has free slots. Above this share, the
/// client itself counts as too slow.
const CLIENT_SHARE: f64 = 0.5;
/// Share of used slots below which the client counts as having free slots.
const SLOTS_USED_MAX: f64 = 0.9;

/// Minimum number of operations needed to judge a share of successes.
const SUCCESS_MIN: u64 = 10;

/// The reason why a run can stop early.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decision {
    /// The level can end, because all objectives can be judged.
    Met,
    /// An objective is certainly missed, or the backlog grows.
    Missed(Missed),
}

/// A missed objective, or a growing backlog.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Missed {
    /// An objective was missed.
    Objective(Objective),
    /// The target did not keep up with the offered operations.
    Backlog,
}

impl fmt::Display for Missed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Objective(objective) => objective.fmt(f),
            Self::Backlog => f.write_str("the backlog grows"),
        }
    }
}

/// Conditions under which a level may stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelRules {
    /// Minimum duration, unless the level fails earlier.
    pub min_duration: Duration,
    /// `true` if the level may pass after half of the minimum duration, provided that all objectives are certainly met.
    pub may_pass_early: bool,
    /// Load of a level with a fixed rate; `None` in the closed model.
    pub offered: Option<OfferedLoad>,
}

/// The load that a schedule offers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OfferedLoad {
    /// Operations per second.
    pub rate: f64,
    /// `true` if operations start at equal intervals, so that their number is known.
    pub regular: bool,
    /// Maximum number of operations in flight.
    pub in_flight_max: u64,
}

/// Objectives that are tested during a run.
#[derive(Clone, Debug)]
pub struct ObjectiveMonitor {
    tests: Vec<Test>,
    rules: Option<LevelRules>,
    /// Measured time so far.
    elapsed: Duration,
    outstanding: Outstanding,
    backlog: Backlog,
    /// Scheduled operations that have not started.
    waiting: u64,
    /// Number of operations in [`Self::waiting`] that wait although slots were free at the end of the last slice.
    waiting_despite_free_slots: u64,
}

/// An objective under test.
#[derive(Clone, Debug)]
struct Test {
    objective: Objective,
    /// Test of single operations. `None` for objectives on rates, which do not bound single operations.
    sequential: Option<Sequential>,
    /// Operations beyond the bound.
    beyond: u64,
    /// All operations.
    all: u64,
}

/// Results of the monitor at the end of a level. The summary of the run does not contain these results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelEvidence {
    /// Drift of the backlog; `None` in the closed model.
    pub drift: Option<Drift>,
    /// `true` if more than half of the backlog waited in this client although it had free slots.
    pub client_behind: bool,
    /// Objective with too few operations, if any. The other values are the number of operations that ended, and the
    /// number needed for the objective.
    pub too_few: Option<(Objective, u64, u64)>,
    /// `true` if the outcome is certain at the requested confidence. Either all objectives are met, or the level fails.
    pub certain: bool,
}

impl ObjectiveMonitor {
    /// Creates a monitor that stops a run as soon as an objective is certainly missed. For each objective, the
    /// probability of a wrong stop is at most `alpha`. Objectives on rates do not bound single operations, so they
    /// never stop a run and are judged only at its end.
    #[must_use]
    pub fn new(objectives: &[Objective], alpha: f64) -> Self {
        let test = |objective: &Objective| Test {
            objective: *objective,
            sequential: objective.tolerated().map(|tolerated| Sequential::new(tolerated, alpha)),
            beyond: 0,
            all: 0,
        };
        let tests: Vec<Test> = objectives.iter().map(test).collect();
        let age_max = objectives.iter().filter_map(Objective::overdue_after).max();
        Self {
            tests,
            rules: None,
            elapsed: Duration::ZERO,
            outstanding: Outstanding::new(age_max.unwrap_or_default()),
            backlog: Backlog::default(),
            waiting: 0,
            waiting_despite_free_slots: 0,
        }
    }

    /// Adds the rules of a level. The monitor then also stops the run when three conditions are met:
    ///
    /// * The level has lasted long enough.
    /// * The level has the samples that its objectives need.
    /// * It is known whether its backlog is steady or growing.
    #[must_use]
    pub fn for_level(mut self, rules: LevelRules) -> Self {
        for test in &mut self.tests {
            test.sequential = test.sequential.take().map(|sequential| sequential.over(rules.min_duration));
        }
        Self { rules: Some(rules), ..self }
    }

    /// Adds the next slice. Returns a decision if the run can stop now.
    pub fn add_slice(&mut self, slice: &Interval) -> Option<Decision> {
        let counts = SliceCounts::of(slice, self.tests.iter().map(|test| &test.objective))?;
        self.add_counts(&counts)
    }

    /// Like [`Self::add_slice`], with the counts of the next slice. The slice must contain the counts of all
    /// objectives, in the order of the monitor's objectives.
    pub fn add_counts(&mut self, slice: &SliceCounts) -> Option<Decision> {
        self.elapsed += slice.end.since(slice.start);
        self.outstanding.add(slice);
        self.follow_backlog(slice);
        for (test, (beyond, all)) in self.tests.iter_mut().zip(slice.beyond.iter().copied()) {
            test.beyond = test.beyond.saturating_add(beyond);
            test.all = test.all.saturating_add(all);
            if let Some(sequential) = &mut test.sequential {
                sequential.add(beyond, all);
            }
        }
        if let Some(test) = self.tests.iter().find(|test| test.is_beyond() || self.is_lost(test)) {
            return Some(Decision::Missed(Missed::Objective(test.objective)));
        }
        if self.drift() == Some(Drift::Growing) || self.is_hanging() {
            return Some(Decision::Missed(Missed::Backlog));
        }
        self.is_met().then_some(Decision::Met)
    }

    /// Returns the results of the monitor at the end of the run.
    #[must_use]
    pub fn evidence(&self) -> LevelEvidence {
        let drift = if self.is_hanging() { Some(Drift::Growing) } else { self.drift() };
        let missed = self.tests.iter().any(Test::is_beyond) || drift == Some(Drift::Growing);
        LevelEvidence {
            drift,
            client_behind: self.waiting_despite_free_slots as f64 > CLIENT_SHARE * self.backlog.current(),
            too_few: self.tests.iter().find_map(Test::too_few),
            certain: missed || self.tests.iter().all(Test::is_within),
        }
    }

    fn follow_backlog(&mut self, slice: &SliceCounts) {
        let Some(offered) = self.offered() else { return };
        self.backlog.add(slice.scheduled, slice.ended);
        self.waiting = self.waiting.saturating_add(slice.scheduled).saturating_sub(slice.started);
        let has_free_slots = (slice.in_flight as f64) < SLOTS_USED_MAX * offered.in_flight_max as f64;
        self.waiting_despite_free_slots = if has_free_slots { self.waiting } else { 0 };
    }

    fn offered(&self) -> Option<OfferedLoad> {
        self.rules.and_then(|rules| rules.offered)
    }

    /// Returns the drift of the backlog; `None` in the closed model.
    fn drift(&self) -> Option<Drift> {
        self.offered().map(|_| self.backlog.drift())
    }

    /// Returns whether a level at a fixed rate has lasted its minimum duration, but no operation has ended.
    fn is_hanging(&self) -> bool {
        let rules = self.rules.filter(|rules| rules.offered.is_some());
        let is_over = rules.is_some_and(|rules| self.elapsed >= rules.min_duration);
        is_over && self.outstanding.ended() == 0 && self.backlog.current() > 0.0
    }

    /// Returns whether an objective is certainly missed. This is the case if more operations exceed the bound or are
    /// overdue than the objective tolerates, even for the largest number of operations that the level can reach.
    fn is_lost(&self, test: &Test) -> bool {
        let (Some(rules), Some(tolerated)) = (self.rules, test.objective.tolerated()) else { return false };
        let seconds = rules.min_duration.as_secs_f64();
        let most = match rules.offered {
            Some(offered) if offered.regular => offered.rate * seconds,
            // The number of random arrivals is not known in advance.
            Some(offered) => PACE_MAX * offered.rate * seconds,
            None if self.elapsed < PACE_AFTER => return false,
            None => PACE_MAX * test.all as f64 * seconds / self.elapsed.as_secs_f64(),
        };
        let overdue = match rules.offered {
            Some(_) => test.objective.overdue_after().map_or(0, |after| self.outstanding.overdue(after)),
            None => 0,
        };
        test.beyond.saturating_add(overdue) as f64 > tolerated * most.max(test.all as f64)
    }

    fn is_met(&self) -> bool {
        let Some(rules) = self.rules else { return false };
        let decided = matches!(self.drift(), None | Some(Drift::Steady));
        let enough = self.tests.iter().all(|test| test.too_few().is_none());
        let certain =
            rules.may_pass_early && self.elapsed >= rules.min_duration / 2 && self.tests.iter().all(Test::is_within);
        decided && enough && (certain || self.elapsed >= rules.min_duration)
    }
}

impl Test {
    fn is_beyond(&self) -> bool {
        self.sequential.as_ref().and_then(Sequential::decision) == Some(sequential::Decision::Beyond)
    }

    fn is_within(&self) -> bool {
        self.sequential.as_ref().and_then(Sequential::decision) == Some(sequential::Decision::Within)
    }

    /// If there are too few operations, returns the objective, the number of operations, and the number needed.
    fn too_few(&self) -> Option<(Objective, u64, u64)> {
        let needed = operations_needed(&self.objective)?;
        (self.all < needed).then_some((self.objective, self.all, needed))
    }
}

/// Returns the number of operations that are needed to judge an objective; `None` for rates. With this number, at least
/// one operation lies beyond a percentile with a probability of 95 %.
#[must_use]
pub fn operations_needed(objective: &Objective) -> Option<u64> {
    match objective.metric() {
        Metric::Time(_, q) => Some(samples_needed(q)),
        Metric::Speed(q) => Some(samples_needed(1.0 - q)),
        Metric::Success => Some(SUCCESS_MIN),
        Metric::Rate | Metric::Goodput => None,
    }
}

#[cfg(test)]
mod tests;
