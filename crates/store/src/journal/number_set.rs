//! A set of object numbers as a bitmap in pages.

use super::record::OBJECTS_MAX;

/// Number of words in a page.
const PAGE_WORDS: usize = 512;
/// Number of bits in a page.
const PAGE_BITS: u64 = PAGE_WORDS as u64 * 64;

/// A set of object numbers. Each number takes one bit, in pages of 4 KiB. A page takes no memory until one of its
/// numbers is added.
#[derive(Clone, Default)]
pub struct NumberSet {
    pages: Vec<Option<Box<[u64; PAGE_WORDS]>>>,
    len: u64,
}

impl NumberSet {
    /// Adds a number. Returns whether the number is new.
    ///
    /// # Panics
    /// Panics if the number is not below [`OBJECTS_MAX`].
    pub fn insert(&mut self, number: u64) -> bool {
        assert!(number < OBJECTS_MAX, "object number {number} is above the limit");
        let (page, word, bit) = place(number);
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, || None);
        }
        let words = self.pages[page].get_or_insert_with(|| Box::new([0; PAGE_WORDS]));
        let is_new = words[word] & bit == 0;
        words[word] |= bit;
        self.len += u64::from(is_new);
        is_new
    }

    /// Removes a number. Returns whether the set contained the number.
    pub fn remove(&mut self, number: u64) -> bool {
        let was_in = self.contains(number);
        if was_in {
            let (page, word, bit) = place(number);
            if let Some(Some(words)) = self.pages.get_mut(page) {
                words[word] &= !bit;
            }
            self.len -= 1;
        }
        was_in
    }

    /// Returns whether the set contains a number.
    #[must_use]
    pub fn contains(&self, number: u64) -> bool {
        number < OBJECTS_MAX && self.word(number / 64) & (1 << (number % 64)) != 0
    }

    /// Returns the number of elements.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Counts the elements below `end`.
    #[must_use]
    pub fn count_below(&self, end: u64) -> u64 {
        let pages = (0..).step_by(PAGE_BITS as usize).zip(&self.pages).take_while(|(first, _)| *first < end);
        let words = pages.filter_map(|(first, page)| Some((first..).step_by(64).zip(page.as_deref()?))).flatten();
        let below = words.map(|(first, word): (u64, &u64)| match end.saturating_sub(first) {
            bits @ 0..64 => word & ((1 << bits) - 1),
            _ => *word,
        });
        below.map(|word| u64::from(word.count_ones())).sum()
    }

    /// Returns the numbers in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        let pages = self.pages.iter().enumerate().filter(|(_, page)| page.is_some());
        let words = pages.flat_map(|(page, _)| {
            let first = page as u64 * PAGE_WORDS as u64;
            first..first + PAGE_WORDS as u64
        });
        words.flat_map(move |index| bits(index, self.word(index)))
    }

    /// Returns the numbers below `end` that the set does not contain, in ascending order.
    pub fn absent_below(&self, end: u64) -> impl Iterator<Item = u64> {
        let words = (0..end.div_ceil(64)).flat_map(move |index| bits(index, !self.word(index)));
        words.take_while(move |number| *number < end)
    }

    fn word(&self, index: u64) -> u64 {
        let (page, word, _) = place(index * 64);
        self.pages.get(page).and_then(Option::as_ref).map_or(0, |words| words[word])
    }
}

impl std::fmt::Debug for NumberSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NumberSet of {}: ", self.len)?;
        f.debug_list().entries(self.iter().take(20)).finish()
    }
}

impl PartialEq for NumberSet {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl FromIterator<u64> for NumberSet {
    fn from_iter<I: IntoIterator<Item = u64>>(numbers: I) -> Self {
        let mut set = Self::default();
        numbers.into_iter().for_each(|number| {
            set.insert(number);
        });
        set
    }
}

/// Returns the index of the page of a number, the index of the word in the page, and the bit in the word.
fn place(number: u64) -> (usize, usize, u64) {
    let page = usize::try_from(number / PAGE_BITS).unwrap_or(usize::MAX);
    (page, (number % PAGE_BITS / 64) as usize, 1 << (number % 64))
}

/// Returns the numbers of the bits that are set in a word. `index` is the index of the word.
fn bits(index: u64, mut word: u64) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros();
        (bit < 64).then(|| {
            word &= word - 1;
            index * 64 + u64::from(bit)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn a_bitmap_behaves_like_a_tree(
            steps in prop::collection::vec((prop_oneof![0_u64..200, 0..OBJECTS_MAX], any::<bool>()), 0..200), end in 0_u64..300,
            far in 0..OBJECTS_MAX,
        ) {
            let (mut set, mut tree) = (NumberSet::default(), BTreeSet::new());
            for (number, add) in steps {
                if add {
                    prop_assert_eq!(set.insert(number), tree.insert(number));
                } else {
                    prop_assert_eq!(set.remove(number), tree.remove(&number));
                }
                prop_assert_eq!(set.contains(number), add);
            }
            prop_assert_eq!(set.len(), tree.len() as u64);
            prop_assert!(set.iter().eq(tree.iter().copied()));
            for end in [end, far] {
                prop_assert_eq!(set.count_below(end), tree.range(..end).count() as u64);
            }
            prop_assert!(set.absent_below(end).eq((0..end).filter(|number| !tree.contains(number))));
            prop_assert!(!set.contains(OBJECTS_MAX) && !set.contains(u64::MAX));
        }
    }

    #[test]
    fn a_distant_number_takes_one_page() {
        let set: NumberSet = [3, OBJECTS_MAX - 1].into_iter().collect();
        assert_eq!(set.pages.iter().flatten().count(), 2);
        assert_eq!(set.iter().collect::<Vec<_>>(), [3, OBJECTS_MAX - 1]);
    }
}
