//! Difference between the shares of success of two sets of runs.
//!
//! The counts of each side are pooled, but the observations are units: whole runs, or windows of a single run. The
//! operations of a unit tend to fail together. The binomial variance of the pooled counts is therefore multiplied by
//! the dispersion of the units' shares, which is at least 1 (quasi-likelihood: P. McCullagh and J. A. Nelder,
//! "Generalized Linear Models", 2nd ed. 1989, §4.5). Student's t accounts for the small number of units. Rank tests are
//! not used, because they could not decide with fewer than 4 runs per side.

use super::difference::Difference;
use super::series::autocorrelation;
use super::{CONFIDENCE, student};

/// Operations of one run, or of one window of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Share {
    /// Operations that succeeded.
    pub ok: f64,
    /// Operations that succeeded or failed.
    pub of: f64,
}

/// Minimum difference that is tested if each side has only one unit. The variation of units is then unknown. A smaller
/// difference may be due to an event shorter than the run.
const GAP_MIN: f64 = 0.5;

/// Dependence between neighboring units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Units {
    /// Units are runs, which are independent.
    Independent,
    /// Units are consecutive windows of one run, which may depend on each other.
    Consecutive,
}

/// Returns the sums over all units.
fn pooled(units: &[Share]) -> Share {
    units.iter().fold(Share::default(), |sum, unit| Share { ok: sum.ok + unit.ok, of: sum.of + unit.of })
}

/// Returns the share of all operations that succeeded; `None` if no operation counts.
#[must_use]
pub fn share(units: &[Share]) -> Option<f64> {
    let all = pooled(units);
    (all.of > 0.0).then(|| all.ok / all.of)
}

/// Returns the difference of the shares, new − base. `None` if there is a side on which no operation counts.
///
/// If all operations succeeded on one side and none succeeded on the other side, the p-value is exact (R. A. Fisher's
/// test). Only the observed result and its mirror image are so extreme. The exact p-value is therefore 2 divided by the
/// number of ways to choose which operations succeed. In all other cases, the p-value is computed from the t statistic,
/// with the number of units minus 2 as degrees of freedom. With a single unit per side, the variation of units is
/// unknown. With one unit per side, only differences of one half or more are tested, by the normal approximation with
/// continuity correction.
///
/// The interval combines the Wilson intervals of both shares for the effective number of operations (R. G. Newcombe,
/// "Interval estimation for the difference between independent proportions", Statistics in Medicine 17 (1998), 873–890,
/// method 10).
#[must_use]
pub fn difference(base: &[Share], new: &[Share], order: Units) -> Option<Difference> {
    let judged = |units: &[Share]| units.iter().copied().filter(|unit| unit.of > 0.0).collect::<Vec<Share>>();
    let (base, new) = (judged(base), judged(new));
    let (all, other) = (pooled(&base), pooled(&new));
    let (one, two) = (share(&base)?, share(&new)?);
    let change = two - one;
    if one == two && (one == 0.0 || one == 1.0) {
        return Some(Difference { change: 0.0, interval: Some((0.0, 0.0)), p: None });
    }
    let freedom = (base.len() + new.len() - 2) as u64;
    let dispersion = dispersion(&base, &new, order).unwrap_or(1.0);
    let exact = (change.abs() == 1.0).then(|| separate(all.of, other.of));
    let t = statistic(all, other, if freedom == 0 { 1.0 } else { 0.0 }) / dispersion.sqrt();
    let p = match freedom {
        _ if exact.is_some() => exact,
        0 => (change.abs() >= GAP_MIN).then(|| student::beyond(t, u64::MAX)),
        _ => Some(student::beyond(t, freedom)),
    };
    let interval = (freedom > 0 || p.is_some()).then(|| {
        let wide = student::quantile(0.5 + CONFIDENCE / 2.0, if freedom == 0 { u64::MAX } else { freedom });
        let ((low, high), (other_low, other_high)) =
            (wilson(one, all.of / dispersion, wide), wilson(two, other.of / dispersion, wide));
        (change - (two - other_low).hypot(high - one), change + (other_high - two).hypot(one - low))
    });
    Some(Difference { change, interval, p })
}

/// Returns the difference of two pooled shares, divided by its standard error for independent operations. `correction`
/// is 1 with continuity correction, else 0.
fn statistic(one: Share, two: Share, correction: f64) -> f64 {
    let middle = (one.ok + two.ok) / (one.of + two.of);
    let weights = 1.0 / one.of + 1.0 / two.of;
    let distance = ((two.ok / two.of - one.ok / one.of).abs() - correction * weights / 2.0).max(0.0);
    distance / (middle * (1.0 - middle) * weights).sqrt()
}

/// Returns the dispersion: the variance of the units' shares, divided by the variance that they would have if
/// operations were independent. The ratio is at least 1. `None` if no unit could vary.
fn dispersion(base: &[Share], new: &[Share], order: Units) -> Option<f64> {
    let freedom = (base.len() + new.len()).checked_sub(2).filter(|freedom| *freedom > 0)?;
    let (base, new) = (residuals(base), residuals(new));
    let squares: f64 = base.iter().chain(&new).map(|residual| residual * residual).sum();
    let correlation = match order {
        Units::Independent => 0.0,
        Units::Consecutive => {
            let weigh = |residuals: &[f64]| autocorrelation(residuals, 1) * residuals.len() as f64;
            // The estimate of ρ from n values is too low by about (1 + 4ρ) / n (F. H. C. Marriott and J. A. Pope 1954).
            let units = (base.len() + new.len()) as f64;
            let rho = (weigh(&base) + weigh(&new)) / units;
            if squares > 0.0 { (rho + (1.0 + 4.0 * rho) * 2.0 / units).clamp(0.0, CORRELATION_MAX) } else { 0.0 }
        }
    };
    let dispersion = squares / freedom as f64 * (1.0 + correlation) / (1.0 - correlation);
    Some(dispersion.max(1.0))
}

/// Upper limit for the estimated correlation of neighboring windows. At this limit, the dispersion increases by a
/// factor of 19.
const CORRELATION_MAX: f64 = 0.9;

/// Returns the Pearson residuals of the units around the pooled share.
fn residuals(units: &[Share]) -> Vec<f64> {
    let middle = share(units).unwrap_or(0.0);
    let spread = middle * (1.0 - middle);
    let residual = |unit: &Share| (unit.ok - unit.of * middle) / (unit.of * spread).sqrt();
    if spread > 0.0 { units.iter().map(residual).collect() } else { vec![0.0; units.len()] }
}

/// Returns the two-sided probability that chance alone separates the sides completely. That means that all operations
/// of one side (`successes`) succeed, and all operations of the other side (`failures`) fail. This probability is 2 /
/// C(successes + failures, successes).
fn separate(successes: f64, failures: f64) -> f64 {
    let (fewer, more) = (successes.min(failures), successes.max(failures));
    let (mut p, mut chosen) = (2.0, 1.0);
    // Each factor is at most 1/2, so the loop ends after about 1,000 steps at most.
    while chosen <= fewer && p > f64::MIN_POSITIVE {
        p *= chosen / (more + chosen);
        chosen += 1.0;
    }
    f64::min(p, 1.0)
}

/// Returns the Wilson interval of a share of `count` operations. `wide` is its half-width in standard errors.
fn wilson(share: f64, count: f64, wide: f64) -> (f64, f64) {
    let squared = wide * wide / count;
    let middle = (share + squared / 2.0) / (1.0 + squared);
    let half = wide / (1.0 + squared) * (share * (1.0 - share) / count + squared / (4.0 * count)).sqrt();
    ((middle - half).max(0.0), (middle + half).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::super::ALPHA;
    use super::super::series::tests::autoregressive;
    use super::*;
    use crate::values::random::Random;

    fn units(shares: &[f64], of: f64) -> Vec<Share> {
        shares.iter().map(|share| Share { ok: (share * of).round(), of }).collect()
    }

    fn p(base: &[Share], new: &[Share]) -> f64 {
        difference(base, new, Units::Independent).unwrap().p.unwrap()
    }

    #[test]
    fn any_number_of_runs_decides_between_all_and_nothing() {
        for runs in [1, 2, 6] {
            let (well, dead) = (units(&vec![1.0; runs], 50.0), units(&vec![0.0; runs], 50.0));
            let found = difference(&well, &dead, Units::Independent).unwrap();
            assert!(found.change == -1.0 && found.p.unwrap() < 1e-9, "{runs} runs: {found:?}");
            assert!(found.interval.unwrap().1 < -0.75, "{runs} runs: {found:?}");
        }
        // The p-value is 2 / C(8, 4) = 2 / 70.
        assert!((p(&units(&[1.0], 4.0), &units(&[0.0], 4.0)) - 2.0 / 70.0).abs() < 1e-12);
        assert!((p(&units(&[1.0], 1.0), &units(&[0.0], 1.0)) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn one_failed_run_in_six_may_be_chance() {
        let (base, new) = (units(&[1.0; 6], 1000.0), units(&[1.0, 1.0, 1.0, 0.0, 1.0, 1.0], 1000.0));
        let found = difference(&base, &new, Units::Independent).unwrap();
        assert!((found.change + 1.0 / 6.0).abs() < 1e-12, "{found:?}");
        assert!(found.p.unwrap() > ALPHA && found.interval.unwrap().0 < -0.3, "{found:?}");
        let half = units(&[1.0, 0.0, 1.0, 0.0, 0.0, 1.0], 1000.0);
        assert!(p(&base, &half) < ALPHA, "{}", p(&base, &half));
    }

    #[test]
    fn two_runs_per_side_show_differences_beyond_their_spread() {
        let ten = |shares: &[f64]| units(shares, 10_000.0);
        assert!(p(&ten(&[1.0, 1.0]), &ten(&[0.9, 0.9])) < 0.01);
        assert!(p(&ten(&[1.0, 1.0]), &ten(&[1.0, 0.9])) > 0.2);
        assert!(p(&ten(&[1.0, 0.9]), &ten(&[0.9, 0.8])) > 0.2);
    }

    #[test]
    fn one_unit_per_side_shows_large_differences_only() {
        let of = |base: f64, new: f64| difference(&units(&[base], 500.0), &units(&[new], 500.0), Units::Consecutive);
        assert_eq!(of(1.0, 0.9).unwrap().p, None);
        assert!(of(1.0, 0.01).unwrap().p.unwrap() < 1e-6);
        assert_eq!(difference(&units(&[1.0], 0.0), &units(&[1.0], 9.0), Units::Independent), None);
        let same = difference(&units(&[1.0], 9.0), &units(&[1.0; 3], 9.0), Units::Independent).unwrap();
        assert_eq!(same, Difference { change: 0.0, interval: Some((0.0, 0.0)), p: None });
    }

    #[test]
    fn bursts_of_failures_in_a_short_run_are_one_event() {
        let mut burst = vec![1.0; 10];
        let found = |new: &[f64]| difference(&units(&[1.0; 10], 100.0), &units(new, 100.0), Units::Consecutive);
        burst[3] = 0.0;
        assert!(found(&burst).unwrap().p.unwrap() > ALPHA);
        burst[4..7].fill(0.0);
        assert!(found(&burst).unwrap().p.unwrap() > ALPHA, "{:?}", found(&burst));
        assert!(found(&[0.5; 10]).unwrap().p.unwrap() < 1e-6);
    }

    #[test]
    fn equal_targets_are_called_different_at_most_once_in_twenty() {
        let mut random = Random::new(71);
        // Success rates of runs, in three cases: hardly any failures; failures of 0 to 4 %; a few runs in which all
        // operations failed.
        let levels: [fn(&mut Random) -> f64; 3] =
            [|_| 0.999, |random| 1.0 - 0.04 * random.unit(), |random| if random.unit() < 0.15 { 0.0 } else { 0.9995 }];
        for (number, level) in levels.iter().enumerate() {
            for runs in [2, 3, 6] {
                let side = |random: &mut Random| -> Vec<Share> {
                    let mut run = |_| {
                        let share = level(random);
                        let ok = (0..400).filter(|_| random.unit() < share).count();
                        Share { ok: ok as f64, of: 400.0 }
                    };
                    (0..runs).map(&mut run).collect()
                };
                let differing = (0..1000).filter(|_| {
                    let (base, new) = (side(&mut random), side(&mut random));
                    difference(&base, &new, Units::Independent).unwrap().p.is_some_and(|p| p <= ALPHA)
                });
                let differing = differing.count();
                assert!(differing <= 65, "{differing} of 1,000: process {number}, {runs} runs per side, seed 71");
            }
        }
    }

    #[test]
    fn equal_runs_with_dependent_seconds_are_called_different_at_most_once_in_twenty() {
        for (rho, windows, seed) in [(0.0, 60, 72), (0.5, 60, 73), (0.5, 20, 74), (0.8, 300, 75)] {
            let mut random = Random::new(seed);
            let mut run = || -> Vec<Share> {
                let levels = autoregressive(&mut random, windows, rho);
                let share = |level: f64| (0.95 + 0.02 * level).clamp(0.0, 1.0);
                levels.into_iter().map(|level| Share { ok: share(level) * 200.0, of: 200.0 }).collect()
            };
            let differing = (0..1000)
                .filter(|_| difference(&run(), &run(), Units::Consecutive).unwrap().p.is_some_and(|p| p <= ALPHA))
                .count();
            assert!(differing <= 80, "{differing} of 1,000: correlation {rho}, {windows} windows, seed {seed}");
        }
    }

    #[test]
    fn intervals_contain_the_true_difference() {
        let mut random = Random::new(76);
        let mut side = |share: f64| -> Vec<Share> {
            let run = |_| {
                let share = share + 0.02 * (random.unit() - 0.5);
                Share { ok: (0..300).filter(|_| random.unit() < share).count() as f64, of: 300.0 }
            };
            (0..6).map(run).collect()
        };
        let held = (0..1000).filter(|_| {
            let (low, high) = difference(&side(0.95), &side(0.9), Units::Independent).unwrap().interval.unwrap();
            low <= -0.05 && -0.05 <= high
        });
        let held = held.count();
        assert!((930..=985).contains(&held), "{held} of 1,000, seed 76");
    }
}
