//! The median of a few values, and its confidence interval from order statistics (H. A. David and H. N. Nagaraja,
//! "Order Statistics", 3rd ed. 2003, §7.1). The only assumption is that the values are independent draws from one
//! distribution.

/// Minimum number of values for a confidence interval (docs/measurement.md).
pub const PAIRS_MIN: usize = 12;

/// Minimum probability that the interval contains the true median.
const CONFIDENCE: f64 = 0.95;

/// Confidence interval of a median. Both ends are observed values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Returns the middle value, or the mean of the two middle values; `None` if there are no values. All values must be
/// finite.
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        length if length % 2 == 1 => Some(sorted[half]),
        _ => Some(f64::midpoint(sorted[half - 1], sorted[half])),
    }
}

/// Returns an interval that contains the true median with a probability of at least 95 %. `None` if there are fewer
/// than [`PAIRS_MIN`] values.
pub fn median_interval(values: &[f64]) -> Option<Interval> {
    if values.len() < PAIRS_MIN {
        return None;
    }
    let sorted = sorted(values);
    let rank = interval_rank(sorted.len())?;
    Some(Interval { low: sorted[rank - 1], high: sorted[sorted.len() - rank] })
}

/// Returns the largest k for which the k-th smallest and the k-th largest of `count` values enclose the true median
/// with a probability of at least 95 %. `None` if there are fewer than 6 values. Let B be the number of values below
/// the median. B has a binomial distribution with parameters `count` and ½, so the condition is 1 − 2·P(B < k) ≥ 0.95.
fn interval_rank(count: usize) -> Option<usize> {
    let mut probability = 0.5_f64.powi(i32::try_from(count).ok()?);
    let mut below = 0.0;
    let mut rank = 0;
    while rank < count.div_ceil(2) {
        below += probability;
        if 1.0 - 2.0 * below < CONFIDENCE {
            break;
        }
        rank += 1;
        probability *= (count + 1 - rank) as f64 / rank as f64;
    }
    (rank > 0).then_some(rank)
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shuffle::Shuffler;

    /// Returns the probability that at most `most` of `count` values lie below the true median. Counts all 2^`count`
    /// cases.
    fn below_at_most(count: u32, most: u32) -> f64 {
        let cases = (0..1_u32 << count).filter(|below| below.count_ones() <= most).count();
        cases as f64 / 2_f64.powi(count as i32)
    }

    #[test]
    fn the_rank_is_the_largest_with_enough_confidence() {
        for count in 1..=18_u32 {
            let confident = |rank: &u32| 1.0 - 2.0 * below_at_most(count, rank - 1) >= CONFIDENCE;
            let expected = (1..=count.div_ceil(2)).filter(confident).max().map(|rank| rank as usize);
            assert_eq!(interval_rank(count as usize), expected, "{count} values");
        }
    }

    #[test]
    fn ranks_agree_with_published_tables() {
        // Published tables of the sign test contain these ranks for the 95 % interval.
        for (count, rank) in [(5, None), (6, Some(1)), (12, Some(3)), (15, Some(4)), (20, Some(6)), (25, Some(8))] {
            assert_eq!(interval_rank(count), rank, "{count} values");
        }
    }

    /// A value is strictly inside the interval if and only if the two-sided sign test at 5 % does not reject this value
    /// as the median.
    #[test]
    fn the_interval_agrees_with_the_sign_test() {
        let mut shuffler = Shuffler::new(7);
        for count in PAIRS_MIN as u32..=16 {
            let mut values: Vec<f64> = (0..count).map(|index| f64::from(index).powf(1.3)).collect();
            shuffler.shuffle(&mut values);
            let interval = median_interval(&values).unwrap();
            for step in 0..count {
                let candidate = (f64::from(step) + 0.5).powf(1.3);
                let below = values.iter().filter(|value| **value < candidate).count() as u32;
                let p = 2.0 * below_at_most(count, below.min(count - below));
                let inside = interval.low < candidate && candidate < interval.high;
                assert_eq!(inside, p > 1.0 - CONFIDENCE, "{candidate} in {interval:?}, p = {p}, {count} values");
            }
        }
    }

    #[test]
    fn intervals_contain_the_true_median_as_often_as_stated() {
        let mut shuffler = Shuffler::new(11);
        let mut covered = 0;
        for _ in 0..4_000 {
            // The exponential distribution is skewed, and its median is ln 2.
            let values: Vec<f64> = (0..PAIRS_MIN).map(|_| -(1.0 - shuffler.unit()).ln()).collect();
            let interval = median_interval(&values).unwrap();
            covered += i32::from(interval.low <= std::f64::consts::LN_2 && std::f64::consts::LN_2 <= interval.high);
        }
        // With 12 values, an interval contains the true median with a probability of 96.14 %. The tolerance is four
        // standard errors.
        let share = f64::from(covered) / 4_000.0;
        assert!((share - 0.9614).abs() < 0.0125, "{share}, seed 11");
    }

    #[test]
    fn medians_of_few_values_are_exact() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[4.0, 1.0]), Some(2.5));
        assert_eq!(median(&[9.0, 1.0, 5.0]), Some(5.0));
    }

    #[test]
    fn few_pairs_have_no_interval() {
        let values: Vec<f64> = (0..PAIRS_MIN).map(|index| index as f64).collect();
        assert_eq!(median_interval(&values[1..]), None);
        assert_eq!(median_interval(&values), Some(Interval { low: 2.0, high: 9.0 }));
    }
}
