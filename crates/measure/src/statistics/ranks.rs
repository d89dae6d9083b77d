//! Rank tests for two sets of runs. The tests assume nothing about the distribution of a metric.
//!
//! A run is one observation, even if it has many operations. Some variation occurs only between runs, for example in
//! caches, in the placement of processes, or because of other users of the machine.

use super::{ALPHA, median, normal};

/// Maximum number of runs, both sides together, for which p-values are exact.
const EXACT_MAX: usize = 60;
/// Maximum number of runs per side. The limit is needed because the difference of each pair of runs is computed.
pub const RUNS_MAX: usize = 1000;

/// Returns the two-sided p-value of the Mann-Whitney test. The p-value is the probability that the ranks are at least
/// as far apart as these if the two sets do not differ. `None` if a set is empty.
///
/// For up to 60 runs, the p-value is exact, even with ties. The exact p-value is computed from the distribution of the
/// rank sum over all ways to divide the runs into two sets, given their midranks (B. Streitberg and J. Röhmel, "Exact
/// distributions for permutation and rank tests", Statistical Software Newsletter 12 (1986), 10–17). For more runs, the
/// p-value is the normal approximation with continuity and tie correction (E. L. Lehmann, "Nonparametrics", 1975,
/// §1.4).
#[must_use]
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let ranks = doubled_midranks(a, b);
    let sum: usize = ranks[..a.len()].iter().sum();
    Some(if ranks.len() <= EXACT_MAX { exact(&ranks, a.len(), sum) } else { approximate(&ranks, a.len(), sum) })
}

/// Returns twice the rank of each value, starting with the values of `a`. Equal values share the mean of their ranks.
fn doubled_midranks(a: &[f64], b: &[f64]) -> Vec<usize> {
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    let mut sorted = all.clone();
    sorted.sort_by(f64::total_cmp);
    let midrank = |value: &f64| {
        let below = sorted.partition_point(|other| other.total_cmp(value).is_lt());
        let up_to = sorted.partition_point(|other| other.total_cmp(value).is_le());
        below + 1 + up_to
    };
    all.iter().map(midrank).collect()
}

/// Returns the number of ways to choose `chosen` of these ranks, indexed by the sum of the chosen ranks.
fn ways(ranks: &[usize], chosen: usize) -> Vec<f64> {
    let total: usize = ranks.iter().sum();
    let mut ways = vec![vec![0.0; total + 1]; chosen + 1];
    ways[0][0] = 1.0;
    for rank in ranks {
        for taken in (1..=chosen).rev() {
            let (fewer, more) = ways.split_at_mut(taken);
            let (from, to) = (&fewer[taken - 1], &mut more[0]);
            to.iter_mut().skip(*rank).zip(from).for_each(|(to, from)| *to += from);
        }
    }
    ways.pop().unwrap_or_default()
}

fn exact(ranks: &[usize], chosen: usize, sum: usize) -> f64 {
    let expected = chosen * ranks.iter().sum::<usize>();
    // Sums are multiplied by the number of ranks, so that the expected sum is a whole number.
    let distance = |sum: usize| (sum * ranks.len()).abs_diff(expected);
    let ways = ways(ranks, chosen);
    let far: f64 = ways.iter().enumerate().filter(|(at, _)| distance(*at) >= distance(sum)).map(|(_, ways)| ways).sum();
    (far / ways.iter().sum::<f64>()).min(1.0)
}

fn approximate(ranks: &[usize], chosen: usize, sum: usize) -> f64 {
    let (n, k) = (ranks.len() as f64, chosen as f64);
    let mean = n + 1.0;
    let spread = ranks.iter().map(|rank| (*rank as f64 - mean).powi(2)).sum::<f64>();
    let variance = k * (n - k) * spread / (n * (n - 1.0));
    // Rank sums differ by at least 1, and doubled rank sums by at least 2. The continuity correction is half of this.
    let distance = ((sum as f64 - k * mean).abs() - 1.0).max(0.0);
    if variance > 0.0 { (2.0 * normal::above(distance / variance.sqrt())).min(1.0) } else { 1.0 }
}

/// Hodges-Lehmann estimate of a location or of a shift. The estimate is infinite if most of the differences are
/// infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// The estimate.
    pub value: f64,
    /// Interval that contains the true value with probability [`super::CONFIDENCE`]. `None` if there are fewer than 4
    /// runs per side, or fewer than 6 pairs.
    pub interval: Option<(f64, f64)>,
}

/// Returns `b` − `a`. The difference of two infinite values is 0, for example if all operations of both runs failed.
#[must_use]
pub fn minus(b: f64, a: f64) -> f64 {
    if a == b { 0.0 } else { b - a }
}

/// Returns the Hodges-Lehmann estimate of the shift from `a` to `b`, with the interval of the Mann-Whitney test. The
/// ends of the interval are two of the sorted pairwise differences (M. Hollander, D. A. Wolfe and E. Chicken,
/// "Nonparametric Statistical Methods", 3rd ed. 2014, §4.2 and §4.3). `None` if a set is empty or has more than
/// [`RUNS_MAX`] runs.
#[must_use]
pub fn hodges_lehmann(a: &[f64], b: &[f64]) -> Option<Shift> {
    if a.len() > RUNS_MAX || b.len() > RUNS_MAX {
        return None;
    }
    let differences = b.iter().flat_map(|b| a.iter().map(move |a| minus(*b, *a))).collect();
    shift(differences, interval_rank(a.len(), b.len()))
}

/// Returns the median of `values`. If `rank` is above 0, also returns the interval between the `rank`-th smallest and
/// the `rank`-th largest value.
fn shift(mut values: Vec<f64>, rank: usize) -> Option<Shift> {
    values.sort_by(f64::total_cmp);
    let value = median(values.clone()).filter(|value| !value.is_nan())?;
    let interval = (rank > 0).then(|| (values[rank - 1], values[values.len() - rank]));
    Some(Shift { value, interval })
}

/// Returns the two-sided p-value of Wilcoxon's signed-rank test. The p-value is the probability of a rank sum at least
/// as extreme as this one if each difference is equally likely to be positive or negative. `None` if `differences` is
/// empty.
///
/// Differences of 0 have ranks but count for neither side (J. W. Pratt, "Remarks on zeros and ties in the Wilcoxon
/// signed rank procedures", JASA 54 (1959), 655–667). For up to 60 pairs, the p-value is exact, even with ties. The
/// exact p-value is computed from the distribution of the rank sum over all combinations of signs, given the midranks.
/// For more pairs, the p-value is the normal approximation with continuity correction (E. L. Lehmann, "Nonparametrics",
/// 1975, §3.2).
#[must_use]
pub fn signed_rank(differences: &[f64]) -> Option<f64> {
    if differences.is_empty() {
        return None;
    }
    let sizes: Vec<f64> = differences.iter().map(|difference| difference.abs()).collect();
    let ranks = doubled_midranks(&sizes, &[]);
    let signed = || ranks.iter().zip(differences).filter(|(_, difference)| **difference != 0.0);
    let signed_ranks: Vec<usize> = signed().map(|(rank, _)| *rank).collect();
    let all: usize = signed_ranks.iter().sum();
    let above: usize = signed().filter(|(_, difference)| **difference > 0.0).map(|(rank, _)| rank).sum();
    if signed_ranks.len() > EXACT_MAX {
        let variance = signed_ranks.iter().map(|rank| (*rank as f64).powi(2)).sum::<f64>() / 4.0;
        let distance = ((above as f64 - all as f64 / 2.0).abs() - 1.0).max(0.0);
        return Some((2.0 * normal::above(distance / variance.sqrt())).min(1.0));
    }
    let ways = sign_ways(&signed_ranks);
    let distance = |sum: usize| (2 * sum).abs_diff(all);
    let far: f64 =
        ways.iter().enumerate().filter(|(sum, _)| distance(*sum) >= distance(above)).map(|(_, ways)| ways).sum();
    Some((far / ways.iter().sum::<f64>()).min(1.0))
}

/// Returns the number of ways to choose a subset of these ranks, indexed by the sum of the chosen ranks.
fn sign_ways(ranks: &[usize]) -> Vec<f64> {
    let mut ways = vec![0.0; ranks.iter().sum::<usize>() + 1];
    ways[0] = 1.0;
    for rank in ranks {
        (*rank..ways.len()).rev().for_each(|sum| ways[sum] += ways[sum - rank]);
    }
    ways
}

/// Returns the Hodges-Lehmann estimate of the center of the differences of pairs, with the interval of the signed-rank
/// test. The ends of the interval are two of the sorted means of two differences (Hollander, Wolfe and Chicken 2014,
/// §3.2 and §3.3). `None` without pairs, or with more than [`RUNS_MAX`] pairs.
#[must_use]
pub fn paired_shift(differences: &[f64]) -> Option<Shift> {
    if differences.len() > RUNS_MAX {
        return None;
    }
    let mean = |a: f64, b: f64| if a == -b { 0.0 } else { f64::midpoint(a, b) };
    let upwards = |from: usize| differences[from..].iter().map(move |other| mean(differences[from], *other));
    shift((0..differences.len()).flat_map(upwards).collect(), paired_rank(differences.len()))
}

/// Returns the largest k with P(T < k) ≤ α / 2, or 0 if there is none. T is the rank sum for this number of pairs
/// without ties.
fn paired_rank(pairs: usize) -> usize {
    let n = pairs as f64;
    if pairs > EXACT_MAX {
        let spread = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
        return (n * (n + 1.0) / 4.0 - normal::quantile(1.0 - ALPHA / 2.0) * spread).max(0.0) as usize;
    }
    let ways = sign_ways(&(1..=pairs).collect::<Vec<_>>());
    let all: f64 = ways.iter().sum();
    let mut below = 0.0;
    let within = ways.iter().take_while(|ways| {
        below += **ways;
        below <= ALPHA / 2.0 * all
    });
    within.count()
}

/// Returns the largest k with P(U < k) ≤ α / 2, or 0 if there is none. U is the Mann-Whitney statistic for sets of
/// these sizes without ties.
fn interval_rank(a: usize, b: usize) -> usize {
    let (n, pairs) = (a + b, a * b);
    if n > EXACT_MAX {
        let spread = (pairs as f64 * (n + 1) as f64 / 12.0).sqrt();
        let rank = pairs as f64 / 2.0 - normal::quantile(1.0 - ALPHA / 2.0) * spread;
        return rank.max(0.0) as usize;
    }
    let ways = ways(&(1..=n).collect::<Vec<_>>(), a);
    let all: f64 = ways.iter().sum();
    let least = a * (a + 1) / 2;
    let mut below = 0.0;
    let within = ways[least..].iter().take_while(|ways| {
        below += **ways;
        below <= ALPHA / 2.0 * all
    });
    within.count()
}

/// Returns p-values after Holm's correction, in the order given. If all null hypotheses are true, the probability that
/// any corrected p-value is below α is at most α (S. Holm, "A simple sequentially rejective multiple test procedure",
/// Scandinavian Journal of Statistics 6 (1979), 65–70).
#[must_use]
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![1.0; p.len()];
    let mut largest = 0.0_f64;
    for (rank, index) in order.into_iter().enumerate() {
        largest = largest.max((p.len() - rank) as f64 * p[index]).min(1.0);
        adjusted[index] = largest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::random::Random;

    /// Computes the p-value by its definition, over all ways to divide the values into sets of these sizes.
    fn brute_force(a: &[f64], b: &[f64]) -> f64 {
        let all: Vec<f64> = a.iter().chain(b).copied().collect();
        let rank = |value: &f64| {
            let (below, equal) = all.iter().fold((0, 0), |(below, equal), other| {
                (below + usize::from(other < value), equal + usize::from(other == value))
            });
            below as f64 + (equal as f64 + 1.0) / 2.0
        };
        let ranks: Vec<f64> = all.iter().map(rank).collect();
        let mean = a.len() as f64 * (all.len() + 1) as f64 / 2.0;
        let distance = |set: u32| {
            let sum: f64 = (0..all.len()).filter(|index| set >> index & 1 == 1).map(|index| ranks[index]).sum();
            (sum - mean).abs()
        };
        let observed = distance((1 << a.len()) - 1);
        let sets: Vec<u32> = (0..1_u32 << all.len()).filter(|set| set.count_ones() as usize == a.len()).collect();
        sets.iter().filter(|set| distance(**set) >= observed - 1e-9).count() as f64 / sets.len() as f64
    }

    #[test]
    fn p_values_agree_with_all_permutations() {
        let mut random = Random::new(41);
        for a in 1..=6 {
            for b in 1..=6 {
                // Samples drawn from few different values contain ties. Samples drawn from many values contain none.
                for values in [3, 1_000_000] {
                    let mut draw = |count: usize| (0..count).map(|_| random.below(values) as f64).collect::<Vec<_>>();
                    let (a, b) = (draw(a), draw(b));
                    let (found, truth) = (mann_whitney(&a, &b).unwrap(), brute_force(&a, &b));
                    assert!((found - truth).abs() < 1e-12, "{a:?} and {b:?}, seed 41: {found}, not {truth}");
                }
            }
        }
    }

    #[test]
    fn p_values_agree_with_published_ones() {
        let apart = |n: i32| {
            mann_whitney(&(0..n).map(f64::from).collect::<Vec<_>>(), &(n..2 * n).map(f64::from).collect::<Vec<_>>())
        };
        for (runs, published) in [(3, 0.1), (4, 0.028_571), (5, 0.007_937), (6, 0.002_165), (10, 1.0825e-5)] {
            assert!((apart(runs).unwrap() / published - 1.0).abs() < 1e-3, "{runs} runs: {:?}", apart(runs));
        }
        // Example 4.1 of Hollander and Wolfe (permeability of membranes), with a one-sided P(W ≥ 30) = 0.127.
        let term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let early = [1.15, 0.88, 0.90, 0.74, 1.21];
        let p = mann_whitney(&term, &early).unwrap();
        assert!((p - 0.2544).abs() < 5e-4, "{p}");
        let shift = hodges_lehmann(&early, &term).unwrap();
        assert!((shift.value - 0.305).abs() < 1e-9, "{shift:?}");
        assert_eq!(mann_whitney(&[], &[1.0]), None);
    }

    #[test]
    fn the_approximation_is_close_to_the_exact_value() {
        let mut random = Random::new(42);
        for values in [8, 1_000_000] {
            let mut draw = |shift: usize| (0..28).map(|_| (random.below(values) + shift) as f64).collect::<Vec<_>>();
            let (a, b) = (draw(0), draw(values / 4));
            let ranks = doubled_midranks(&a, &b);
            let sum = ranks[..a.len()].iter().sum();
            let (exact, near) = (exact(&ranks, a.len(), sum), approximate(&ranks, a.len(), sum));
            assert!((exact - near).abs() < 0.002 && exact < 0.2, "{exact} and {near}, seed 42");
        }
        let (a, b) = (vec![1.0; 40], vec![1.0; 40]);
        assert_eq!(mann_whitney(&a, &b), Some(1.0));
    }

    #[test]
    fn intervals_contain_the_shifts_that_the_test_does_not_reject() {
        let mut random = Random::new(43);
        for n in 4..=6 {
            let mut draw = || (0..n).map(|_| random.unit()).collect::<Vec<f64>>();
            let (a, b) = (draw(), draw());
            let mut differences: Vec<f64> = b.iter().flat_map(|b| a.iter().map(move |a| b - a)).collect();
            differences.sort_by(f64::total_cmp);
            let shift = hodges_lehmann(&a, &b).unwrap();
            assert_eq!(Some(shift.value), median(differences.clone()));
            let (low, high) = shift.interval.unwrap();
            for pair in differences.windows(2) {
                let candidate = f64::midpoint(pair[0], pair[1]);
                let moved: Vec<f64> = b.iter().map(|b| b - candidate).collect();
                let refused = brute_force(&a, &moved) <= ALPHA;
                assert_eq!(low < candidate && candidate < high, !refused, "{candidate} in {low}..{high}, seed 43");
            }
        }
        assert_eq!(hodges_lehmann(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]).unwrap().interval, None);
        assert_eq!(hodges_lehmann(&[], &[1.0]), None);
        assert_eq!(hodges_lehmann(&vec![0.0; RUNS_MAX + 1], &[1.0]), None);
    }

    #[test]
    fn ranks_of_intervals_agree_with_published_tables() {
        // Two-sided critical values of U at 5 %, for runs per side: 4+4: 0, 5+5: 2, 6+6: 5, 8+8: 13, 10+10: 23, 20+20:
        // 127. The returned rank is larger by 1.
        for (n, critical) in [(4, 0), (5, 2), (6, 5), (8, 13), (10, 23), (20, 127)] {
            assert_eq!(interval_rank(n, n), critical + 1, "{n} runs per side");
        }
        assert_eq!(interval_rank(3, 3), 0);
        let (exact, approximate) = (interval_rank(30, 30), interval_rank(31, 30));
        assert!((318..=319).contains(&exact) && (325..=335).contains(&approximate), "{exact}, {approximate}");
    }

    /// Computes the p-value by its definition, over all signs of the differences that are not 0.
    fn signed_brute_force(differences: &[f64]) -> f64 {
        let rank = |value: f64| {
            let below = differences.iter().filter(|other| other.abs() < value.abs()).count();
            let equal = differences.iter().filter(|other| other.abs() == value.abs()).count();
            below as f64 + (equal as f64 + 1.0) / 2.0
        };
        let signed: Vec<f64> = differences.iter().copied().filter(|value| *value != 0.0).collect();
        let ranks: Vec<f64> = signed.iter().map(|value| rank(*value)).collect();
        let half = ranks.iter().sum::<f64>() / 2.0;
        let distance = |signs: u32| {
            let above: f64 = (0..ranks.len()).filter(|index| signs >> index & 1 == 1).map(|index| ranks[index]).sum();
            (above - half).abs()
        };
        let observed =
            (0..signed.len()).filter(|index| signed[*index] > 0.0).fold(0, |signs, index| signs | 1 << index);
        let far = (0..1_u32 << signed.len()).filter(|signs| distance(*signs) >= distance(observed) - 1e-9);
        far.count() as f64 / f64::from(1_u32 << signed.len())
    }

    #[test]
    fn signed_ranks_agree_with_all_signs() {
        let mut random = Random::new(44);
        for pairs in 1..=9 {
            for values in [3, 1_000_000] {
                let differences: Vec<f64> =
                    (0..pairs).map(|_| random.below(2 * values + 1) as f64 - values as f64).collect();
                let (found, truth) = (signed_rank(&differences).unwrap(), signed_brute_force(&differences));
                assert!((found - truth).abs() < 1e-12, "{differences:?}, seed 44: {found}, not {truth}");
            }
        }
        assert_eq!(signed_rank(&[]), None);
        assert_eq!(signed_rank(&[0.0; 5]), Some(1.0));
    }

    #[test]
    fn signed_ranks_agree_with_published_values() {
        // Example 3.1 of Hollander and Wolfe (depression before and after therapy), in thousandths. T⁺ = 5 for 9 pairs,
        // with a one-sided p = 0.0195.
        let before = [1830.0, 500.0, 1620.0, 2480.0, 1680.0, 1880.0, 1550.0, 3060.0, 1300.0];
        let after = [878.0, 647.0, 598.0, 2050.0, 1060.0, 1290.0, 1060.0, 3140.0, 1290.0];
        let differences: Vec<f64> = before.iter().zip(after).map(|(before, after)| after - before).collect();
        let p = signed_rank(&differences).unwrap();
        assert!((p - 0.0391).abs() < 1e-4, "{p}");
        let shift = paired_shift(&differences).unwrap();
        let (low, high) = shift.interval.unwrap();
        assert!((shift.value + 460.0).abs() < 1e-9, "{shift:?}");
        assert!((low + 786.0).abs() < 1e-9 && (high + 10.0).abs() < 1e-9, "{shift:?}");
        // Two-sided critical values of T at 5 %, by number of pairs: 6: 0, 8: 3, 10: 8, 20: 52. The returned rank is
        // larger by 1.
        for (pairs, critical) in [(6, 0), (8, 3), (10, 8), (20, 52)] {
            assert_eq!(paired_rank(pairs), critical + 1, "{pairs} pairs");
        }
        assert_eq!(paired_rank(5), 0);
        assert_eq!(paired_shift(&[1.0; 5]).unwrap().interval, None);
    }

    #[test]
    fn infinite_values_have_the_last_rank() {
        let failed = f64::INFINITY;
        let base = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5];
        let found = hodges_lehmann(&base, &[1.0, 1.1, 1.2, 1.3, 1.4, failed]).unwrap();
        assert!(found.value.abs() < 0.2 && found.interval.unwrap().1 == failed, "{found:?}");
        assert_eq!(hodges_lehmann(&base, &[failed; 6]).unwrap().value, failed);
        let both = hodges_lehmann(&[failed; 4], &[failed; 4]).unwrap();
        assert_eq!(both, Shift { value: 0.0, interval: Some((0.0, 0.0)) });
        assert!(mann_whitney(&base, &[failed; 6]).unwrap() < 0.01);
        assert_eq!(paired_shift(&[failed; 3]).unwrap().value, failed);
        assert_eq!(paired_shift(&[failed, -failed]).unwrap().value, 0.0);
    }

    #[test]
    fn holm_agrees_with_a_published_example() {
        let near = |found: Vec<f64>, wanted: &[f64]| found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(
            near(holm(&[0.01, 0.04, 0.03, 0.005]), &[0.03, 0.06, 0.06, 0.02]),
            "the result must equal that of p.adjust in R"
        );
        assert!(near(holm(&[0.5, 0.9]), &[1.0, 1.0]) && holm(&[]).is_empty());
    }
}
