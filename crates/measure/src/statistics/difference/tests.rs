//! Tests of differences and conclusions.

use super::super::{ALPHA, Estimate, normal, runs_needed};
use super::*;
use crate::values::random::Random;

/// Returns rate, p50 and p99 of `runs` runs. The three metrics vary together from run to run by 1 %. In addition, each
/// varies a little independently.
fn runs(random: &mut Random, runs: usize, slower: f64) -> [Vec<f64>; 3] {
    let mut metrics = [const { Vec::new() }; 3];
    for _ in 0..runs {
        let mut deviation = || normal::quantile(random.unit());
        let level = 0.01 * deviation();
        metrics[0].push(1000.0 / (1.0 + slower) * (-level).exp());
        metrics[1].push(20e6 * (1.0 + slower) * (level + 0.002 * deviation()).exp());
        metrics[2].push(31e6 * (1.0 + slower) * (level + 0.01 * deviation()).exp());
    }
    metrics
}

fn conclusions(base: &[Vec<f64>; 3], new: &[Vec<f64>; 3], margin: f64) -> [Conclusion; 3] {
    let improves = [Improves::Upwards, Improves::Downwards, Improves::Downwards];
    let compared = [0, 1, 2].map(|index| Compared {
        difference: Difference::of_runs(&base[index], &new[index], Scale::Relative),
        margin,
        improves: improves[index],
    });
    let found = conclude_all(&compared);
    [0, 1, 2].map(|index| found[index].1)
}

#[test]
fn equal_targets_are_called_different_at_most_once_in_twenty() {
    let mut random = Random::new(51);
    let called = (0..100).filter(|_| {
        let (base, new) = (runs(&mut random, 8, 0.0), runs(&mut random, 8, 0.0));
        let found = conclusions(&base, &new, 0.0);
        found.iter().any(|conclusion| *conclusion != Conclusion::Inconclusive)
    });
    let called = called.count();
    assert!(called <= 10, "{called} of 100, seed 51");
}

#[test]
fn targets_slower_by_5_percent_are_found_with_the_runs_needed() {
    let mut random = Random::new(52);
    let needed = runs_needed(3) as usize;
    assert_eq!(needed, 5);
    let found = (0..100).filter(|_| {
        let (base, new) = (runs(&mut random, needed, 0.0), runs(&mut random, needed, 0.05));
        let found = conclusions(&base, &new, 0.02);
        assert!(!found.contains(&Conclusion::Better) && !found.contains(&Conclusion::Equivalent), "{found:?}, seed 52");
        found[1] == Conclusion::Worse && found[0] == Conclusion::Worse
    });
    let found = found.count();
    assert!(found >= 90, "{found} of 100, seed 52");
}

#[test]
fn small_differences_are_equivalent() {
    let mut random = Random::new(53);
    let (base, new) = (runs(&mut random, 10, 0.0), runs(&mut random, 10, 0.0));
    assert_eq!(conclusions(&base, &new, 0.05), [Conclusion::Equivalent; 3], "seed 53");
    let same = Difference::of_runs(&[1.0; 4], &[1.0; 4], Scale::Relative).unwrap();
    assert_eq!(same, Difference { change: 0.0, interval: Some((0.0, 0.0)), p: None });
    assert_eq!(same.conclude(None, 0.0, Improves::Upwards), Conclusion::Equivalent);
    let few = Difference::of_runs(&[1.0; 2], &[1.0; 2], Scale::Relative).unwrap();
    assert_eq!(few.conclude(None, 0.0, Improves::Upwards), Conclusion::Inconclusive);
}

#[test]
fn no_conclusion_is_better_while_success_may_have_dropped() {
    let metric = |conclusion, is_success, change| {
        let difference = Some(Difference { change, interval: None, p: None });
        let compared = Compared { difference, margin: 0.001, improves: Improves::Upwards };
        Concluded { compared, conclusion, is_success }
    };
    use Conclusion::{Better, Equivalent, Inconclusive, Worse};
    let better = metric(Better, false, 0.5);
    let together = |success| conclude_together(&[success, better]);
    assert_eq!(together(metric(Inconclusive, true, -0.05)), Inconclusive);
    assert_eq!(
        together(metric(Inconclusive, true, -0.0005)),
        Better,
        "a drop of success within the margin does not matter"
    );
    assert_eq!(together(metric(Inconclusive, true, 0.05)), Better);
    assert_eq!(
        together(metric(Inconclusive, false, -0.05)),
        Better,
        "only a drop in success prevents the conclusion `Better`"
    );
    assert_eq!(together(metric(Worse, true, -0.05)), Worse);
    assert_eq!(conclude_together(&[metric(Equivalent, true, 0.0)]), Equivalent);
    assert_eq!(conclude_together(&[]), Inconclusive);
}

#[test]
fn intervals_of_two_runs_recover_both_variances() {
    let around = |value: f64, half: f64| Estimate { value, low: value / half, high: value * half };
    // The logarithms have errors of ± 0.03 and ± 0.04, so their difference has an error of ± 0.05.
    let (base, new) = (around(100.0, 0.03_f64.exp()), around(110.0, 0.04_f64.exp()));
    let found = Difference::of_estimates(base, new).unwrap();
    let (low, high) = found.interval.unwrap();
    assert!((found.change - 0.1).abs() < 1e-12, "{found:?}");
    assert!((low - (1.1 * (-0.05_f64).exp() - 1.0)).abs() < 1e-12, "{found:?}");
    assert!((high - (1.1 * 0.05_f64.exp() - 1.0)).abs() < 1e-12, "{found:?}");
    // z = ln 1.1 / (0.05 / 1.96) = 3.736.
    assert!((found.p.unwrap() / 1.869e-4 - 1.0).abs() < 0.01, "{found:?}");
    assert_eq!(found.conclude(found.p, 0.02, Improves::Downwards), Conclusion::Worse);
    assert_eq!(found.conclude(found.p, 0.02, Improves::Upwards), Conclusion::Better);
    assert_eq!(found.conclude(found.p, 0.2, Improves::Upwards), Conclusion::Equivalent);
    assert_eq!(found.conclude(Some(0.06), 0.02, Improves::Upwards), Conclusion::Inconclusive);
}

#[test]
fn intervals_that_end_at_zero_have_the_p_value_alpha() {
    let base = Estimate { value: 100.0, low: 100.0, high: 100.0 };
    let new = Estimate { value: 105.0, low: 100.0, high: 115.0 };
    let p = Difference::of_estimates(base, new).and_then(|difference| difference.p).unwrap();
    assert!((p - ALPHA).abs() < 1e-9, "{p}");
    assert_eq!(Difference::of_estimates(base, base).unwrap().p, None);
    assert_eq!(Difference::of_estimates(Estimate { low: 0.0, ..base }, new), None);
}

#[test]
fn values_not_defined_on_the_scale_are_not_compared() {
    for odd in [-1.0, f64::NAN] {
        assert_eq!(Difference::of_runs(&[1.0, odd], &[1.0, 2.0], Scale::Relative), None, "{odd}");
    }
    assert_eq!(Difference::of_runs(&[], &[1.0], Scale::Relative), None);
    assert_eq!(Difference::of_pairs(&[1.0], &[1.0, 2.0], Scale::Absolute), None);
    assert_eq!(Difference::of_pairs(&[], &[], Scale::Absolute), None);
}

#[test]
fn failed_runs_have_the_last_rank() {
    let (base, dead) = ([20.0, 20.2, 20.4, 20.6, 20.8, 21.0], [f64::INFINITY; 6]);
    let of = |base: &[f64], new: &[f64]| Difference::of_runs(base, new, Scale::Relative).unwrap();
    let found = of(&base, &dead);
    assert_eq!((found.change, found.conclude(found.p, 0.02, Improves::Downwards)), (f64::INFINITY, Conclusion::Worse));
    let back = of(&dead, &base);
    assert_eq!((back.change, back.conclude(back.p, 0.02, Improves::Downwards)), (-1.0, Conclusion::Better));
    // The rate of a run in which nothing succeeded is 0.
    let found = of(&base, &[0.0; 6]);
    assert_eq!((found.change, found.conclude(found.p, 0.02, Improves::Upwards)), (-1.0, Conclusion::Worse));
    // If one run in six is infinite, the runs are no longer equivalent, although the median is the same.
    let mut one = base;
    one[2] = f64::INFINITY;
    let found = of(&base, &one);
    assert_eq!(found.conclude(found.p, 0.05, Improves::Downwards), Conclusion::Inconclusive, "{found:?}");
    assert_eq!(of(&dead, &dead), Difference { change: 0.0, interval: Some((0.0, 0.0)), p: None });
}

#[test]
fn a_run_in_which_everything_failed_is_slower_than_any_other() {
    let exactly = |value: f64| Estimate { value, low: value, high: value };
    let some = Estimate { value: 100.0, low: 99.0, high: 101.0 };
    let found = Difference::of_estimates(some, exactly(f64::INFINITY)).unwrap();
    assert_eq!(found.conclude(found.p, 0.02, Improves::Downwards), Conclusion::Worse);
    let found = Difference::of_estimates(some, exactly(0.0)).unwrap();
    assert_eq!((found.change, found.conclude(found.p, 0.02, Improves::Upwards)), (-1.0, Conclusion::Worse));
    assert_eq!(Difference::of_estimates(exactly(0.0), exactly(0.0)).unwrap().change, 0.0);
    assert_eq!(Difference::of_estimates(some, Estimate { high: f64::INFINITY, ..some }), None);
}

#[test]
fn pairs_cancel_changes_that_affect_both_runs() {
    let mut random = Random::new(54);
    let levels: Vec<f64> = (0..8).map(|_| 10e6 * (1.0 + 4.0 * random.unit())).collect();
    let slower: Vec<f64> = levels.iter().map(|level| level + 1e6 + 1e4 * random.unit()).collect();
    let found = Difference::of_pairs(&levels, &slower, Scale::Absolute).unwrap();
    let (low, high) = found.interval.unwrap();
    assert!(1e6 <= low && low <= found.change && found.change <= high && high <= 1.01e6, "{found:?}, seed 54");
    assert_eq!(found.conclude(found.p, 1e5, Improves::Downwards), Conclusion::Worse);
    let unpaired = Difference::of_runs(&levels, &slower, Scale::Absolute).unwrap();
    assert_eq!(unpaired.conclude(unpaired.p, 1e5, Improves::Downwards), Conclusion::Inconclusive);
    let (least, most) = range_of_pairs(&levels, &slower, Scale::Absolute).unwrap();
    assert!(least <= low && high <= most);
    assert_eq!(Difference::of_pairs(&levels[..3], &slower[..3], Scale::Relative).unwrap().interval, None);
}

#[test]
fn equal_pairs_are_called_different_at_most_once_in_twenty() {
    let mut random = Random::new(55);
    let mut side = |levels: &[f64]| {
        levels.iter().map(|level| level * (0.02 * normal::quantile(random.unit())).exp()).collect::<Vec<f64>>()
    };
    let differing = (0..1000_u64).filter(|round| {
        let levels: Vec<f64> = (0..10_u64).map(|pair| (1 + (round * 7 + pair * 13) % 10) as f64).collect();
        Difference::of_pairs(&side(&levels), &side(&levels), Scale::Relative).unwrap().p.unwrap() <= ALPHA
    });
    let differing = differing.count();
    assert!((10..=60).contains(&differing), "{differing} of 1,000, seed 55");
}

#[test]
fn a_difference_of_one_step_is_not_decided() {
    // In a window of 1 s, each slot completes five operations of 199 ms, but only four operations of 201 ms.
    let found = Difference::of_runs(&[50.0; 6], &[40.0; 6], Scale::Relative).unwrap();
    assert_eq!(found.conclude(found.p, 0.02, Improves::Upwards), Conclusion::Worse);
    let known = found.in_steps(0.25);
    assert_eq!((known.change, known.p), (found.change, Some(1.0)));
    let (low, high) = known.interval.unwrap();
    assert!((low + 0.36).abs() < 1e-9 && high.abs() < 1e-9, "{known:?}");
    assert_eq!(known.conclude(known.p, 0.02, Improves::Upwards), Conclusion::Inconclusive);
    // A difference of more than a step remains.
    let found = Difference::of_runs(&[50.0; 6], &[30.0; 6], Scale::Relative).unwrap().in_steps(0.25);
    assert_eq!(found.conclude(found.p, 0.02, Improves::Upwards), Conclusion::Worse);
    let exact = Difference::of_runs(&[50.0; 6], &[40.0; 6], Scale::Relative).unwrap();
    assert_eq!(exact.in_steps(0.0), exact);
}
