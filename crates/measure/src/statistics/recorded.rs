//! Recorded values with their counts, in ascending order. This form is a histogram without empty buckets, which is
//! small enough to be kept for each of many intervals.

use crate::values::Distribution;

/// Value that is larger than any other, for example for the time of a failed operation.
pub const BEYOND: u64 = u64::MAX;

/// Recorded values, each with the number of times that it was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded(Vec<(u64, u64)>);

impl Recorded {
    /// Returns the values of a distribution. Each value is represented by the upper end of its bucket.
    #[must_use]
    pub fn of(distribution: &Distribution) -> Self {
        Self(distribution.recorded().collect())
    }

    /// Returns `count` copies of the value [`BEYOND`], which is larger than all others.
    #[must_use]
    pub fn beyond(count: u64) -> Self {
        if count > 0 { Self(vec![(BEYOND, count)]) } else { Self::default() }
    }

    /// Returns the values of all `parts` combined.
    #[must_use]
    pub fn sum(parts: &[&Self]) -> Self {
        let mut all: Vec<(u64, u64)> = parts.iter().flat_map(|part| part.0.iter().copied()).collect();
        all.sort_unstable_by_key(|(value, _)| *value);
        all.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 = if same { kept.1.saturating_add(next.1) } else { kept.1 };
            same
        });
        Self(all)
    }

    /// Adds the values of `other`.
    pub fn merge(&mut self, other: &Self) {
        if self.0.is_empty() {
            self.0.clone_from(&other.0);
            return;
        }
        let mine = std::mem::take(&mut self.0);
        let (mut left, mut right) = (mine.iter().peekable(), other.0.iter().peekable());
        while let Some(next) = match (left.peek(), right.peek()) {
            (Some(a), Some(b)) if b.0 < a.0 => right.next(),
            (Some(_), _) => left.next(),
            (None, _) => right.next(),
        } {
            match self.0.last_mut() {
                Some(last) if last.0 == next.0 => last.1 = last.1.saturating_add(next.1),
                _ => self.0.push(*next),
            }
        }
    }

    /// Returns the number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// Returns the smallest value v such that at least q·n values are ≤ v; `None` without values.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let count = self.count();
        let rank = ((q.clamp(0.0, 1.0) * count as f64).ceil() as u64).clamp(1, count.max(1));
        let mut below = 0_u64;
        let reached = self.0.iter().find(|(_, count)| {
            below = below.saturating_add(*count);
            below >= rank
        });
        reached.map(|(value, _)| *value)
    }

    /// Returns the number of values that are at most `value`.
    #[must_use]
    pub fn at_most(&self, value: u64) -> u64 {
        self.0.iter().take_while(|(known, _)| *known <= value).fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// Returns pairs of value and count, in ascending order of values.
    #[must_use]
    pub fn values(&self) -> &[(u64, u64)] {
        &self.0
    }
}

#[cfg(test)]
impl Recorded {
    /// Returns exactly these values, without rounding them to the buckets of a histogram.
    pub(super) fn exactly(values: impl IntoIterator<Item = u64>) -> Self {
        let single: Vec<Self> = values.into_iter().map(|value| Self(vec![(value, 1)])).collect();
        Self::sum(&single.iter().collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::distribution::of;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn merging_and_ranking_agree_with_distributions(
            left in prop::collection::vec(0_u64..10_000_000, 0..60),
            right in prop::collection::vec(0_u64..10_000_000, 1..60),
            q in 0.0_f64..1.0,
        ) {
            let (mut whole, mut merged) = (of(&left), Recorded::of(&of(&left)));
            whole.merge(&of(&right));
            merged.merge(&Recorded::of(&of(&right)));
            prop_assert_eq!(&merged, &Recorded::of(&whole));
            prop_assert_eq!(&merged, &Recorded::sum(&[&Recorded::of(&of(&right)), &Recorded::of(&of(&left))]));
            prop_assert_eq!(merged.count(), whole.count());
            let (found, known) = (merged.quantile(q).unwrap(), whole.quantile(q).unwrap());
            // A distribution never reports more than its largest value, but the bucket of that value may end above it.
            prop_assert!(found == known || whole.max() == Some(known), "{} and {}", found, known);
            prop_assert!(merged.at_most(found) as f64 >= q * merged.count() as f64);
        }
    }

    #[test]
    fn empty_lists_have_no_quantile() {
        assert_eq!(Recorded::default().quantile(0.5), None);
        assert_eq!(Recorded::default().at_most(7), 0);
    }
}
