//! The search for the load line: the highest load that meets all objectives.
//!
//! Levels double until one fails, then the bracket between the last that passed and the first that failed is halved until it is
//! narrow enough. A level fails when it fails twice in a row, so that a single disturbance does not hide the line; and the line is
//! run again at the end, since a target that was pushed over it may not come back. The search never runs anything: it says which
//! level is next and is told what became of it.

use measure::load_line::{Found, Outcome};
use std::num::NonZeroU64;

/// How often in a row a level must fail.
const FAILURES: u32 = 2;
/// How often the line is lowered because it does not hold any more when it is run again.
const LOWERED_MAX: u32 = 3;

/// Where a search looks, and how closely.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// The lowest level that is tried.
    pub least: NonZeroU64,
    /// The first level.
    pub from: NonZeroU64,
    /// The highest level that is tried.
    pub to: NonZeroU64,
    /// How wide the bracket may be, as a share of its lower end.
    pub precision: f64,
}

impl Bounds {
    /// How many levels pass and fail in a search: of a line near the first level, and at worst.
    #[must_use]
    pub fn levels_expected(&self) -> ((f64, f64), (f64, f64)) {
        let doublings = (self.to.get() as f64 / self.from.get() as f64).max(1.0).log2().ceil() + 1.0;
        let halvings = (1.0 / self.precision).log2().ceil().max(1.0);
        let twice = f64::from(FAILURES);
        // About half of the halvings pass, and the line is run again.
        let few = (2.0 + halvings / 2.0, (1.0 + halvings / 2.0) * twice);
        (few, (doublings + halvings / 2.0 + 1.0, few.1))
    }
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Run this level.
    Try(u64),
    /// The search is over.
    Done(Found),
}

/// A search under way.
#[derive(Clone, Debug)]
pub struct Search {
    bounds: Bounds,
    passed: Option<u64>,
    failed: Option<u64>,
    /// The level that is being tried.
    level: u64,
    /// How often in a row it has failed.
    failures: u32,
    /// All levels that have passed, in the order in which they did.
    passes: Vec<u64>,
    /// The line was found and is being run again.
    confirming: bool,
    /// How often the line did not hold then.
    lowered: u32,
    over: Option<Found>,
}

impl Search {
    /// A search within bounds. A start above the highest level is that level.
    #[must_use]
    pub fn new(bounds: Bounds) -> Self {
        let level = bounds.from.min(bounds.to).get();
        let (passed, failed, passes) = (None, None, Vec::new());
        Self { bounds, passed, failed, level, failures: 0, passes, confirming: false, lowered: 0, over: None }
    }

    /// What to do next.
    #[must_use]
    pub fn next(&self) -> Step {
        self.over.map_or(Step::Try(self.level), Step::Done)
    }

    /// The highest level that has passed and was not disproved since.
    #[must_use]
    pub fn passed(&self) -> Option<u64> {
        self.passed
    }

    /// Whether the line has been found once, and its lower end is run again.
    #[must_use]
    pub fn is_confirming(&self) -> bool {
        self.confirming
    }

    /// How often the line was lowered because what had passed did not pass again: a target that does not recover.
    #[must_use]
    pub fn lowered(&self) -> u32 {
        self.lowered
    }

    /// Takes the result of the level that was to be tried. One that was not decided had all the time that there is, so it is not
    /// tried again, and the line is looked for below.
    pub fn tell(&mut self, outcome: &Outcome) {
        match outcome {
            _ if self.over.is_some() => {}
            Outcome::Passed => self.pass(),
            Outcome::NotDecided { .. } => self.fail(),
            Outcome::Failed { .. } | Outcome::ClientLimited { .. } => {
                self.failures += 1;
                if self.failures >= FAILURES {
                    self.fail();
                }
            }
        }
    }

    fn pass(&mut self) {
        self.failures = 0;
        self.passed = Some(self.level);
        self.passes.push(self.level);
        match (self.confirming, self.failed) {
            (true, Some(failed)) => self.over = Some(Found::Line { passed: self.level, failed }),
            (true, None) => self.over = Some(Found::AtLeast { passed: self.level }),
            (false, None) if self.level >= self.bounds.to.get() => self.confirming = true,
            (false, None) => self.level = self.level.saturating_mul(2).min(self.bounds.to.get()),
            (false, Some(_)) => self.narrow(),
        }
    }

    fn fail(&mut self) {
        self.failures = 0;
        self.failed = Some(self.level);
        if self.confirming {
            self.confirming = false;
            self.lowered += 1;
            // Once, another level that has passed is close. After that the target sustains less than before, and nothing that
            // passed still holds.
            let below = self.passes.iter().copied().filter(|passed| *passed < self.level).max();
            self.passed = below.filter(|_| self.lowered == 1);
            if self.lowered > LOWERED_MAX {
                self.over = Some(Found::Unsteady { failed: self.level });
                return;
            }
        }
        match self.passed {
            Some(_) => self.narrow(),
            None if self.level <= self.bounds.least.get() => self.over = Some(Found::Below { failed: self.level }),
            None => self.level = (self.level / 2).max(self.bounds.least.get()),
        }
    }

    /// Halves the bracket, or runs its lower end again when it is narrow enough.
    fn narrow(&mut self) {
        let (Some(passed), Some(failed)) = (self.passed, self.failed) else { return };
        let width = ((passed as f64 * self.bounds.precision) as u64).max(1);
        if failed.saturating_sub(passed) <= width {
            self.confirming = true;
            self.level = passed;
        } else {
            self.level = passed + (failed - passed) / 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bounds(from: u64, to: u64, precision: f64) -> Bounds {
        Bounds {
            least: NonZeroU64::MIN,
            from: NonZeroU64::new(from).unwrap(),
            to: NonZeroU64::new(to).unwrap(),
            precision,
        }
    }

    fn outcome(holds: bool) -> Outcome {
        if holds { Outcome::Passed } else { Outcome::Failed { why: "slow".into() } }
    }

    /// Runs a search against a target; answers what it found, and every level it tried.
    fn search(bounds: Bounds, mut holds: impl FnMut(u64) -> bool) -> (Found, Vec<u64>) {
        let (mut search, mut levels) = (Search::new(bounds), Vec::new());
        loop {
            match search.next() {
                Step::Done(found) => return (found, levels),
                Step::Try(level) => {
                    levels.push(level);
                    assert!(levels.len() < 200, "{levels:?}");
                    search.tell(&outcome(holds(level)));
                }
            }
        }
    }

    proptest! {
        #[test]
        fn every_line_is_found(line in 1_u64..100_000, from in 1_u64..2_000, precision in 0.001_f64..0.2) {
            let (found, levels) = search(bounds(from, 1 << 20, precision), |level| level <= line);
            let Found::Line { passed, failed } = found else { panic!("{found:?}") };
            prop_assert!(passed <= line && line < failed);
            prop_assert!(failed - passed <= ((passed as f64 * precision) as u64).max(1));
            prop_assert_eq!(levels.last(), Some(&passed), "the line is run again");
        }

        /// One level in ten is disturbed: it fails though the target carries it.
        #[test]
        fn single_disturbances_do_not_move_the_line(line in 10_u64..10_000, noise in prop::collection::vec(0_u32..10, 200)) {
            let mut noise = noise.into_iter().scan(false, |before, draw| {
                // Never twice in a row: that would be a failure.
                *before = draw == 0 && !*before;
                Some(*before)
            });
            let (found, _) = search(bounds(1, 1 << 20, 0.05), |level| level <= line && !noise.next().unwrap_or(false));
            let Found::Line { passed, failed } = found else { panic!("{found:?}") };
            prop_assert!(passed <= line && line < failed);
        }
    }

    #[test]
    fn the_ends_of_the_scale_are_said_to_be_ends() {
        assert_eq!(search(bounds(10, 1000, 0.05), |_| true).0, Found::AtLeast { passed: 1000 });
        assert_eq!(search(bounds(10, 1000, 0.05), |_| false).0, Found::Below { failed: 1 });
        assert_eq!(search(bounds(50, 20, 0.05), |_| true), (Found::AtLeast { passed: 20 }, vec![20, 20]));
    }

    /// Pushed over 300, it carries no more than 100 for good.
    #[test]
    fn a_target_that_does_not_recover_is_run_again_lower() {
        let mut broken = false;
        let (found, levels) = search(bounds(1, 4096, 0.05), |level| {
            broken |= level > 300;
            level <= if broken { 100 } else { 300 }
        });
        let Found::Line { passed, failed } = found else { panic!("{found:?} {levels:?}") };
        assert!(passed <= 100 && failed > 100, "{found:?}");
    }

    #[test]
    fn a_target_that_fails_once_it_was_loaded_is_unsteady() {
        let mut carried = 0;
        let (found, _) = search(bounds(1, 4096, 0.05), |level| {
            carried += 1;
            carried <= 6 && level <= 40
        });
        assert!(matches!(found, Found::Below { .. } | Found::Unsteady { .. }), "{found:?}");
    }

    /// Above 100, every level takes all its time and is not decided.
    #[test]
    fn what_is_not_decided_is_not_tried_again_and_bounds_the_line() {
        let (mut search, mut levels) = (Search::new(bounds(50, 1000, 0.05)), Vec::new());
        let found = loop {
            match search.next() {
                Step::Done(found) => break found,
                Step::Try(level) => {
                    levels.push(level);
                    let undecided = Outcome::NotDecided { why: "its backlog".into() };
                    search.tell(&if level > 100 { undecided } else { Outcome::Passed });
                }
            }
        };
        let Found::Line { passed, failed } = found else { panic!("{found:?}") };
        assert!(passed <= 100 && failed > 100 && failed - passed <= 5, "{found:?}");
        assert_eq!(levels.iter().filter(|level| **level == 200).count(), 1, "{levels:?}");
    }

    /// The line itself was disturbed when it was run again: what passed below is run again, not searched.
    #[test]
    fn one_disturbed_confirmation_costs_little() {
        let mut at_line = 0;
        let (found, levels) = search(bounds(1, 4096, 0.05), |level| {
            at_line += u32::from(level == 296);
            level <= 300 && !(2..=3).contains(&at_line) || level < 290
        });
        let Found::Line { passed, .. } = found else { panic!("{found:?} {levels:?}") };
        assert!((280..=300).contains(&passed), "{found:?} {levels:?}");
    }
}
