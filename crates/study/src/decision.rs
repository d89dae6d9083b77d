//! Whether a run has shown already what it was to show: a controller that looks at slices while they come.
//!
//! A level that fails is ended as soon as that is sure: its time is saved, and a target that is pushed too far is not pushed any
//! longer. One that passes runs for a while in any case, since a backlog needs time to grow until it shows.

use measure::objective::Objective;
use measure::statistics::sequential::{self, Sequential};
use measure::{Interval, Stage};
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
    tests: Vec<(Objective, Option<Sequential>)>,
    /// How much of the window has to be seen before all can be met; `None` when that ends nothing.
    met_after: Option<Duration>,
    seen: Duration,
}

impl Decision {
    /// Looks for an objective that is not met, with a probability of at most `alpha` for each to be wrong. Rates bound no
    /// operation: they are judged at the end of the window, and until then not known to be met.
    #[must_use]
    pub fn new(objectives: &[Objective], alpha: f64) -> Self {
        let test = |objective: &Objective| {
            (*objective, objective.tolerated().map(|tolerated| Sequential::new(tolerated, alpha)))
        };
        Self { tests: objectives.iter().map(test).collect(), met_after: None, seen: Duration::ZERO }
    }

    /// Also ends when all objectives are met, after so much of the window.
    #[must_use]
    pub fn or_met_after(self, time: Duration) -> Self {
        Self { met_after: Some(time), ..self }
    }

    /// Adds the next slice; what is decided with it.
    pub fn slice(&mut self, slice: &Interval) -> Option<Decided> {
        if slice.stage != Stage::Measured {
            return None;
        }
        self.seen += slice.end.since(slice.start);
        let mut met = self.met_after.is_some_and(|time| self.seen >= time);
        for (objective, test) in &mut self.tests {
            let Some(test) = test else {
                met = false;
                continue;
            };
            let (beyond, all) = objective.beyond(&slice.stats);
            test.add(beyond, all);
            match test.decision() {
                Some(sequential::Decision::Beyond) => return Some(Decided::Broken(*objective)),
                Some(sequential::Decision::Within) => {}
                None => met = false,
            }
        }
        met.then_some(Decided::Met)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::{Instant, OpKind};

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

    #[test]
    fn the_warm_up_has_no_say() {
        let objectives = ["response max <= 1ms".parse().unwrap()];
        let mut decision = Decision::new(&objectives, 0.05);
        let warmup = Interval { stage: Stage::Warmup, ..slice(0, 20) };
        assert_eq!(decision.slice(&warmup), None);
        assert!(matches!(decision.slice(&slice(1, 20)), Some(Decided::Broken(_))));
    }
}
