//! A test that may stop at any time: whether too many operations lie beyond a bound.
//!
//! "p99 ≤ x" says that no more than 1 % of the operations are beyond x. Looked at window by window, what is beyond less what is
//! tolerated adds up to a sum S that stays around 0 when the target is exactly at its bound. The run is decided as soon as S
//! leaves a boundary that such a sum leaves at any time with a probability of at most α: the normal mixture of H. Robbins,
//! "Statistical methods related to the law of the iterated logarithm", Annals of Mathematical Statistics 41 (1970), 1397–1409,
//! |S| ≥ √((V + ρ) ln((V + ρ) / (ρ α²))), in the form of S. R. Howard, A. Ramdas, J. McAuliffe and J. Sekhon, "Time-uniform,
//! nonparametric, nonasymptotic confidence sequences", Annals of Statistics 49 (2021), 1055–1080, eq. (14). To look often costs
//! nothing: that is what the boundary is made for.
//!
//! The variance V is estimated. Operations of a window hang together, and so do neighbouring windows, so V is the largest of what
//! batches of 1, 2, 4 … windows show, and never less than that of independent operations at the bound: a hundred fast
//! operations do not prove that one in a hundred is not slow.

/// Windows below which nothing is decided.
const WINDOWS_MIN: usize = 10;
/// Batches that an estimate of the variance needs.
const BATCHES_MIN: usize = 8;
/// Windows that are kept; neighbours are put together when there are more.
const WINDOWS_MAX: usize = 256;
/// Where the boundary is tightest: at a variance of some eight times this, as 1,600 operations have at p99.
const MIXTURE: f64 = 2.0;

/// A test that goes on.
#[derive(Clone, Debug)]
pub struct Sequential {
    tolerated: f64,
    alpha: f64,
    /// What lies beyond, and all, of each window.
    windows: Vec<(f64, f64)>,
    /// Slices in each window.
    each: u32,
    /// Slices in the last one.
    filled: u32,
}

/// What a test has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// No more lie beyond the bound than are tolerated.
    Within,
    /// More do.
    Beyond,
}

impl Sequential {
    /// Whether a share of more than `tolerated`, in 0..=1, lies beyond a bound; wrong with a probability of at most `alpha`.
    #[must_use]
    pub fn new(tolerated: f64, alpha: f64) -> Self {
        Self { tolerated: tolerated.clamp(0.0, 1.0), alpha, windows: Vec::new(), each: 1, filled: 1 }
    }

    /// Adds a window, of which `beyond` of `all` operations lie beyond the bound.
    pub fn add(&mut self, beyond: u64, all: u64) {
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
            // One more than fits in pairs: the last one is the slice that was just added, alone.
            self.windows = in_batches(&self.windows, 2).collect();
            (self.each, self.filled) = (self.each * 2, 1);
        }
    }

    /// What is decided by now.
    #[must_use]
    pub fn decision(&self) -> Option<Decision> {
        let (beyond, all) = sum(&self.windows);
        // Where none is tolerated, one is enough, and no number of others is.
        if self.tolerated <= 0.0 {
            return (beyond > 0.0).then_some(Decision::Beyond);
        }
        if self.windows.len() < WINDOWS_MIN || all <= 0.0 {
            return None;
        }
        let excess = beyond - self.tolerated * all;
        let spread = self.variance(beyond / all, all) + MIXTURE;
        let boundary = (spread * (spread / (MIXTURE * self.alpha * self.alpha)).ln()).sqrt();
        match excess {
            excess if excess >= boundary => Some(Decision::Beyond),
            excess if excess <= -boundary => Some(Decision::Within),
            _ => None,
        }
    }

    fn variance(&self, share: f64, all: f64) -> f64 {
        let independent = self.tolerated * (1.0 - self.tolerated) * all;
        let sizes = std::iter::successors(Some(1), |size| Some(size * 2));
        let sizes = sizes.take_while(|size| self.windows.len() / size >= BATCHES_MIN);
        let of_batches = sizes.map(|size| {
            let residuals = in_batches(&self.windows, size).map(|(beyond, count)| beyond - share * count);
            let count = self.windows.len().div_ceil(size) as f64;
            residuals.map(|residual| residual * residual).sum::<f64>() * count / (count - 1.0)
        });
        of_batches.fold(independent, f64::max)
    }
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
    use crate::random::Random;

    /// Runs a test over windows of 20 operations, of which a share given for each window lies beyond.
    fn decided(random: &mut Random, shares: &[f64], tolerated: f64) -> (Option<Decision>, usize) {
        let mut test = Sequential::new(tolerated, 0.05);
        for (number, share) in shares.iter().enumerate() {
            let beyond = (0..20).filter(|_| random.unit() < *share).count() as u64;
            test.add(beyond, 20);
            if let Some(decision) = test.decision() {
                return (Some(decision), number + 1);
            }
        }
        (None, shares.len())
    }

    /// Exactly at the bound both answers are wrong: they come as seldom as asked for, though each window is looked at.
    #[test]
    fn at_the_bound_hardly_anything_is_ever_decided() {
        for (rho, seed) in [(0.0, 41), (0.3, 42), (0.5, 43)] {
            let mut random = Random::new(seed);
            let mut wrong = 0;
            for _ in 0..1000 {
                let shares: Vec<f64> = autoregressive(&mut random, 100, rho);
                // A share of 5 % on average, in windows that hang together.
                let shares: Vec<f64> = shares.iter().map(|level| (0.05 + 0.02 * level).clamp(0.0, 1.0)).collect();
                wrong += u32::from(decided(&mut random, &shares, 0.05).0.is_some());
            }
            assert!(wrong <= 50, "autocorrelation {rho}, seed {seed}: {wrong} of 1,000");
        }
    }

    #[test]
    fn what_is_clear_is_decided_soon_and_right() {
        let mut random = Random::new(44);
        for (share, tolerated, decision, windows) in [
            (1.0, 0.01, Decision::Beyond, 10),
            (0.3, 0.01, Decision::Beyond, 10),
            (0.05, 0.01, Decision::Beyond, 40),
            (0.0, 0.05, Decision::Within, 30),
            (0.0, 0.01, Decision::Within, 70),
            (0.01, 0.05, Decision::Within, 60),
        ] {
            let (found, after) = decided(&mut random, &vec![share; 300], tolerated);
            assert!(found == Some(decision) && after <= windows, "{share} of {tolerated}: {found:?} after {after}");
        }
    }

    /// A stall in the first second makes half of its windows slow; nothing is decided before it has passed.
    #[test]
    fn one_disturbance_decides_nothing() {
        let mut test = Sequential::new(0.01, 0.05);
        for window in 0..100 {
            test.add(if (3..8).contains(&window) { 20 } else { 0 }, 20);
            assert_eq!(test.decision(), None, "{window}");
        }
    }

    #[test]
    fn none_tolerated_is_decided_by_the_first() {
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
    fn a_long_run_is_kept_in_few_windows_and_loses_nothing() {
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
