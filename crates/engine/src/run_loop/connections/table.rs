//! A table whose entries keep their index, which is called their *place*, until they are removed. Entries are
//! identified by tokens.

use crate::network::Token;

/// Table of connections or streams. When a place is reused, its generation is increased. A token therefore never
/// identifies a later entry in the same place.
#[derive(Debug)]
pub(in crate::run_loop) struct Table<T> {
    places: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Table<T> {
    /// Returns the token that the next inserted entry will have.
    pub fn reserve(&mut self) -> Token {
        let index = self.free.last().copied().unwrap_or_else(|| {
            self.places.push((0, None));
            self.free.push(self.places.len() as u32 - 1);
            self.places.len() as u32 - 1
        });
        Token { index, generation: self.places[index as usize].0 }
    }

    /// Puts an entry into the place that was reserved last.
    pub fn insert(&mut self, token: Token, entry: T) {
        let reserved = self.free.pop();
        debug_assert_eq!(
            reserved,
            Some(token.index),
            "an entry must be inserted into the place that was reserved last"
        );
        self.places[token.index as usize].1 = Some(entry);
    }

    /// Returns an entry, unless it was removed.
    #[inline]
    pub fn get(&self, token: Token) -> Option<&T> {
        self.places.get(token.index as usize).filter(|(generation, _)| *generation == token.generation)?.1.as_ref()
    }

    /// Returns an entry, unless it was removed.
    #[inline]
    pub fn get_mut(&mut self, token: Token) -> Option<&mut T> {
        self.places.get_mut(token.index as usize).filter(|(generation, _)| *generation == token.generation)?.1.as_mut()
    }

    /// Returns an entry that must exist.
    #[inline]
    #[track_caller]
    pub fn existing(&self, token: Token) -> Option<&T> {
        let entry = self.get(token);
        debug_assert!(entry.is_some(), "there is no entry for {token:?}");
        entry
    }

    /// Returns an entry that must exist.
    #[inline]
    #[track_caller]
    pub fn existing_mut(&mut self, token: Token) -> Option<&mut T> {
        let entry = self.get_mut(token);
        debug_assert!(entry.is_some(), "there is no entry for {token:?}");
        entry
    }

    /// Removes and returns an entry.
    pub fn remove(&mut self, token: Token) -> Option<T> {
        let (generation, place) = self.places.get_mut(token.index as usize)?;
        if *generation != token.generation {
            return None;
        }
        let entry = place.take()?;
        *generation = generation.wrapping_add(1);
        self.free.push(token.index);
        Some(entry)
    }

    /// Returns the entries with their tokens.
    pub fn iter(&self) -> impl Iterator<Item = (Token, &T)> {
        self.places.iter().enumerate().filter_map(|(index, (generation, place))| {
            Some((Token { index: index as u32, generation: *generation }, place.as_ref()?))
        })
    }

    /// Returns the number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_removed_entries_name_nothing() {
        let mut table = Table::default();
        let first = table.reserve();
        assert_eq!(table.reserve(), first, "a reservation that was not used must be made again");
        // A reserved place is free until an entry is inserted.
        assert_eq!((table.len(), table.get(first)), (0, None));
        table.insert(first, 'a');
        let second = table.reserve();
        table.insert(second, 'b');
        assert!(table.iter().eq([(first, &'a'), (second, &'b')]));
        assert_eq!((table.remove(first), table.remove(first)), (Some('a'), None));
        let third = table.reserve();
        table.insert(third, 'c');
        assert_eq!((third.index, table.len()), (first.index, 2), "the place must be reused");
        assert_eq!(table.get(first), None);
        assert_eq!(table.get_mut(third), Some(&mut 'c'));
    }
}
