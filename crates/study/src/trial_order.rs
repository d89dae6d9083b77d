//! The order of a study's trials.
//!
//! The state of a machine may change during a study. The compared targets therefore alternate by default, in the order
//! A B B A.

use crate::scenario::{Order, Scenario};
use measure::values::random::{Random, mix};

/// One measurement of a cell on a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Trial {
    /// Index of the cell.
    pub cell: usize,
    /// Index of the target.
    pub target: usize,
    /// Number of earlier trials of the cell on the target.
    pub repeat: u32,
}

/// Returns all trials of a study with `cells` cells, in the order in which they run.
#[must_use]
pub fn trials(scenario: &Scenario, cells: usize) -> Vec<Trial> {
    let targets = scenario.targets.len();
    let repeats = 0..scenario.repeats.get();
    match scenario.order {
        Order::Interleaved => {
            let block = |cell: usize, repeat: u32| {
                (0..targets).map(move |place| {
                    let target = if repeat.is_multiple_of(2) { place } else { targets - 1 - place };
                    Trial { cell, target, repeat }
                })
            };
            (0..cells).flat_map(|cell| repeats.clone().flat_map(move |repeat| block(cell, repeat))).collect()
        }
        Order::Sequential => (0..targets)
            .flat_map(|target| {
                let repeats = repeats.clone();
                (0..cells).flat_map(move |cell| repeats.clone().map(move |repeat| Trial { cell, target, repeat }))
            })
            .collect(),
        Order::Random => repeats.flat_map(|repeat| shuffled(scenario.seed, repeat, cells, targets)).collect(),
    }
}

/// Returns one trial of each cell on each target, in a random order (Fisher-Yates shuffle). The order depends on the
/// seed and the repeat.
fn shuffled(seed: u64, repeat: u32, cells: usize, targets: usize) -> Vec<Trial> {
    let mut trials: Vec<Trial> =
        (0..cells).flat_map(|cell| (0..targets).map(move |target| Trial { cell, target, repeat })).collect();
    let mut random = Random::new(mix(seed) ^ u64::from(repeat));
    for last in (1..trials.len()).rev() {
        trials.swap(last, random.below(last + 1));
    }
    trials
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn order(order: &str) -> Vec<(usize, usize, u32)> {
        let text = format!(
            "name: t\ntargets: {{a: {{url: http://a/}}, b: {{url: http://b/}}}}\nrepeats: 3\norder: {order}\nseed: 7\n"
        );
        let scenario = Scenario::parse(&text, &[], &|_| None).unwrap();
        trials(&scenario, 2).into_iter().map(|trial| (trial.cell, trial.target, trial.repeat)).collect()
    }

    #[test]
    fn targets_alternate_and_then_reverse() {
        let interleaved = order("interleaved");
        assert_eq!(interleaved[..6], [(0, 0, 0), (0, 1, 0), (0, 1, 1), (0, 0, 1), (0, 0, 2), (0, 1, 2)]);
        assert_eq!(order("sequential")[..4], [(0, 0, 0), (0, 0, 1), (0, 0, 2), (1, 0, 0)]);
    }

    #[test]
    fn every_order_contains_every_trial_once() {
        let all: BTreeSet<_> = order("interleaved").into_iter().collect();
        assert_eq!(all.len(), 12);
        for other in ["sequential", "random"] {
            assert_eq!(order(other).len(), 12);
            assert_eq!(order(other).into_iter().collect::<BTreeSet<_>>(), all, "{other}");
        }
        assert_eq!(order("random"), order("random"), "the same seed must give the same order");
    }
}
