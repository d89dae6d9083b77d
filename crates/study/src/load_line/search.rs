//! The search for the load line. The search decides which level to try next.
//!
//! The level is doubled until it fails. The search then halves the bracket between the last level that passed and the
//! first level that failed, until the bracket is narrow enough. A level must fail twice in a row, so that a single
//! disturbance does not hide the line. If the level at the upper end of the bracket did not pass because of the client,
//! this level is tried once more when the bracket is narrow. So is a level that was not decided, if all levels below it
//! pass. At the end, the level at the lower end of the bracket is run again, because a target may not recover after an
//! overload. The search does not run levels itself. The search returns the next level, and the caller records the
//! outcome.

use measure::result::load_line::{Found, Lack, Outcome};
use std::num::NonZeroU64;

/// Number of consecutive failed runs after which a level counts as failed.
const FAILURES: u32 = 2;
/// Maximum number of times that the line is lowered because the lower end of the bracket failed when it was run again.
const LOWERED_MAX: u32 = 3;
/// Maximum number of levels that are tried once more because their failure is in doubt.
const DOUBTS_MAX: u32 = 2;
/// Number of levels that must pass below a level that was not decided before its outcome is in doubt. If the line is
/// anywhere in the bracket, so many levels in a row rarely pass.
const PASSES_MIN: u32 = 4;

/// Range and precision of a search. Levels are counted in steps of the unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Lowest level.
    pub least: NonZeroU64,
    /// First level.
    pub from: NonZeroU64,
    /// Highest level.
    pub to: NonZeroU64,
    /// Maximum width of the final bracket, as a share of its lower end.
    pub precision: f64,
}

impl Bounds {
    /// Returns the number of halvings that make a bracket narrow enough, if its upper end is twice its lower end.
    #[must_use]
    pub fn halvings(&self) -> u32 {
        (1.0 / self.precision).log2().ceil().max(1.0) as u32
    }

    /// Estimates how many levels pass and how many levels fail. The first pair of numbers is the estimate for a line
    /// near the first level, and the second pair is the estimate for a line at the far end of the range.
    #[must_use]
    pub fn levels_expected(&self) -> ((f64, f64), (f64, f64)) {
        let doublings = (self.to.get() as f64 / self.from.get() as f64).max(1.0).log2().ceil() + 1.0;
        let halvings = f64::from(self.halvings());
        let failures = f64::from(FAILURES);
        // While the bracket is halved, about half of the levels pass. One more level passes when the line is run again.
        let few = (2.0 + halvings / 2.0, (1.0 + halvings / 2.0) * failures);
        (few, (doublings + halvings / 2.0 + 1.0, few.1))
    }
}

/// The next step of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchStep {
    /// Run this level.
    Try(u64),
    /// The search is over.
    Done(Found),
}

/// The upper end of a bracket.
#[derive(Clone, Copy, Debug)]
struct Top {
    level: u64,
    /// `true` if the client is the reason why the level did not pass.
    by_client: bool,
    /// Number of levels that have passed since then.
    passes_below: u32,
}

/// State of a search.
#[derive(Clone, Debug)]
pub struct Search {
    bounds: Bounds,
    /// Lower end of the bracket: the highest level that passed.
    passed: Option<u64>,
    /// Upper end of the bracket: the lowest level above `passed` that did not pass.
    failed: Option<Top>,
    /// The lowest level above `passed` that failed because of the target. `failed` is in doubt if it is lower.
    failed_by_target: Option<u64>,
    /// The last level that was tried once more because its failure was in doubt.
    doubted: Option<u64>,
    /// Number of such levels.
    doubts: u32,
    /// The highest level so far that had too few operations, if no level has passed.
    undecided: Option<u64>,
    /// Level to try next.
    level: u64,
    /// Number of times in a row that `level` has failed.
    failures: u32,
    /// All levels that passed, in the order in which they ran.
    passes: Vec<u64>,
    /// `true` if the line is known and is being run again.
    confirming: bool,
    /// Number of times that the line failed when it was run again.
    lowered: u32,
    result: Option<Found>,
}

impl Search {
    /// Starts a search. If `bounds.from` is above `bounds.to`, the search starts at `bounds.to`.
    #[must_use]
    pub fn new(bounds: Bounds) -> Self {
        let level = bounds.from.min(bounds.to).get();
        Self {
            bounds,
            passed: None,
            failed: None,
            failed_by_target: None,
            doubted: None,
            doubts: 0,
            undecided: None,
            level,
            failures: 0,
            passes: Vec::new(),
            confirming: false,
            lowered: 0,
            result: None,
        }
    }

    /// Returns the next step.
    #[must_use]
    pub fn next(&self) -> SearchStep {
        self.result.map_or(SearchStep::Try(self.level), SearchStep::Done)
    }

    /// Returns the highest level that passed and has not failed since.
    #[must_use]
    pub fn passed(&self) -> Option<u64> {
        self.passed
    }

    /// Returns whether the bracket is narrow enough, so that the next level only confirms its lower end.
    #[must_use]
    pub fn is_confirming(&self) -> bool {
        self.confirming
    }

    /// Returns the number of times that the line was lowered because the lower end of the bracket failed when it was
    /// run again.
    #[must_use]
    pub fn lowered(&self) -> u32 {
        self.lowered
    }

    /// Records the outcome of the level that [`Self::next`] returned. If the level was not decided, it is not tried
    /// again, because it has already taken its maximum time, and the search continues below it. If the level had too
    /// few operations, a lower level would have even fewer, so the search continues above it, or ends.
    pub fn record(&mut self, outcome: &Outcome) {
        match outcome {
            _ if self.result.is_some() => {}
            Outcome::Passed => self.pass(),
            Outcome::NotDecided { lack: Lack::Operations, .. } if self.passed.is_none() && !self.confirming => {
                self.lack_operations();
            }
            Outcome::NotDecided { .. } => self.fail(outcome),
            Outcome::Failed { .. } | Outcome::ClientLimited { .. } => {
                self.failures += 1;
                if self.failures >= FAILURES {
                    self.fail(outcome);
                }
            }
        }
    }

    fn pass(&mut self) {
        self.failures = 0;
        self.passed = Some(self.level);
        self.passes.push(self.level);
        if let Some(top) = &mut self.failed {
            top.passes_below += 1;
        }
        // The level at the upper end was in doubt, and has passed now.
        if self.failed.is_some_and(|top| top.level <= self.level) {
            self.failed = self.failed_by_target.map(|level| Top { level, by_client: false, passes_below: 0 });
        }
        match (self.confirming, self.failed) {
            (true, Some(top)) => self.result = Some(Found::Line { passed: self.level, failed: top.level }),
            (true, None) => self.result = Some(Found::AtLeast { passed: self.level }),
            (false, None) if self.level >= self.bounds.to.get() => self.confirming = true,
            (false, None) => self.level = self.level.saturating_mul(2).min(self.bounds.to.get()),
            (false, Some(_)) => self.narrow(),
        }
    }

    fn lack_operations(&mut self) {
        self.failures = 0;
        if self.failed.is_some() || self.level >= self.bounds.to.get() {
            self.result = Some(Found::Below { failed: self.level });
        } else {
            self.undecided = Some(self.level);
            self.level = self.level.saturating_mul(2).min(self.bounds.to.get());
        }
    }

    fn fail(&mut self, outcome: &Outcome) {
        self.failures = 0;
        let by_client = matches!(outcome, Outcome::ClientLimited { .. });
        self.failed = Some(Top { level: self.level, by_client, passes_below: 0 });
        if matches!(outcome, Outcome::Failed { .. }) {
            self.failed_by_target = Some(self.level);
        }
        if self.confirming {
            self.confirming = false;
            self.lowered += 1;
            // The first time, the search falls back to the next lower level that passed, which is close. The second
            // time, the target sustains less than before, so earlier passes are ignored.
            let below = self.passes.iter().copied().filter(|passed| *passed < self.level).max();
            self.passed = below.filter(|_| self.lowered == 1);
            if self.lowered > LOWERED_MAX {
                self.result = Some(Found::Unsteady { failed: self.level });
                return;
            }
        }
        match self.passed {
            Some(_) => self.narrow(),
            None if self.undecided.is_some() => {
                self.result = self.undecided.map(|failed| Found::Below { failed });
            }
            None if self.level <= self.bounds.least.get() => self.result = Some(Found::Below { failed: self.level }),
            None => self.level = (self.level / 2).max(self.bounds.least.get()),
        }
    }

    /// Returns whether the level at the upper end of the bracket may pass if it is tried once more.
    fn is_in_doubt(&self, top: Top) -> bool {
        let is_by_target = self.failed_by_target == Some(top.level);
        let may_pass = top.by_client || top.passes_below >= PASSES_MIN;
        !is_by_target && may_pass && self.doubted != Some(top.level) && self.doubts < DOUBTS_MAX
    }

    /// Halves the bracket. If the bracket is narrow enough, runs its lower end again instead.
    fn narrow(&mut self) {
        let (Some(passed), Some(top)) = (self.passed, self.failed) else {
            debug_assert!(false, "a bracket without both ends cannot be narrowed");
            return;
        };
        let failed = top.level;
        let width = ((passed as f64 * self.bounds.precision) as u64).max(1);
        let is_narrow = failed.saturating_sub(passed) <= width;
        if is_narrow && self.is_in_doubt(top) {
            (self.doubted, self.level) = (Some(failed), failed);
            self.doubts += 1;
        } else if is_narrow {
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

    fn outcome(passes: bool) -> Outcome {
        if passes { Outcome::Passed } else { Outcome::Failed { why: "slow".into() } }
    }

    /// Runs a search against a target. Returns its result and every level that it tried.
    fn search(bounds: Bounds, mut passes: impl FnMut(u64) -> bool) -> (Found, Vec<u64>) {
        search_by(bounds, |level| outcome(passes(level)))
    }

    /// Runs a search in which `of` decides the outcome of each level. Returns its result and every level that it tried.
    fn search_by(bounds: Bounds, mut of: impl FnMut(u64) -> Outcome) -> (Found, Vec<u64>) {
        let (mut search, mut levels) = (Search::new(bounds), Vec::new());
        loop {
            match search.next() {
                SearchStep::Done(found) => return (found, levels),
                SearchStep::Try(level) => {
                    levels.push(level);
                    assert!(levels.len() < 200, "{levels:?}");
                    search.record(&of(level));
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
            prop_assert_eq!(levels.last(), Some(&passed), "the last level must be the lower end of the line, run again");
        }

        /// One level in ten is disturbed, so it fails although the target sustains it.
        #[test]
        fn single_disturbances_do_not_move_the_line(line in 10_u64..10_000, noise in prop::collection::vec(0_u32..10, 200)) {
            let mut noise = noise.into_iter().scan(false, |before, draw| {
                // Disturbances never happen twice in a row, because then the level would fail.
                *before = draw == 0 && !*before;
                Some(*before)
            });
            let (found, _) = search(bounds(1, 1 << 20, 0.05), |level| level <= line && !noise.next().unwrap_or(false));
            let Found::Line { passed, failed } = found else { panic!("{found:?}") };
            prop_assert!(passed <= line && line < failed);
        }
    }

    #[test]
    fn a_line_outside_the_bounds_is_reported_as_such() {
        assert_eq!(search(bounds(10, 1000, 0.05), |_| true).0, Found::AtLeast { passed: 1000 });
        assert_eq!(search(bounds(10, 1000, 0.05), |_| false).0, Found::Below { failed: 1 });
        assert_eq!(search(bounds(50, 20, 0.05), |_| true), (Found::AtLeast { passed: 20 }, vec![20, 20]));
    }

    /// After a load above 300, the target sustains only 100.
    #[test]
    fn the_line_is_lowered_for_a_target_that_does_not_recover() {
        let mut broken = false;
        let (found, levels) = search(bounds(1, 4096, 0.05), |level| {
            broken |= level > 300;
            level <= if broken { 100 } else { 300 }
        });
        let Found::Line { passed, failed } = found else { panic!("{found:?} {levels:?}") };
        assert!(passed <= 100 && failed > 100, "{found:?}");
    }

    #[test]
    fn a_target_that_fails_after_some_load_is_unsteady() {
        let mut runs = 0;
        let (found, _) = search(bounds(1, 4096, 0.05), |level| {
            runs += 1;
            runs <= 6 && level <= 40
        });
        assert!(matches!(found, Found::Below { .. } | Found::Unsteady { .. }), "{found:?}");
    }

    /// Levels above 100 are not decided within their maximum time.
    #[test]
    fn an_undecided_level_bounds_the_line_and_is_not_tried_again() {
        let (found, levels) = search_by(bounds(50, 1000, 0.05), |level| match level {
            ..=100 => Outcome::Passed,
            _ => Outcome::NotDecided { lack: Lack::Other, why: "its backlog".into() },
        });
        let Found::Line { passed, failed } = found else { panic!("{found:?}") };
        assert!(passed <= 100 && failed > 100 && failed - passed <= 5, "{found:?}");
        assert_eq!(levels.iter().filter(|level| **level == 200).count(), 1, "{levels:?}");
    }

    /// The host is disturbed while 100 and 50 are tried for the first times. The target sustains 380.
    #[test]
    fn levels_that_a_disturbed_host_did_not_pass_are_tried_again() {
        let mut tries = 0;
        let (found, levels) = search_by(bounds(100, 1000, 0.05), |level| {
            tries += 1;
            match (tries, level) {
                (1, 100) => Outcome::NotDecided { lack: Lack::Other, why: "its backlog".into() },
                (2 | 3, 50) => Outcome::ClientLimited { why: "CPU".into() },
                _ => outcome(level <= 380),
            }
        });
        let Found::Line { passed, failed } = found else { panic!("{found:?} {levels:?}") };
        assert!(passed <= 380 && failed > 380, "{found:?} {levels:?}");
        // A client that is always the limit is believed after one more try.
        let (found, levels) = search_by(bounds(1, 1000, 0.05), |level| match level {
            ..=100 => Outcome::Passed,
            _ => Outcome::ClientLimited { why: "CPU".into() },
        });
        let Found::Line { passed, failed } = found else { panic!("{found:?} {levels:?}") };
        assert!(passed <= 100 && failed > 100 && levels.len() < 30, "{found:?} {levels:?}");
    }

    /// Levels below `enough` have too few operations. The target sustains `line`.
    fn search_with_few(bounds: Bounds, enough: u64, line: u64) -> (Found, Vec<u64>) {
        search_by(bounds, |level| {
            let has_few = level <= line && level < enough;
            let few = || Outcome::NotDecided { lack: Lack::Operations, why: "60 of 299 operations".into() };
            if has_few { few() } else { outcome(level <= line) }
        })
    }

    #[test]
    fn a_level_with_too_few_operations_is_followed_by_a_higher_one() {
        let (found, levels) = search_with_few(bounds(10, 1 << 20, 0.05), 30, 800);
        let Found::Line { passed, failed } = found else { panic!("{found:?} {levels:?}") };
        assert!(passed <= 800 && failed > 800, "{found:?}");
        assert_eq!(levels[..3], [10, 20, 40]);
        // No level has enough operations: 10 and 20 are undecided, and 40 fails twice.
        assert_eq!(
            search_with_few(bounds(10, 1 << 20, 0.05), 1 << 20, 30),
            (Found::Below { failed: 20 }, vec![10, 20, 40, 40])
        );
        assert_eq!(search_with_few(bounds(10, 20, 0.05), 1 << 20, 30), (Found::Below { failed: 20 }, vec![10, 20]));
        // The first level fails, and the one below it has too few operations.
        assert_eq!(search_with_few(bounds(40, 80, 0.05), 1 << 20, 30), (Found::Below { failed: 20 }, vec![40, 40, 20]));
    }

    /// The level that confirms the line is disturbed. The next lower level that passed is then run again, without a new
    /// search.
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
