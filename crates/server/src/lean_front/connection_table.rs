//! The connections of one thread: stable slots, each with a generation, so that an event or a timer that was meant for
//! a connection that is gone does not reach the next one in its slot.

/// Names one entry of a [`ConnectionTable`]; never again another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Token(pub(crate) u64);

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

/// Places for entries.
#[derive(Debug)]
pub(crate) struct ConnectionTable<T> {
    slots: Vec<(u32, Option<T>)>,
    free: Vec<usize>,
}

impl<T> ConnectionTable<T> {
    pub(crate) fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }

    pub(crate) fn insert(&mut self, entry: T) -> Token {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push((0, None));
            self.slots.len() - 1
        });
        let (generation, slot) = &mut self.slots[index];
        *slot = Some(entry);
        Token::new(index, *generation)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, token: Token) -> Option<&mut T> {
        let (generation, slot) = self.slots.get_mut(token.index())?;
        if *generation == token.generation() { slot.as_mut() } else { None }
    }

    pub(crate) fn remove(&mut self, token: Token) -> Option<T> {
        let (generation, slot) = self.slots.get_mut(token.index())?;
        if *generation != token.generation() {
            return None;
        }
        let entry = slot.take()?;
        // The highest generations are kept for what is not a connection.
        *generation = (*generation + 1) & 0x3fff_ffff;
        self.free.push(token.index());
        Some(entry)
    }

    pub(crate) fn tokens(&self) -> Vec<Token> {
        let used = self.slots.iter().enumerate().filter(|(_, (_, slot))| slot.is_some());
        used.map(|(index, (generation, _))| Token::new(index, *generation)).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.slots.len() == self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_never_leads_to_another_entry() {
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
