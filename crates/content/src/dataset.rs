//! Datasets: objects whose keys and sizes are functions of their numbers.

use crate::bytes::Seed;
use crate::draw::Draws;
use crate::error::Invalid;
use crate::names::Names;
use crate::sizes::Sizes;
use measure::units::ByteSize;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::NonZeroU64;
use std::ops::Range;

/// Maximum number of random sizes that [`Dataset::of_total`] adds up one by one. Adding up this many sizes takes about
/// ten seconds.
const ADDED_UP_MAX: u64 = 1_000_000_000;

/// The description of a dataset. Equal descriptions define equal datasets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// The seed of the objects' bytes, sizes and directories.
    pub seed: Seed,
    /// Number of objects.
    pub count: u64,
    /// The distribution of sizes.
    pub sizes: Sizes,
    /// The naming scheme of keys.
    pub names: Names,
    /// The size of the last object, if `sizes` does not determine it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_bytes: Option<ByteSize>,
}

/// A dataset with random access to its objects. Cheap to clone.
#[derive(Clone, Serialize, Deserialize)]
#[serde(from = "Description", into = "Description")]
pub struct Dataset {
    description: Description,
    draws: Draws,
}

/// An object of a dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// The key, relative to the location of the dataset.
    pub key: String,
    /// The size in bytes.
    pub size: ByteSize,
}

/// Rule for the size of the last object of a dataset, if its total size is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remainder {
    /// The last object is truncated, so the total is exact.
    Cut,
    /// The last object keeps its full size, so the dataset may exceed the total.
    Whole,
}

impl Dataset {
    /// Creates the dataset of a description.
    #[must_use]
    pub fn new(description: Description) -> Self {
        Self { draws: Draws::new(description.seed), description }
    }

    /// Creates a dataset with as many objects as needed for `total` bytes.
    ///
    /// # Errors
    /// Fails if all objects are empty. Also fails if the sizes are random and the total needs more than 10⁹ objects.
    pub fn of_total(
        total: ByteSize,
        remainder: Remainder,
        seed: Seed,
        sizes: Sizes,
        names: Names,
    ) -> Result<Self, Invalid> {
        if total.0 > 0 && sizes.is_zero() {
            return Err(Invalid::new(format!("objects of 0 bytes never add up to {total}: give a larger size")));
        }
        let mut dataset = Self::new(Description { seed, count: 0, sizes, names, last_bytes: None });
        let (mut count, mut sum) = dataset.whole_cycles(total);
        let mut last = None;
        let first = count;
        while sum < total.0 {
            if count - first >= ADDED_UP_MAX {
                return Err(Invalid::new(format!(
                    "{total} needs more than {ADDED_UP_MAX} objects: give a larger size or a smaller total"
                )));
            }
            let size = dataset.drawn_size(count);
            let room = total.0 - sum;
            last = (size > room && remainder == Remainder::Cut).then_some(ByteSize(room));
            sum = sum.saturating_add(size);
            count += 1;
        }
        dataset.description.count = count;
        dataset.description.last_bytes = last;
        Ok(dataset)
    }

    /// Returns the number of objects that fit below `total` in complete cycles, and their total size. A cycle is one
    /// pass through the list of sizes. Both numbers are 0 if the sizes are random.
    fn whole_cycles(&self, total: ByteSize) -> (u64, u64) {
        let Some(cycle) = self.description.sizes.cycle() else { return (0, 0) };
        // This cannot overflow: there are at most 1024 sizes of at most 2⁵³ bytes.
        let bytes: u64 = cycle.iter().sum();
        let cycles = total.0.saturating_sub(1).checked_div(bytes).unwrap_or(0);
        (cycles * cycle.len() as u64, cycles * bytes)
    }

    /// Returns the description, from which [`Self::new`] creates an equal dataset.
    #[must_use]
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Returns the number of objects.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.description.count
    }

    /// Returns object `index`, starting at 0. `None` if the dataset has fewer objects.
    #[must_use]
    pub fn object(&self, index: u64) -> Option<Object> {
        let mut key = String::new();
        let size = self.read(index, &mut key)?;
        Some(Object { key, size })
    }

    /// Returns the size of object `index`, and writes the object's key into `key`. Unlike [`Self::object`], this
    /// function reuses the memory of the string.
    pub fn read(&self, index: u64, key: &mut String) -> Option<ByteSize> {
        let size = self.size(index)?;
        key.clear();
        self.description.names.write(index, self.draws.of(index), key);
        Some(size)
    }

    /// Returns the number of the object with this key. `None` if the key is not in this dataset.
    #[must_use]
    pub fn index_of(&self, key: &str) -> Option<u64> {
        let index = self.description.names.number(key)?;
        self.object(index).is_some_and(|object| object.key == key).then_some(index)
    }

    /// Returns the size of object `index`.
    #[must_use]
    pub fn size(&self, index: u64) -> Option<ByteSize> {
        match self.description.last_bytes {
            _ if index >= self.count() => None,
            Some(last) if index + 1 == self.count() => Some(last),
            _ => Some(ByteSize(self.drawn_size(index))),
        }
    }

    fn drawn_size(&self, index: u64) -> u64 {
        self.description.sizes.size(index, self.draws.of(index).size)
    }

    /// Returns an iterator over all objects in the order of their numbers.
    pub fn objects(&self) -> impl Iterator<Item = Object> + '_ {
        (0..self.count()).map_while(|index| self.object(index))
    }

    /// Returns the total size of all objects. If the sizes are random, the function adds up the sizes of all objects.
    /// Adding up takes about a second per 10 to 100 million objects.
    #[must_use]
    pub fn total_bytes(&self) -> u128 {
        self.bytes_of_every(NonZeroU64::MIN, 0)
    }

    /// Like [`Self::total_bytes`], but counts only the objects `first`, `first + step`, `first + 2 * step` and so on.
    #[must_use]
    pub fn bytes_of_every(&self, step: NonZeroU64, first: u64) -> u128 {
        let count = self.count().saturating_sub(first).div_ceil(step.get());
        let size = |own: u64| self.size(own * step.get() + first);
        let sum = |own: Range<u64>| own.filter_map(size).map(|size| u128::from(size.0)).sum::<u128>();
        // Sizes in turn also repeat after one cycle if only every `step`-th object counts.
        let length = self.description.sizes.cycle().map_or(0, |cycle| cycle.len() as u64);
        // The last object may have a different size.
        let cycles = count.saturating_sub(1).checked_div(length).unwrap_or(0);
        let of_a_cycle = if cycles > 0 { sum(0..length) } else { 0 };
        u128::from(cycles) * of_a_cycle + sum(cycles * length..count)
    }
}

impl PartialEq for Dataset {
    fn eq(&self, other: &Self) -> bool {
        self.description == other.description
    }
}

impl fmt::Debug for Dataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Dataset").field(&self.description).finish()
    }
}

impl From<Description> for Dataset {
    fn from(description: Description) -> Self {
        Self::new(description)
    }
}

impl From<Dataset> for Description {
    fn from(dataset: Dataset) -> Self {
        dataset.description
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names() -> Names {
        Names::new("object-", 8, ".bin", None).unwrap()
    }

    fn of_total(total: u64, remainder: Remainder, sizes: &str) -> Dataset {
        Dataset::of_total(ByteSize(total), remainder, Seed(1), sizes.parse().unwrap(), names()).unwrap()
    }

    fn of_count(count: u64, sizes: &str) -> Dataset {
        Dataset::new(Description {
            seed: Seed(1),
            count,
            sizes: sizes.parse().unwrap(),
            names: names(),
            last_bytes: None,
        })
    }

    fn brute_force(dataset: &Dataset) -> u128 {
        dataset.objects().map(|object| u128::from(object.size.0)).sum()
    }

    #[test]
    fn keys_are_recognized() {
        let named = |prefix: &str, directories: Option<u32>| {
            let names = Names::new(prefix, 3, ".bin", directories.and_then(std::num::NonZeroU32::new)).unwrap();
            let sizes = "1KiB".parse().unwrap();
            Dataset::new(Description { seed: Seed(1), count: 1200, sizes, names, last_bytes: None })
        };
        for dataset in [named("o-", None), named("a/b7", None), named("a/b7", Some(16)), named("", Some(3))] {
            for index in [0, 7, 999, 1000, 1199] {
                let key = dataset.object(index).unwrap().key;
                assert_eq!(dataset.index_of(&key), Some(index), "{key}");
                for other in
                    [format!("x/{key}"), format!("{key}x"), key.replace(".bin", "0.bin"), key.replace('0', "00")]
                {
                    assert!(other == key || dataset.index_of(&other) != Some(index), "{other}");
                }
            }
            assert_eq!(dataset.index_of("o-1200.bin"), None);
        }
        assert_eq!(named("o-", None).index_of("o-1.bin"), None);
    }

    /// The example from the documentation of the dummy file generator: 250 MiB in files of 50 MiB.
    #[test]
    fn golden_number_of_the_dummy_file_generator() {
        let dataset = of_total(262_144_000, Remainder::Whole, "52428800");
        assert_eq!((dataset.count(), dataset.total_bytes()), (5, 262_144_000));
    }

    #[test]
    fn the_last_object_is_truncated_or_complete() {
        for (total, count, cut, whole) in [(101, 2, 1, 100), (100, 1, 100, 100), (99, 1, 99, 100), (250, 3, 50, 100)] {
            for (remainder, last) in [(Remainder::Cut, cut), (Remainder::Whole, whole)] {
                let dataset = of_total(total, remainder, "100B");
                assert_eq!(dataset.count(), count);
                assert_eq!(dataset.size(count - 1), Some(ByteSize(last)), "{total} {remainder:?}");
            }
        }
        assert_eq!(of_total(0, Remainder::Whole, "100B").count(), 0);
        assert_eq!(of_total(0, Remainder::Cut, "0B").count(), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn totals_are_exact_and_no_object_is_too_many(
            total in 1_u64..3_000_000,
            sizes in prop::sample::select(vec![
                "4KiB", "1..9000", "1KiB,0,3KiB", "3KiB,0", "1KiB,2KiB..5KiB", "100:5,64KiB:1", "loguniform:1KiB..1MiB",
                "lognormal:median=4KiB,sigma=1.5,max=1MiB",
            ]),
        ) {
            let cut = of_total(total, Remainder::Cut, sizes);
            prop_assert_eq!(cut.total_bytes(), u128::from(total));
            prop_assert_eq!(brute_force(&cut), u128::from(total));
            let whole = of_total(total, Remainder::Whole, sizes);
            prop_assert_eq!(whole.count(), cut.count());
            prop_assert!(whole.total_bytes() >= u128::from(total));
            let but_one = of_count(whole.count() - 1, sizes);
            prop_assert!(but_one.total_bytes() < u128::from(total));
            prop_assert_eq!(brute_force(&but_one), but_one.total_bytes());
        }
    }

    #[test]
    fn a_quarter_of_a_billion_objects_need_little_memory() {
        let dataset = of_count(250_000_000, "1KiB,2KiB");
        assert_eq!(
            dataset.object(249_999_999),
            Some(Object { key: "object-249999999.bin".into(), size: ByteSize(2048) })
        );
        assert_eq!(dataset.object(250_000_000), None);
        assert_eq!(dataset.total_bytes(), 250_000_000 * 1536);
        assert_eq!(of_total(1 << 60, Remainder::Cut, "1B").count(), 1 << 60);
    }

    #[test]
    fn objects_do_not_depend_on_the_order_of_access() {
        let dataset = of_count(1000, "loguniform:1KiB..1GiB");
        let all: Vec<Object> = dataset.objects().collect();
        let again = dataset.clone();
        for index in [999, 0, 500, 3] {
            assert_eq!(again.object(index).as_ref(), all.get(index as usize));
        }
        assert!(of_count(1000, "loguniform:1KiB..1GiB") == dataset);
    }

    #[test]
    fn unreachable_totals_are_rejected() {
        let refused = |total, sizes: &str| {
            let sizes = sizes.parse().unwrap();
            Dataset::of_total(ByteSize(total), Remainder::Cut, Seed(1), sizes, names()).unwrap_err().to_string()
        };
        assert!(refused(1, "0").contains("never add up to 1B"));
        assert!(refused(1, "0,0..0").contains("larger size"));
    }

    #[test]
    fn descriptions_round_trip() {
        let dataset = of_total(1_000_000, Remainder::Cut, "64KiB:70,1MiB:30");
        let stored = serde_json::to_string(&dataset).unwrap();
        assert_eq!(
            stored,
            r#"{"seed":1,"count":3,"sizes":"64KiB:70,1MiB:30","names":{"prefix":"object-","digits":8,"extension":".bin"},"last_bytes":868928}"#
        );
        assert_eq!(serde_json::from_str::<Dataset>(&stored).unwrap(), dataset);
        assert!(serde_json::from_str::<Dataset>(&stored.replace("\"count\"", "\"number\"")).is_err());
        assert!(serde_json::from_str::<Dataset>(&stored.replace(":70", ":0")).is_err());
    }
}
