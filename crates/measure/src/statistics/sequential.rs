//! A sequential test of whether too many operations exceed a bound. The test may be evaluated at any time. In a search
//! for the load line, it judges a *level*, which is a run at one load.
//!
//! "p99 ≤ x" means that at most 1 % of the operations exceed x. Let S be the number of operations that exceed the
//! bound, minus the tolerated number. If the target is exactly at its bound, S stays around 0. The test decides as soon
//! as S crosses a boundary. For a target at its bound, the probability that S ever crosses the boundary is at most α.
//! The boundary is the normal mixture of H. Robbins, "Statistical methods related to the law of the iterated
//! logarithm", Annals of Mathematical Statistics 41 (1970), 1397–1409: |S| ≥ √((V + ρ) ln((V + ρ) / (ρ α²))). This form
//! is from S. R. Howard, A. Ramdas, J. McAuliffe and J. Sekhon, "Time-uniform, nonparametric, nonasymptotic confidence
//! sequences", Annals of Statistics 49 (2021), 1055–1080, eq. (14). Frequent evaluation of the test does not increase
//! the error.
//!
//! Slow operations come in spells, for example if a compaction or a garbage collection delays all operations for some
//! time. The variance V is therefore estimated from batches of 1, 2, 4 … windows, with at least `BATCHES_MIN` batches.
//! The largest of these estimates is used. V is never less than the variance of independent operations.
//!
//! Batches cannot show a spell that has not happened yet. Until the first spell, no estimate of the variance can
//! prevent a wrong decision. The test therefore also considers spells of the constant length `SPELL`. The test decides
//! "within" only after a time in which a target at its bound would have had `SPELLS_WITHIN` spells of the length
//! `SPELL` on average. The test decides "beyond" only when the slow operations are so many that they would fill
//! `SPELLS_BEYOND` spells of this length. Before a level passes, its trend is extrapolated to the end of the level.

use std::time::Duration;

/// Length of the slices that are added to the test.
pub const SLICE: Duration = Duration::from_millis(100);
/// Maximum length of a spell of slow operations. The error probability is guaranteed for spells up to this length.
pub const SPELL: Duration = Duration::from_secs(2);
/// The test can decide "within" only after a time in which a target at its bound has this number of spells on average.
/// If the true share is twice the tolerated share, the probability that no spell has happened by then is exp(−4), or
/// 1.8 %.
const SPELLS_WITHIN: f64 = 2.0;
/// Number of spells that slow operations must fill before the test can decide "beyond".
const SPELLS_BEYOND: f64 = 3.0;
/// Minimum number of windows for a decision.
const WINDOWS_MIN: usize = 10;
/// Minimum number of batches for an estimate of the variance.
const BATCHES_MIN: usize = 8;
/// Maximum number of windows kept. If there are more, neighboring windows are merged.
const WINDOWS_MAX: usize = 256;
/// Parameter ρ of the boundary for independent operations. The boundary is tightest at a variance of about eight times
/// this value.
const MIXTURE: f64 = 2.0;

/// A running test.
#[derive(Clone, Debug)]
pub struct Sequential {
    tolerated: f64,
    alpha: f64,
    /// Length of the level in slices; `None` if the test never decides "within".
    level: Option<u64>,
    /// Number of operations that exceed the bound and number of all operations, for each window.
    windows: Vec<(f64, f64)>,
    /// Number of slices in each window except the last one.
    each: u32,
    /// Number of slices in the last window.
    filled: u32,
    /// Number of slices added so far.
    slices: u64,
}

/// Decision of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The share of operations that exceed the bound is at most the tolerated share.
    Within,
    /// The share of operations that exceed the bound is larger than the tolerated share.
    Beyond,
}

/// Returns the minimum time after which the test can decide "within" if a share of `tolerated` may exceed the bound.
/// `None` if the share is 0, because the test never decides "within" for this share.
#[must_use]
pub fn time_needed(tolerated: f64) -> Option<Duration> {
    (tolerated > 0.0).then(|| SPELL.mul_f64(SPELLS_WITHIN / tolerated.min(1.0)))
}

impl Sequential {
    /// Creates a test of whether a larger share of the operations than `tolerated`, in 0..=1, exceeds a bound. The
    /// probability of a wrong decision is at most `alpha`. Without [`Self::over`], the only possible decision is
    /// [`Decision::Beyond`].
    #[must_use]
    pub fn new(tolerated: f64, alpha: f64) -> Self {
        let tolerated = tolerated.clamp(0.0, 1.0);
        Self { tolerated, alpha, level: None, windows: Vec::new(), each: 1, filled: 1, slices: 0 }
    }

    /// Allows the test to decide [`Decision::Within`] too, for a level of this length.
    #[must_use]
    pub fn over(self, level: Duration) -> Self {
        Self { level: Some(level.as_nanos().div_ceil(SLICE.as_nanos()) as u64), ..self }
    }

    /// Adds a slice, in which `beyond` of `all` operations exceed the bound.
    pub fn add(&mut self, beyond: u64, all: u64) {
        self.slices += 1;
        let window = (beyond as f64, all as f64);
        match self.windows.last_mut().filter(|_| self.filled < self.each) {
            Some(last) => {
                *last = (last.0 + window.0, last.1 + window.1);
                self.filled += 1;
            }
            None => {
                self.windows.push(window);
                self.filled = 1;
            }
        }
        if self.windows.len() > WINDOWS_MAX {
            // The number of windows is odd here, so the last window is not merged. The last window consists of the
            // slice just added.
            self.windows = in_batches(&self.windows, 2).collect();
            (self.each, self.filled) = (self.each * 2, 1);
        }
    }

    /// Returns the decision so far.
    #[must_use]
    pub fn decision(&self) -> Option<Decision> {
        let (beyond, all) = sum(&self.windows);
        // If no operation may exceed the bound, the first operation that exceeds it decides the test. Until then, the
        // test is undecided.
        if self.tolerated <= 0.0 {
            return (beyond > 0.0).then_some(Decision::Beyond);
        }
        if self.windows.len() < WINDOWS_MIN || all <= 0.0 {
            return None;
        }
        // Number of operations in the longest spell.
        let spell = all / self.slices as f64 * (SPELL.as_nanos() / SLICE.as_nanos()) as f64;
        let excess = beyond - self.tolerated * all;
        if excess > 0.0 {
            let enough = beyond >= SPELLS_BEYOND * spell && excess >= self.boundary(beyond, all);
            return enough.then_some(Decision::Beyond);
        }
        let level = self.level?;
        let enough = self.tolerated * all >= SPELLS_WITHIN * spell && -excess >= self.boundary(beyond, all);
        (enough && self.to_the_end(level, beyond / all, all) <= self.tolerated).then_some(Decision::Within)
    }

    fn boundary(&self, beyond: f64, all: f64) -> f64 {
        let independent = self.tolerated * (1.0 - self.tolerated) * all;
        let variance = self.variance(beyond / all, all);
        // `together` is the number of dependent operations that count as one, both in the variance and in ρ.
        let together = (variance / independent).max(1.0);
        let mixture = MIXTURE * together * together;
        let spread = variance + mixture;
        (spread * (spread / (mixture * self.alpha * self.alpha)).ln()).sqrt()
    }

    fn variance(&self, share: f64, all: f64) -> f64 {
        let independent = self.tolerated * (1.0 - self.tolerated) * all;
        let sizes = std::iter::successors(Some(1), |size| Some(size * 2));
        let sizes = sizes.take_while(|size| self.windows.len() / size >= BATCHES_MIN);
        let of_batches = sizes.map(|size| {
            let residuals = in_batches(&self.windows, size).map(|(beyond, count)| beyond - share * count);
            around_their_trend(&residuals.collect::<Vec<_>>())
        });
        of_batches.fold(independent, f64::max)
    }

    /// Returns an upper estimate of the share over the whole level. If the share rose from the first half of the
    /// windows to the second half, it is assumed to rise further. If the share fell, it is assumed to stay constant.
    fn to_the_end(&self, level: u64, share: f64, all: f64) -> f64 {
        let (early, late) = self.windows.split_at(self.windows.len() / 2);
        let share_of = |windows| {
            let (beyond, all) = sum(windows);
            if all > 0.0 { beyond / all } else { 0.0 }
        };
        // Twice the standard error of the difference between the two halves, if operations are independent.
        let error = 4.0 * (share * (1.0 - share) / all).sqrt();
        let rise = (share_of(late) - share_of(early) + error).max(0.0);
        share + rise * level.saturating_sub(self.slices) as f64 / self.slices as f64
    }
}

/// Returns the sum of squared deviations from a fitted straight line, for values whose sum is 0. The result is scaled
/// up for the two degrees of freedom of the line.
fn around_their_trend(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let place = |index: usize| index as f64 - (count - 1.0) / 2.0;
    let squares = values.iter().map(|value| value * value).sum::<f64>();
    let product = values.iter().enumerate().map(|(index, value)| place(index) * value).sum::<f64>();
    let of_places = count * (count * count - 1.0) / 12.0;
    (squares - product * product / of_places).max(0.0) * count / (count - 2.0)
}

fn sum(windows: &[(f64, f64)]) -> (f64, f64) {
    windows.iter().fold((0.0, 0.0), |(beyond, all), window| (beyond + window.0, all + window.1))
}

fn in_batches(windows: &[(f64, f64)], size: usize) -> impl Iterator<Item = (f64, f64)> + '_ {
    windows.chunks(size).map(sum)
}

#[cfg(test)]
mod tests {
    use super::super::series::tests::autoregressive;
    use super::*;
    use crate::values::random::Random;

    /// Runs a test on slices of 20 operations. `shares` contains the probability of exceeding the bound in each slice.
    /// Returns the decision and the number of slices that it took.
    fn decided(random: &mut Random, shares: &[f64], tolerated: f64) -> (Option<Decision>, usize) {
        let level = SLICE * u32::try_from(shares.len()).unwrap();
        let mut test = Sequential::new(tolerated, 0.05).over(level);
        for (number, share) in shares.iter().enumerate() {
            let beyond = (0..20).filter(|_| random.unit() < *share).count() as u64;
            test.add(beyond, 20);
            if let Some(decision) = test.decision() {
                return (Some(decision), number + 1);
            }
        }
        (None, shares.len())
    }

    /// For a target exactly at its bound, both decisions are wrong. Wrong decisions must not be more frequent than
    /// `alpha` allows, although the test looks at each slice.
    #[test]
    fn targets_at_the_bound_are_rarely_decided() {
        for (rho, seed) in [(0.0, 41), (0.3, 42), (0.5, 43)] {
            let mut random = Random::new(seed);
            let mut wrong = 0;
            for _ in 0..200 {
                let shares: Vec<f64> = autoregressive(&mut random, 2000, rho);
                // 5 % of the operations exceed the bound on average, but slices depend on each other.
                let shares: Vec<f64> = shares.iter().map(|level| (0.05 + 0.02 * level).clamp(0.0, 1.0)).collect();
                wrong += u32::from(decided(&mut random, &shares, 0.05).0.is_some());
            }
            assert!(wrong <= 10, "autocorrelation {rho}, seed {seed}: {wrong} of 200");
        }
    }

    /// Checks how many slices the test needs to decide clear cases. "Beyond" needs 6 s in which all operations are
    /// slow. "Within" needs a time in which a target at its bound would have had 4 s of slow operations.
    #[test]
    fn clear_cases_are_decided_once_a_spell_cannot_explain_them() {
        let mut random = Random::new(44);
        for (share, tolerated, decision, slices) in [
            (1.0, 0.01, Decision::Beyond, 60..=60),
            (0.3, 0.01, Decision::Beyond, 190..=210),
            (0.05, 0.01, Decision::Beyond, 1000..=1400),
            (0.0, 0.05, Decision::Within, 800..=800),
            (0.0, 0.01, Decision::Within, 4000..=4000),
            (0.01, 0.05, Decision::Within, 800..=1200),
        ] {
            let (found, after) = decided(&mut random, &vec![share; 6000], tolerated);
            assert!(
                found == Some(decision) && slices.contains(&after),
                "share {share}, tolerated {tolerated}: {found:?} after {after} slices, expected after {slices:?}"
            );
        }
        assert_eq!(time_needed(0.05), Some(SLICE * 800));
        assert_eq!(time_needed(0.0), None);
    }

    /// A stall makes half of the slices of the first second slow.
    #[test]
    fn one_stall_decides_nothing() {
        let mut test = Sequential::new(0.01, 0.05).over(SLICE * 100);
        for slice in 0..100 {
            test.add(if (3..8).contains(&slice) { 20 } else { 0 }, 20);
            assert_eq!(test.decision(), None, "{slice}");
        }
    }

    /// The share rises, so that the whole level exceeds the bound although its first half does not.
    #[test]
    fn trends_are_extrapolated() {
        let mut random = Random::new(45);
        let rising: Vec<f64> = (0..6000).map(|slice| 0.15 * f64::from(slice) / 6000.0).collect();
        assert_ne!(decided(&mut random, &rising, 0.05).0, Some(Decision::Within));
    }

    #[test]
    fn runs_without_an_end_are_never_within() {
        let mut test = Sequential::new(0.05, 0.05);
        (0..5000).for_each(|_| test.add(0, 20));
        assert_eq!(test.decision(), None);
    }

    #[test]
    fn the_first_operation_beyond_decides_where_none_is_tolerated() {
        let mut test = Sequential::new(0.0, 0.05);
        (0..100).for_each(|_| test.add(0, 1000));
        assert_eq!(test.decision(), None);
        test.add(1, 1000);
        assert_eq!(test.decision(), Some(Decision::Beyond));
        assert_eq!(Sequential::new(0.01, 0.05).decision(), None);
        let mut empty = Sequential::new(0.01, 0.05);
        (0..100).for_each(|_| empty.add(0, 0));
        assert_eq!(empty.decision(), None);
    }

    #[test]
    fn long_runs_fit_into_few_windows_without_loss() {
        let mut test = Sequential::new(0.5, 0.05);
        for window in 0..10_000_u64 {
            test.add(window % 2, 3);
            assert!(test.windows.len() <= WINDOWS_MAX);
            let full = test.windows[..test.windows.len() - 1].iter().all(|(_, all)| *all == f64::from(3 * test.each));
            assert!(full, "{window}: all windows but the last have {} slices", test.each);
            let expected = (window.div_ceil(2), 3 * (window + 1));
            assert_eq!(sum(&test.windows), (expected.0 as f64, expected.1 as f64));
        }
    }
}
