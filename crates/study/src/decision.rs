//! Whether a run has shown already what it was to show: a controller that looks at slices while they come.
//!
//! A level that fails is ended as soon as that is sure: its time is saved, and a target that is pushed too far is not pushed any
//! longer. One that passes runs for a while in any case, since a backlog needs time to grow until it shows.

use measure::objective::Objective;
use measure::statistics::sequential::{self, Sequential};
use measure::{Instant, Interval, Stage};
use std::collections::VecDeque;
use std::time::Duration;

/// How often a controller looks at a run.
pub const SLICE: Duration = Duration::from_millis(100);

/// What a run has shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decided {
    /// All objectives are met.
    Met,
    /// This one is not.
    Broken(Objective),
}

/// Objectives that are being decided.
#[derive(Clone, Debug)]
pub struct Decision {
    tests: Vec<Test>,
    /// How much of the window has to be seen before all can be met; `None` when that ends nothing.
    met_after: Option<Duration>,
    /// Operations that the window can have at most, where a schedule says so.
    ops_max: Option<f64>,
    seen: Duration,
    outstanding: Outstanding,
}

/// An objective that is being decided.
#[derive(Clone, Debug)]
struct Test {
    objective: Objective,
    /// `None` for rates.
    sequential: Option<Sequential>,
    /// Operations beyond the bound.
    beyond: u64,
}

impl Decision {
    /// Looks for an objective that is not met, with a probability of at most `alpha` for each to be wrong. Rates bound no
    /// operation: they are judged at the end of the window, and until then not known to be met.
    #[must_use]
    pub fn new(objectives: &[Objective], alpha: f64) -> Self {
        let test = |objective: &Objective| Test {
            objective: *objective,
            sequential: objective.tolerated().map(|tolerated| Sequential::new(tolerated, alpha)),
            beyond: 0,
        };
        let tests: Vec<Test> = objectives.iter().map(test).collect();
        let longest = objectives.iter().filter_map(Objective::overdue_after).max();
        let outstanding = Outstanding { longest: longest.unwrap_or_default(), ..Outstanding::default() };
        Self { tests, met_after: None, ops_max: None, seen: Duration::ZERO, outstanding }
    }

    /// Also ends when all objectives are met, after so much of the window.
    #[must_use]
    pub fn or_met_after(self, time: Duration) -> Self {
        Self { met_after: Some(time), ..self }
    }

    /// A schedule asks for at most so many operations. Once more of them lie beyond a bound than may of all, the objective is
    /// missed whatever comes, and operations count that have not ended and are overdue.
    #[must_use]
    pub fn of_at_most(self, ops: f64) -> Self {
        Self { ops_max: Some(ops), ..self }
    }

    /// Adds the next slice; what is decided with it.
    pub fn slice(&mut self, slice: &Interval) -> Option<Decided> {
        if slice.stage != Stage::Measured {
            return None;
        }
        self.seen += slice.end.since(slice.start);
        self.outstanding.add(slice);
        let mut met = self.met_after.is_some_and(|time| self.seen >= time);
        for test in &mut self.tests {
            let (Some(sequential), Some(tolerated)) = (&mut test.sequential, test.objective.tolerated()) else {
                met = false;
                continue;
            };
            let (beyond, all) = test.objective.beyond(&slice.stats);
            sequential.add(beyond, all);
            test.beyond = test.beyond.saturating_add(beyond);
            let overdue = test.objective.overdue_after().map_or(0, |after| self.outstanding.overdue(after));
            let lost = self.ops_max.is_some_and(|most| (test.beyond + overdue) as f64 > tolerated * most);
            match sequential.decision() {
                _ if lost => return Some(Decided::Broken(test.objective)),
                Some(sequential::Decision::Beyond) => return Some(Decided::Broken(test.objective)),
                Some(sequential::Decision::Within) => {}
                None => met = false,
            }
        }
        met.then_some(Decided::Met)
    }
}

/// Operations that were scheduled and have not ended.
#[derive(Clone, Debug, Default)]
struct Outstanding {
    count: u64,
    /// What was scheduled in each of the last slices, with their ends.
    recent: VecDeque<(Instant, u64)>,
    /// How far back is asked at most.
    longest: Duration,
    now: Instant,
}

impl Outstanding {
    fn add(&mut self, slice: &Interval) {
        let tally = &slice.stats.measured;
        let ended = tally.completed().saturating_add(tally.dropped);
        self.count = self.count.saturating_add(tally.scheduled).saturating_sub(ended);
        self.now = slice.end;
        self.recent.push_back((slice.end, tally.scheduled));
        while self.recent.front().is_some_and(|(end, _)| self.now.since(*end) >= self.longest) {
            self.recent.pop_front();
        }
    }

    /// Those that were scheduled so long ago, at least: all but as many as were scheduled since.
    fn overdue(&self, after: Duration) -> u64 {
        let since = self.recent.iter().rev().take_while(|(end, _)| self.now.since(*end) < after);
        self.count.saturating_sub(since.map(|(_, scheduled)| scheduled).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::OpKind;

    /// A slice in which `slow` of 20 operations took 30 ms, and the others 5 ms.
    fn slice(number: u64, slow: u64) -> Interval {
        let at = |number: u64| Instant::from_nanos(number * 100_000_000);
        let mut slice = Interval::new(Stage::Measured, at(number), at(number + 1));
        let kind = slice.stats.kind_mut(OpKind::Get);
        (0..20).for_each(|op| kind.response.record(if op < slow { 30_000_000 } else { 5_000_000 }));
        slice.stats.measured.ok = 20;
        slice
    }

    /// What is decided, and after how many slices.
    fn decided(objectives: &[&str], met_after: Option<u64>, slow: u64) -> Option<(Decided, u64)> {
        let objectives: Vec<Objective> = objectives.iter().map(|text| text.parse().unwrap()).collect();
        let mut decision = Decision::new(&objectives, 0.05);
        if let Some(slices) = met_after {
            decision = decision.or_met_after(SLICE * u32::try_from(slices).unwrap());
        }
        (0..200).find_map(|number| Some((decision.slice(&slice(number, slow))?, number + 1)))
    }

    #[test]
    fn a_broken_objective_ends_a_run_soon() {
        let (what, after) = decided(&["success >= 99%", "response p95 <= 20ms"], Some(25), 10).unwrap();
        assert_eq!(what, Decided::Broken("response p95 <= 20ms".parse().unwrap()));
        assert!(after <= 12, "{after}");
        assert!(decided(&["response p50 <= 20ms"], None, 2).is_none(), "met ends nothing here");
    }

    #[test]
    fn what_is_met_is_held_for_a_while() {
        let held = decided(&["success >= 90%", "response p90 <= 20ms"], Some(40), 0).unwrap();
        assert_eq!(held, (Decided::Met, 40));
        assert_eq!(decided(&["success >= 90%", "rate >= 1"], Some(40), 0), None, "a rate is known at the end");
    }

    /// 200 operations are scheduled in each slice, and from the fifth on none ends: soon more are overdue than may be slow of all.
    #[test]
    fn a_server_that_hangs_is_not_pushed_on() {
        let objectives = ["response p99 <= 200ms".parse().unwrap()];
        let hangs = |most: Option<f64>| {
            let mut decision = Decision::new(&objectives, 0.05);
            if let Some(most) = most {
                decision = decision.of_at_most(most);
            }
            (0..50_u64).find(|number| {
                let mut slice = slice(*number, 0);
                let ended = if *number < 5 { 200 } else { 0 };
                slice.stats = measure::Stats::default();
                (slice.stats.measured.scheduled, slice.stats.measured.ok) = (200, ended);
                (0..ended).for_each(|_| slice.stats.kind_mut(OpKind::Get).response.record(5_000_000));
                decision.slice(&slice).is_some()
            })
        };
        // 1 % of 10,000 is 100. Those of the slices 5, 6 and 7 have not ended at the end of 7; those of 5 are overdue.
        assert_eq!(hangs(Some(10_000.0)), Some(7));
        assert_eq!(hangs(Some(30_000.0)), Some(8));
        assert_eq!(hangs(None), None, "without a schedule nobody knows how many may still come");
    }

    #[test]
    fn the_warm_up_has_no_say() {
        let objectives = ["response max <= 1ms".parse().unwrap()];
        let mut decision = Decision::new(&objectives, 0.05);
        let warmup = Interval { stage: Stage::Warmup, ..slice(0, 20) };
        assert_eq!(decision.slice(&warmup), None);
        assert!(matches!(decision.slice(&slice(1, 20)), Some(Decided::Broken(_))));
    }
}
