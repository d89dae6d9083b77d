//! The connections of one thread, kept in slots. Each slot counts the connections that have used it. This count (the
//! generation) is part of the token that identifies a connection. An event or timer of a closed connection has an old
//! token, so it cannot reach the next connection in the same slot.

/// The identity of an entry of a [`ConnectionTable`]. A token is never reused for another entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Token(pub(crate) u64);

impl Token {
    fn new(index: usize, generation: u32) -> Self {
        Self((u64::from(generation) << 32) | index as u64)
    }

    fn index(self) -> usize {
        (self.0 & 0xffff_ffff) as usize
    }

    fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// Slots for entries.
#[derive(Debug)]
pub(super) struct ConnectionTable<T> {
    slots: Vec<(u32, Option<T>)>,
    free: Vec<usize>,
}

impl<T> ConnectionTable<T> {
    pub(super) fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }

    pub(super) fn insert(&mut self, entry: T) -> Token {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push((0, None));
            self.slots.len() - 1
        });
        let (generation, slot) = &mut self.slots[index];
        *slot = Some(entry);
        Token::new(index, *generation)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, token: Token) -> Option<&mut T> {
        let (generation, slot) = self.slots.get_mut(token.index())?;
        if *generation == token.generation() { slot.as_mut() } else { None }
    }

    pub(super) fn remove(&mut self, token: Token) -> Option<T> {
        let (generation, slot) = self.slots.get_mut(token.index())?;
        if *generation != token.generation() {
            return None;
        }
        let entry = slot.take()?;
        // The highest generations are reserved for tokens that do not identify a connection.
        *generation = (*generation + 1) & 0x3fff_ffff;
        self.free.push(token.index());
        Some(entry)
    }

    pub(super) fn tokens(&self) -> Vec<Token> {
        let used = self.slots.iter().enumerate().filter(|(_, (_, slot))| slot.is_some());
        used.map(|(index, (generation, _))| Token::new(index, *generation)).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.slots.len() == self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_never_denote_another_entry() {
        let mut table = ConnectionTable::new();
        let first = table.insert("first");
        assert_eq!(table.tokens(), [first]);
        assert_eq!(table.remove(first), Some("first"));
        assert!(table.is_empty());
        let second = table.insert("second");
        assert_eq!(table.get_mut(first), None);
        assert_eq!(table.remove(first), None);
        assert_eq!(table.get_mut(second), Some(&mut "second"));
        assert!(!table.is_empty());
    }
}
