//! Closed sets of names, and exact counts over them.
//!
//! Outcomes, causes and flags are enums in which each member has a fixed name. [`Counts`] has one counter for each
//! member. The counters can be merged without loss, and are serialized as a map from names to counts, without zeros.

use serde::de::{Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;

/// Closed set whose members have names and can be counted.
pub trait Enumerated: Copy + PartialEq + 'static {
    /// All members, in the order of their index.
    const ALL: &'static [Self];
    /// Returns the position in [`Self::ALL`].
    fn index(self) -> usize;
    /// Returns the name that records and reports use: lower case, words joined by `_` or `-`.
    fn name(self) -> &'static str;

    /// Returns the member with a name; `None` if there is no such member.
    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|member| member.name() == name)
    }
}

/// Declares a closed set: an enum with a name and a description for each member.
#[macro_export]
macro_rules! enumerated {
    ($(#[$meta:meta])* $vis:vis enum $type:ident { $($(#[$doc:meta])* $member:ident => $name:literal, $about:literal;)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis enum $type { $($(#[$doc])* #[doc = $about] $member,)+ }

        impl $crate::values::Enumerated for $type {
            const ALL: &'static [Self] = &[$(Self::$member,)+];
            fn index(self) -> usize { self as usize }
            fn name(self) -> &'static str { match self { $(Self::$member => $name,)+ } }
        }

        impl $type {
            /// Returns the description, as a phrase for reports.
            #[must_use]
            pub fn about(self) -> &'static str { match self { $(Self::$member => $about,)+ } }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str($crate::values::Enumerated::name(*self))
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str($crate::values::Enumerated::name(*self))
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let name = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                <Self as $crate::values::Enumerated>::from_name(&name)
                    .ok_or_else(|| serde::de::Error::custom(format!("unknown {}: {name}", stringify!($type))))
            }
        }
    };
}

/// One counter for each member of a closed set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts<E: Enumerated> {
    counts: Box<[u64]>,
    of: PhantomData<E>,
}

impl<E: Enumerated> Default for Counts<E> {
    fn default() -> Self {
        Self { counts: vec![0; E::ALL.len()].into_boxed_slice(), of: PhantomData }
    }
}

impl<E: Enumerated> Counts<E> {
    /// Adds one to the count of `member`.
    #[inline]
    pub fn add(&mut self, member: E) {
        self.counts[member.index()] += 1;
    }

    /// Returns the count of `member`.
    #[must_use]
    pub fn get(&self, member: E) -> u64 {
        self.counts[member.index()]
    }

    /// Returns the sum of all counts.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine = mine.saturating_add(*theirs);
        }
    }

    /// Returns the members with a count above zero, and their counts.
    pub fn nonzero(&self) -> impl Iterator<Item = (E, u64)> + '_ {
        E::ALL.iter().copied().zip(self.counts.iter().copied()).filter(|(_, count)| *count > 0)
    }

    /// Returns whether all counts are zero.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.iter().all(|count| *count == 0)
    }
}

impl<E: Enumerated> Serialize for Counts<E> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (member, count) in self.nonzero() {
            map.serialize_entry(member.name(), &count)?;
        }
        map.end()
    }
}

impl<'de, E: Enumerated> Deserialize<'de> for Counts<E> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CountsVisitor<E>(PhantomData<E>);
        impl<'de, E: Enumerated> Visitor<'de> for CountsVisitor<E> {
            type Value = Counts<E>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map from name to count")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Counts<E>, A::Error> {
                let mut counts = Counts::default();
                while let Some((name, count)) = map.next_entry::<String, u64>()? {
                    let member = E::from_name(&name).ok_or_else(|| A::Error::custom(format!("unknown name {name}")))?;
                    counts.counts[member.index()] = count;
                }
                Ok(counts)
            }
        }
        deserializer.deserialize_map(CountsVisitor(PhantomData))
    }
}
